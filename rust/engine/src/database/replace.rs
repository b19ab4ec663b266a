//! Replacement of a view by another, and removal of all that a dropped view alone used.
//!
//! Invariant: views that read the replaced one keep their definitions. They delete its old rows and insert the new
//! ones, as one transaction, so that their followers receive the changes. This requires the columns that they read at
//! their positions, and the properties that their plans rely on: else the replacement is refused, and nothing has
//! changed. Cost: that of creating a view; if other views read it, also the propagation of all its old rows and all its
//! new ones.

use ringview_core::{Budget, Error, Result};
use ringview_query::Query;

use super::Database;
use super::birth::Wanted;
use crate::catalogue::choose::By;
use crate::graph::declared::{Declared, Newborn};
use crate::graph::node::Node;
use crate::plan::Source;
use crate::storage::table::Reader;
use crate::undo::Undo;
use crate::{OnCommit, Poll};

impl Database {
    /// Forgets a view.
    ///
    /// # Errors
    /// `UnknownView`; `InUse` if another view reads it.
    pub fn drop_view(&mut self, name: &str) -> Result<()> {
        self.can_drop_view(name)?;
        let maintainer = self.maintainer(name)?;
        let view = self.state.graph.undeclare(name)?;
        let mut gone = self.state.graph.sweep();
        self.record_dropped(view, maintainer, &mut gone);
        self.swept(gone);
        Ok(())
    }

    /// The views that read a table or a view on any way, each behind those that read it. O(views above it, squared).
    ///
    /// # Errors
    /// `UnknownTable` if there is neither a table nor a view of the name.
    pub fn views_above(&self, name: &str) -> Result<Vec<String>> {
        if self.state.graph.declared(name).is_err() {
            self.state.storage.index(name)?;
        }
        Ok(self.state.graph.above(name))
    }

    /// Whether a view could be forgotten, and its number.
    ///
    /// # Errors
    /// As [`drop_view`](Self::drop_view).
    pub fn can_drop_view(&self, name: &str) -> Result<u64> {
        let id = self.state.graph.declared(name)?.id;
        let views = self.state.graph.readers_of(name);
        match views.is_empty() {
            true => Ok(id),
            false => Err(in_use(name, views)),
        }
    }

    /// As [`create_view`](Self::create_view), in the place of the view of this name, if there is one; it stays if that
    /// fails. Views that read it read the new one from then on.
    ///
    /// # Errors
    /// The same, but for a view of this name; `InUse` if views that read it could not read the new one as
    /// they are.
    pub fn replace_view(&mut self, name: &str, query: &Query, poll: Poll<'_>) -> Result<()> {
        self.replace_view_with(name, query, None, poll, &mut || Ok(()))
    }

    /// The same, kept by the engine of a name; `keep` is called once it is known that nothing else can fail.
    ///
    /// # Errors
    /// The same, and as [`create_view_with`](Self::create_view_with); what `keep` returns.
    pub fn replace_view_with(
        &mut self,
        name: &str,
        query: &Query,
        engine: Option<&str>,
        poll: Poll<'_>,
        keep: OnCommit<'_>,
    ) -> Result<()> {
        if self.state.graph.declared_index(name).is_err() {
            self.create_view_with(name, query, engine, poll)?;
            return keep().or_else(|problem| self.drop_view(name).and(Err(problem)));
        }
        let readers = self.state.graph.readers_of(name);
        let budget = self.state.budget(poll);
        // It is out of reach, so that the new one cannot read it; its nodes stay until that has its place.
        let old = self.state.graph.undeclare(name)?;
        let by = By::Choice(engine);
        let done = self
            .bear(&[Wanted { name, query, by }], &budget)
            .and_then(|new| self.take_over(&old, new, (readers, keep), &budget));
        if done.is_err() {
            self.state.graph.declare(old);
        }
        self.sweep();
        done
    }

