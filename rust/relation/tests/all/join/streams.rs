//! Streams of inserts and deletes, some undone: what follows is what brute force finds.

use proptest::prelude::*;

use crate::join::common::{House, Rows, add, brute_force, join, level, relation};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;

/// Changes of one of some relations in one transaction, and whether it is undone.
type Change = (usize, Vec<(Vec<i64>, i64)>, bool);

fn changes(relations: usize) -> impl Strategy<Value = Vec<Change>> {
    let row = (prop::collection::vec(0i64..4, 2), -1i64..3);
    let rows = prop::collection::vec(row, 0..8);
    prop::collection::vec((0..relations, rows, prop::bool::weighted(0.2)), 1..25)
}

/// Applies the changes; after each, the relation `result` is the join of the others over `keep`.
fn run(house: &mut House, changes: &[Change], keys: &[&[usize]], result: usize, keep: &[usize]) {
    let mut models = vec![Rows::new(); keys.len()];
    for (changed, rows, undo) in changes {
        house.apply(*changed, rows);
        house.end(*undo);
        if !undo {
            add(&mut models[*changed], rows);
        }
        for (at, model) in models.iter().enumerate() {
            assert_eq!(&house.rows(at), model);
        }
        let all: Vec<_> = models.iter().zip(keys.iter().copied()).collect();
        assert_eq!(house.rows(result), brute_force(&all, keep));
    }
}

/// R(a, b), S(b, c), T(c, a), and Q over `keep`.
pub fn triangle(keep: &[usize], intersect: bool) -> House {
    let relations = [("R", 2), ("S", 2), ("T", 2), ("Q", keep.len())];
    let relations = relations.map(|(name, fields)| relation(name, fields));
    let mut house = House::new(relations.into());
    for (from, fields) in TRIANGLE.into_iter().enumerate() {
        let joins = [(from + 1) % 3, (from + 2) % 3].map(|to| join(to, TRIANGLE[to]));
        let into = level(joins.into(), 3, keep, intersect);
        house.path(from, fields, vec![into]);
    }
    house
}

const TRIANGLE: [&[usize]; 3] = [&[A, B], &[B, C], &[C, A]];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn triangles_are_counted(changes in changes(3), intersect: bool) {
        run(&mut triangle(&[], intersect), &changes, &TRIANGLE, 3, &[]);
    }

    #[test]
    fn triangles_are_counted_by_two_corners(changes in changes(3), intersect: bool) {
        run(&mut triangle(&[C, A], intersect), &changes, &TRIANGLE, 3, &[C, A]);
    }

    #[test]
    fn triangles_are_listed(changes in changes(3), intersect: bool) {
        run(&mut triangle(&[A, B, C], intersect), &changes, &TRIANGLE, 3, &[A, B, C]);
    }

    /// V(b) = sum S(b, c); Q(d) = sum R(a, b) * V(b) * T(a, d), where T has nothing of S.
    #[test]
    fn what_is_kept_at_a_level_is_the_delta_of_the_next(changes in changes(3)) {
        let names = [("R", 2), ("S", 2), ("T", 2), ("V", 1), ("Q", 1)];
        let relations = names.map(|(name, fields)| relation(name, fields));
        let mut house = House::new(relations.into());
        let (r, s, t, v, q) = (0, 1, 2, 3, 4);
        let with = |joins| level(joins, q, &[D], true);
        house.path(r, &[A, B], vec![with(vec![join(v, &[B]), join(t, &[A, D])])]);
        let up = with(vec![join(r, &[A, B]), join(t, &[A, D])]);
        house.path(s, &[B, C], vec![level(Vec::new(), v, &[B], true), up]);
        house.path(t, &[A, D], vec![with(vec![join(r, &[A, B]), join(v, &[B])])]);
        run(&mut house, &changes, &[&[A, B], &[B, C], &[A, D]], q, &[D]);
    }

    /// Nothing in common: every tuple is a partner.
    #[test]
    fn relations_without_common_fields_are_multiplied(changes in changes(2)) {
        let names = [("R", 2), ("S", 2), ("Q", 2)];
        let relations = names.map(|(name, fields)| relation(name, fields));
        let mut house = House::new(relations.into());
        house.path(0, &[A, B], vec![level(vec![join(1, &[C, D])], 2, &[D, A], true)]);
        house.path(1, &[C, D], vec![level(vec![join(0, &[A, B])], 2, &[D, A], true)]);
        run(&mut house, &changes, &[&[A, B], &[C, D]], 2, &[D, A]);
    }

    /// The edges of one relation are met twice, each time under other names. An edge between two
    /// nodes is the first, the second and the third of a directed triangle alike.
    #[test]
    fn a_relation_is_met_twice(
        edges in prop::collection::vec((0i64..6, 1i64..6, -1i64..3), 1..40),
        intersect: bool,
    ) {
        let mut house = House::new(vec![relation("E", 2), relation("Q", 0)]);
        let joins = vec![join(0, &[B, C]), join(0, &[C, A])];
        let path = house.path(0, &[A, B], vec![level(joins, 1, &[], intersect)]);
        let mut model = Rows::new();
        for (from, by, times) in edges {
            let row = vec![(vec![from, (from + by) % 6], times)];
            // E is as it was while its change meets it; then it takes the change in.
            house.follow(path, &row);
            house.end(false);
            let store = house.path(0, &[A, B], Vec::new());
            house.apply(store, &row);
            house.end(false);
            add(&mut model, &row);
            let all = [(&model, TRIANGLE[0]), (&model, TRIANGLE[1]), (&model, TRIANGLE[2])];
            let three: Rows = house.rows(1).into_iter().map(|(key, n)| (key, 3 * n)).collect();
            assert_eq!(three, brute_force(&all, &[]));
        }
    }
}
