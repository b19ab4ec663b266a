//! Queries that are answered once: planned as a view, filled, read, and forgotten.
//!
//! Invariant: nothing that was there changes, and nothing stays: no node becomes known, no number is taken, and the strings
//! that were computed are rolled back. The rows are those that a view of the query would have. Cost: that of reading the
//! result, where what maintains it is there already: a view or block of an equal query, or one with its sums over the same
//! join. Else that of a birth over tables that do not change, which keeps less than one over tables that do.

use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Budget, Result, guarded};
use ringview_query::Query;
use ringview_view::Engine;

use super::Database;
use super::births::Births;
use super::drafts::{Drafts, Sharing, What};
use crate::Poll;
use crate::catalogue::choose::By;
use crate::graph::node::Node;
use crate::plan::Source;

/// Name of the query in errors.
const NAME: &str = "the query";

impl Database {
    /// The rows of a query over tables and views as they are now, in its order if it has one.
    ///
    /// # Errors
    /// As [`create_view`](Self::create_view), but for names that are taken.
    pub fn evaluate(&mut self, query: &Query, poll: Poll<'_>) -> Result<RecordBatch> {
        match self.maintained(query, &mut *poll)? {
            Some(found) => Ok(found),
            None => self.compute(query, poll),
        }
    }

    /// Reads for a change that only frees: a limit of memory is none meanwhile, for the change would give back what it lacks.
    pub fn freeing<T>(&mut self, read: impl FnOnce(&mut Database) -> T) -> T {
        self.state.memory.frees = true;
        let found = read(self);
        self.state.memory.frees = false;
        found
    }

    /// The same, where what maintains the rows is there already; nothing otherwise. O(query) until they are read.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn maintained(&mut self, query: &Query, poll: Poll<'_>) -> Result<Option<RecordBatch>> {
        let engines = self.engines.clone();
        let draft = self.drafted((query, &engines), false)?;
        match draft.0.is_there() {
            true => self.read_from(draft, poll).map(Some),
            false => Ok(None),
        }
    }

    /// The same, whatever is maintained: the query is planned over tables that do not change.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn compute(&mut self, query: &Query, poll: Poll<'_>) -> Result<RecordBatch> {
        let engines = self.engines.clone();
        let draft = self.drafted((query, &engines), true)?;
        self.read_from(draft, poll)
    }

    fn read_from(
        &mut self,
        (drafts, last): (Drafts<'_>, u64),
        poll: Poll<'_>,
    ) -> Result<RecordBatch> {
        let budget = self.state.budget(poll);
        let mut births = Births::over(std::mem::take(&mut self.state.graph));
        // Existing nodes are only read, so they stay intact even after a panic.
        let found = guarded(|| {
            self.ask(drafts, last, &mut births, &budget)?;
            let Some(node) = births.find(last) else {
                unreachable!("the node of a draft is made, or was there")
            };
            let answer = births.readable().answer(node);
            answer.rows(&self.state.storage.dictionary, &budget)
        });
        self.state.graph = births.graph;
        self.state.storage.dictionary.rollback();
        found
    }

    /// Makes the nodes of drafts, and fills the last one and what it reads.
    fn ask(
        &mut self,
        drafts: Drafts<'_>,
        last: u64,
        births: &mut Births,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut nodes: Vec<(String, Node)> = Vec::with_capacity(drafts.nodes.len());
        for draft in drafts.nodes {
            let name = &draft.name;
            let node = match draft.what {
                What::Own(planned) => self.own(name, planned)?,
                What::Facet(planned, of) => {
                    let mut own = nodes.iter().map(|(_, node)| node);
                    let union = own.find(|node| node.id == of);
                    Node::facet(name, planned, union.or_else(|| births.find(of)))?
                }
                What::Union(union, _) => self.union(name, union)?,
            };
            nodes.push((draft.name, node));
        }
        births.defer(nodes);
        self.fill_pending(Source::View(last), &[], births, budget)
    }

    /// The nodes that answer a query, and the number of the last; of tables that change, or of tables that do not.
    fn drafted<'q>(
        &self,
        (query, engines): (&'q Query, &'q [Arc<dyn Engine>]),
        is_static: bool,
    ) -> Result<(Drafts<'q>, u64)> {
        let mut catalogue = self.catalogue();
        catalogue.is_static = is_static;
        let mut drafts = Drafts::new(self.births, Sharing::Read, engines);
        let plans = guarded(|| catalogue.plans(query, By::Choice(None)))?;
        let last = drafts.add(NAME, plans, &self.state.graph);
        Ok((drafts, last))
    }
}
