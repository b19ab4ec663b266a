//! A view in the place of another, and what goes with a view that is dropped.
//!
//! Invariant: views that read the one that is replaced keep what they are; they take its old rows back and
//! the new ones in, as one transaction, so that whoever follows them is told. That needs the columns that
//! they read where they were, and what their plans rest on: else it is refused, and nothing has
//! changed. Cost: that of a birth; where the view is read, all its old rows and all its new ones above.

use ringview_core::{Budget, Error, Result};
use ringview_query::Query;

use super::Database;
use crate::catalogue::choose::By;
use crate::graph::declared::{Declared, Newborn};
use crate::plan::Source;
use crate::storage::table::Reader;
use crate::undo::Undo;
use crate::{Keep, Poll};

impl Database {
    /// Forgets a view.
    ///
    /// # Errors
    /// `UnknownView`; `InUse` if another view reads it.
    pub fn drop_view(&mut self, name: &str) -> Result<()> {
        self.can_drop_view(name)?;
        let place = self.state.graph.place(name)?;
        self.state.graph.declared.remove(place);
        self.sweep();
        Ok(())
    }

    /// Whether a view could be forgotten, and its number.
    ///
    /// # Errors
    /// As [`drop_view`](Self::drop_view).
    pub fn can_drop_view(&self, name: &str) -> Result<u64> {
        let id = self.state.graph.declared(name)?.id;
        let views = self.state.graph.readers_of(Source::View(id));
        match views.is_empty() {
            true => Ok(id),
            false => Err(in_use(name, views)),
        }
    }

    /// As [`create_view`](Self::create_view), in the place of the view of this name, if there is one; it
    /// stays if that fails. Views that read it go on with the new one.
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
        keep: Keep<'_>,
    ) -> Result<()> {
        let Ok(place) = self.state.graph.place(name) else {
            self.create_view_with(name, query, engine, poll)?;
            return keep().or_else(|problem| self.drop_view(name).and(Err(problem)));
        };
        let id = self.state.graph.declared[place].id;
        let readers = self.state.graph.readers_of(Source::View(id));
        let budget = self.state.budget(poll);
        // It is out of reach, so that the new one cannot read it; its nodes stay until that has its place.
        let old = self.state.graph.declared.remove(place);
        let done = self
            .bear(name, query, By::Choice(engine), &budget)
            .and_then(|new| self.take_over(&old, new, (readers, keep), &budget));
        match &done {
            Ok(()) => self.sweep(),
            Err(_) => {
                self.state.graph.declared.insert(place, old);
                self.state.wire();
                self.state.recount();
            }
        }
        done
    }

    /// Puts a new view in the place of an old one, for those that read that, too.
    fn take_over(
        &mut self,
        old: &Declared,
        new: Newborn,
        (readers, keep): (Vec<String>, Keep<'_>),
        budget: &Budget<'_>,
    ) -> Result<()> {
        let graph = &self.state.graph;
        let (from, to) = (Source::View(old.id), Source::View(new.declared.id));
        let (was, is) = (old.node, new.declared.node);
        let info = |id: u64| {
            let mut nodes = graph.nodes.iter().chain(&new.nodes);
            nodes.find(|node| node.id == id).map(|node| &node.info)
        };
        let fits = match (info(was), info(is)) {
            (Some(was), Some(is)) => graph.readers_can_read(from, (was, is)),
            _ => false,
        };
        let mut sources: Vec<Source> = vec![Source::View(is)];
        sources.extend(new.nodes.iter().flat_map(|node| &node.sources));
        if !fits || graph.reads_readers(&sources, from) {
            return Err(in_use(&old.name, readers));
        }
        let first = self.state.graph.nodes.len();
        self.state.graph.redirect(from, to);
        self.adopt(new);
        let done = match readers.is_empty() || was == is {
            true => keep(),
            false => self.swap_rows((was, is), to, budget, keep),
        };
        if done.is_err() {
            self.state.graph.declared.pop();
            self.state.graph.nodes.truncate(first);
            self.state.graph.redirect(to, from);
        }
        done
    }

    /// In those that read it, the rows of the old node go and those of the new one come, as one transaction.
    fn swap_rows(
        &mut self,
        nodes: (u64, u64),
        view: Source,
        budget: &Budget<'_>,
        keep: Keep<'_>,
    ) -> Result<()> {
        let mut undo = std::mem::take(&mut self.state.undo);
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
        self.state.undo = undo;
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
        let (Some(old), Some(new)) = (graph.position(old), graph.position(new)) else {
            return Ok(());
        };
        // The new node may have other readers, by the name of another view.
        let reads = |reader: &&Reader| graph.nodes[reader.view].sources[reader.atom] == view;
        let readers = graph.nodes[new].readers.iter().filter(reads);
        let readers: Vec<Reader> = readers.copied().collect();
        for reader in readers {
            undo.touched[reader.view] = true;
            // Taken out, as rows of one go to the other.
            let mut nodes = std::mem::take(&mut self.state.graph.nodes);
            let done = match nodes.get_disjoint_mut([old, new, reader.view]) {
                Ok([old, new, above]) => self
                    .pass_on(old, (reader.atom, -1), above, budget)
                    .and_then(|()| self.pass_on(new, (reader.atom, 1), above, budget)),
                Err(_) => unreachable!("no node reads itself"),
            };
            self.state.graph.nodes = nodes;
            done?;
            self.state.went_on(0, budget)?;
        }
        Ok(())
    }

    /// Lets go of the nodes that no view rests on any more, and of what only they held.
    fn sweep(&mut self) {
        let gone = self.state.graph.sweep();
        self.state.wire();
        let words = gone.iter().map(|node| node.kept.string_words());
        self.state.storage.words_left(words.sum());
        self.state.collect_strings();
        self.state.recount();
    }
}

fn in_use(name: &str, views: Vec<String>) -> Error {
    Error::InUse {
        kind: "view",
        name: name.to_owned(),
        views,
    }
}
