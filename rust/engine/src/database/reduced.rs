//! Nodes over static sources, filled with the rows that can join: semi-joins, then the load.
//!
//! Invariant: the rows that are loaded have the join of all rows. A table at several atoms is loaded at each of them with
//! the union of their rows, as an engine may take them at one atom for all. Cost: the semi-joins (see
//! [`reduction`](crate::reduction)), then the load of the remaining rows, the smallest atom first.

use ringview_core::{Batch, Budget, Result};
use ringview_query::VarId;
use ringview_relation::ValueSet;

use super::Database;
use super::births::{Births, Reading};
use super::fill::Baseline;
use super::sources::{Chunk, is_read_once, needed};
use crate::CHUNK;
use crate::graph::node::Node;
use crate::plan::Source;
use crate::reduction::{AtomRows, JoinColumns, RowFilter, Values};

/// Tables of at most so many rows are read first, filtered or not.
const FEW: u64 = if cfg!(debug_assertions) { 4 } else { 1 << 13 };

impl Database {
    /// Loads the rows of all atoms that the semi-joins leave.
    pub(super) fn load_reduced(
        &mut self,
        view: &mut Node,
        joins: (&JoinColumns, &[(VarId, &ValueSet)]),
        (births, baseline): (&mut Births, Baseline),
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut left = self.reduced(view, joins, (births, baseline), budget)?;
        unite(view, &mut left);
        let mut order: Vec<usize> = (0..left.len()).collect();
        order.sort_by_key(|&atom| left[atom].rows.len());
        if let Some(view) = view.view_mut() {
            view.before_load(&order);
        }
        for atom in order {
            let rows = std::mem::take(&mut left[atom]);
            self.load_rows(view, (atom, &rows), baseline, budget)?;
            view.end_load(&self.state.storage.dictionary, budget)?;
        }
        Ok(())
    }

    /// By atom, the rows that are left.
    fn reduced(
        &mut self,
        view: &Node,
        (joins, restrictions): (&JoinColumns, &[(VarId, &ValueSet)]),
        (births, baseline): (&mut Births, Baseline),
        budget: &Budget<'_>,
    ) -> Result<Vec<AtomRows>> {
        let from = births.readable();
        let rows = view.sources().map(|source| self.rows_of(source, from));
        let rows: Vec<u64> = rows.collect();
        let mut order: Vec<usize> = (0..joins.joined).collect();
        order.sort_by_key(|&atom| {
            // A block of several readers has the same rows whenever it is filled.
            let turn = match births.reading(view.inputs[atom].source) {
                Some(Reading::Mixed) => 0,
                _ if view.inputs[atom].atom.filter.is_some() || rows[atom] < FEW => 1,
                _ => 2,
            };
            (turn, rows[atom])
        });
        // A view may lack values that its tables have.
        let all = |atom: usize| match view.inputs[atom].source {
            Source::Table(_) => rows[atom],
            Source::View(_) => u64::MAX,
        };
        let mut left: Vec<AtomRows> = Vec::new();
        left.resize_with(view.inputs.len(), AtomRows::default);
        let mut values = Values::new(joins, restrictions);
        for &atom in &order {
            let place = (view, joins, atom);
            left[atom] = self.found(place, (&left, &values), (births, baseline), budget)?;
            values.take(atom, &left[atom], all(atom));
        }
        for &atom in order.iter().rev() {
            // An atom that loses no row has the values that are left.
            if may_be_reduced(view, atom) && values.reduce(atom, &mut left[atom]) {
                values.take(atom, &left[atom], all(atom));
            }
            budget.work(left[atom].rows.len() as u64)?;
        }
        for atom in joins.joined..rows.len() {
            let place = (view, joins, atom);
            left[atom] = self.found(place, (&left, &values), (births, baseline), budget)?;
        }
        Ok(left)
    }

