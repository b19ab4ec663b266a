//! Partials of views: what a view over a part of the rows adds to that over all, and their sums.
//!
//! Invariant: a view into which partials are merged becomes their sum, and what it was before is one of them; from then
//! on it receives partials, and no rows. A merge is a transaction: the views above change with it, and a failure leaves
//! all as it was. Cost: O(groups and values) of the partial; the first merge takes that of the view itself too.

use std::mem::replace;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Error, Result};
use ringview_view::Context;
use ringview_view::result_table::partial::{Since, merged_in, merged_view, partial_schema};

use super::Database;
use super::birth::Wanted;
use super::sample::sample;
use crate::catalogue::choose::By;
use crate::graph::node::{Node, NodeState};
use crate::transaction::chunks::chunks;
use crate::undo::Undo;
use crate::{OnCommit, Poll};

impl Database {
    /// The columns of the partials of a view.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` for a sample.
    pub fn partial_schema(&self, name: &str) -> Result<SchemaRef> {
        let view = self.state.graph.view(name)?;
        refuse_sample(view)?;
        partial_schema(&view.bound, &self.answer(name)?.schema())
    }

    /// Partial of a view, to be merged into the same view over more rows: its groups with their whole state as bytes,
    /// or its rows with multiplicities. One batch at least. O(groups and values).
    ///
    /// # Errors
    /// As `partial_schema`; `Memory`; what `poll` returns.
    pub fn view_partials(&self, name: &str, poll: Poll<'_>) -> Result<Vec<RecordBatch>> {
        let (view, budget) = (self.state.graph.view(name)?, self.state.reading(poll));
        refuse_sample(view)?;
        let reading = (&self.state.storage.dictionary, &budget);
        self.state.graph.partial(view, Since::Ever, reading)
    }

    /// Adds a partial to a view, as a transaction.
    ///
    /// # Errors
    /// `UnknownView`; what is no partial of this view, see [`Merged::merge`](ringview_view::result_table::partial::Merged::merge);
    /// `Unsupported` at the first merge if somebody follows the view, or for a sample; `Overflow`; `Memory`; what
    /// `poll` returns. Nothing has changed then.
    pub fn merge_partials(
        &mut self,
        name: &str,
        rows: &[RecordBatch],
        poll: Poll<'_>,
    ) -> Result<()> {
        self.merge_partials_with(name, rows, poll, &mut || Ok(()))
    }

    /// The same; `keep` is called once it is known that nothing else can fail.
    ///
    /// # Errors
    /// The same; what `keep` returns.
    pub fn merge_partials_with(
        &mut self,
        name: &str,
        rows: &[RecordBatch],
        poll: Poll<'_>,
        keep: OnCommit<'_>,
    ) -> Result<()> {
        let budget = self.state.budget(poll);
        self.unshare(name, &budget)?;
        let index = self.state.graph.index(name)?;
        let mut undo = self.state.undo.take().unwrap_or_default();
        undo.begin(self.state.graph.nodes.len());
        undo.touched[index] = true;
        let merged = self.begin_merge(index, &budget).and_then(|before| {
            let merged = self
                .merge((index, rows), &mut undo, &budget)
                .and_then(|()| self.state.prepare(&mut undo, &budget))
                .and_then(|()| keep());
            match merged {
                Ok(()) => {
                    self.state.commit(&mut undo);
                    // Groups that it alone was answered from.
                    self.sweep();
                    Ok(())
                }
                Err(problem) => {
                    self.state.roll_back(&mut undo);
                    if let Some(before) = before {
                        self.state.graph.nodes[index].state = before;
                        self.state.graph.nodes[index].merged = false;
                        self.state.wire();
                    }
                    self.state.recount();
                    Err(problem)
                }
            }
        });
        self.state.undo = Some(undo);
        merged
    }

