//! Rows of a relation that come or go, as a view is told of them.

use ringview_core::{Batch, Dictionary};

/// Rows of the relation at an atom that come (`sign` 1) or go (-1), as they are in its table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowDelta<'a> {
    pub(crate) atom: usize,
    pub(crate) batch: &'a Batch,
    pub(crate) sign: i64,
    pub(crate) dictionary: &'a Dictionary,
}
