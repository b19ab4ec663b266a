//! Queries of a hundred tables: choosing an order stays polynomial, and quick.

use ringview_query::graph::hypergraph::Hypergraph;
use ringview_query::graph::order::{OrderNode, choose_counted};
use ringview_query::graph::set::Set;

/// Tables of 12 columns each out of a pool, by numbers that look random, the same on every machine.
fn random(tables: usize, pool: usize) -> Hypergraph {
    let mut state = 1u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let mut atoms = vec![Set::default(); pool];
    for table in 0..tables {
        for _ in 0..12 {
            atoms[below(pool)].insert(table);
        }
    }
    atoms.retain(|of| !of.is_empty());
    let all = (0..tables).collect();
    Hypergraph::new(atoms, Set::default(), all, vec![None; tables])
}

fn variables(order: &[OrderNode]) -> usize {
    let below = order.iter().map(|node| variables(&node.children));
    order.len() + below.sum::<usize>()
}

#[test]
fn the_steps_of_an_order_are_polynomial_and_bounded() {
    let steps = [25usize, 50, 100].map(|tables| {
        let graph = random(tables, tables + 20);
        let (order, steps) = choose_counted(&graph, &vec![None; tables], true);
        let joined = graph.atoms.iter().filter(|of| of.len() > 1).count();
        let locals = graph.atoms.len() - joined;
        let placed = variables(&order);
        assert!(placed >= joined && placed <= joined + locals);
        steps
    });
    // A root is looked for among n, n times, and costs pairs of siblings: no more than n^4
    // together.
    for pair in steps.windows(2) {
        assert!(pair[1] <= 32 * pair[0], "{steps:?}");
    }
    assert!(steps[2] < 200_000_000, "{steps:?}");
}
