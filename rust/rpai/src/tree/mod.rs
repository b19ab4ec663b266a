//! The RPAI tree (paper, section 3): an ordered map from aggregate keys to payloads, in which a
//! range of keys moves at once.
//!
//! Invariant: entries are ordered by (key, tie), no two are equal, none has payload zero, and every
//! leaf is equally deep. A parent stores for each child the greatest entry, the sum of payloads and
//! the base of its keys; keys are relative to the base of their node. Nodes other than the root
//! have 8 to 32 entries.
//!
//! | operation | cost, of n entries |
//! |---|---|
//! | `get`, `put`, `add`, `remove`, `prefix_sum`, `select`, `first`, `last`, `successor`, `predecessor` | O(log n) |
//! | `shift_keys` | O(log n), and O(m log n) where m entries meet others that did not move, or pass them |
//! | `from_sorted`, iteration | O(n); the next entry O(1) amortised |
//!
//! Ties distinguish entries whose keys are equal: groups with equal aggregates, by their correlated
//! value. With no tie (`()`), equal keys merge. A change that fails (a key or a sum that does not
//! fit) fails before anything has moved.

mod arena;
mod build;
mod change;
mod check;
mod iterate;
mod journal;
mod node;
mod read;
mod shift;

use std::fmt::Debug;

use arena::Arena;
use journal::Undo;
use node::{Entries, Inner, Node};

pub(crate) use change::overflow;
pub use iterate::Iter;

use crate::key::Key;
use crate::payload::Payload;
use crate::steps::Steps;

/// Distinguishes entries with equal keys.
pub trait Tie: Copy + Ord + Default + Debug + Send + Sync + 'static {}

impl<T: Copy + Ord + Default + Debug + Send + Sync + 'static> Tie for T {}

/// Levels of inner nodes at most: 8^11 leaves are more than 2^32.
const DEEPEST: usize = 12;

/// An ordered map from keys to payloads whose keys shift by ranges.
///
/// ```
/// use ringview_rpai::{Cut, RpaiTree};
///
/// # fn main() -> ringview_core::Result<()> {
/// let mut tree = RpaiTree::<i64, i64>::new();
/// for (key, payload) in [(10, 1), (20, 2), (30, 4)] {
///     tree.add(key, (), payload)?;
/// }
/// tree.shift_keys(&Cut::after(10), -10)?; // 20 meets 10, and 30 becomes 20
/// assert_eq!(tree.get(10, ()), Some(3));
/// assert_eq!(tree.prefix_sum(&Cut::after(15)), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RpaiTree<K, P, T = ()> {
    leaves: Arena<Entries<K, P, T>>,
    inners: Arena<Inner<K, P, T>>,
    /// A leaf where `height` is 0.
    root: u32,
    height: usize,
    /// The base of the root's keys.
    base: K,
    len: usize,
    total: P,
    /// The sum of magnitudes.
    weight: P,
    /// The undo log since `begin`.
    journal: Option<Vec<Undo<K, P, T>>>,
    steps: Steps,
}

impl<K: Key, P: Payload, T: Tie> Default for RpaiTree<K, P, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key, P: Payload, T: Tie> RpaiTree<K, P, T> {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        let mut leaves = Arena::new();
        let root = leaves.add(Entries::empty());
        Self {
            leaves,
            inners: Arena::new(),
            root,
            height: 0,
            base: K::ZERO,
            len: 0,
            total: P::ZERO,
            weight: P::ZERO,
            journal: None,
            steps: Steps::default(),
        }
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sum of all payloads.
    #[must_use]
    pub fn total(&self) -> P {
        self.total
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, Vec::capacity);
        self.leaves.bytes() + self.inners.bytes() + journal * size_of::<Undo<K, P, T>>()
    }

    /// Steps so far: nodes visited, and entries where they are walked one by one.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.total()
    }
}
