//! The graph of views: each stands above the tables and views that it reads.
//!
//! Invariant: declared views have distinct names; `levels` have each node above those that it reads, and each table
//! and node has its readers. Cost: a view is found in O(views); wiring is O(atoms), whenever the views change.

pub(crate) mod below;
pub(crate) mod declared;
pub(crate) mod facets;
pub(crate) mod log;
pub(crate) mod node;
mod sharing;

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Error, Result};
use ringview_query::TableInfo;

use crate::plan::Source;
use crate::storage::Storage;
use crate::storage::table::Reader;
use declared::Declared;
use node::Node;

/// All views, and the nodes that maintain them and the blocks of their queries.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// In the order in which they came.
    pub(crate) declared: Vec<Declared>,
    /// In the order in which they came, each behind its blocks.
    pub(crate) nodes: Vec<Node>,
    /// The nodes level by level, ascending in each: those that a node reads lie in levels below its own.
    pub(crate) levels: Vec<Vec<usize>>,
}

impl Graph {
    /// The names of the views, in the order in which they came.
    pub(crate) fn names(&self) -> Vec<String> {
        self.declared.iter().map(|view| view.name.clone()).collect()
    }

    /// The node of a view, by its name.
    pub(crate) fn view(&self, name: &str) -> Result<&Node> {
        Ok(&self.nodes[self.index(name)?])
    }

    /// Where the node of a view stands.
    pub(crate) fn index(&self, name: &str) -> Result<usize> {
        let node = self.declared[self.place(name)?].node;
        self.position(node).ok_or_else(|| self.unknown(name))
    }

    /// A view by its name.
    pub(crate) fn declared(&self, name: &str) -> Result<&Declared> {
        Ok(&self.declared[self.place(name)?])
    }

    /// Where a view stands among those that are declared.
    pub(crate) fn place(&self, name: &str) -> Result<usize> {
        let found = self.declared.iter().position(|view| view.name == name);
        found.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Error {
        Error::UnknownView {
            name: name.to_owned(),
            known: self.names(),
        }
    }

    /// Tells each table and each node who reads it. O(atoms), whenever the views change.
    pub(crate) fn wire(&mut self, storage: &mut Storage) {
        let mut tables = BTreeMap::new();
        for (index, table) in storage.tables.iter_mut().enumerate() {
            table.forget_readers();
            tables.insert(table.id, index);
        }
        let ids = self.nodes.iter().enumerate();
        let mut nodes: BTreeMap<u64, usize> = ids.map(|(index, node)| (node.id, index)).collect();
        // The oldest of the views that it maintains names a node, in messages too.
        for view in self.declared.iter().rev() {
            let index = nodes[&view.node];
            nodes.insert(view.id, index);
            self.nodes[index].name.clone_from(&view.name);
        }
        let mut read: Vec<(Vec<Reader>, Vec<bool>)> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            read.push((Vec::new(), vec![false; node.info.schema.len()]));
        }
        let mut facets: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(of) = node.answered_from() {
                facets[nodes[&of]].push(index);
                continue;
            }
            for (atom, (source, bound)) in node.sources.iter().zip(&node.atoms).enumerate() {
                let reader = Reader { view: index, atom };
                match source {
                    Source::Table(id) => {
                        storage.tables[tables[id]].add_reader(reader, &bound.columns);
                    }
                    Source::View(id) => {
                        let (readers, needed) = &mut read[nodes[id]];
                        readers.push(reader);
                        bound.columns.iter().for_each(|&at| needed[at] = true);
                    }
                }
            }
        }
        for (node, facets) in self.nodes.iter_mut().zip(facets) {
            node.facets = facets;
        }
        for (node, (readers, needed)) in self.nodes.iter_mut().zip(read) {
            // A static view moves no more.
            let is_read = !readers.is_empty() && !node.info.is_static;
            node.needed = is_read.then(|| node.by_output(&needed));
            node.choose_wanted();
            node.readers = readers;
        }
        self.level();
    }

    /// Puts the nodes in levels: each is one above the highest of those that it reads, or is answered from.
    fn level(&mut self) {
        let below = |node: &Node| match node.answered_from() {
            Some(_) => 1,
            None => {
                let sources = node.sources.iter();
                let views = sources.filter(|source| matches!(source, Source::View(_)));
                views.count()
            }
        };
        let mut waits: Vec<usize> = self.nodes.iter().map(below).collect();
        let mut ready: BTreeSet<usize> = (0..self.nodes.len())
            .filter(|&node| waits[node] == 0)
            .collect();
        self.levels.clear();
        while !ready.is_empty() {
            let mut above = BTreeSet::new();
            for node in ready.iter().map(|&node| &self.nodes[node]) {
                let readers = node.readers.iter().map(|reader| reader.view);
                for next in readers.chain(node.facets.iter().copied()) {
                    waits[next] -= 1;
                    if waits[next] == 0 {
                        above.insert(next);
                    }
                }
            }
            let level = std::mem::replace(&mut ready, above);
            self.levels.push(level.into_iter().collect());
        }
    }

    /// The views that read something, themselves or in a block, by their names.
    pub(crate) fn readers_of(&self, source: Source) -> Vec<String> {
        let reads = |id: &u64| {
            let node = self.position(*id).map(|at| &self.nodes[at]);
            node.is_some_and(|node| node.sources.contains(&source))
        };
        let readers = self
            .declared
            .iter()
            .filter(|view| self.with_blocks(view.node).iter().any(reads));
        readers.map(|view| view.name.clone()).collect()
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
        let mut atoms = self.nodes.iter().flat_map(|reader| {
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

    /// Whether some sources are, or read on any way, what reads a source: then that may not become one of them.
    pub(crate) fn reads_readers(&self, sources: &[Source], source: Source) -> bool {
        let mut above = vec![source];
        let mut at = 0;
        while let Some(&below) = above.get(at) {
            at += 1;
            let readers = self
                .nodes
                .iter()
                .filter(|node| node.sources.contains(&below));
            for reader in readers {
                let names = self.declared_as(reader.id).map(|view| view.id);
                for id in names.chain([reader.id]) {
                    if !above.contains(&Source::View(id)) {
                        above.push(Source::View(id));
                    }
                }
            }
        }
        sources.iter().any(|source| above.contains(source))
    }

    pub(crate) fn redirect(&mut self, from: Source, to: Source) {
        let sources = self.nodes.iter_mut().flat_map(|node| &mut node.sources);
        sources
            .filter(|source| **source == from)
            .for_each(|source| *source = to);
    }
}
