//! The nodes of a birth, which are not known yet, beside those that are.
//!
//! Invariant: a node is either filled or pending, and is filled once. Cost: a look-up is O(nodes of the birth).

use std::collections::BTreeMap;

use crate::graph::Graph;
use crate::graph::facets::NodeAnswer;
use crate::graph::node::Node;
use crate::plan::Source;

/// See the module. The graph is the database's, taken out while it is read from.
#[derive(Default)]
pub(super) struct Births {
    /// Those that are filled.
    pub(super) family: Vec<Node>,
    /// Those that are filled when they are first read, with the names of their views.
    pub(super) pending: Vec<(String, Node)>,
    pub(super) graph: Graph,
    /// By pending node, how many atoms and facets read it.
    readers: BTreeMap<u64, usize>,
}

impl Births {
    /// None yet, beside the nodes of a graph.
    pub(super) fn beside(graph: Graph) -> Self {
        Self {
            graph,
            ..Self::default()
        }
    }

    /// The nodes that rows may be read from.
    pub(super) fn readable(&self) -> Readable<'_> {
        Readable {
            family: &self.family,
            pending: &self.pending,
            graph: &self.graph,
        }
    }

    /// A node, whether it is filled or not.
    pub(super) fn find(&self, id: u64) -> Option<&Node> {
        let pending = self.pending.iter().map(|(_, node)| node);
        let mut nodes = self.family.iter().chain(pending);
        let own = nodes.find(|node| node.id == id);
        own.or_else(|| self.graph.node(id))
    }

    /// Adds a node that is filled when it is first read.
    pub(super) fn defer(&mut self, name: &str, node: Node) {
        let views = node.sources.iter().filter_map(|source| match source {
            Source::View(id) => Some(self.graph.node_id(*id)),
            Source::Table(_) => None,
        });
        let read: Vec<u64> = match node.answered_from() {
            Some(of) => vec![of],
            None => views.collect(),
        };
        for id in read {
            *self.readers.entry(id).or_default() += 1;
        }
        self.pending.push((name.to_owned(), node));
    }

    /// Takes a node out that is to be filled, if it is not yet: with the name of its view, and whether several read it.
    pub(super) fn take_pending(&mut self, id: u64) -> Option<(String, Node, bool)> {
        let mut pending = self.pending.iter();
        let at = pending.position(|(_, node)| node.id == id)?;
        let (name, node) = self.pending.remove(at);
        Some((name, node, self.is_shared(id)))
    }

    /// Whether several read a node that is pending, or was.
    fn is_shared(&self, id: u64) -> bool {
        self.readers.get(&id).is_some_and(|&readers| readers > 1)
    }

    /// Of what has no rows yet: whether several read it.
    pub(super) fn pending_shared(&self, source: Source) -> Option<bool> {
        let Source::View(id) = source else {
            return None;
        };
        let pending = self.readable().pending(id)?;
        let groups = pending.answered_from();
        Some(self.is_shared(pending.id) || groups.is_some_and(|groups| self.is_shared(groups)))
    }
}

/// The nodes that rows may be read from while a node is filled.
#[derive(Clone, Copy)]
pub(super) struct Readable<'n> {
    /// Of the same birth, which are not known yet.
    pub(super) family: &'n [Node],
    pending: &'n [(String, Node)],
    pub(super) graph: &'n Graph,
}

impl<'n> Readable<'n> {
    fn find(&self, id: u64) -> Option<&'n Node> {
        let mut family = self.family.iter();
        let own = family.find(|node| node.id == id);
        own.or_else(|| self.graph.node(id))
    }

    /// The node of a view or block.
    pub(super) fn view(&self, id: u64) -> Option<&'n Node> {
        self.find(self.graph.node_id(id))
    }

    /// The same where it has no rows yet.
    pub(super) fn pending(&self, id: u64) -> Option<&'n Node> {
        let id = self.graph.node_id(id);
        let mut pending = self.pending.iter().map(|(_, node)| node);
        pending.find(|node| node.id == id)
    }

    pub(super) fn answer(&self, node: &'n Node) -> NodeAnswer<'n> {
        node.answer_among(|id| self.find(id))
    }
}