    /// The rows of an atom that pass its filter and have values that are left.
    fn found(
        &mut self,
        (view, joins, atom): (&Node, &JoinColumns, usize),
        (left, values): (&[AtomRows], &Values<'_>),
        (births, baseline): (&mut Births, Baseline),
        budget: &Budget<'_>,
    ) -> Result<AtomRows> {
        let sets = values.of(atom);
        let asked = match births.reading(view.inputs[atom].source) {
            // The other readers meet more groups than this one.
            Some(Reading::Alike) if values.is_restricted => &[],
            _ => &sets[..],
        };
        self.fill_pending(view.inputs[atom].source, asked, births, budget)?;
        let from = births.readable();
        let before = left.iter().map(AtomRows::memory_usage).sum::<usize>() + values.memory_usage();
        let check = |database: &Self, found: &AtomRows| {
            database.check_grown(baseline, before + found.memory_usage(), budget)
        };
        let mut filter = match may_be_reduced(view, atom) {
            true => RowFilter::new(&view.inputs[atom].atom, sets)?,
            false => RowFilter::default(),
        };
        let columns: Vec<usize> = joins.atoms[atom].iter().map(|join| join.column).collect();
        let mut found = AtomRows {
            keys: vec![Vec::new(); columns.len()],
            ..AtomRows::default()
        };
        match view.inputs[atom].source {
            Source::Table(id) => {
                let mut batch = Batch::new();
                let mut read = vec![false; view.inputs[atom].atom.schema.len()];
                columns.iter().for_each(|&column| read[column] = true);
                batch.reset(&read);
                self.each_list_of_slots(id, &mut filter, budget, &mut |database, rows, slots| {
                    rows.read(slots, &mut batch);
                    found.take_keys(&columns, &batch);
                    found.rows.extend(slots);
                    check(database, &found)
                })?;
            }
            source @ Source::View(_) => {
                let needed = needed(view, atom);
                let scan = (&needed[..], &mut filter);
                self.each_chunk(source, scan, from, budget, &mut |database, chunk| {
                    found.take_keys(&columns, chunk.batch);
                    match &mut found.batch {
                        Some(batch) => batch.append(chunk.batch),
                        none => *none = Some(chunk.batch.clone()),
                    }
                    budget.work(chunk.batch.rows as u64)?;
                    check(database, &found)
                })?;
                let rows = found.batch.as_ref().map_or(0, |batch| batch.rows);
                found.rows.extend(0..rows as u32);
            }
        }
        Ok(found)
    }

    /// Applies the rows of an atom that are left, a chunk at a time.
    fn load_rows(
        &mut self,
        view: &mut Node,
        (atom, left): (usize, &AtomRows),
        baseline: Baseline,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let (source, needed) = (view.inputs[atom].source, needed(view, atom));
        let mut batch = Batch::new();
        batch.reset(&needed);
        let mut to = |database: &Self, chunk: Chunk<'_>| {
            database.load_chunk(view, atom, chunk, budget)?;
            database.check_grown(baseline, view.bytes(true) + left.memory_usage(), budget)
        };
        match (&left.batch, source) {
            (Some(all), _) => left.rows.chunks(CHUNK).try_for_each(|rows| {
                all.gather_into(rows, &mut batch);
                to(self, Chunk::of(&batch))
            }),
            (None, Source::Table(id)) => self.with_rows(id, |database, table| {
                left.rows.chunks(CHUNK).try_for_each(|slots| {
                    table.read(slots, &mut batch);
                    let (batch, slots) = (&batch, Some(slots));
                    to(database, Chunk { batch, slots })
                })
            }),
            (None, Source::View(_)) => Ok(()),
        }
    }
}

/// Whether rows can be left out at an atom. Not where one view is read at several: its rows have no slots by which equal
/// ones could be united.
fn may_be_reduced(view: &Node, atom: usize) -> bool {
    matches!(view.inputs[atom].source, Source::Table(_)) || is_read_once(view, atom)
}

/// Gives each atom the rows of its table that any atom has left.
fn unite(view: &Node, left: &mut [AtomRows]) {
    for atom in 0..left.len() {
        left[atom].keys.clear();
        let source = view.inputs[atom].source;
        let is_same = |&other: &usize| view.inputs[other].source == source;
        let others: Vec<usize> = (0..left.len()).filter(is_same).collect();
        if others.len() == 1 || others[0] != atom || left[atom].batch.is_some() {
            continue;
        }
        let mut rows: Vec<u32> = Vec::new();
        others
            .iter()
            .for_each(|&other| rows.append(&mut left[other].rows));
        rows.sort_unstable();
        rows.dedup();
        others
            .iter()
            .for_each(|&other| left[other].rows.clone_from(&rows));
    }
}
