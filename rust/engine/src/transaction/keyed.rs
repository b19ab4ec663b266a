//! Changes by the unique key of a table: upserts, updates, deletes, and rows that say what they do.
//!
//! Invariant: rows act in their order, each on what those before it left; a key is never NULL. Cost: one look-up a row
//! for the base rows, which return the deleted and the inserted rows; the views take both as one delta. A row that is
//! replaced by its equal moves nothing.

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Result};
use ringview_relation::{Action, Actions, KeyedDelta};
use ringview_view::RowDelta;

use super::chunks::chunks;
use super::deliver::{ALONE, deliver};
use crate::op::ByKey;
use crate::state::State;
use crate::storage::by_key::check_columns;
use crate::storage::keys::KeyReader;
use crate::undo::Undo;

impl State {
    /// Applies rows by their key.
    pub(crate) fn run_keyed(
        &mut self,
        (index, by, rows): (usize, ByKey<'_>, &[RecordBatch]),
        undo: &mut Undo,
        batch: &mut Batch,
        budget: &Budget<'_>,
    ) -> Result<()> {
        self.storage.tables[index].check_findable(by.name())?;
        let (mut keyed_delta, mut delta) = (KeyedDelta::default(), Batch::new());
        for (first, chunk) in chunks(rows) {
            let actions = self.read_by_key(index, by, &chunk, first, batch)?;
            let actions = match (&actions, by) {
                (Some(actions), _) => Actions::Each(actions),
                (None, ByKey::Delete) => Actions::All(Action::Delete),
                (None, ByKey::Update) => Actions::All(Action::Update),
                (None, _) => Actions::All(Action::Upsert),
            };
            let table = &mut self.storage.tables[index];
            let Some(store) = &mut table.rows else {
                return Ok(());
            };
            let before = store.len();
            store.change_by_key(batch, actions, &self.storage.dictionary, &mut keyed_delta)?;
            // The delta holds `moved` rows, inserted and deleted; the table has `more` rows or `less`. Both give the
            // number deleted.
            let (moved, more) = (keyed_delta.len() as u64, store.len().saturating_sub(before));
            let less = before.saturating_sub(store.len());
            let goes = (moved + less).saturating_sub(more) / 2;
            self.note(moved > goes, goes, undo, budget);
            let table = &mut self.storage.tables[index];
            let Some(store) = &mut table.rows else {
                return Ok(());
            };
            // Strings in a deleting row outside its key may have no reference.
            undo.words_left += table.texts * (batch.rows + keyed_delta.len());
            if !keyed_delta.is_empty()
                && let Some(aged) = &mut table.retention
            {
                let all = vec![true; table.schema.len()];
                let sign = store.read_delta(&keyed_delta, &all, &mut delta);
                aged.apply(&delta, sign);
            }
            if !keyed_delta.is_empty() && !table.readers.is_empty() {
                let sign = store.read_delta(&keyed_delta, &table.read, &mut delta);
                let dictionary = &self.storage.dictionary;
                let views = (&mut self.graph.nodes[..], &table.readers[..]);
                let place = |row| first as u64 + u64::from(keyed_delta.origin(row as usize));
                deliver(
                    views,
                    (&self.workers, delta.rows),
                    undo,
                    budget,
                    ALONE,
                    |view, atom, budget| {
                        let rows = RowDelta {
                            atom,
                            batch: &delta,
                            sign,
                            dictionary,
                        };
                        view.apply(rows, budget)
                            .map_err(|error| error.counted_by(place))
                    },
                )?;
            }
            self.done(chunk.num_rows(), budget)?;
        }
        Ok(())
    }

    /// Encodes rows, and what each of them does if they say it themselves.
    pub(crate) fn read_by_key(
        &mut self,
        index: usize,
        by: ByKey<'_>,
        rows: &RecordBatch,
        first: usize,
        into: &mut Batch,
    ) -> Result<Option<Vec<Action>>> {
        let table = &mut self.storage.tables[index];
        let mut reader = match table.by_key.take() {
            Some(reader) if reader.serves(by, rows.schema_ref()) => reader,
            _ => KeyReader::new((&table.name, &table.schema), by, rows.schema_ref())?,
        };
        check_columns(table, by, &reader.columns)?;
        let actions = reader.read(&table.name, rows, first, &mut self.storage.dictionary, into)?;
        if reader.columns.len() < table.schema.len() {
            let mut placed = vec![None; table.schema.len()];
            for (&column, values) in reader.columns.iter().zip(into.columns.drain(..)) {
                placed[column] = values;
            }
            into.columns = placed;
        }
        table.by_key = Some(reader);
        table.check_nulls(into, actions.as_deref(), first as u64)?;
        Ok(actions)
    }
}
