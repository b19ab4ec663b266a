//! Queries over one join that are answered from the groups of one node: those with the same groups from the same, by
//! terms of their own; those with other groups from others, which have inner views in common.
//!
//! Invariant: no two groupings have the same groups, and terms are distinct in each. Cost: O(groupings and terms) a
//! look-up.

use ringview_query::{Bound, PlanAtom, Query, TableInfo};

use crate::plan::Source;

/// The groups that several queries over the same sources are answered from.
#[derive(Clone)]
pub(crate) struct Union {
    /// The number of its node.
    pub(crate) id: u64,
    /// One of the queries, and what it is to those that read it.
    pub(crate) query: Query,
    pub(crate) info: TableInfo,
    /// Their terms together, by their groups.
    pub(crate) bounds: Vec<Bound>,
    /// Its sources, by atom.
    pub(crate) sources: Vec<Source>,
    /// The name of its engine.
    pub(crate) engine: String,
}

/// Queries over one join that others are answered from: one for all that have the same groups.
#[derive(Clone, Debug)]
pub(crate) struct Groupings {
    /// The name of their engine.
    pub(crate) engine: String,
    pub(crate) bounds: Vec<Bound>,
}

impl Groupings {
    /// Position of the grouping of a query, and of its terms there.
    pub(crate) fn find(&self, query: &Bound) -> Option<(usize, Vec<usize>)> {
        let bounds = self.bounds.iter().enumerate();
        let mut same = bounds.filter(|(_, bound)| bound.joins_as(query));
        same.find_map(|(at, bound)| Some((at, query.terms_in(bound)?)))
    }

    /// Leaves out terms that are not marked, and groupings without marks.
    pub(super) fn retain_terms(&mut self, marks: &[Option<Vec<bool>>]) {
        let mut marks = marks.iter();
        self.bounds.retain_mut(|bound| match marks.next() {
            Some(Some(marks)) => {
                bound.retain_terms(marks);
                true
            }
            _ => false,
        });
    }

    /// The atoms, with the columns that any grouping needs.
    pub(super) fn atoms(&self) -> Vec<PlanAtom> {
        let mut atoms = self.bounds[0].atoms.clone();
        for bound in &self.bounds[1..] {
            for (atom, other) in atoms.iter_mut().zip(&bound.atoms) {
                atom.columns.extend(&other.columns);
                atom.columns.sort_unstable();
                atom.columns.dedup();
            }
        }
        atoms
    }
}
