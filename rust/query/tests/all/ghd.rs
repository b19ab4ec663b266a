//! Decompositions have the widths that are known, and those that brute force finds.

use proptest::prelude::*;
use ringview_query::graph::ghd::{EXACT, Ghd, Ratio, certified};
use ringview_query::graph::set::Set;

fn edges(lists: &[&[usize]]) -> Vec<Set> {
    lists
        .iter()
        .map(|list| list.iter().copied().collect())
        .collect()
}

fn decomposed(edges: &[Set]) -> Ghd {
    let ghd = Ghd::new(edges);
    ghd.check(edges);
    ghd
}

fn clique(n: usize) -> Vec<Set> {
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b].into_iter().collect()));
    pairs.collect()
}

fn cycle(n: usize) -> Vec<Set> {
    (0..n)
        .map(|v| [v, (v + 1) % n].into_iter().collect())
        .collect()
}

fn loomis_whitney(n: usize) -> Vec<Set> {
    (0..n)
        .map(|out| (0..n).filter(|v| *v != out).collect())
        .collect()
}

#[test]
fn known_widths() {
    let path = edges(&[&[0, 1], &[1, 2], &[2, 3]]);
    let star = edges(&[&[0, 1], &[0, 2], &[0, 3]]);
    let bow_tie = edges(&[&[0, 1], &[1, 2], &[2, 0], &[2, 3], &[3, 4], &[4, 2]]);
    let dumbbell = edges(&[
        &[0, 1],
        &[1, 2],
        &[2, 0],
        &[3, 4],
        &[4, 5],
        &[5, 3],
        &[2, 3],
    ]);
    let products = edges(&[&[], &[], &[0], &[0, 1]]);
    let covered = edges(&[&[0, 1], &[1, 2], &[2, 0], &[0, 1, 2]]);
    // Gottlob, Greco, Scarcello: the width of a cycle is 2, that of a grid of 3 x 2 as well.
    let ladder = edges(&[
        &[0, 1],
        &[2, 3],
        &[4, 5],
        &[0, 2],
        &[2, 4],
        &[1, 3],
        &[3, 5],
    ]);
    let known: Vec<(&str, Vec<Set>, Ratio)> = vec![
        ("path", path, Ratio::ONE),
        ("star", star, Ratio::ONE),
        ("products", products, Ratio::ONE),
        ("covered triangle", covered, Ratio::ONE),
        ("nothing", edges(&[&[], &[]]), Ratio::ZERO),
        ("triangle", cycle(3), Ratio::new(3, 2)),
        ("4-cycle", cycle(4), Ratio::new(2, 1)),
        ("5-cycle", cycle(5), Ratio::new(2, 1)),
        ("8-cycle", cycle(8), Ratio::new(2, 1)),
        ("bow-tie", bow_tie, Ratio::new(3, 2)),
        ("dumbbell", dumbbell, Ratio::new(3, 2)),
        ("4-clique", clique(4), Ratio::new(2, 1)),
        ("ladder", ladder, Ratio::new(2, 1)),
        ("LW 4", loomis_whitney(4), Ratio::new(4, 3)),
        ("LW 5", loomis_whitney(5), Ratio::new(5, 4)),
        ("LW 8", loomis_whitney(8), Ratio::new(8, 7)),
    ];
    for (name, edges, width) in known {
        let ghd = decomposed(&edges);
        assert_eq!((ghd.width, ghd.least), (width, true), "{name}");
    }
}

#[test]
fn cliques_have_half_their_size_and_one_bag() {
    for n in [5, 6, 7] {
        let ghd = decomposed(&clique(n));
        assert_eq!((ghd.width, ghd.bags.len()), (Ratio::new(n as i64, 2), 1));
        // More edges than are searched, and yet the least: there is no choice.
        assert!(clique(n).len() > EXACT && ghd.least);
    }
}

