//! Where names of a query within are looked up, and what binding it collects.
//!
//! Invariant: a name means the nearest query that has it. Cost: O(depth) a name.

use crate::bind::bound::{Catalog, PlanAtom};
use crate::bind::scalar::Scope;

/// A query and those around it.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(super) scopes: &'a [Scope<'a>],
    pub(super) further: Option<&'a Around<'a>>,
}

impl<'a> Around<'a> {
    /// The outermost query.
    pub(crate) fn outermost(scopes: &'a [Scope<'a>]) -> Self {
        let further = None;
        Self { scopes, further }
    }

    /// The query so many further out.
    pub(super) fn out(&self, depth: usize) -> Option<&Self> {
        (0..depth).try_fold(self, |query, _| query.further)
    }
}

/// The queries within a query, while they are bound.
pub(crate) struct Within<'c> {
    pub(super) catalog: &'c dyn Catalog,
    /// Atoms of the outermost query.
    pub(super) outer: usize,
    /// Those of the queries within.
    pub(crate) atoms: Vec<PlanAtom>,
}
