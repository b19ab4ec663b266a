//! Views over views: what moved in one is a delta of those that read it, in the same transaction.
//!
//! When the changes of tables are in, views settle in an order in which each comes behind those that it
//! reads. What moved in a view goes to its readers before they settle: so each view settles once, with
//! all that came to it on whatever ways, and a transaction is kept by all views or by none.
//!
//! Invariant: a view above equals its query over the results of those below, in every state that can be
//! seen; it keeps nothing of them but what its own plan keeps. Cost: what moved below, and what these
//! rows cost above; a view that no change reaches costs nothing, and where nothing moved (a group that
//! looks as it did) nothing is told.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Budget, Error, Result, Type};
use ringview_view::RowDelta;

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
            view.kept.feed(is_read.then_some(&needed[..]));
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

    /// Ends the changes of a transaction: what is kept and shown must fit, and what moved goes on to the
    /// views above. The last step that can fail.
    pub(crate) fn settle(&mut self, undo: &mut Undo, budget: &Budget<'_>) -> Result<()> {
        for at in 0..self.order.len() {
            let index = self.order[at];
            if !undo.touched[index] {
                continue;
            }
            let view = &mut self.views[index];
            view.settle(&self.dictionary, budget)?;
            if !view.readers.is_empty() {
                self.feed_readers(index, undo, budget)?;
            }
        }
        Ok(())
    }

    /// Tells the readers of a view that has settled what moved in it.
    fn feed_readers(&mut self, index: usize, undo: &mut Undo, budget: &Budget<'_>) -> Result<()> {
        let moved = self.views[index].kept.moved(&mut self.dictionary, budget)?;
        if moved.rows == 0 {
            return Ok(());
        }
        let fields = self.views[index].info.schema.fields().iter();
        let texts = fields.filter(|field| field.ty == Type::Utf8).count();
        undo.words_left += texts * moved.rows;
        let readers = std::mem::take(&mut self.views[index].readers);
        let done = readers.iter().try_for_each(|reader| {
            undo.touched[reader.view] = true;
            let rows = RowDelta {
                atom: reader.atom,
                batch: &moved,
                sign: 1,
                dictionary: &self.dictionary,
            };
            let above = self.views[reader.view].apply(rows, budget);
            above.map_err(of_a_view)
        });
        self.views[index].readers = readers;
        done?;
        self.went_on(moved.rows, budget)
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
