//! The graph of views: each stands above the tables and views that it reads.
//!
//! Invariant: views have distinct names, blocks apart; `order` has each view behind those that it reads, and each table
//! and view knows its readers. Cost: a view is found in O(views); wiring is O(atoms), whenever the views change.

pub(crate) mod below;
pub(crate) mod log;
pub(crate) mod view;

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Error, Result};
use ringview_query::TableInfo;

use crate::plan::Source;
use crate::storage::Storage;
use crate::storage::table::Reader;
use view::NamedView;

/// All views, with the blocks of their queries.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// In the order in which they came, each behind its blocks.
    pub(crate) views: Vec<NamedView>,
    /// The views, each behind those that it reads.
    pub(crate) order: Vec<usize>,
}

impl Graph {
    /// The names of the views, in the order in which they came.
    pub(crate) fn names(&self) -> Vec<String> {
        let named = self.views.iter().filter(|view| view.owner.is_none());
        named.map(|view| view.name.clone()).collect()
    }

    /// A view by its name.
    pub(crate) fn view(&self, name: &str) -> Result<&NamedView> {
        Ok(&self.views[self.index(name)?])
    }

    /// Where a view stands.
    pub(crate) fn index(&self, name: &str) -> Result<usize> {
        let named = |view: &NamedView| view.owner.is_none() && view.name == name;
        let found = self.views.iter().position(named);
        found.ok_or_else(|| Error::UnknownView {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// Tells each table and each view who reads it. O(atoms), whenever the views change.
    pub(crate) fn wire(&mut self, storage: &mut Storage) {
        let mut tables = BTreeMap::new();
        for (index, table) in storage.tables.iter_mut().enumerate() {
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
                        storage.tables[tables[id]].add_reader(reader, &bound.columns);
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
            view.needed = is_read.then(|| view.by_output(&needed));
            view.choose_wanted();
            view.readers = readers;
        }
        self.order();
    }

    /// Puts the views in an order in which each comes behind those that it reads; else as they came.
    fn order(&mut self) {
        let below = |view: &NamedView| {
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

    /// The views that read something, by their names; a block is its view's.
    pub(crate) fn readers_of(&self, source: Source) -> Vec<String> {
        let family = match source {
            Source::View(id) => Some(id),
            Source::Table(_) => None,
        };
        let mut names: Vec<String> = Vec::new();
        for view in self
            .views
            .iter()
            .filter(|view| view.sources.contains(&source))
        {
            let owner = view.owner.unwrap_or(view.id);
            let owner = self.views.iter().find(|other| other.id == owner);
            let other = owner.filter(|owner| Some(owner.id) != family);
            names.extend(other.map(|owner| owner.name.clone()));
        }
        let mut known = std::collections::BTreeSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }

    /// Whether those that read a view find in another what their plans rest on: the columns that they
    /// read where they were, and the same key; what is static is not read again.
    pub(crate) fn readers_can_read(
        &self,
        view: Source,
        (was, is): (&TableInfo, &TableInfo),
    ) -> bool {
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
    pub(crate) fn reads_readers(&self, views: &[NamedView], source: Source) -> bool {
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

    pub(crate) fn redirect(&mut self, from: Source, to: Source) {
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
    pub(crate) fn take_family(&mut self, id: u64) -> Vec<NamedView> {
        let mut places = self.family(id);
        let mut family = Vec::with_capacity(places.len());
        while let Some(at) = places.pop() {
            family.push(self.views.remove(at));
        }
        family.reverse();
        family
    }
}
