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
use crate::graph::view::NamedView;
use crate::plan::Source;
use crate::undo::Undo;
use crate::{Keep, Poll};

impl Database {
    /// Forgets a view.
    ///
    /// # Errors
    /// `UnknownView`; `InUse` if another view reads it.
    pub fn drop_view(&mut self, name: &str) -> Result<()> {
        let id = self.can_drop_view(name)?;
        let family = self.state.graph.take_family(id);
        self.state.wire();
        self.bury(&family);
        Ok(())
    }

    /// Whether a view could be forgotten, and its number.
    ///
    /// # Errors
    /// As [`drop_view`](Self::drop_view).
    pub fn can_drop_view(&self, name: &str) -> Result<u64> {
        let id = self.state.graph.view(name)?.id;
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
        let Ok(old) = self.state.graph.view(name).map(|view| view.id) else {
            self.create_view_with(name, query, engine, poll)?;
            return keep().or_else(|problem| self.drop_view(name).and(Err(problem)));
        };
        let readers = self.state.graph.readers_of(Source::View(old));
        let budget = self.state.budget(poll);
        // It is out of reach, so that the new one cannot read it; nobody is told that it was gone.
        let places: Vec<usize> = self.state.graph.family(old);
        let family = self.state.graph.take_family(old);
        let done = self
            .bear(name, query, By::Choice(engine), &budget)
            .and_then(|new| self.take_over(name, (&family, new), (readers, keep), &budget));
        match &done {
            Ok(()) => self.bury(&family),
            Err(_) => {
                for (at, view) in places.into_iter().zip(family) {
                    self.state.graph.views.insert(at, view);
                }
                self.state.wire();
                self.state.recount();
            }
        }
        done
    }

    /// Puts a new view with its blocks in the place of an old one, for those that read that, too.
    fn take_over(
        &mut self,
        name: &str,
        (old, new): (&[NamedView], Vec<NamedView>),
        (readers, keep): (Vec<String>, Keep<'_>),
        budget: &Budget<'_>,
    ) -> Result<()> {
        let (Some(was), Some(is)) = (old.last(), new.last()) else {
            return Ok(());
        };
        let (from, to) = (Source::View(was.id), Source::View(is.id));
        let fits = self
            .state
            .graph
            .readers_can_read(from, (&was.info, &is.info));
        if !fits || self.state.graph.reads_readers(&new, from) {
            return Err(in_use(name, readers));
        }
        let (first, new_id) = (self.state.graph.views.len(), is.id);
        self.state.graph.views.extend(new);
        self.state.graph.redirect(from, to);
        self.state.wire();
        self.state.count();
        let done = match readers.is_empty() {
            true => keep(),
            false => self.swap_rows(was, new_id, budget, keep),
        };
        if done.is_err() {
            self.state.graph.views.truncate(first);
            self.state.graph.redirect(to, from);
        }
        done
    }

    /// Above, the rows of the old view go and those of the new one come, as one transaction.
    fn swap_rows(
        &mut self,
        old: &NamedView,
        new: u64,
        budget: &Budget<'_>,
        keep: Keep<'_>,
    ) -> Result<()> {
        let mut undo = std::mem::take(&mut self.state.undo);
        undo.begin(self.state.graph.views.len());
        let swapped = self
            .swap_at_readers(old, new, &mut undo, budget)
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
        old: &NamedView,
        new: u64,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let Some(at) = self
            .state
            .graph
            .views
            .iter()
            .position(|view| view.id == new)
        else {
            return Ok(());
        };
        for reader in self.state.graph.views[at].readers.clone() {
            undo.touched[reader.view] = true;
            // Taken out, as rows of one go to the other.
            let new = self.state.graph.views.remove(at);
            let place = reader.view - usize::from(reader.view > at);
            let mut above = self.state.graph.views.remove(place);
            let done = self
                .pass_on(old, (reader.atom, -1), &mut above, budget)
                .and_then(|()| self.pass_on(&new, (reader.atom, 1), &mut above, budget));
            self.state.graph.views.insert(place, above);
            self.state.graph.views.insert(at, new);
            done?;
            self.state.went_on(0, budget)?;
        }
        Ok(())
    }

    /// What only these views held may go.
    fn bury(&mut self, family: &[NamedView]) {
        let words = family.iter().map(|view| view.kept.string_words());
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
