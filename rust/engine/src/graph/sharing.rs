//! The node of each view, and the nodes that several views share.
//!
//! A node is maintained once, however many declared views, blocks and nodes above read it: views whose queries are equal
//! over the same sources share one. Invariant: each declared view has its node; a node exists as long as a declared view
//! or a node above reads it. Cost: a number is found in O(log views); a sweep is O(nodes and their atoms).

use std::collections::BTreeSet;

use super::Graph;
use super::declared::Declared;
use super::node::Node;
use crate::plan::{Signature, Source};

impl Graph {
    /// The number of the node that maintains what has this number: a declared view, or a node itself.
    pub(crate) fn node_id(&self, id: u64) -> u64 {
        let found = self.declared.binary_search_by_key(&id, |view| view.id);
        found.map_or(id, |at| self.declared[at].node)
    }

    /// The position of a node.
    pub(crate) fn position(&self, node: u64) -> Option<usize> {
        let found = self.nodes.binary_search_by_key(&node, |other| other.id);
        found.ok()
    }

    /// The declared views that a node maintains, oldest first.
    pub(crate) fn declared_as(&self, node: u64) -> impl Iterator<Item = &Declared> {
        let views = self.node(node).map(|node| &node.views);
        let index = |id: &u64| self.declared.binary_search_by_key(id, |view| view.id);
        let places = views
            .into_iter()
            .flatten()
            .filter_map(move |id| index(id).ok());
        places.map(|at| &self.declared[at])
    }

    /// The views whose node maintains an older one, too.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = &Declared> {
        let is_oldest = |view: &Declared| {
            let oldest = self.declared_as(view.node).next();
            oldest.is_some_and(|oldest| oldest.id == view.id)
        };
        self.declared.iter().filter(move |view| !is_oldest(view))
    }

    /// Whether nothing but one declared view reads a node.
    pub(crate) fn is_alone(&self, node: u64) -> bool {
        // As a block: who reads the declared view does so by the number of that.
        let reads = |other: &Node| other.sources().any(|source| source == Source::View(node));
        self.declared_as(node).count() == 1 && !self.nodes.iter().any(reads)
    }

    /// The numbers of a node and of the blocks that it reads, on any way through blocks alone.
    pub(crate) fn with_blocks(&self, node: u64) -> BTreeSet<u64> {
        let mut found = BTreeSet::from([node]);
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            let sources = self.node(id).into_iter().flat_map(Node::sources);
            for source in sources {
                if let Source::View(read) = source
                    && self.node_id(read) == read
                    && found.insert(read)
                {
                    open.push(read);
                }
            }
        }
        found
    }

    /// The number of a node that is what was planned: the same query over the same sources, kept by the same engine.
    pub(crate) fn alike(&self, (sources, signature): (&[Source], &Signature)) -> Option<u64> {
        let known = self.alike.get(&(sources.to_vec(), signature.clone()));
        let node = known.and_then(|id| self.node(*id));
        // A node into which partials were merged equals no other any more.
        let node = node.filter(|node| node.signature.as_ref() == Some(signature));
        node.map(|node| node.id)
    }

    /// Takes out all nodes that no declared view rests on, and the terms that none reads.
    pub(crate) fn sweep(&mut self) -> Vec<Node> {
        let mut needed: BTreeSet<u64> = self.declared.iter().map(|view| view.node).collect();
        let mut open: Vec<u64> = needed.iter().copied().collect();
        while let Some(id) = open.pop() {
            let Some(node) = self.node(id) else {
                continue;
            };
            for read in node.reads().map(|id| self.node_id(id)) {
                if needed.insert(read) {
                    open.push(read);
                }
            }
        }
        let gone = self
            .nodes
            .extract_if(.., |node| !needed.contains(&node.id))
            .collect();
        self.shed();
        gone
    }
}
