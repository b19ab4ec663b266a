//! Views over views: the delta of one is applied to those that read it, in the same transaction.
//!
//! When the changes of tables are in, views are prepared level by level: each comes behind those that it
//! reads, and those of one level are prepared on the threads that there are (`workers`). The delta of a view goes to its readers before they are prepared: so each view is prepared once, with
//! all its deltas, and a transaction is kept by all views or by none.
//!
//! Invariant: a view above equals its query over the results of those below, in every state that can be
//! seen; it keeps nothing of them but what its own plan keeps. Cost: the rows that change below, and the cost of these
//! rows above; a view that no change reaches costs nothing, nor does a group that looks as it did.

use ringview_core::{Budget, Error, Result};
use ringview_view::{Delta, RowDelta};

use super::feed::{ALONE, feed, picked};
use crate::state::State;
use crate::undo::Undo;

impl State {
    /// Ends the changes of a transaction: sums must fit, and the delta of each view goes on to the views above.
    /// The last step that can fail.
    pub(crate) fn prepare(&mut self, undo: &mut Undo, budget: &Budget<'_>) -> Result<()> {
        for level in 0..self.graph.levels.len() {
            let touched = self.graph.levels[level].iter();
            let touched = touched.filter(|&&index| undo.touched[index]);
            let mut deltas = std::mem::take(&mut undo.deltas);
            deltas.extend(touched.map(|&index| (index, Delta::default())));
            let done = self.prepare_level(&mut deltas, undo, budget);
            deltas.clear();
            undo.deltas = deltas;
            done?;
        }
        Ok(())
    }

    /// Prepares views of which none reads another; their deltas go on in order.
    fn prepare_level(
        &mut self,
        deltas: &mut [(usize, Delta)],
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let dictionary = &self.storage.dictionary;
        let own = deltas.iter_mut();
        let places = own.map(|(index, delta)| (*index, delta));
        let views = picked(&mut self.graph.nodes, places);
        let views = views.filter(|(view, _)| view.answered_from().is_none());
        (self.workers).each(undo.rows, views, budget, |(view, delta), budget| {
            *delta = view.prepare(None, dictionary, budget)?;
            Ok(())
        })?;
        for (index, delta) in &mut *deltas {
            if self.graph.nodes[*index].answered_from().is_some() {
                *delta = self.graph.prepare_facet(*index, dictionary, budget)?;
            }
            for &facet in &self.graph.nodes[*index].facets {
                undo.touched[facet] = true;
            }
        }
        for (index, delta) in deltas.iter().filter(|(_, delta)| !delta.is_empty()) {
            let view = &self.graph.nodes[*index];
            if view.is_logged() {
                let arrays = delta.arrays(&view.bound.outputs, &self.storage.dictionary)?;
                undo.logged
                    .push((*index, (arrays, delta.multiplicity.clone())));
            }
            if view.needed.is_some() {
                self.feed_readers(*index, delta, undo, budget)?;
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
        budget: &Budget<'_>,
    ) -> Result<()> {
        let view = &mut self.graph.nodes[index];
        let needed = view.needed.as_deref().unwrap_or_default();
        let batch = delta.encode(&view.bound.outputs, needed, &mut self.storage.dictionary)?;
        let fields = view.info.schema.fields().iter();
        let texts = fields.filter(|field| field.ty.is_interned()).count();
        undo.words_left += texts * batch.rows;
        let readers = std::mem::take(&mut view.readers);
        let dictionary = &self.storage.dictionary;
        let views = (&mut self.graph.nodes[..], &readers[..]);
        let done = feed(
            views,
            (&self.workers, batch.rows),
            undo,
            budget,
            ALONE,
            |view, atom, budget| {
                let rows = RowDelta {
                    atom,
                    batch: &batch,
                    sign: 1,
                    dictionary,
                };
                view.apply(rows, budget).map_err(of_a_view)
            },
        );
        self.graph.nodes[index].readers = readers;
        done?;
        self.went_on(batch.rows, budget)
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
