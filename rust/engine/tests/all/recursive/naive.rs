//! Recursions by brute force: rounds over lists of edges.

use std::collections::BTreeSet;

use super::{Bag, Edge};

/// Rows that a step of joins derives from rows that end at `of`.
fn next(edges: &[Edge], of: Option<i64>) -> impl Iterator<Item = Option<i64>> + '_ {
    let edges = edges
        .iter()
        .filter(move |edge| of.is_some() && edge.0 == of);
    edges.map(|edge| edge.1)
}

pub fn closure(edges: &[Edge]) -> Bag {
    let mut found: BTreeSet<Edge> = edges.iter().copied().collect();
    let mut round: Vec<Edge> = found.iter().copied().collect();
    while let Some((from, to)) = round.pop() {
        for next in next(edges, to) {
            if found.insert((from, next)) {
                round.push((from, next));
            }
        }
    }
    found.into_iter().map(|(a, b)| (vec![a, b], 1)).collect()
}

pub fn reached(edges: &[Edge]) -> Bag {
    let (mut found, mut round) = (BTreeSet::from([Some(0)]), vec![Some(0)]);
    while let Some(node) = round.pop() {
        round.extend(next(edges, node).filter(|next| found.insert(*next)));
    }
    found.into_iter().map(|n| (vec![n], 1)).collect()
}

pub fn walks(edges: &[Edge]) -> Bag {
    let mut found = Bag::new();
    let mut round: Vec<Edge> = edges.to_vec();
    for hops in 1..=3 {
        for (a, b) in &round {
            *found.entry(vec![*a, *b, Some(hops)]).or_default() += 1;
        }
        let step = round
            .iter()
            .flat_map(|&(a, b)| next(edges, b).map(move |c| (a, c)));
        round = step.collect();
    }
    found
}

/// As DuckDB has it: the rows of the last round joined with themselves.
pub fn twice(edges: &[Edge]) -> Bag {
    let mut found: BTreeSet<Edge> = edges.iter().copied().collect();
    let mut round: Vec<Edge> = found.iter().copied().collect();
    while !round.is_empty() {
        let step = round
            .iter()
            .flat_map(|&(a, b)| next(&round, b).map(move |c| (a, c)));
        let step: BTreeSet<Edge> = step.collect();
        round = step
            .into_iter()
            .filter(|edge| found.insert(*edge))
            .collect();
    }
    found.into_iter().map(|(a, b)| (vec![a, b], 1)).collect()
}
