//! Filter of one relation, whatever rows it has.
//!
//! Invariant: it is the same for all groups of a relation. Cost: none; this is data.

use crate::machine::indexed::correlation::Correlation;
use crate::machine::indexed::reader::{Kinds, RowReaders};
use crate::machine::query::{Comparison, Value};

/// The filter of a relation, the same for all its groups.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) readers: RowReaders,
    pub(crate) kinds: Kinds,
    /// Whether keys grow downwards.
    pub(crate) mirrored: bool,
    /// From the innermost block to the relation.
    pub(crate) correlations: Vec<Correlation>,
    /// Comparisons of closed values with the key.
    pub(crate) bounds: Vec<Comparison>,
    /// The closed values: those of correlations, of bounds, and of equalities.
    pub(crate) closed: Vec<Value>,
    /// Sums of the relation, its count among them.
    pub(crate) width: usize,
}

impl Shape {
    /// Whether anything depends on the order of rows.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.correlations.is_empty() || !self.bounds.is_empty()
    }
}
