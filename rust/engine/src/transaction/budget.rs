//! Memory of a transaction: counted as rows are inserted, compared with the limit.
//!
//! Invariant: a transaction that only frees has no limit, and for one that adds, what it frees counts as given back:
//! both hold deleted rows until the end, to undo the transaction. Cost: that of `memory`, and O(tables) a chunk with
//! deletes.

use ringview_core::{Budget, Result};

use crate::Poll;
use crate::memory::{EVERY, Memory};
use crate::reversal::Reversal;
use crate::state::State;
use crate::undo::Undo;

impl State {
    /// Counts so many bytes more against the limit: whoever keeps the database holds them for it.
    pub(crate) fn count_external_bytes(&mut self, bytes: u64) {
        self.memory.other_columns = bytes;
        self.count();
    }

    /// The budget of a call that changes something.
    pub(crate) fn budget<'p>(&mut self, poll: Poll<'p>) -> Budget<'p> {
        self.memory.start = self.memory.held;
        self.reading(poll)
    }

    /// The budget of a call that reads.
    pub(crate) fn reading<'p>(&self, poll: Poll<'p>) -> Budget<'p> {
        let budget = Budget::new(poll).limited(self.memory.limit, self.memory.held);
        budget.allow(if self.memory.frees { u64::MAX } else { 0 });
        budget
    }

    /// Notes the effect of a chunk of a transaction: whether it inserts rows, and how many it
    /// deletes.
    pub(crate) fn note(&self, comes: bool, goes: u64, undo: &mut Undo, budget: &Budget<'_>) {
        undo.adds |= comes;
        undo.gone = undo.gone.saturating_add(goes);
        budget.allow(match (undo.adds, undo.gone) {
            (false, _) => u64::MAX,
            (true, 0) => 0,
            (true, gone) => {
                let rows = self.storage.tables.iter().map(|table| table.len());
                let all = rows.sum::<u64>().saturating_add(gone);
                let share = u128::from(gone) * u128::from(self.memory.start) / u128::from(all);
                u64::try_from(share).unwrap_or(u64::MAX)
            }
        });
    }

    /// Counts rows that were added to the tables and views. Polls the caller, and checks the memory.
    pub(crate) fn done(&mut self, rows: usize, budget: &Budget<'_>) -> Result<()> {
        budget.done(rows as u64)?;
        self.memory.since += rows as u64;
        if self.memory.is_set || budget.has_asked() || self.memory.since >= EVERY {
            self.count();
            return self.check_memory(self.memory.held, budget);
        }
        Ok(())
    }

    /// So many rows have moved on to views above, beside those that were handed in.
    pub(crate) fn went_on(&mut self, rows: usize, budget: &Budget<'_>) -> Result<()> {
        self.memory.since += rows as u64;
        self.done(0, budget)
    }

    /// Counts what is held.
    pub(crate) fn count(&mut self) {
        self.memory.since = 0;
        self.memory.held = self.counted_bytes();
    }

    /// Counts the memory in use if a limit was set: after a change of something else than rows, or
    /// a rollback.
    pub(crate) fn recount(&mut self) {
        let Memory { limit, is_set, .. } = self.memory;
        if is_set {
            self.memory.spare = 0;
            let over = self.counted_bytes().checked_sub(limit);
            self.memory.spare = over.map_or(0, |over| over + limit / 16);
            self.count();
        }
    }

    /// Whether so many bytes may be held.
    pub(crate) fn check_memory(&self, held: u64, budget: &Budget<'_>) -> Result<()> {
        budget.recount(held);
        if !budget.has_room(held) && held > self.memory.start {
            return Err(budget.too_much());
        }
        Ok(())
    }

    /// Bytes in use, by what is quickly counted.
    pub(crate) fn counted_bytes(&self) -> u64 {
        let tables = self.storage.tables.iter().map(|table| table.bytes());
        let views = self.graph.nodes.iter().map(|view| view.bytes(true));
        let dropped = self.reversals.iter().flatten().map(Reversal::bytes);
        let all = tables.sum::<usize>() + views.sum::<usize>() + dropped.sum::<usize>();
        let all = (all + self.storage.dictionary.memory_usage()) as u64 + self.memory.other_columns;
        all.saturating_sub(self.memory.spare)
    }
}
