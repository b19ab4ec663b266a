//! Views over views: the delta of one is applied to those that read it, in the same transaction.
//!
//! When the changes of tables are in, views are prepared in an order in which each comes behind those that it
//! reads. The delta of a view goes to its readers before they are prepared: so each view is prepared once, with
//! all its deltas, and a transaction is kept by all views or by none.
//!
//! Invariant: a view above equals its query over the results of those below, in every state that can be
//! seen; it keeps nothing of them but what its own plan keeps. Cost: the rows that change below, and the cost of these
//! rows above; a view that no change reaches costs nothing, nor does a group that looks as it did.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Error, Meter, Result, Type};
use ringview_view::{Delta, RowDelta};

use crate::database::Database;
use crate::names::Source;
use crate::table::Reader;
use crate::undo::Undo;

impl Database {
    /// Tells each table and each view who reads it. O(atoms), whenever the views change.
    pub(crate) fn wire(&mut self) {
        let mut tables = BTreeMap::new();
        for (index, table) in self.tables.iter_mut().enumerate() {
            table.forget_readers();
            tables.insert(table.id, index);
        }
        let ids = self.views.iter().enumerate();
        let views: BTreeMap<u64, usize> = ids.map(|(index, view)| (view.id, index)).collect();
        let mut read: Vec<(Vec<Reader>, Vec<bool>)> = Vec::with_capacity(self.views.len());
        for view in &self.views {
            read.push((Vec::new(), vec![false; view.info.schema.len()]));
        }
        for (index, view) in self.views.iter().enumerate() {
            for (atom, (source, bound)) in view.sources.iter().zip(&view.atoms).enumerate() {
                let reader = Reader { view: index, atom };
                match source {
                    Source::Table(id) => {
                        self.tables[tables[id]].add_reader(reader, &bound.columns);
                    }
                    Source::View(id) => {
                        let (readers, needed) = &mut read[views[id]];
                        readers.push(reader);
                        bound.columns.iter().for_each(|&at| needed[at] = true);
                    }
                }
            }
        }
        for (view, (readers, needed)) in self.views.iter_mut().zip(read) {
            // A static view moves no more.
            let is_read = !readers.is_empty() && !view.info.is_static;
            view.needed = is_read.then(|| view.by_output(&needed));
            view.choose_wanted();
            view.readers = readers;
        }
        self.order();
    }

    /// Puts the views in an order in which each comes behind those that it reads; else as they came.
    fn order(&mut self) {
        let below = |view: &crate::view::NamedView| {
            let views = view.sources.iter();
            views
                .filter(|source| matches!(source, Source::View(_)))
                .count()
        };
        let mut waits: Vec<usize> = self.views.iter().map(below).collect();
        let all = 0..self.views.len();
        let mut ready: BTreeSet<usize> = all.filter(|&view| waits[view] == 0).collect();
        self.order.clear();
        while let Some(next) = ready.pop_first() {
            self.order.push(next);
            for reader in &self.views[next].readers {
                waits[reader.view] -= 1;
                if waits[reader.view] == 0 {
                    ready.insert(reader.view);
                }
            }
        }
    }

    /// Ends the changes of a transaction: sums must fit, and the delta of each view goes on to the views above.
    /// The last step that can fail.
    pub(crate) fn prepare(&mut self, undo: &mut Undo, meter: &Meter<'_>) -> Result<()> {
        for at in 0..self.order.len() {
            let index = self.order[at];
            if !undo.touched[index] {
                continue;
            }
            let view = &mut self.views[index];
            let delta = view.prepare(&self.dictionary, meter)?;
            if delta.is_empty() {
                continue;
            }
            if view.is_logged() {
                let arrays = delta.arrays(&view.bound.outputs, &self.dictionary)?;
                undo.logged
                    .push((index, (arrays, delta.multiplicity.clone())));
            }
            if view.needed.is_some() {
                self.feed_readers(index, &delta, undo, meter)?;
            }
        }
        Ok(())
    }

    /// Applies the delta of a view to its readers.
    fn feed_readers(
        &mut self,
        index: usize,
        delta: &Delta,
        undo: &mut Undo,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let view = &mut self.views[index];
        let needed = view.needed.as_deref().unwrap_or_default();
        let batch = delta.encode(&view.bound.outputs, needed, &mut self.dictionary)?;
        let fields = view.info.schema.fields().iter();
        let texts = fields.filter(|field| field.ty == Type::Utf8).count();
        undo.words_left += texts * batch.rows;
        let readers = std::mem::take(&mut view.readers);
        let done = readers.iter().try_for_each(|reader| {
            undo.touched[reader.view] = true;
            let rows = RowDelta {
                atom: reader.atom,
                batch: &batch,
                sign: 1,
                dictionary: &self.dictionary,
            };
            let above = self.views[reader.view].apply(rows, meter);
            above.map_err(of_a_view)
        });
        self.views[index].readers = readers;
        done?;
        self.went_on(batch.rows, meter)
    }
}

/// The same, told of rows that no user handed in.
pub(crate) fn of_a_view(error: Error) -> Error {
    let (table, column, problem) = match error {
        Error::NotANumber { table, column, .. } => (
            table,
            column,
            "is NaN in a row that a view joins or groups by; NaN equals nothing, so leave such rows \
             out with WHERE or HAVING",
        ),
        Error::NullFeature { table, column, .. } => (
            table,
            column,
            "is NULL in a row, and a feature of COFACTOR; create the view with nulls='skip', or \
             leave such rows out with WHERE",
        ),
        other => return other,
    };
    Error::Value {
        place: format!("column {column:?} of view {table:?}"),
        problem: format!("{problem}; nothing of this transaction was applied"),
    }
}
