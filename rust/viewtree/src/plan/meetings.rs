//! Siblings that a change meets at each view between its leaf and the root, in their order.
//!
//! Invariant: the engine compiles its paths by this, and explanations read it. Cost: the probes of each
//! view on the way.

use crate::plan::{Plan, ViewTree, tree};
use ringview_query::graph::hypergraph::Hypergraph;
use ringview_query::graph::probe::{Probe, Sibling, probes};
use ringview_query::graph::set::Set;
use ringview_query::hypergraph;

/// A sibling that a change meets on its way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meeting {
    /// The node of the sibling.
    pub(crate) node: usize,
    pub(crate) probe: Probe,
}

impl Plan {
    /// The siblings of a node in the order in which a change of that node meets them.
    pub fn siblings_met(&self, node: usize) -> Vec<usize> {
        let graph = hypergraph(&self.atoms, &self.variables);
        let met = meetings(&graph, &self.tree, &tree::relations(&self.tree), node);
        met.iter().map(|met| met.node).collect()
    }

    /// The siblings of every node, by node and parent: cheaper than node by node, as every path through a node needs
    /// them.
    pub(crate) fn all_siblings_met(&self) -> Vec<Vec<Vec<usize>>> {
        let graph = hypergraph(&self.atoms, &self.variables);
        let below = tree::relations(&self.tree);
        let met = |node: usize| {
            let parents = self.tree.nodes[node].parents.iter();
            let met = parents.map(|&parent| {
                let met = meetings_at(&graph, &self.tree, &below, (node, parent));
                met.iter().map(|met| met.node).collect()
            });
            met.collect()
        };
        (0..self.tree.nodes.len()).map(met).collect()
    }
}

/// Siblings that a change of a node meets where that node is joined, in the tree of one query; `below` is
/// `tree::relations`.
pub(crate) fn meetings(
    graph: &Hypergraph,
    tree: &ViewTree,
    below: &[Set],
    node: usize,
) -> Vec<Meeting> {
    let parent = tree.nodes[node].parent();
    parent.map_or_else(Vec::new, |parent| {
        meetings_at(graph, tree, below, (node, parent))
    })
}

/// Siblings that a change of a node meets at one of the views that are made of it.
fn meetings_at(
    graph: &Hypergraph,
    tree: &ViewTree,
    below: &[Set],
    (node, parent): (usize, usize),
) -> Vec<Meeting> {
    let keys = |id: usize| tree.nodes[id].keys.iter().copied().collect::<Set>();
    let others = tree.nodes[parent].children.iter().copied();
    let others: Vec<usize> = others.filter(|other| *other != node).collect();
    let sibling = |id: &usize| Sibling {
        keys: keys(*id),
        atoms: below[*id],
    };
    let siblings: Vec<Sibling> = others.iter().map(sibling).collect();
    let met = probes(graph, keys(node), &siblings).into_iter();
    met.map(|(at, probe)| Meeting {
        node: others[at],
        probe,
    })
    .collect()
}
