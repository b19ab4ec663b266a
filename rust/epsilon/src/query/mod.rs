//! Joins as this crate sees them: relations by the fields of their keys, and which class they are of.
//!
//! Invariant: every field is in two relations or more: what is in one alone was summed away before. Cost:
//! none that depends on data.
//!
//! | file | holds |
//! |---|---|
//! | `class` | the classes that are kept, and which condition fails for the rest |

mod class;

use ringview_relation::KeyField;

pub use class::Class;
pub(crate) use class::SplitKey;

/// Why a join cannot be kept by this engine, for a message: what it is, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The condition that fails.
    pub why: String,
    /// Alternative that works.
    pub instead: String,
}

/// An exponent of the size: 0 to 1, a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epsilon(f64);

impl Epsilon {
    /// The one at which a change is cheapest.
    pub const HALF: Epsilon = Epsilon(0.5);

    /// The one at which no value is heavy.
    pub const ONE: Epsilon = Epsilon(1.0);

    /// Checks an exponent.
    ///
    /// # Errors
    /// When it is below 0, above 1, or no number.
    pub fn new(epsilon: f64) -> Result<Self, Refused> {
        if (0.0..=1.0).contains(&epsilon) {
            return Ok(Self(epsilon));
        }
        Err(Refused {
            why: format!("epsilon is {epsilon}, and must be a number from 0 to 1"),
            instead: "leave it out, or give 0.5, at which a change costs least".to_owned(),
        })
    }

    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

/// Relations that join, by the fields of their keys.
#[derive(Clone, Debug)]
pub struct Query {
    /// The fields of each relation's key.
    pub fields: Vec<Vec<usize>>,
    /// Packing of each field.
    pub packing: Vec<KeyField>,
    /// The fields that the result is grouped by. A relation that lacks one has all its tuples before
    /// those that have them all have any.
    pub groups: Vec<usize>,
    /// The relation, which has all these fields, from whose tuples groups are read: they are not kept, but computed at
    /// a read. `None`: they are kept.
    pub read_from: Option<usize>,
}

impl Query {
    /// The fields that some relations share, in the order of the first of them.
    pub(crate) fn shared(&self, relations: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut relations = relations.into_iter();
        let Some(first) = relations.next() else {
            return Vec::new();
        };
        let mut shared = self.fields[first].clone();
        for other in relations {
            shared.retain(|field| self.fields[other].contains(field));
        }
        shared
    }

    /// Key z: the fields that all relations but z share.
    #[must_use]
    pub fn key(&self, z: usize) -> Vec<usize> {
        let n = self.fields.len();
        self.shared((1..n).map(|step| (z + step) % n))
    }

    /// Whether the relations of key z join on something that relation z lacks. If not, the key has no
    /// partition: its values would be treated alike (H.1.4).
    #[must_use]
    pub fn is_split(&self, z: usize) -> bool {
        let lacks = |field: &usize| !self.fields[z].contains(field);
        self.key(z).iter().any(lacks)
    }

    /// Whether the result has groups, and they are kept.
    pub(crate) fn keeps_groups(&self) -> bool {
        !self.groups.is_empty() && self.read_from.is_none()
    }

    /// Whether a tuple of a relation says in which group it is.
    pub(crate) fn has_group(&self, relation: usize) -> bool {
        let has = |field| self.fields[relation].contains(field);
        self.groups.iter().all(has)
    }

    /// The relations that have a field.
    pub(crate) fn holders(&self, field: usize) -> Vec<usize> {
        let has = |k: &usize| self.fields[*k].contains(&field);
        (0..self.fields.len()).filter(has).collect()
    }
}