    /// Whether partials were merged into a view: then its rows are not there.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn is_merged(&self, name: &str) -> Result<bool> {
        Ok(self.state.graph.view(name)?.merged)
    }

    /// Gives a view a node of its own, for what is merged into it is not merged into others.
    fn unshare(&mut self, name: &str, budget: &Budget<'_>) -> Result<()> {
        let (place, index) = (
            self.state.graph.declared_index(name)?,
            self.state.graph.index(name)?,
        );
        let node = &mut self.state.graph.nodes[index];
        let id = node.id;
        // Nothing is like it from now on, not even what is born here.
        let Some(signature) = node.signature.take() else {
            return Ok(());
        };
        if self.state.graph.is_alone(id) {
            return Ok(());
        }
        let query = self.state.graph.declared[place].query.clone();
        let engine = By::Choice(Some(&signature.engine));
        let wanted = Wanted {
            name,
            query: &query,
            by: engine,
        };
        let born = self.bear(&[wanted], budget);
        self.state.graph.nodes[index].signature = Some(signature);
        let mut born = born?;
        if let Some(node) = born.nodes.last_mut() {
            node.signature = None;
        }
        self.state.graph.declared[place].node = born.view().node;
        self.state.graph.nodes.extend(born.nodes);
        self.state.wire();
        self.state.count();
        Ok(())
    }

    /// Makes a view one that partials are merged into, unless it is; what it was before.
    fn begin_merge(&mut self, index: usize, budget: &Budget<'_>) -> Result<Option<NodeState>> {
        let trusting = self.options.trust_deletes;
        let view = &self.state.graph.nodes[index];
        if view.merged {
            return Ok(None);
        }
        if view.info.is_static && !view.readers.is_empty() {
            return Err(Error::Static {
                table: view.name.clone(),
                views: self.state.graph.readers_of(&view.name),
            });
        }
        if view.logs.were_followed() {
            return Err(Error::Unsupported {
                what: format!("merging a partial into view {:?}, which is followed", view.name),
                why: "with the first merge it becomes a view of partials, and begins anew to tell what \
                      moves"
                    .to_owned(),
                instead: "merge first, then ask for its changes; or merge into another view of this query"
                    .to_owned(),
            });
        }
        refuse_sample(view)?;
        let graph = &self.state.graph;
        let reading = (&self.state.storage.dictionary, budget);
        let own = graph.partial(view, Since::Ever, reading)?;
        let mut kept = merged_view(&view.bound, &graph.answer(view).schema())?;
        let made = own.iter().try_for_each(|rows| match merged_in(&mut *kept) {
            Some(merged) => merged.merge(rows, (0, trusting), &mut self.state.storage.dictionary),
            None => Ok(()),
        });
        let made = made.and_then(|()| {
            kept.prepare(&Context {
                dictionary: &self.state.storage.dictionary,
                budget,
                wanted: None,
            })
        });
        if let Err(problem) = made {
            self.state.forget_fresh_strings(&[]);
            return Err(problem);
        }
        kept.commit(&self.state.storage.dictionary);
        for view in &mut self.state.graph.declared {
            if view.node == self.state.graph.nodes[index].id {
                view.own = None;
            }
        }
        let before = replace(
            &mut self.state.graph.nodes[index].state,
            NodeState::View(kept),
        );
        self.state.wire();
        Ok(Some(before))
    }

    fn merge(
        &mut self,
        (index, rows): (usize, &[RecordBatch]),
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let trusting = self.options.trust_deletes;
        for (first, chunk) in chunks(rows) {
            let view = &mut self.state.graph.nodes[index];
            let Some(merged) = view.view_mut().and_then(|view| merged_in(&mut **view)) else {
                unreachable!("the merge has begun")
            };
            let before = self.state.storage.dictionary.fresh();
            let done = merged.merge(
                &chunk,
                (first, trusting),
                &mut self.state.storage.dictionary,
            );
            done.map_err(|error| error.in_view(&view.name))?;
            undo.words_left += self.state.storage.dictionary.fresh() - before;
            self.state.done(chunk.num_rows(), budget)?;
        }
        self.state.graph.nodes[index].merged = true;
        Ok(())
    }
}

pub(super) fn refuse_sample(view: &Node) -> Result<()> {
    match sample(view).is_some() {
        false => Ok(()),
        true => Err(Error::Unsupported {
            what: "the partial of a sample".to_owned(),
            why: "a sample of the whole is no sum of samples of parts".to_owned(),
            instead: "take the partial of a view of the rows, and sample what they are merged into"
                .to_owned(),
        }),
    }
}
