//! Nodes that are filled from the rows that are there.
//!
//! Invariant: rows are read of tables, of nodes that are known, and of those of the same birth that are filled already.
//! Cost: that of loading all rows of what a node reads, in chunks; what is static first, so that what only it needs can
//! be freed, then the smallest, so that the many rows of a fact table are propagated through the dimensions that they
//! meet. Columns that no filter reads are read only of rows that pass; what never changes is loaded without rows that
//! meet none ([`reduced`](super::reduced)).

use ringview_core::{Budget, Error, Result};
use ringview_query::VarId;
use ringview_relation::ValueSet;
use ringview_view::RowDelta;

use super::Database;
use super::births::Births;
use super::sources::{Chunk, is_read_once, needed};
use crate::graph::facets::NodeAnswer;
use crate::graph::node::Node;
use crate::plan::{Input, Source};
use crate::reduction::{JoinColumns, RowFilter};
use crate::transaction::prepare::of_a_view;

impl Database {
    /// Gives a node without rows those of what it reads; of some variables, rows with a value that is in a set are enough.
    pub(super) fn fill(
        &mut self,
        name: &str,
        view: &mut Node,
        restrictions: &[(VarId, &ValueSet)],
        births: &mut Births,
        budget: &Budget<'_>,
    ) -> Result<()> {
        self.check_has_rows(name, view)?;
        if view.row_map().is_some() || view.answered_from().is_some() {
            // It keeps no rows: they pass through it when its readers are filled.
            return Ok(());
        }
        if let Some(timed) = view.timed() {
            let Some(now) = self.state.now else {
                return Err(no_clock(name));
            };
            timed.advance(now, budget)?;
        }
        let baseline = self.baseline(births);
        match joins_to_reduce(view, restrictions) {
            Some(joins) => {
                self.load_reduced(view, (&joins, restrictions), (births, baseline), budget)?
            }
            None => self.load(view, true, (births, baseline), budget)?,
        }
        view.view_mut().into_iter().for_each(|view| view.freeze());
        self.load(view, false, (births, baseline), budget)?;
        view.prepare(None, &self.state.storage.dictionary, budget)?;
        let dictionary = &self.state.storage.dictionary;
        view.view_mut()
            .into_iter()
            .for_each(|view| view.commit(dictionary));
        Ok(())
    }

    /// Refuses a node that reads a table whose rows are not kept.
    pub(super) fn check_has_rows(&self, name: &str, view: &Node) -> Result<()> {
        for source in view.sources() {
            let tables = &self.state.storage.tables;
            let table = tables.iter().find(|t| Source::Table(t.id) == source);
            let gone = table.filter(|table| table.rows.is_none() && !table.is_empty());
            if let Some(table) = gone {
                return Err(rows_are_gone(name, &table.name));
            }
        }
        Ok(())
    }

    /// Applies the rows of what is static, or of what is not.
    fn load(
        &mut self,
        view: &mut Node,
        is_static: bool,
        (births, baseline): (&mut Births, Baseline),
        budget: &Budget<'_>,
    ) -> Result<()> {
        let inputs = view.inputs.iter().enumerate();
        let inputs = inputs.filter(|(_, input)| input.atom.is_static == is_static);
        let mut atoms: Vec<usize> = inputs.map(|(atom, _)| atom).collect();
        for &atom in &atoms {
            self.fill_pending(view.inputs[atom].source, &[], births, budget)?;
        }
        let from = births.readable();
        atoms.sort_by_cached_key(|&atom| self.rows_of(view.inputs[atom].source, from));
        if let Some(view) = view.view_mut() {
            view.before_load(&atoms);
        }
        for index in atoms {
            let (source, needed) = (view.inputs[index].source, needed(view, index));
            let mut filter = match is_read_once(view, index) {
                true => RowFilter::new(&view.inputs[index].atom, Vec::new())?.or_open(),
                false => RowFilter::default(),
            };
            let scan = (&needed[..], &mut filter);
            self.each_chunk(source, scan, from, budget, &mut |database, chunk| {
                database.load_chunk(view, index, chunk, budget)?;
                database.check_grown(baseline, view.bytes(true), budget)
            })?;
            view.end_load(&self.state.storage.dictionary, budget)?;
        }
        Ok(())
    }

