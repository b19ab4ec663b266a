//! The rows of the sources of a node: tables, views that keep their rows, and blocks that compute them.
//!
//! Invariant: each row that passes a filter is handed out with its multiplicity, in the needed columns at least, a chunk at
//! a time. Cost: the filter is evaluated for each row; the other columns are read for rows that pass.

use std::collections::BTreeMap;

use ringview_core::{Batch, Budget, Result};
use ringview_relation::RowStore;
use ringview_rows::RowMap;
use ringview_view::RowDelta;

use super::Database;
use super::births::Readable;
use crate::CHUNK;
use crate::graph::facets::NodeAnswer;
use crate::graph::node::Node;
use crate::plan::Source;
use crate::reduction::RowFilter;
use crate::storage::table::Table;

/// Rows of a table that are filtered together: their columns fit a cache near the core.
const BLOCK: usize = 1 << 13;

/// Some rows of a source.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'c> {
    pub(super) batch: &'c Batch,
    /// Slots of the rows in a table; absent for a view.
    pub(super) slots: Option<&'c [u32]>,
}

impl<'c> Chunk<'c> {
    /// Rows of a view.
    pub(super) fn of(batch: &'c Batch) -> Self {
        Self { batch, slots: None }
    }
}

/// The columns that are needed, and which rows.
pub(super) type Scan<'w, 's> = (&'w [bool], &'w mut RowFilter<'s>);

/// Takes rows, a chunk at a time.
pub(super) type Taker<'t> = &'t mut dyn FnMut(&mut Database, Chunk<'_>) -> Result<()>;

/// Takes slots of the rows of a table.
pub(super) type SlotTaker<'t> = &'t mut dyn FnMut(&mut Database, &RowStore, &[u32]) -> Result<()>;

impl Database {
    /// Number of rows of a source: for a block that keeps none, the maximum; for one that has none yet, a guess. O(blocks
    /// below that have no rows of their own).
    pub(super) fn rows_of(&self, source: Source, from: Readable<'_>) -> u64 {
        self.rows_within(source, from, &mut BTreeMap::new())
    }

    /// The same beside what was found for the views so far: several blocks may read one.
    fn rows_within(
        &self,
        source: Source,
        from: Readable<'_>,
        found: &mut BTreeMap<u64, u64>,
    ) -> u64 {
        let id = match source {
            Source::Table(id) => {
                let mut tables = self.state.storage.tables.iter();
                let table = tables.find(|table| table.id == id);
                return table.map_or(0, Table::len);
            }
            Source::View(id) => id,
        };
        if let Some(rows) = found.get(&id) {
            return *rows;
        }
        let pending = from.pending(id);
        let Some(node) = pending.or_else(|| from.view(id)) else {
            return 0;
        };
        let mut below = || {
            let rows = node
                .sources()
                .map(|source| self.rows_within(source, from, found));
            rows.fold(0, u64::saturating_add)
        };
        let rows = match node.row_map() {
            _ if pending.is_some() => below() / from.share(node),
            Some(_) => below(),
            None => (from.answer(node).len(&self.state.storage.dictionary)).unwrap_or(0),
        };
        found.insert(id, rows);
        rows
    }

    /// Hands out the rows of a table, a view or a block of a family that pass a filter, in the columns that are needed, a
    /// chunk at a time.
    pub(super) fn each_chunk(
        &mut self,
        source: Source,
        (needed, filter): Scan<'_, '_>,
        from: Readable<'_>,
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        match source {
            Source::Table(id) => {
                let mut batch = Batch::new();
                batch.reset(needed);
                self.each_list_of_slots(id, filter, budget, &mut |database, rows, slots| {
                    rows.read(slots, &mut batch);
                    let (batch, slots) = (&batch, Some(slots));
                    to(database, Chunk { batch, slots })
                })
            }
            Source::View(id) => from.view(id).map_or(Ok(()), |below| match below.row_map() {
                Some(map) => self.each_mapped((below, map), (needed, filter), from, budget, to),
                None => {
                    let answer = from.answer(below);
                    self.each_shown((below, &answer), (needed, filter), budget, to)
                }
            }),
        }
    }

    /// Hands out the slots of the rows of a table that pass a filter, at most a chunk of them at a time.
    pub(super) fn each_list_of_slots(
        &mut self,
        table: u64,
        filter: &mut RowFilter<'_>,
        budget: &Budget<'_>,
        to: SlotTaker<'_>,
    ) -> Result<()> {
        self.with_rows(table, |database, rows| {
            let mut passed = Vec::new();
            rows.each_slot(BLOCK, |slots| {
                budget.work(slots.len() as u64)?;
                filter.slots(rows, &database.state.storage.dictionary, slots)?;
                passed.append(slots);
                if passed.len() + BLOCK <= CHUNK {
                    return Ok(());
                }
                to(database, rows, &passed)?;
                passed.clear();
                Ok(())
            })?;
            match passed.is_empty() {
                true => Ok(()),
                false => to(database, rows, &passed),
            }
        })
    }

    /// Works on the rows of a table, if it keeps them, beside the rest of the database.
    pub(super) fn with_rows(
        &mut self,
        table: u64,
        work: impl FnOnce(&mut Self, &RowStore) -> Result<()>,
    ) -> Result<()> {
        let mut tables = self.state.storage.tables.iter();
        let at = tables.position(|one| one.id == table);
        let rows = at.and_then(|at| self.state.storage.tables[at].rows.take());
        let (Some(at), Some(rows)) = (at, rows) else {
            return Ok(());
        };
        let done = work(self, &rows);
        self.state.storage.tables[at].rows = Some(rows);
        done
    }

    /// The rows that a block computes of those that it reads.
    fn each_mapped(
        &mut self,
        (below, map): (&Node, &RowMap),
        (wanted, filter): Scan<'_, '_>,
        from: Readable<'_>,
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        let outputs = below.readable_outputs();
        let mut needed_of_it = wanted.to_vec();
        filter.mark(&mut needed_of_it);
        let wanted = below.by_output(&needed_of_it);
        for (atom, input) in below.inputs.iter().enumerate() {
            let own_filter = input.atom.filter.as_ref();
            let is_filtered = map.is_filtered_by(atom, own_filter);
            let read = match is_filtered {
                true => map.read_of_passed(atom, &wanted),
                false => needed(below, atom),
            };
            let source_of = |column: usize| map.source_of(atom, outputs[column]);
            let mut own = filter.below(&input.atom, source_of)?;
            let scan = (&read[..], &mut own);
            self.each_chunk(input.source, scan, from, budget, &mut |database, chunk| {
                let dictionary = &mut database.state.storage.dictionary;
                let rows = RowDelta {
                    atom,
                    batch: chunk.batch,
                    sign: 1,
                    dictionary,
                };
                let delta = match is_filtered {
                    true => map.passed(rows, &wanted),
                    false => map.delta(rows, &wanted),
                };
                let delta = delta.map_err(|error| error.in_view(&below.serves))?;
                let batch = delta.encode(&below.bound.outputs, &wanted, dictionary)?;
                let batch = filter.rows(&batch, dictionary)?;
                to(database, Chunk::of(&batch))
            })?;
        }
        Ok(())
    }

    /// The rows of a view or block that keeps them.
    pub(super) fn each_shown(
        &mut self,
        (below, answer): (&Node, &NodeAnswer<'_>),
        (needed, filter): Scan<'_, '_>,
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        let mut needed = needed.to_vec();
        filter.mark(&mut needed);
        let needed = below.by_output(&needed);
        let mut next = Some(0);
        while let Some(place) = next {
            let dictionary = &mut self.state.storage.dictionary;
            let scanned = answer.scan(place, &needed, (dictionary, budget))?;
            next = scanned.1;
            let delta = scanned.0;
            let batch = delta.encode(&below.bound.outputs, &needed, dictionary)?;
            let batch = filter.rows(&batch, dictionary)?;
            to(self, Chunk::of(&batch))?;
        }
        Ok(())
    }
}

/// Columns that are needed of an atom's source: by any atom that reads the same source, since a view may take its rows
/// at one of them for all.
pub(super) fn needed(view: &Node, atom: usize) -> Vec<bool> {
    let own = &view.inputs[atom];
    let mut needed = vec![false; own.atom.schema.len()];
    for input in &view.inputs {
        if input.source == own.source {
            let columns = &input.atom.columns;
            columns.iter().for_each(|&column| needed[column] = true);
        }
    }
    needed
}

/// Whether no other atom reads the source of an atom.
pub(super) fn is_read_once(view: &Node, atom: usize) -> bool {
    let own = view.inputs[atom].source;
    view.sources().filter(|source| *source == own).count() == 1
}
