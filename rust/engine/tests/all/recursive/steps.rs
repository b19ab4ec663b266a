//! Costs of changes of a recursion, in steps.

use ringview_engine::{Database, Direction, Options};

use super::{CLOSURE, Edge, REACHED, apply, chain, database, view};

/// The steps of changes, one transaction each.
fn steps(db: &mut Database, changes: &[(Direction, Edge)]) -> Vec<u64> {
    let one = |(direction, edge): &(Direction, Edge)| {
        let before = db.view_steps("v").unwrap();
        apply(db, &[(*direction, &[*edge])]).unwrap();
        db.check();
        db.view_steps("v").unwrap() - before
    };
    changes.iter().map(one).collect()
}

#[test]
fn an_edge_at_the_end_of_a_chain_costs_the_rows_that_it_brings() {
    for number in [50, 100, 200i64] {
        let mut db = database(Options::default());
        apply(&mut db, &[(Direction::Insert, &chain(number))]).unwrap();
        view(&mut db, "v", CLOSURE);
        let edge = (Some(number), Some(number + 1));
        let twice = (Some(number / 2), Some(number / 2 + 1));
        let changes = [
            (Direction::Insert, edge),
            (Direction::Delete, edge),
            (Direction::Insert, twice),
            (Direction::Delete, twice),
        ];
        for (found, change) in steps(&mut db, &changes).into_iter().zip(changes) {
            let most = 24 * number.unsigned_abs() + 100;
            assert!(found <= most, "{found} steps, {number} edges, {change:?}");
        }
    }
}

#[test]
fn an_edge_beside_others_costs_no_more_than_its_derivations() {
    for side in [8, 16, 32i64] {
        // A grid: each node within has two ways to it, of equal length.
        let node = |x: i64, y: i64| Some(x * side + y);
        let mut edges = Vec::new();
        for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
            edges.extend((x + 1 < side).then(|| (node(x, y), node(x + 1, y))));
            edges.extend((y + 1 < side).then(|| (node(x, y), node(x, y + 1))));
        }
        let mut db = database(Options::default());
        apply(&mut db, &[(Direction::Insert, &edges)]).unwrap();
        view(&mut db, "v", REACHED);
        let edge = (node(side / 2, side / 2), node(side / 2 + 1, side / 2));
        let changes = [(Direction::Delete, edge), (Direction::Insert, edge)];
        for found in steps(&mut db, &changes) {
            assert!(found <= 40, "{found} steps, {side} by {side} nodes");
        }
        // A back edge from the end, which closes a cycle, supports nothing that has no other
        // derivation.
        let back = (node(side - 1, side - 1), node(0, 0));
        let changes = [(Direction::Insert, back), (Direction::Delete, back)];
        for found in steps(&mut db, &changes) {
            assert!(found <= 40, "{found} steps, {side} by {side} nodes");
        }
    }
}
