//! A view in the place of another, and what goes with a view that is dropped.
//!
//! Invariant: views that read the one that is replaced keep what they are; they take its old rows back and
//! the new ones in, as one transaction, so that whoever follows them is told. That needs the columns that
//! they read where they were, and what their plans rest on: else it is refused, and nothing has
//! changed. Cost: that of a birth; where the view is read, all its old rows and all its new ones above.

use ringview_core::{Budget, Error, Result};
use ringview_query::{Query, TableInfo};

use crate::choose::By;
use crate::database::Database;
use crate::names::Source;
use crate::undo::Undo;
use crate::view::NamedView;
use crate::{Keep, Poll};

impl Database {
    /// Forgets a view.
    ///
    /// # Errors
    /// `UnknownView`; `InUse` if another view reads it.
    pub fn drop_view(&mut self, name: &str) -> Result<()> {
        let id = self.can_drop_view(name)?;
        let family = self.take_family(id);
        self.wire();
        self.bury(&family);
        Ok(())
    }

    /// Whether a view could be forgotten, and its number.
    ///
    /// # Errors
    /// As [`drop_view`](Self::drop_view).
    pub fn can_drop_view(&self, name: &str) -> Result<u64> {
        let id = self.view(name)?.id;
        let views = self.readers_of(Source::View(id));
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
        let Ok(old) = self.view(name).map(|view| view.id) else {
            self.create_view_with(name, query, engine, poll)?;
            return keep().or_else(|problem| self.drop_view(name).and(Err(problem)));
        };
        let readers = self.readers_of(Source::View(old));
        let budget = self.budget(poll);
        // It is out of reach, so that the new one cannot read it; nobody is told that it was gone.
        let places: Vec<usize> = self.family(old);
        let family = self.take_family(old);
        let done = self
            .bear(name, query, By::Choice(engine), &budget)
            .and_then(|new| self.take_over(name, (&family, new), (readers, keep), &budget));
        match &done {
            Ok(()) => self.bury(&family),
            Err(_) => {
                for (at, view) in places.into_iter().zip(family) {
                    self.views.insert(at, view);
                }
                self.wire();
                self.recount();
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
        let fits = self.readers_can_read(from, (&was.info, &is.info));
        if !fits || self.reads_readers(&new, from) {
            return Err(in_use(name, readers));
        }
        let (first, new_id) = (self.views.len(), is.id);
        self.views.extend(new);
        self.redirect(from, to);
        self.wire();
        self.count();
        let done = match readers.is_empty() {
            true => keep(),
            false => self.swap_rows(was, new_id, budget, keep),
        };
        if done.is_err() {
            self.views.truncate(first);
            self.redirect(to, from);
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
        let mut undo = std::mem::take(&mut self.undo);
        undo.begin(self.views.len());
        let swapped = self
            .swap_at_readers(old, new, &mut undo, budget)
            .and_then(|()| self.settle(&mut undo, budget))
            .and_then(|()| keep());
        match &swapped {
            Ok(()) => self.commit(&undo),
            Err(_) => {
                self.roll_back(&undo);
                self.recount();
            }
        }
        self.undo = undo;
        swapped
    }

    fn swap_at_readers(
        &mut self,
        old: &NamedView,
        new: u64,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let Some(at) = self.views.iter().position(|view| view.id == new) else {
            return Ok(());
        };
        for reader in self.views[at].readers.clone() {
            undo.touched[reader.view] = true;
            // Taken out, as rows of one go to the other.
            let new = self.views.remove(at);
            let place = reader.view - usize::from(reader.view > at);
            let mut above = self.views.remove(place);
            let asked = |_: &Database, _: &NamedView| Ok(());
            let done = self
                .pass_on(old, (reader.atom, -1), &mut above, budget, asked)
                .and_then(|()| self.pass_on(&new, (reader.atom, 1), &mut above, budget, asked));
            self.views.insert(place, above);
            self.views.insert(at, new);
            done?;
            self.went_on(0, budget)?;
        }
        Ok(())
    }

    /// Whether those that read a view find in another what their plans rest on: the columns that they
    /// read where they were, and the same key; what is static is not read again.
    fn readers_can_read(&self, view: Source, (was, is): (&TableInfo, &TableInfo)) -> bool {
        let same = |&column: &usize| {
            let fields = (
                was.schema.fields().get(column),
                is.schema.fields().get(column),
            );
            matches!(fields, (Some(was), Some(is)) if was == is)
        };
        let mut atoms = self.views.iter().flat_map(|reader| {
            let sources = reader.sources.iter().zip(&reader.atoms);
            sources.filter(|(source, _)| **source == view)
        });
        atoms.all(|(_, atom)| {
            atom.columns.iter().all(same)
                && !was.is_static
                && !is.is_static
                && (was.unique.is_none() || was.unique == is.unique)
        })
    }

    /// Whether some views read, on any way, what reads a source: then that may not become one of them.
    fn reads_readers(&self, views: &[NamedView], source: Source) -> bool {
        let mut above = vec![source];
        let mut at = 0;
        while let Some(&below) = above.get(at) {
            at += 1;
            let readers = self
                .views
                .iter()
                .filter(|view| view.sources.contains(&below));
            for reader in readers.map(|view| Source::View(view.id)) {
                if !above.contains(&reader) {
                    above.push(reader);
                }
            }
        }
        let mut sources = views.iter().flat_map(|view| &view.sources);
        sources.any(|source| above.contains(source))
    }

    fn redirect(&mut self, from: Source, to: Source) {
        let sources = self.views.iter_mut().flat_map(|view| &mut view.sources);
        sources
            .filter(|source| **source == from)
            .for_each(|source| *source = to);
    }

    /// Where a view and its blocks stand, ascending.
    pub(crate) fn family(&self, id: u64) -> Vec<usize> {
        let all = 0..self.views.len();
        all.filter(|&at| self.views[at].owner.unwrap_or(self.views[at].id) == id)
            .collect()
    }

    /// Takes a view and its blocks out, the view last.
    fn take_family(&mut self, id: u64) -> Vec<NamedView> {
        let mut places = self.family(id);
        let mut family = Vec::with_capacity(places.len());
        while let Some(at) = places.pop() {
            family.push(self.views.remove(at));
        }
        family.reverse();
        family
    }

    /// What only these views held may go.
    fn bury(&mut self, family: &[NamedView]) {
        let words = family.iter().map(|view| view.kept.string_words());
        self.words_left(words.sum());
        self.collect_strings();
        self.recount();
    }
}

fn in_use(name: &str, views: Vec<String>) -> Error {
    Error::InUse {
        kind: "view",
        name: name.to_owned(),
        views,
    }
}
