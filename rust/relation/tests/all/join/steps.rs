//! Cost of a change, in counted steps, and groups that are larger than a block.

use crate::join::common::{House, Rows, join, level, relation};
use crate::join::streams::triangle;

const HUB: i64 = 1_000;

/// S has (0, c) for many c; T has (c, 0) for few of them: R's edge (0, 0) meets both.
fn lopsided(many: i64, few: i64, intersect: bool) -> House {
    let mut house = triangle(&[], intersect);
    let s: Vec<_> = (0..many).map(|c| (vec![0, c], 1)).collect();
    let t: Vec<_> = (0..few).map(|c| (vec![c, 0], 1)).collect();
    house.apply(1, &s);
    house.apply(2, &t);
    house.end(false);
    house
}

fn edge() -> Vec<(Vec<i64>, i64)> {
    vec![(vec![0, 0], 1)]
}

#[test]
fn an_intersection_walks_the_smallest_group() {
    for (many, few) in [(HUB, 1), (10 * HUB, 1), (HUB, 7)] {
        let mut house = lopsided(many, few, true);
        // One to store the edge, one for its row, one a pair, one to store the sum.
        assert_eq!(house.steps(0, &edge()), 3 + few as u64);
        house.end(false);
        assert_eq!(house.rows(3), Rows::from([(vec![], few)]));
    }
}

#[test]
fn without_it_the_first_relation_is_walked() {
    for (many, few) in [(HUB, 1), (10 * HUB, 1), (HUB, 7)] {
        let mut house = lopsided(many, few, false);
        // The same; each of S's pairs is met, then looked up in T.
        assert_eq!(house.steps(0, &edge()), 3 + 2 * many as u64);
        house.end(false);
        assert_eq!(house.rows(3), Rows::from([(vec![], few)]));
    }
}

/// N^(1/2) hubs a side and N edges: intersected, a bulk of them costs N^(3/2) at most, however they
/// are ordered; N edges that share a node of high degree cost no more.
#[test]
fn a_bulk_of_edges_costs_the_power_of_three_halves() {
    let bulk = |n: i64, intersect| {
        let mut house = triangle(&[], intersect);
        // A star and its reverse in each relation: every node but the hub has degree 1.
        let star = |(from, to)| vec![(vec![from, to], 1)];
        let edges = (1..=n).flat_map(|x| [(0, x), (x, 0)]).flat_map(star);
        let edges: Vec<_> = edges.collect();
        house.apply(1, &edges);
        house.apply(2, &edges);
        house.end(false);
        house.steps(0, &edges)
    };
    let (small, large) = (bulk(100, true), bulk(400, true));
    assert!(large <= 5 * small, "{small} steps, then {large}");
    assert!(large <= 20 * 400, "{large} steps for 800 edges");
    // Power: with the first relation always walked, N of the edges walk the hub's N.
    let (small, large) = (bulk(100, false), bulk(400, false));
    assert!(large >= 14 * small, "{small} steps, then {large}");
}

/// All pairs of a block have a partner behind, or one in three.
#[test]
fn groups_are_taken_in_blocks() {
    const MANY: i64 = (1 << 16) + (1 << 14) + 3;
    for (intersect, apart) in [(false, 1), (false, 3), (true, 1), (true, 3)] {
        for keep in [&[][..], &[2]] {
            let mut house = triangle(keep, intersect);
            let s: Vec<_> = (0..MANY).map(|c| (vec![0, c], 2)).collect();
            let t = (0..MANY).step_by(apart).map(|c| (vec![c, 0], 3));
            let t: Vec<_> = t.collect();
            house.apply(1, &s);
            house.apply(2, &t);
            house.end(false);
            house.apply(0, &[(vec![0, 0], 5), (vec![1, 0], 7)]);
            house.end(false);
            let closed = t.len() as i64;
            let expected = match keep {
                [] => Rows::from([(vec![], 2 * 3 * 5 * closed)]),
                _ => t.iter().map(|(row, _)| (vec![row[0]], 2 * 3 * 5)).collect(),
            };
            assert_eq!(house.rows(3), expected);
            house.apply(0, &[(vec![0, 0], -5)]);
            house.end(false);
            assert_eq!(house.rows(3), Rows::new());
        }
    }
}

/// Q(a) counts A(a) * B(a) * C(a); B has every key but each fifth, C but each third.
fn probed(apart: i64) -> House {
    let mut house = House::new(["A", "B", "C", "Q"].map(|name| relation(name, 1)).into());
    let joins = vec![join(1, &[0]), join(2, &[0])];
    house.path(0, &[0], vec![level(joins, 3, &[0], false)]);
    house.path(1, &[0], vec![]);
    house.path(2, &[0], vec![]);
    let lacking = |table: i64| (0..60).filter(move |key| key % table != 0);
    let b: Vec<_> = lacking(5).map(|key| (vec![key * apart], 2)).collect();
    let c: Vec<_> = lacking(3).map(|key| (vec![key * apart], 3)).collect();
    house.apply(1, &b);
    house.apply(2, &c);
    house.end(false);
    house
}

/// By a directory that is an array, and by one that is a hash table.
#[test]
fn a_row_alone_is_met_as_among_others() {
    for apart in [1, 1 << 40] {
        let rows: Vec<_> = (0..70).map(|key| (vec![key * apart], 1)).collect();
        let (mut together, mut alone) = (probed(apart), probed(apart));
        let steps = together.steps(0, &rows);
        let each = rows
            .iter()
            .map(|row| alone.steps(0, std::slice::from_ref(row)));
        assert_eq!(each.sum::<u64>(), steps);
        for house in [&mut together, &mut alone] {
            house.end(false);
        }
        let both = (0..60).filter(|key| key % 5 != 0 && key % 3 != 0);
        let expected: Rows = both.map(|key| (vec![key * apart], 6)).collect();
        assert_eq!(together.rows(3), expected);
        assert_eq!(alone.rows(3), expected);
    }
}
