//! How much memory a database may hold, and whether a change stays within it.
//!
//! Invariant: a change that makes what is held grow beyond the limit is undone; one that makes it
//! shrink never is. Without a limit of its own a database has that of the machine or of the control
//! group, so that it says what it lacks before the system ends the process. Cost: with a limit,
//! O(tables and nodes of views) a chunk of rows; else the same once in [`EVERY`] rows.

use ringview_core::{Budget, Result, available};

use crate::Poll;
use crate::database::Database;

/// Rows between two counts where no limit was set.
const EVERY: u64 = 1 << 16;

/// What is known of the memory of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// The limit, in bytes; `u64::MAX` if there is none, not even the machine's.
    pub(crate) limit: u64,
    /// Whether it was set, and not told by the system.
    is_set: bool,
    /// Bytes held when they were last counted.
    held: u64,
    /// Bytes held when the running call began.
    start: u64,
    /// Bytes of those held that are room which changes that were undone have left behind: the next
    /// ones use it, so it does not count.
    spare: u64,
    /// Rows since.
    since: u64,
    /// Bytes that whoever keeps the database holds beside it.
    beside: u64,
}

impl Memory {
    pub(crate) fn new(limit: Option<u64>) -> Memory {
        Memory {
            limit: limit.or_else(available).unwrap_or(u64::MAX),
            is_set: limit.is_some(),
            held: 0,
            start: 0,
            spare: 0,
            since: 0,
            beside: 0,
        }
    }
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new(None)
    }
}

impl Database {
    /// Counts so many bytes more against the limit: whoever keeps the database holds them for it.
    pub fn hold_beside(&mut self, bytes: u64) {
        self.memory.beside = bytes;
        self.count();
    }

    /// The budget of a call that changes something.
    pub(crate) fn budget<'p>(&mut self, poll: Poll<'p>) -> Budget<'p> {
        self.memory.start = self.memory.held;
        self.reading(poll)
    }

    /// The budget of a call that reads.
    pub(crate) fn reading<'p>(&self, poll: Poll<'p>) -> Budget<'p> {
        Budget::new(poll).limited(self.memory.limit, self.memory.held)
    }

    /// So many rows more are in the tables and views. Asks whether to go on, and whether there is room.
    pub(crate) fn done(&mut self, rows: usize, budget: &Budget<'_>) -> Result<()> {
        budget.done(rows as u64)?;
        self.memory.since += rows as u64;
        if self.memory.is_set || budget.has_asked() || self.memory.since >= EVERY {
            self.count();
            return self.check_room(self.memory.held, budget);
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
        self.memory.held = self.held();
    }

    /// Counts what is held if a limit was set: after something else than rows came or went, or a
    /// change was undone.
    pub(crate) fn recount(&mut self) {
        let Memory { limit, is_set, .. } = self.memory;
        if is_set {
            self.memory.spare = 0;
            let over = self.held().checked_sub(limit);
            self.memory.spare = over.map_or(0, |over| over + limit / 16);
            self.count();
        }
    }

    /// Whether so many bytes may be held.
    pub(crate) fn check_room(&self, held: u64, budget: &Budget<'_>) -> Result<()> {
        budget.recount(held);
        if held > self.memory.limit && held > self.memory.start {
            return Err(budget.too_much());
        }
        Ok(())
    }

    /// Bytes held, by what is quickly counted.
    pub(crate) fn held(&self) -> u64 {
        let tables = self.tables.iter().map(|table| table.bytes());
        let views = self.views.iter().map(|view| view.kept.bytes());
        let all = tables.sum::<usize>() + views.sum::<usize>();
        let all = (all + self.dictionary.memory_usage()) as u64 + self.memory.beside;
        all.saturating_sub(self.memory.spare)
    }
}
