//! Rows of a transaction that have not been taken in yet.
//!
//! Invariant: none are left when it has settled, or is undone. Relations enter in the order of their first rows, static
//! ones before the rest. Cost: a copy of each row of a batch behind the first.

use ringview_core::{Budget, Result};
use ringview_relation::Delta;
use ringview_ring::PayloadRing;

use crate::machine::Machine;

/// Rows that may always wait.
const MANY: u64 = 1 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// By relation.
    changes: Vec<Delta>,
    /// The relations that have rows, in the order of their first ones.
    order: Vec<usize>,
}

impl Waiting {
    pub(super) fn new(relations: usize) -> Self {
        Self {
            changes: vec![Delta::default(); relations],
            order: Vec::new(),
        }
    }

    /// Rows of a relation wait; where too many do, all of them enter.
    pub(super) fn take<R: PayloadRing>(
        &mut self,
        machine: &mut Machine<R>,
        (relation, delta): (usize, Delta),
        budget: &Budget<'_>,
    ) -> Result<()> {
        self.push(relation, delta);
        let (_, tuples) = machine.size();
        match self.rows() as u64 > tuples.saturating_mul(2).max(MANY) {
            true => self.enter(machine, budget),
            false => Ok(()),
        }
    }

    /// Number of rows that wait.
    fn rows(&self) -> usize {
        self.changes.iter().map(|delta| delta.rows).sum()
    }

    /// Rows of a relation.
    fn push(&mut self, relation: usize, delta: Delta) {
        if delta.rows == 0 {
            return;
        }
        let known = &mut self.changes[relation];
        if known.rows == 0 {
            self.order.push(relation);
            *known = delta;
            return;
        }
        known.rows += delta.rows;
        known.payload.extend_from_slice(&delta.payload);
        for (column, more) in known.columns.iter_mut().zip(&delta.columns) {
            column.extend_from_slice(more);
        }
    }

    /// All that wait are taken in.
    pub(super) fn enter<R: PayloadRing>(
        &mut self,
        machine: &mut Machine<R>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let rows = self.rows();
        let order = std::mem::take(&mut self.order);
        let changes: Vec<(usize, Delta)> = order
            .into_iter()
            .map(|at| (at, std::mem::take(&mut self.changes[at])))
            .collect();
        if machine.is_load(rows) {
            let named: Vec<(usize, &Delta)> = changes.iter().map(|(at, one)| (*at, one)).collect();
            return machine.load(&named, budget);
        }
        let mut changes = changes.iter();
        changes.try_for_each(|(at, delta)| machine.apply(*at, delta, budget))
    }

    /// Discards them.
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.changes.fill(Delta::default());
    }

    pub(super) fn memory_usage(&self) -> usize {
        let words = |delta: &Delta| {
            let columns = delta.columns.iter().map(Vec::capacity);
            delta.payload.capacity() + columns.sum::<usize>()
        };
        self.changes.iter().map(words).sum::<usize>() * size_of::<u64>()
    }
}
