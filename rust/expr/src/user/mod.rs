//! Functions of the user: declared by the embedding program, called by the texts of queries.
//!
//! A block keeps its expressions as text, so a function has a name in texts that no other function of the process has
//! (`slug$7`): a function declared again under an old name is another one, and queries are equal where they call the
//! same ones. Invariant: the name is found as long as the function lives, and cannot be written in a text of SQL, where
//! functions have the names that they were declared with. A function is trusted to be one of its arguments alone. Cost:
//! a look into a table for each call that a text makes, as it is bound.
//!
//! | file | holds |
//! |---|---|
//! | `signature` | what a function is declared to take and to return |
//! | `evaluate` | NULLs, types and lengths around a call; the row by which it fails |
//! | `planned` | functions as the planner takes them |

mod evaluate;
mod planned;
mod signature;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use arrow_array::ArrayRef;
use ringview_core::Cause;

pub use signature::{Kind, Nulls, Signature};

/// Computation of a function.
pub trait Compute: Debug + Send + Sync {
    /// A value for each row of the arguments; of an aggregate one value, of all of them. Arguments have the types of the
    /// signature; the result has its own.
    ///
    /// # Errors
    /// See [`Failure`].
    fn compute(&self, arguments: &[ArrayRef]) -> Result<ArrayRef, Failure>;
}

/// Why a function has no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The caller interrupted the call.
    Interrupted,
    /// It failed: what it raised, in words and as such.
    Raised(String, Cause),
    /// It returned something else than it was declared to: "returned 3 values for 5 rows".
    Returned(String),
}

/// A function of the user.
#[derive(Debug)]
pub struct UserFunction {
    signature: Signature,
    /// Its name in texts.
    unique: String,
    compute: Arc<dyn Compute>,
}

/// By its name in texts, each function that lives.
static LIVING: RwLock<BTreeMap<String, Weak<UserFunction>>> = RwLock::new(BTreeMap::new());

impl UserFunction {
    /// A function, known to texts as long as it lives.
    #[must_use]
    pub fn new(signature: Signature, compute: Arc<dyn Compute>) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let made = Arc::new(Self {
            unique: format!("{}${number}", signature.name.to_lowercase()),
            signature,
            compute,
        });
        let mut living = LIVING.write().unwrap_or_else(PoisonError::into_inner);
        living.insert(made.unique.clone(), Arc::downgrade(&made));
        made
    }

    /// Types of its arguments and its result.
    #[must_use]
    pub fn signature(&self) -> &Signature {
        &self.signature
    }
}

impl Drop for UserFunction {
    fn drop(&mut self) {
        let mut living = LIVING.write().unwrap_or_else(PoisonError::into_inner);
        living.remove(&self.unique);
    }
}

/// A function is itself alone, whatever it computes.
impl PartialEq for UserFunction {
    fn eq(&self, other: &Self) -> bool {
        self.unique == other.unique
    }
}

impl Eq for UserFunction {}

impl Hash for UserFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.unique.hash(state);
    }
}

/// The function that a text calls so.
pub(crate) fn called(name: &str) -> Option<Arc<UserFunction>> {
    if !name.contains('$') {
        return None;
    }
    let living = LIVING.read().unwrap_or_else(PoisonError::into_inner);
    living.get(name)?.upgrade()
}

/// The functions that a text calls, in any case, each once, by name.
#[must_use]
pub fn user_functions(text: &str) -> Vec<Arc<UserFunction>> {
    if !text.contains('$') {
        return Vec::new();
    }
    let text = text.to_ascii_lowercase();
    let living = LIVING.read().unwrap_or_else(PoisonError::into_inner);
    let mut found: Vec<Arc<UserFunction>> = living.values().filter_map(Weak::upgrade).collect();
    // Dropping the last reference to a function locks the table to change it.
    drop(living);
    found.retain(|one| occurrences(&text, &one.unique).next().is_some());
    found
}

/// A text for people: functions have the names that they were declared with.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut made = text.to_owned();
    for function in user_functions(text) {
        let unique = &function.unique;
        let lower = made.to_ascii_lowercase();
        let found: Vec<usize> = occurrences(&lower, unique).collect();
        for at in found.into_iter().rev() {
            made.replace_range(at..at + unique.len(), &function.signature.name);
        }
    }
    made
}

/// Positions of a name in a text, not as a part of another.
fn occurrences<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    text.match_indices(name)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = text[..*at].chars().next_back();
            let behind = text[at + name.len()..].chars().next();
            !before.is_some_and(is_of_name) && !behind.is_some_and(is_of_name)
        })
}