    /// Applies a chunk of the rows of an atom.
    pub(super) fn load_chunk(
        &self,
        view: &mut Node,
        atom: usize,
        chunk: Chunk<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let rows = RowDelta {
            atom,
            batch: chunk.batch,
            sign: 1,
            dictionary: &self.state.storage.dictionary,
        };
        let done = view.load(rows, budget);
        done.map_err(|error| match chunk.slots {
            Some(slots) => error.counted_by(|row| slots[row as usize].into()),
            None => of_a_view(error),
        })?;
        budget.done(chunk.batch.rows as u64)
    }

    /// The memory held before a node is filled.
    fn baseline(&self, births: &Births) -> Baseline {
        let known = births.family.iter().chain(&births.graph.nodes);
        let known: usize = known.map(|node| node.bytes(true)).sum();
        Baseline {
            held: self.state.counted_bytes() + known as u64,
            strings: self.state.storage.dictionary.memory_usage(),
        }
    }

    /// Returns an error if this many bytes more, and the new strings, exceed the limit.
    pub(super) fn check_grown(
        &self,
        baseline: Baseline,
        bytes: usize,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let strings = self.state.storage.dictionary.memory_usage();
        let grown = (strings.saturating_sub(baseline.strings) + bytes) as u64;
        self.state.check_memory(baseline.held + grown, budget)
    }

    /// Applies all rows of one view at an atom of another, or takes them back.
    pub(crate) fn pass_on(
        &mut self,
        below: (&Node, &NodeAnswer<'_>),
        (atom, sign): (usize, i64),
        view: &mut Node,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let needed = needed(view, atom);
        let scan = (&needed[..], &mut RowFilter::default());
        self.each_shown(below, scan, budget, &mut |database, chunk| {
            let rows = RowDelta {
                atom,
                batch: chunk.batch,
                sign,
                dictionary: &database.state.storage.dictionary,
            };
            let done = view.apply(rows, budget);
            done.map_err(of_a_view)?;
            budget.done(chunk.batch.rows as u64)
        })
    }
}

/// Bytes that are held before a node is filled.
#[derive(Clone, Copy)]
pub(super) struct Baseline {
    held: u64,
    strings: usize,
}

/// The join columns of a node that is filled by rows that never change, where they can leave rows of others out.
fn joins_to_reduce(view: &Node, restrictions: &[(VarId, &ValueSet)]) -> Option<JoinColumns> {
    let inputs = &view.inputs;
    if view.bound.rows.is_some() || !inputs.iter().all(|input| input.atom.is_static) {
        return None;
    }
    let leaves_out =
        |input: &Input| input.atom.filter.is_some() || matches!(input.source, Source::View(_));
    let some = inputs.iter().any(leaves_out);
    let restrictions: Vec<VarId> = restrictions.iter().map(|(variable, _)| *variable).collect();
    let joins =
        (some || !restrictions.is_empty()).then(|| JoinColumns::of(&view.bound, &restrictions))?;
    (joins.classes > 0).then_some(joins)
}

fn no_clock(view: &str) -> Error {
    Error::Unsupported {
        what: format!("view {view:?}, whose rows depend on now()"),
        why: "the clock of the database is not set; it is the user's, and no other is read"
            .to_owned(),
        instead: "set the clock first: db.advance(..)".to_owned(),
    }
}

fn rows_are_gone(view: &str, table: &str) -> Error {
    Error::Unsupported {
        what: format!("creating view {view:?} over table {table:?}, which has rows already"),
        why: "with trust_deletes rows are not kept, so there is nothing to fill it from".to_owned(),
        instead: "create the view while the table is empty, or the database without trust_deletes"
            .to_owned(),
    }
}
