//! Views over views: the delta of one is applied to those that read it, in the same transaction.
//!
//! After the changes of tables, views are prepared level by level: each after those that it reads, and those of one
//! level on the available threads (`workers`). The delta of a view is passed to its readers before they are prepared:
//! so each view is prepared once, with all its deltas, and a transaction is kept by all views or by none. All views of
//! a level are prepared before the first delta is passed on, so the error returned is the same for any number of
//! threads; a facet is prepared directly behind the node of its groups.
//!
//! Invariant: a view above equals its query over the results of those below, in every state that can be
//! seen; it keeps nothing of them but what its own plan keeps. Cost: the rows that change below, and the cost of these
//! rows above; a view that no change reaches costs nothing, nor does a group that looks as it did.

use ringview_core::{Budget, Error, Result};
use ringview_view::result_table::partial::Since;
use ringview_view::{Delta, RowDelta};

use super::deliver::{ALONE, deliver, picked};
use crate::graph::node::Node;
use crate::state::State;
use crate::undo::Undo;

impl State {
    /// Ends the changes of a transaction: sums must fit, and the delta of each view is passed to the views above. The
    /// last step that can fail.
    pub(crate) fn prepare(&mut self, undo: &mut Undo, budget: &Budget<'_>) -> Result<()> {
        for level in 0..self.graph.levels.len() {
            let mut deltas = std::mem::take(&mut undo.deltas);
            let done = self.prepare_level(level, &mut deltas, undo, budget);
            deltas.clear();
            undo.deltas = deltas;
            done?;
        }
        Ok(())
    }

    /// Prepares the touched views of a level, of which none reads another; their deltas are passed on in order.
    fn prepare_level(
        &mut self,
        level: usize,
        deltas: &mut Vec<(usize, Delta)>,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let State {
            graph,
            storage,
            workers,
            ..
        } = &mut *self;
        let (nodes, dictionary) = (&mut graph.nodes, &storage.dictionary);
        let level = graph.levels[level].iter().copied();
        let due = level.filter(|&at| is_due(&nodes[at], at, undo));
        deltas.extend(due.map(|at| (at, Delta::default())));
        if workers.are_several() {
            let due = deltas.iter_mut().map(|(at, delta)| (*at, delta));
            let views = picked(nodes, due);
            workers.each(undo.rows, views, budget, |(view, delta), budget| {
                *delta = view.prepare(None, dictionary, budget)?;
                Ok(())
            })?;
        } else {
            for (at, delta) in &mut *deltas {
                *delta = nodes[*at].prepare(None, dictionary, budget)?;
            }
        }
        for (at, delta) in &*deltas {
            self.hand_on(*at, delta, undo, budget)?;
            self.prepare_facets(*at, undo, budget)?;
        }
        Ok(())
    }

    /// Prepares what is answered from the groups of a view that is prepared.
    fn prepare_facets(&mut self, union: usize, undo: &mut Undo, budget: &Budget<'_>) -> Result<()> {
        for at in 0..self.graph.nodes[union].facets.len() {
            let facet = self.graph.nodes[union].facets[at];
            undo.touched[facet] = true;
            let dictionary = &self.storage.dictionary;
            let delta = self.graph.prepare_facet(facet, union, dictionary, budget)?;
            self.hand_on(facet, &delta, undo, budget)?;
        }
        Ok(())
    }

    /// Writes the delta of a prepared view to its logs, and applies it to its readers.
    fn hand_on(
        &mut self,
        index: usize,
        delta: &Delta,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let logged = self.log(index, delta, undo, budget);
        logged.map_err(|error| self.graph.nodes[index].failing(error))?;
        if !delta.is_empty() && self.graph.nodes[index].needed.is_some() {
            self.deliver_to_readers(index, delta, undo, budget)?;
        }
        Ok(())
    }

    fn log(&self, index: usize, delta: &Delta, undo: &mut Undo, budget: &Budget<'_>) -> Result<()> {
        let view = &self.graph.nodes[index];
        if view.logs.logs_partials() {
            let reading = (&self.storage.dictionary, budget);
            let partials = self.graph.partial(view, Since::LastCommit, reading)?;
            undo.partials.push((index, partials));
        }
        if !delta.is_empty() && view.logs.logs_rows() {
            let arrays = delta.arrays(&view.bound.outputs, &self.storage.dictionary)?;
            undo.logged
                .push((index, (arrays, delta.multiplicity.clone())));
        }
        Ok(())
    }

    /// Applies the delta of a view to its readers.
    fn deliver_to_readers(
        &mut self,
        index: usize,
        delta: &Delta,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        debug_assert!(
            (self.graph.nodes[index].readers.iter())
                .all(|reader| self.graph.is_below(index, reader.view)),
            "the readers of a view are prepared behind it"
        );
        let view = &mut self.graph.nodes[index];
        let needed = view.needed.as_deref().unwrap_or_default();
        let batch = delta.encode(&view.bound.outputs, needed, &mut self.storage.dictionary);
        let batch = batch.map_err(|error| view.failing(error))?;
        let fields = view.info.schema.fields().iter();
        let texts = fields.filter(|field| field.ty.is_interned()).count();
        undo.words_left += texts * batch.rows;
        let readers = std::mem::take(&mut view.readers);
        let dictionary = &self.storage.dictionary;
        let views = (&mut self.graph.nodes[..], &readers[..]);
        let done = deliver(
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

/// Whether a node was touched and has a state of its own; a facet is prepared behind the node of its groups.
fn is_due(node: &Node, at: usize, undo: &Undo) -> bool {
    undo.touched[at] && node.answered_from().is_none()
}

/// The same error, in terms of a row that a view computed and no user inserted.
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
