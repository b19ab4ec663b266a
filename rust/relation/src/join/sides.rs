//! The relations that a step joins with at once: how each is walked, and where the rows of a delta
//! find their groups.
//!
//! Invariant: a row without a group in one relation has no matches, so it need not be looked up in
//! those behind. Cost: a look-up a row and relation at most.

use ringview_ring::PayloadRing;

use super::path::{Access, Step};
use crate::ABSENT;
use crate::delta::Delta;
use crate::directory::{KeyScratch, Keys};
use crate::keyed_table::Index;

/// Room for finding groups, kept between batches.
#[derive(Clone, Debug, Default)]
pub(super) struct SearchScratch {
    rows: Vec<u32>,
    columns: Vec<Vec<u64>>,
    found: Vec<u32>,
    keys: KeyScratch,
}

/// One of the relations: its number, how it is walked, and the registers of its whole key.
pub(super) struct Side<'a> {
    pub(super) relation: usize,
    pub(super) index: usize,
    bound: &'a [usize],
    fetch: &'a [(usize, usize)],
    /// The registers of the whole key, in its order.
    pub(super) key: Vec<usize>,
}

impl<'a> Side<'a> {
    fn new(relation: usize, access: &'a Access) -> Option<Self> {
        let Access::Walk {
            index,
            bound,
            fetch,
        } = access
        else {
            return None;
        };
        let mut rest = bound.iter();
        let fetched = |at: usize| fetch.iter().find(|(field, _)| *field == at);
        let register = |at: usize| match fetched(at) {
            Some((_, register)) => Some(*register),
            None => rest.next().copied(),
        };
        let key = (0..bound.len() + fetch.len())
            .filter_map(register)
            .collect();
        Some(Self {
            relation,
            index: *index,
            bound,
            fetch,
            key,
        })
    }

    /// The field of the relation's key that fills a register, if one does.
    pub(super) fn fetched(&self, register: usize) -> Option<usize> {
        let mut fetch = self.fetch.iter();
        fetch
            .find(|(_, to)| *to == register)
            .map(|(field, _)| *field)
    }

    /// Finds the group of each row; where few rows have a group in the relation `before`, only for
    /// these.
    pub(super) fn find_groups(
        &self,
        index: &Index,
        delta: &Delta,
        before: Option<&Vec<u32>>,
        scratch: &mut SearchScratch,
        groups: &mut Vec<u32>,
    ) {
        let SearchScratch {
            rows,
            columns,
            found,
            keys: scratch,
        } = scratch;
        rows.clear();
        let others = (0u32..).zip(before.into_iter().flatten());
        rows.extend(
            others
                .filter(|(_, group)| **group != ABSENT)
                .map(|(row, _)| row),
        );
        if before.is_none() || 4 * rows.len() > 3 * delta.rows {
            let keys = Keys {
                columns: &delta.columns,
                fields: self.bound,
                rows: delta.rows,
            };
            return index.find(keys, scratch, groups);
        }
        columns.resize_with(delta.columns.len(), Vec::new);
        for &register in self.bound {
            let (column, from) = (&mut columns[register], &delta.columns[register]);
            column.clear();
            column.extend(rows.iter().map(|&row| from[row as usize]));
        }
        let keys = Keys {
            columns,
            fields: self.bound,
            rows: rows.len(),
        };
        index.find(keys, scratch, found);
        groups.clear();
        groups.resize(delta.rows, ABSENT);
        for (&row, &group) in rows.iter().zip(&*found) {
            groups[row as usize] = group;
        }
    }
}

/// The sides of a step and of those intersected with it.
pub(super) fn sides<R: PayloadRing>(steps: &[Step<R>]) -> Vec<Side<'_>> {
    let Some((first, others)) = steps.split_first() else {
        return Vec::new();
    };
    let accesses = std::iter::once(&first.access).chain(&first.intersected);
    let steps = std::iter::once(first).chain(others);
    let side = |(step, access): (&Step<R>, _)| Side::new(step.relation, access);
    steps.zip(accesses).filter_map(side).collect()
}
