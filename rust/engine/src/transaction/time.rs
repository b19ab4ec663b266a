//! Time that passes within a transaction.
//!
//! The clock is the user's: nothing here reads another. Invariant: it never moves back; at the end of a transaction no
//! row is older than its table keeps it, and each view that is filtered by time is at the clock of the database. So a
//! row that is too old at its insertion is deleted in the same transaction, and no view shows it. Cost: O(tables and
//! views), and for each row that is deleted or passes a filter's bound the cost of a delete or an insert.

use ringview_core::{Budget, Dictionary, Error, Result, TimeUnit, Type, format_value};

use super::chunks::RowNumbers;
use crate::CHUNK;
use crate::op::Direction;
use crate::state::State;
use crate::storage::table::Table;
use crate::undo::Undo;

impl State {
    /// Sets the clock to the same time or a later one.
    ///
    /// # Errors
    /// `Value` for an earlier time.
    pub(crate) fn set_clock(&mut self, to: i64, undo: &mut Undo) -> Result<()> {
        match self.now {
            Some(now) if to < now => Err(Error::Value {
                place: "the clock".to_owned(),
                problem: format!(
                    "cannot go back from {} to {}: rows that left by then are gone; advance to a later \
                     moment, or begin another database",
                    shown(now),
                    shown(to)
                ),
            }),
            Some(now) if to == now => Ok(()),
            before => {
                undo.clock.get_or_insert(before);
                self.now = Some(to);
                Ok(())
            }
        }
    }

    /// Applies the effect of the clock: rows of views filtered by time, and rows that are too old.
    pub(crate) fn pass_time(&mut self, undo: &mut Undo, budget: &Budget<'_>) -> Result<()> {
        let Some(now) = self.now else {
            return Ok(());
        };
        for index in 0..self.storage.tables.len() {
            self.expire(index, now, undo, budget)?;
        }
        if undo.clock.is_none() {
            return Ok(());
        }
        for (view, touched) in self.graph.nodes.iter_mut().zip(&mut undo.touched) {
            if let Some(timed) = view.timed() {
                *touched = true;
                timed.advance(now, budget)?;
            }
        }
        self.done(0, budget)
    }

    /// Deletes the rows of a table that are too old.
    fn expire(
        &mut self,
        index: usize,
        now: i64,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        loop {
            let aged = self.storage.tables[index].retention.as_ref();
            let Some(batch) = aged.and_then(|aged| aged.due(now, CHUNK)) else {
                return Ok(());
            };
            if !undo.tables.contains(&index) {
                undo.tables.push(index);
            }
            let place = RowNumbers::From(0);
            self.apply_chunk((index, Direction::Delete), place, undo, &batch, budget)?;
            if let Some(aged) = &mut self.storage.tables[index].retention {
                aged.count_expired(Table::count(&batch).unsigned_abs());
            }
            self.done(batch.rows, budget)?;
        }
    }
}

/// A moment as text.
fn shown(moment: i64) -> String {
    let ty = Type::Timestamp {
        unit: TimeUnit::Microsecond,
        timezone: None,
    };
    format_value(&ty, moment.cast_unsigned(), 0, &Dictionary::new())
}
