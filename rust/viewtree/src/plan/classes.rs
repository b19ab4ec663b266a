//! Class of a query's hardness, with the widths of its tree. Cost: a linear program a view.

use crate::plan::{Class, ViewTree, tree};
use ringview_query::graph::classes::Classes;
use ringview_query::graph::cover::Covers;
use ringview_query::graph::hypergraph::Hypergraph;
use ringview_query::graph::set::Set;

/// Classifies a query; widths are those of its tree.
pub(crate) fn classify(graph: &Hypergraph, tree: &ViewTree) -> Class {
    let classes = Classes::new(graph);
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
        acyclic: classes.acyclic.is_none(),
        hierarchical: classes.hierarchical.is_none(),
        q_hierarchical: classes.q_hierarchical.is_none(),
        free_connex: classes.free_connex.is_none(),
        width,
        space,
    }
}
