//! Classes of queries that say what a change must cost.
//!
//! Without self-joins, the q-hierarchical queries are exactly those with O(1) changes and constant
//! delay (Berkholz, Keppeler, Schweikardt). Variables local to one atom and bound are not in the
//! hypergraph; they change none of these properties. Cost: quadratic in the variables.

use crate::graph::cover::Covers;
use crate::graph::hypergraph::{Hypergraph, acyclic};
use crate::graph::set::Set;
use crate::plan::tree;
use crate::plan::{Class, ViewTree};

/// Classifies a query; widths are those of its tree.
pub(crate) fn classify(graph: &Hypergraph, tree: &ViewTree) -> Class {
    let (hierarchical, q_hierarchical) = hierarchy(graph);
    let acyclic_query = acyclic(&graph.edges);
    let free_connex = acyclic_query && {
        let mut edges = graph.edges.clone();
        edges.push(graph.free);
        acyclic(&edges)
    };
    let mut covers = Covers::new(&graph.edges);
    let below = tree::relations(tree);
    let (mut width, mut space) = (1.0f64, 0.0f64);
    for (id, node) in tree.nodes.iter().enumerate() {
        let keys: Set = node.keys.iter().copied().collect();
        let joined = keys | node.variables.iter().copied().collect();
        width = width.max(covers.number(joined, below[id]));
        space = space.max(covers.number(keys, below[id]));
    }
    Class {
        acyclic: acyclic_query,
        hierarchical,
        q_hierarchical,
        free_connex,
        width,
        space,
    }
}

fn hierarchy(graph: &Hypergraph) -> (bool, bool) {
    let mut hierarchical = true;
    let mut ordered = true;
    for (x, of_x) in graph.atoms.iter().enumerate() {
        for (y, of_y) in graph.atoms.iter().enumerate() {
            let apart = !of_x.meets(*of_y);
            hierarchical &= apart || of_x.within(*of_y) || of_y.within(*of_x);
            let strictly = of_x.within(*of_y) && of_x != of_y;
            ordered &= !(strictly && graph.free.contains(x) && !graph.free.contains(y));
        }
    }
    (hierarchical, hierarchical && ordered)
}