    /// Puts a new view in the place of an old one, for those that read that, too.
    fn take_over(
        &mut self,
        old: &Declared,
        new: Newborn,
        (readers, keep): (Vec<String>, OnCommit<'_>),
        budget: &Budget<'_>,
    ) -> Result<()> {
        let graph = &self.state.graph;
        let (from, to) = (Source::View(old.id), Source::View(new.view().id));
        let (was, is) = (old.node, new.view().node);
        let info = |id: u64| {
            let mut nodes = graph.nodes.iter().chain(&new.nodes);
            nodes.find(|node| node.id == id).map(|node| &node.info)
        };
        // Views above a suspended one are suspended, too, and read nothing of it.
        let is_suspended = old.suspension.is_some();
        let fits = match (info(was), info(is)) {
            (Some(was), Some(is)) => graph.readers_can_read(from, (was, is)),
            _ => is_suspended,
        };
        let above = graph.above(&old.name);
        let reads = new.view().query.reads();
        if !fits || above.iter().any(|view| reads.contains(&**view)) {
            return Err(in_use(&old.name, readers));
        }
        self.state.graph.redirect(from, to);
        self.adopt(new);
        self.state.wire();
        let done = match readers.is_empty() || was == is || is_suspended {
            true => keep(),
            false => self.swap_rows((was, is), to, budget, keep),
        };
        if done.is_err() {
            // The sweep removes its nodes.
            drop(self.state.graph.undeclare(&old.name));
            self.state.graph.redirect(to, from);
        }
        done
    }

    /// Deletes the rows of the old node and inserts those of the new one in their readers, as one transaction.
    fn swap_rows(
        &mut self,
        nodes: (u64, u64),
        view: Source,
        budget: &Budget<'_>,
        keep: OnCommit<'_>,
    ) -> Result<()> {
        let mut undo = self.state.undo.take().unwrap_or_default();
        undo.begin(self.state.graph.nodes.len());
        let swapped = self
            .swap_at_readers(nodes, view, &mut undo, budget)
            .and_then(|()| self.state.prepare(&mut undo, budget))
            .and_then(|()| keep());
        match &swapped {
            Ok(()) => self.state.commit(&mut undo),
            Err(_) => {
                self.state.roll_back(&mut undo);
                self.state.recount();
            }
        }
        self.state.undo = Some(undo);
        swapped
    }

    fn swap_at_readers(
        &mut self,
        (old, new): (u64, u64),
        view: Source,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let graph = &self.state.graph;
        // The new node may have other readers, by the name of another view.
        let reads = |reader: &&Reader| graph.nodes[reader.view].inputs[reader.atom].source == view;
        let readers = graph
            .node(new)
            .map(|node| node.readers.iter().filter(reads));
        let readers: Vec<Reader> = readers.into_iter().flatten().copied().collect();
        for reader in readers {
            undo.touched[reader.view] = true;
            // Taken out of the graph, as it changes while other nodes are read.
            let mut graph = std::mem::take(&mut self.state.graph);
            let mut above = graph.nodes.remove(reader.view);
            let mut pass = |id: u64, sign: i64| match graph.node(id) {
                Some(node) => {
                    let below = (node, &graph.answer(node));
                    self.pass_on(below, (reader.atom, sign), &mut above, budget)
                }
                None => Ok(()),
            };
            let done = pass(old, -1).and_then(|()| pass(new, 1));
            graph.nodes.insert(reader.view, above);
            self.state.graph = graph;
            done?;
            self.state.went_on(0, budget)?;
        }
        Ok(())
    }

    /// Removes the nodes that no view depends on any more, and their strings.
    pub(super) fn sweep(&mut self) {
        let gone = self.state.graph.sweep();
        self.swept(gone);
    }

    fn swept(&mut self, gone: Vec<Node>) {
        self.state.wire();
        self.release_nodes(gone);
        self.state.recount();
    }

    /// Counts the strings of removed nodes as possibly unused, and collects them.
    pub(super) fn release_nodes(&mut self, gone: Vec<Node>) {
        if gone.is_empty() {
            return;
        }
        let words = gone
            .iter()
            .filter_map(|node| Some(node.view()?.string_words()));
        self.state.storage.words_left(words.sum());
        self.state.collect_strings();
    }
}

fn in_use(name: &str, views: Vec<String>) -> Error {
    Error::InUse {
        kind: "view",
        name: name.to_owned(),
        views,
    }
}
