//! A subquery over one relation that no other row correlates, with MIN or MAX: its aggregates, row by row.
//!
//! Invariant: each accumulator holds the rows that were inserted and not deleted, and pass the conditions. MIN and MAX have
//! no inverse, so no index of sums maintains them; their values are an ordered multiset. Cost: O(log n) a change, O(1) a
//! result.

use ringview_core::Result;

use crate::machine::general::accumulator::{Accumulator, values};
use crate::machine::query::{Cell, Plan, RowAt, holds_for};
use crate::machine::state::Folded;

impl Folded {
    /// Without rows; `None` for a query of another form.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let block = &plan.block;
        let mut is_plain = block.relations.len() == 1 && block.group.is_empty();
        for one in block.condition.conjuncts() {
            is_plain &= !one.is_nested();
            one.columns(&mut |column| is_plain &= column.depth == 0);
        }
        is_plain.then(|| Self {
            all: vec![Accumulator::default(); block.aggregates.len()],
            block: block.clone(),
            undo: Vec::new(),
        })
    }

    /// Inserts or deletes a row of a table. After an error only `rollback` may follow.
    pub(crate) fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()> {
        if self.block.relations[0] != table || !holds_for(&self.block.condition, row)? {
            return Ok(());
        }
        let values = values(&self.block, row)?;
        self.undo.push((values, times.into()));
        self.take(self.undo.len() - 1, 1)
    }

    /// Takes the row at a place of `undo` so many times more.
    fn take(&mut self, at: usize, sign: i128) -> Result<()> {
        let (values, times) = &self.undo[at];
        let each = self.block.aggregates.iter().zip(&mut self.all).zip(values);
        each.into_iter()
            .try_for_each(|((aggregate, of), value)| of.take(aggregate, *value, sign * times))
    }

    pub(crate) fn commit(&mut self) {
        self.undo.clear();
    }

    pub(crate) fn rollback(&mut self) {
        for at in (0..self.undo.len()).rev() {
            let undone = self.take(at, -1);
            debug_assert!(undone.is_ok(), "what fitted fits again");
        }
        self.undo.clear();
    }

    /// The aggregates.
    pub(crate) fn aggregates(&self) -> Result<Vec<Cell>> {
        let each = self.block.aggregates.iter().zip(&self.all);
        each.map(|(aggregate, of)| of.value(aggregate)).collect()
    }

    /// Steps so far: none, for no row is walked.
    pub(crate) fn steps(&self) -> u64 {
        0
    }

    pub(crate) fn is_vacant(&self) -> bool {
        self.all.iter().all(Accumulator::is_vacant)
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.all.iter().map(Accumulator::memory_usage).sum()
    }
}
