//! The graph of views: each is above the tables and views that it reads.
//!
//! Invariant: declared views have distinct names; `levels` have each node above those that it reads, and each table and
//! node has its readers. Cost: a view is found in O(log views). New views are linked to their sources in O(their
//! atoms); when a view is dropped, the others are linked again in O(all atoms).

pub(crate) mod below;
pub(crate) mod declared;
pub(crate) mod facets;
pub(crate) mod groupings;
pub(crate) mod log;
pub(crate) mod logs;
pub(crate) mod node;
pub(crate) mod partial_deltas;
pub(crate) mod row_deltas;
mod sharing;
pub(crate) mod suspended;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use ringview_core::{Error, Result};
use ringview_query::TableInfo;

use crate::plan::{Input, Signature, Source};
use crate::storage::Storage;
use crate::storage::table::{Reader, Table};
use declared::Declared;
use node::Node;

/// All views, and the nodes that maintain them and the blocks of their queries.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// In the order of creation, which is that of their numbers.
    pub(crate) declared: Vec<Declared>,
    /// The number of each, by name.
    by_name: BTreeMap<String, u64>,
    /// In the order of creation, each behind its blocks, which is that of their numbers.
    pub(crate) nodes: Vec<Node>,
    /// The nodes level by level, ascending in each: those that a node reads lie in levels below its own. A level
    /// belongs to a place and not to a node: a union that replaces another takes over its position.
    pub(crate) levels: Vec<Vec<usize>>,
    /// The level of each node.
    level: Vec<usize>,
    /// Nodes by what identifies them; some may be of no use by now.
    alike: HashMap<(Vec<Source>, Signature), u64>,
    /// Atoms and views that were wired so far.
    pub(crate) wired: u64,
}

impl Graph {
    /// The names of the views, in the order of their creation.
    pub(crate) fn names(&self) -> Vec<String> {
        self.declared.iter().map(|view| view.name.clone()).collect()
    }

    /// The node of a view, by its name.
    pub(crate) fn view(&self, name: &str) -> Result<&Node> {
        Ok(&self.nodes[self.index(name)?])
    }

    /// Position of the node of a view.
    pub(crate) fn index(&self, name: &str) -> Result<usize> {
        let view = self.declared(name)?;
        match &view.suspension {
            Some(suspension) => Err(suspension.error(name)),
            None => (self.position(view.node)).ok_or_else(|| self.unknown(name)),
        }
    }

    /// A view by its name.
    pub(crate) fn declared(&self, name: &str) -> Result<&Declared> {
        Ok(&self.declared[self.declared_index(name)?])
    }

    /// Position of a view among those that are declared.
    pub(crate) fn declared_index(&self, name: &str) -> Result<usize> {
        let index = |id: &u64| self.declared.binary_search_by_key(id, |view| view.id);
        let found = self.by_name.get(name).map(index);
        found
            .and_then(|found| found.ok())
            .ok_or_else(|| self.unknown(name))
    }

    /// Declares a view; it has to be wired.
    pub(crate) fn declare(&mut self, view: Declared) {
        self.by_name.insert(view.name.clone(), view.id);
        let place = self.declared.partition_point(|other| other.id < view.id);
        self.declared.insert(place, view);
    }

    /// Takes a view out, whose node stays; the others have to be wired.
    pub(crate) fn undeclare(&mut self, name: &str) -> Result<Declared> {
        let view = self.declared.remove(self.declared_index(name)?);
        self.by_name.remove(name);
        Ok(view)
    }

    fn unknown(&self, name: &str) -> Error {
        Error::UnknownView {
            name: name.to_owned(),
            known: self.names(),
        }
    }

    /// Links each table and each node to its readers. O(atoms and views).
    pub(crate) fn wire(&mut self, storage: &mut Storage) {
        storage.tables.iter_mut().for_each(Table::forget_readers);
        for node in &mut self.nodes {
            node.forget_readers();
        }
        self.alike.clear();
        self.wire_from((0, 0), storage);
    }

    /// The same for nodes and declared views from these positions on. O(their atoms).
    pub(crate) fn wire_from(&mut self, (node, view): (usize, usize), storage: &mut Storage) {
        for view in view..self.declared.len() {
            let Declared { id, node, name, .. } = &self.declared[view];
            for part in self.with_blocks(*node) {
                if let Some(part) = self.position(part) {
                    let part = &mut self.nodes[part];
                    if part.serves.is_empty() {
                        part.serves.clone_from(name);
                    }
                }
            }
            if let Some(node) = self.position(*node) {
                let node = &mut self.nodes[node];
                // The oldest names it, in messages too.
                if node.views.is_empty() {
                    node.name.clone_from(name);
                }
                node.views.push(*id);
            }
            self.wired += 1;
        }
        self.level_from(node);
        for index in node..self.nodes.len() {
            let node = &self.nodes[index];
            if let Some(signature) = &node.signature {
                let key = (node.sources().collect(), signature.clone());
                self.alike.entry(key).or_insert(node.id);
            }
            let union = node.answered_from().and_then(|of| self.position(of));
            match union {
                Some(union) => self.add_facet(union, index),
                None => self.wire_sources(index, storage),
            }
            self.wired += 1;
        }
    }

