//! Triangles counted at once against brute force, and how many steps that takes.
use proptest::prelude::*;
use ringview_core::Budget;
use ringview_epsilon::{GraphKind, Triangles, count_triangles};

use crate::common::{Rows, brute_force};

fn counted(edges: &[(i64, i64)], directed: bool, multigraph: bool) -> Triangles {
    let ends: [Vec<i64>; 2] = [
        edges.iter().map(|edge| edge.0).collect(),
        edges.iter().map(|edge| edge.1).collect(),
    ];
    // In two blocks.
    let (half, kind) = (
        edges.len() / 2,
        GraphKind {
            directed,
            multigraph,
        },
    );
    let blocks = [
        [&ends[0][..half], &ends[1][..half]],
        [&ends[0][half..], &ends[1][half..]],
    ];
    count_triangles(&blocks, kind, &Budget::free()).unwrap()
}

/// Walks a, b, c, a over edges, each at one of its three vertices, both ways where edges have no direction.
fn expected(edges: &[(i64, i64)], directed: bool, multigraph: bool) -> u128 {
    let mut rows = Rows::new();
    for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
        *rows.entry(vec![u, v]).or_default() += 1;
        if !directed {
            *rows.entry(vec![v, u]).or_default() += 1;
        }
    }
    if !multigraph {
        rows.values_mut().for_each(|times| *times = 1);
    }
    let all = brute_force(&[(&rows, &[0, 1]), (&rows, &[1, 2]), (&rows, &[2, 0])], &[]);
    let walks = all.get(&vec![]).copied().unwrap_or(0) as u128;
    walks / if directed { 3 } else { 6 }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn triangles_are_those_of_brute_force(
        edges in prop::collection::vec((0..9i64, 0..9i64), 0..70),
        far in prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX - 8)],
        directed in any::<bool>(),
        multigraph in any::<bool>(),
    ) {
        let edges: Vec<_> = edges.iter().map(|(u, v)| (u + far, v + far)).collect();
        let found = counted(&edges, directed, multigraph);
        prop_assert_eq!(found.count, expected(&edges, directed, multigraph));
    }
}

/// A hub, all edges among the square root of as many vertices, and a hub on each side.
#[test]
fn steps_are_bounded_whatever_the_degrees() {
    const EDGES: i64 = 40_000;
    let side = (EDGES as f64).sqrt() as i64;
    let star: Vec<_> = (1..EDGES).map(|v| (0, v)).collect();
    let clique: Vec<_> = (0..side)
        .flat_map(|u| (0..side).map(move |v| (u, v)))
        .collect();
    let hubs: Vec<_> = (2..EDGES / 2)
        .flat_map(|v| [(0, v), (v, 1)])
        .chain([(1, 0)])
        .collect();
    for (edges, triangles) in [
        (&star, 0),
        (&clique, side * (side - 1) * (side - 2) / 6),
        (&hubs, EDGES / 2 - 2),
    ] {
        let found = counted(edges, false, false);
        assert_eq!(found.count, triangles as u128);
        let bound = (2.0 * edges.len() as f64).powf(1.5) + 4.0 * edges.len() as f64;
        assert!((found.steps as f64) < bound, "{found:?}");
    }
    // Far fewer steps than the product of degrees.
    assert!(counted(&hubs, true, false).steps < 10 * hubs.len() as u64);
}

#[test]
fn no_edges_have_no_triangles() {
    assert_eq!(counted(&[], true, true).count, 0);
    assert_eq!(counted(&[(3, 3)], false, true).count, 0);
}
