//! A variable order as a forest of nodes.
//!
//! Invariant: each variable has one node. Cost: linear in the variables.

use crate::graph::hypergraph::Hypergraph;
use crate::graph::set::Set;

/// A variable of the order with what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderNode {
    /// The variable.
    pub variable: usize,
    /// The variables directly below.
    pub children: Vec<OrderNode>,
}

/// Completes an order of the join variables: free variables that only one atom has are placed below
/// all else of their atom. In any other place, its view would have to keep them too.
pub fn with_locals(mut order: Vec<OrderNode>, graph: &Hypergraph) -> Vec<OrderNode> {
    let placed = placed(&order);
    for edge in &graph.edges {
        let missing: Vec<usize> = (*edge - placed).iter().collect();
        let Some(locals) = chain(&missing, Vec::new()) else {
            continue;
        };
        hang(&mut order, *edge & placed, locals);
    }
    order
}

/// Variables one below the other, with the last one's children.
pub(super) fn chain(variables: &[usize], below: Vec<OrderNode>) -> Option<OrderNode> {
    let (last, above) = variables.split_last()?;
    let lowest = OrderNode {
        variable: *last,
        children: below,
    };
    let wrap = |child: OrderNode, variable: &usize| OrderNode {
        variable: *variable,
        children: vec![child],
    };
    Some(above.iter().rev().fold(lowest, wrap))
}

/// Hangs a subtree under the lowest of the variables, which lie on one path.
fn hang(order: &mut Vec<OrderNode>, variables: Set, subtree: OrderNode) {
    let next = order
        .iter()
        .position(|node| placed(std::slice::from_ref(node)).meets(variables));
    match next {
        None => order.push(subtree),
        Some(next) => hang(&mut order[next].children, variables, subtree),
    }
}

fn placed(order: &[OrderNode]) -> Set {
    order.iter().fold(Set::default(), |set, node| {
        set | Set::one(node.variable) | placed(&node.children)
    })
}
