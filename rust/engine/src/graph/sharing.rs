//! Which node maintains a view, and which views share one.
//!
//! A node is maintained once, however many declared views, blocks and nodes above read it: views whose queries are equal
//! over the same sources share one. Invariant: each declared view has its node; a node exists as long as a declared view
//! or a node above reads it. Cost: a view is found in O(views); a sweep is O(nodes and their atoms).

use std::collections::BTreeSet;

use super::Graph;
use super::declared::Declared;
use super::node::Node;
use crate::plan::{Planned, Source};

impl Graph {
    /// The number of the node that maintains what has this number: a declared view, or a node itself.
    pub(crate) fn node_id(&self, id: u64) -> u64 {
        let declared = self.declared.iter().find(|view| view.id == id);
        declared.map_or(id, |view| view.node)
    }

    /// The position of a node.
    pub(crate) fn position(&self, node: u64) -> Option<usize> {
        self.nodes.iter().position(|other| other.id == node)
    }

    /// The declared views that a node maintains, oldest first.
    pub(crate) fn declared_as(&self, node: u64) -> impl Iterator<Item = &Declared> {
        self.declared.iter().filter(move |view| view.node == node)
    }

    /// The views whose node maintains an older one, too.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = &Declared> {
        let shares = |(at, view): &(usize, &Declared)| {
            let mut older = self.declared[..*at].iter();
            older.any(|other| other.node == view.node)
        };
        let views = self.declared.iter().enumerate();
        views.filter(shares).map(|(_, view)| view)
    }

    /// Whether nothing but one declared view reads a node.
    pub(crate) fn is_alone(&self, node: u64) -> bool {
        // As a block: who reads the declared view does so by the number of that.
        let reads = |other: &Node| other.sources.contains(&Source::View(node));
        self.declared_as(node).count() == 1 && !self.nodes.iter().any(reads)
    }

    /// The numbers of a node and of the blocks that it reads, on any way through blocks alone.
    pub(crate) fn with_blocks(&self, node: u64) -> BTreeSet<u64> {
        let mut found = BTreeSet::from([node]);
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            let sources = self.position(id).map(|at| &self.nodes[at].sources);
            for source in sources.into_iter().flatten() {
                if let Source::View(read) = *source
                    && self.declared.iter().all(|view| view.id != read)
                    && found.insert(read)
                {
                    open.push(read);
                }
            }
        }
        found
    }

    /// A node that is what was planned: the same query over the same sources, kept by the same engine.
    pub(crate) fn alike<'n>(
        &'n self,
        planned: &Planned<'_>,
        family: &'n [Node],
    ) -> Option<&'n Node> {
        let signature = planned.signature();
        let mut nodes = self.nodes.iter().chain(family);
        nodes.find(|node| {
            node.sources == planned.sources && node.signature.as_ref() == Some(&signature)
        })
    }

    /// Takes out all nodes that no declared view rests on.
    pub(crate) fn sweep(&mut self) -> Vec<Node> {
        let mut needed: BTreeSet<u64> = self.declared.iter().map(|view| view.node).collect();
        let mut open: Vec<u64> = needed.iter().copied().collect();
        while let Some(id) = open.pop() {
            let sources = self.position(id).map(|at| &self.nodes[at].sources);
            for source in sources.into_iter().flatten() {
                if let Source::View(read) = *source {
                    let read = self.node_id(read);
                    if needed.insert(read) {
                        open.push(read);
                    }
                }
            }
        }
        self.nodes
            .extract_if(.., |node| !needed.contains(&node.id))
            .collect()
    }
}
