//! Samples of joins: views that an engine of their own keeps, which users request by name and the
//! database never chooses.
//!
//! Invariant: a sample is a view like others: it is read, followed, explained and dropped as they are. Cost:
//! see `ringview_sampling`.

use std::any::Any;
use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Error, Result};
use ringview_query::Query;
use ringview_sampling::{JoinSize, SampleView, Samples};
use ringview_view::Engine;

use super::Database;
use super::birth::Wanted;
use crate::Poll;
use crate::catalogue::choose::By;
use crate::graph::node::Node;

impl Database {
    /// Declares a sample of `k` rows of a join and fills it from the rows that are there.
    ///
    /// # Errors
    /// As [`create_view`](Self::create_view); `Unsupported` for what is not the rows of a join,
    /// `Value` for a k of 0, `Memory` for one that there is no room for.
    pub fn create_sample(
        &mut self,
        name: &str,
        query: &Query,
        (k, seed): (u64, u64),
        poll: Poll<'_>,
    ) -> Result<()> {
        self.catalogue().check_new(name)?;
        let engine: Arc<dyn Engine> = Arc::new(Samples { k, seed });
        let budget = self.state.budget(poll);
        let by = By::This(&engine);
        let newborn = self.bear(&[Wanted { name, query, by }], &budget)?;
        self.adopt_recorded(newborn);
        Ok(())
    }

    /// Whether a view is a sample. O(1).
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn is_sample(&self, name: &str) -> Result<bool> {
        // A suspended view has no node, and no sample is suspended.
        let is_suspended = self.state.graph.declared(name)?.suspension.is_some();
        Ok(!is_suspended && sample(self.state.graph.view(name)?).is_some())
    }

    /// Number of rows of the join of which a view is a sample. O(rows of the tables).
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` if the view is no sample.
    pub fn sample_join_size(&self, name: &str) -> Result<JoinSize> {
        Ok(self.sample(name)?.join_size())
    }

    /// Rows drawn from the whole join of which a view is a sample: how many, the seed, and whether each is
    /// drawn from all, or from those not drawn yet; with equal chances, or in proportion to the product of
    /// some columns.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` if the view is no sample; `Value` if there are no rows to be drawn
    /// again and again; `Memory`; what `poll` says; as of [`SampleView::draw_weighted`].
    pub fn sample_draw(
        &self,
        name: &str,
        drawn: (u64, u64, bool),
        weight: Option<&[String]>,
        poll: Poll<'_>,
    ) -> Result<RecordBatch> {
        let (sample, budget) = (self.sample(name)?, self.state.reading(poll));
        match weight {
            None => sample.draw_rows(drawn, &self.state.storage.dictionary, &budget),
            Some(weight) => {
                sample.draw_weighted(drawn, weight, &self.state.storage.dictionary, &budget)
            }
        }
    }

    /// State of a sample as bytes: its drawn rows and its random numbers. With the rows of its tables it is the sample.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` if the view is no sample.
    pub fn sample_state(&self, name: &str) -> Result<Vec<u8>> {
        self.sample(name)?.to_bytes(&self.state.storage.dictionary)
    }

    /// Restores a sample from such bytes, in place of its state. Its tables must have the rows of then, and the sample
    /// be new: its followers receive no changes.
    ///
    /// # Errors
    /// As [`sample_state`](Self::sample_state); `Unsupported` if views read it; `Snapshot` for bytes that are no
    /// state of this sample, which is then as before.
    pub fn resume_sample(&mut self, name: &str, state: &[u8]) -> Result<()> {
        self.sample(name)?;
        let at = self.state.graph.index(name)?;
        if !self.state.graph.nodes[at].readers.is_empty() {
            return Err(Error::Unsupported {
                what: format!("letting the sample {name:?} go on from bytes"),
                why: "views read it, which would not be told".to_owned(),
                instead: "do it before they are created".to_owned(),
            });
        }
        let view = self.state.graph.nodes[at].view_mut();
        match view.and_then(|view| (&mut **view as &mut dyn Any).downcast_mut::<SampleView>()) {
            Some(sample) => sample.from_bytes(state, &self.state.storage.dictionary),
            None => unreachable!("it was one just now"),
        }
    }

    fn sample(&self, name: &str) -> Result<&SampleView> {
        sample(self.state.graph.view(name)?).ok_or_else(|| Error::Unsupported {
            what: format!("reading view {name:?} as a sample"),
            why: "it is a view of all rows".to_owned(),
            instead: "create it with create_sample".to_owned(),
        })
    }
}

/// The sample of a node, if it is one.
pub(super) fn sample(node: &Node) -> Option<&SampleView> {
    (node.view()? as &dyn Any).downcast_ref()
}