    /// Lets a node read what its atoms say, in the columns that it needs.
    fn wire_sources(&mut self, index: usize, storage: &mut Storage) {
        for atom in 0..self.nodes[index].inputs.len() {
            let reader = Reader { view: index, atom };
            self.wire_atom(reader, storage, true);
        }
    }

    fn wire_atom(&mut self, reader: Reader, storage: &mut Storage, is_new: bool) {
        let input = &self.nodes[reader.view].inputs[reader.atom];
        let (source, columns) = (input.source, input.atom.columns.clone());
        self.wired += 1;
        match source {
            Source::Table(id) => {
                let table = storage.tables.iter_mut().find(|table| table.id == id);
                if let Some(table) = table {
                    table.add_reader(is_new.then_some(reader), &columns);
                }
            }
            Source::View(id) => {
                if let Some(below) = self.position(self.node_id(id)) {
                    self.nodes[below].add_reader(is_new.then_some(reader), &columns);
                }
            }
        }
    }

    /// Puts the node of a union in the place of the one of its number, for all facets of that; what was there.
    pub(crate) fn replace_union(&mut self, union: Node, storage: &mut Storage) -> Option<Node> {
        let at = self.position(union.id)?;
        let before = std::mem::replace(&mut self.nodes[at], union);
        let node = &mut self.nodes[at];
        node.facets.clone_from(&before.facets);
        let (id, groupings) = (node.id, node.union.clone()?);
        for &facet in &before.facets {
            self.nodes[facet].refer_to(id, &groupings);
        }
        for atom in 0..self.nodes[at].inputs.len() {
            self.wire_atom(Reader { view: at, atom }, storage, false);
        }
        Some(before)
    }

    fn add_facet(&mut self, union: usize, facet: usize) {
        if self.nodes[union].facets.is_empty() {
            let Node { name, serves, .. } = &self.nodes[facet];
            let (name, serves) = (name.clone(), serves.clone());
            self.nodes[union].name = name;
            self.nodes[union].serves = serves;
        }
        self.nodes[union].facets.push(facet);
    }

    /// Puts the nodes from this place on into levels, by what they read: each is one above the highest of those. Nodes
    /// before it keep theirs, so none of them may read one behind it. O(their atoms).
    fn level_from(&mut self, first: usize) {
        self.level.truncate(first);
        let mut level: Vec<Option<usize>> = self.level.drain(..).map(Some).collect();
        level.resize(self.nodes.len(), None);
        let mut open: Vec<usize> = (first..self.nodes.len()).rev().collect();
        while let Some(&index) = open.last() {
            if level[index].is_some() {
                open.pop();
                continue;
            }
            let below: Vec<usize> = self.below_node(index).collect();
            let before = open.len();
            open.extend(below.iter().filter(|&&read| level[read].is_none()));
            if open.len() == before {
                let above = below.iter().filter_map(|&read| level[read]).max();
                level[index] = Some(above.map_or(0, |above| above + 1));
                open.pop();
            }
        }
        self.level = level.into_iter().flatten().collect();
        let highest = self.level.iter().max().map_or(0, |level| level + 1);
        self.levels.truncate(if first == 0 { 0 } else { highest });
        self.levels.resize(highest, Vec::new());
        for (index, &level) in self.level.iter().enumerate().skip(first) {
            self.levels[level].push(index);
        }
    }

    /// The places of the nodes that a node reads, or is answered from.
    fn below_node(&self, index: usize) -> impl Iterator<Item = usize> {
        let reads = self.nodes[index].reads();
        reads.filter_map(|id| self.position(self.node_id(id)))
    }

    /// Whether a node is prepared before another. O(1).
    pub(crate) fn is_below(&self, one: usize, other: usize) -> bool {
        self.level[one] < self.level[other]
    }

    /// The views whose text names a table or a view, themselves or in a block. DDL checks these names and not the
    /// sources of the plan: a file binds the text again.
    pub(crate) fn readers_of(&self, name: &str) -> Vec<String> {
        let declared = self.declared.iter();
        let readers = declared.filter(|view| view.query.reads().contains(name));
        readers.map(|view| view.name.clone()).collect()
    }

    /// The views above a table or a view on any way, each behind those that read it.
    pub(crate) fn above(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        self.add_above(name, &mut found);
        found
    }

    fn add_above(&self, name: &str, found: &mut Vec<String>) {
        for reader in self.readers_of(name) {
            if !found.contains(&reader) {
                self.add_above(&reader, found);
                found.push(reader);
            }
        }
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
        let inputs = self.nodes.iter().flat_map(|reader| &reader.inputs);
        let mut inputs = inputs.filter(|input| input.source == view);
        inputs.all(|Input { atom, .. }| {
            atom.columns.iter().all(same)
                && !was.is_static
                && !is.is_static
                && (was.unique.is_none() || was.unique == is.unique)
        })
    }

    pub(crate) fn redirect(&mut self, from: Source, to: Source) {
        let inputs = self.nodes.iter_mut().flat_map(|node| &mut node.inputs);
        inputs
            .filter(|input| input.source == from)
            .for_each(|input| input.source = to);
    }
}