#[test]
fn the_dumbbell_is_two_triangles_and_an_edge() {
    let all = edges(&[
        &[0, 1],
        &[1, 2],
        &[2, 0],
        &[3, 4],
        &[4, 5],
        &[5, 3],
        &[2, 3],
    ]);
    let ghd = decomposed(&all);
    let mut bags: Vec<(Set, Set)> = ghd.bags.iter().map(|b| (b.variables, b.edges)).collect();
    bags.sort_unstable();
    let set = |members: &[usize]| -> Set { members.iter().copied().collect() };
    let expected = [
        (set(&[0, 1, 2]), set(&[0, 1, 2])),
        (set(&[2, 3]), set(&[6])),
        (set(&[3, 4, 5]), set(&[3, 4, 5])),
    ];
    assert_eq!(bags, expected);
}

/// The least width over all orders, without any of the rules that shorten the search.
fn brute_force(edges: &[Set]) -> Ratio {
    fn search(left: Set, neighbours: &[Set], edges: &[Set]) -> Ratio {
        let widths = left.iter().map(|v| {
            let around = neighbours[v];
            let mut next = neighbours.to_vec();
            for other in around.iter() {
                next[other] = (next[other] | around) - Set::one(other) - Set::one(v);
            }
            let own = certified(around | Set::one(v), edges);
            assert!(own.least, "an unproved cover");
            own.number.max(search(left - Set::one(v), &next, edges))
        });
        widths.min().unwrap_or(Ratio::ZERO)
    }
    let all = edges.iter().fold(Set::default(), |all, edge| all | *edge);
    let around = |v: usize| {
        let with = edges.iter().filter(|edge| edge.contains(v));
        with.fold(Set::default(), |all, edge| all | *edge) - Set::one(v)
    };
    let neighbours: Vec<Set> = (0..8).map(around).collect();
    search(all, &neighbours, edges)
}

/// The least cover by whole and half edges: exact for graphs, whose polytope has no other corners.
fn half_integral(variables: Set, edges: &[Set]) -> Ratio {
    fn search(at: usize, weights: &mut Vec<i64>, variables: Set, edges: &[Set]) -> Option<i64> {
        if at == edges.len() {
            let covered = variables.iter().all(|v| {
                let on = edges
                    .iter()
                    .zip(&*weights)
                    .filter(|(edge, _)| edge.contains(v));
                on.map(|(_, weight)| weight).sum::<i64>() >= 2
            });
            return covered.then(|| weights.iter().sum());
        }
        let each = (0..3).filter_map(|weight| {
            weights.push(weight);
            let found = search(at + 1, weights, variables, edges);
            weights.pop();
            found
        });
        each.collect::<Vec<i64>>().into_iter().min()
    }
    let halves = search(0, &mut Vec::new(), variables, edges);
    Ratio::new(halves.expect("a cover"), 2)
}

fn hypergraphs() -> impl Strategy<Value = Vec<Set>> {
    let edge = proptest::collection::btree_set(0..6usize, 1..4);
    let edges = proptest::collection::vec(edge, 1..8);
    edges.prop_map(|edges| edges.into_iter().map(|e| e.into_iter().collect()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn widths_are_those_of_brute_force(edges in hypergraphs()) {
        let ghd = decomposed(&edges);
        prop_assert!(ghd.least);
        prop_assert_eq!(ghd.width, brute_force(&edges));
    }

    #[test]
    fn covers_of_graphs_are_half_integral(pairs in proptest::collection::vec((0..5usize, 0..5usize), 1..7)) {
        let edges: Vec<Set> = pairs.iter().map(|&(a, b)| [a, b].into_iter().collect()).collect();
        let all = edges.iter().fold(Set::default(), |all, edge| all | *edge);
        let cover = certified(all, &edges);
        prop_assert!(cover.least);
        prop_assert_eq!(cover.number, half_integral(all, &edges));
    }

    #[test]
    fn large_hypergraphs_are_decomposed_too(
        pairs in proptest::collection::vec((0..14usize, 0..14usize, 0..14usize), 9..20),
    ) {
        let edges: Vec<Set> =
            pairs.iter().map(|&(a, b, c)| [a, b, c].into_iter().collect()).collect();
        let ghd = decomposed(&edges);
        let all = edges.iter().fold(Set::default(), |all, edge| all | *edge);
        prop_assert!(ghd.width <= certified(all, &edges).number);
    }
}
