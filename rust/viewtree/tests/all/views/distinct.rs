//! DISTINCT rows of joins kept factorised, against the groups that nested loops find.

use proptest::prelude::*;
use ringview_query::{Bag, Query, Representation};

use crate::views::cofactor::tables;
use crate::views::naive::query;
use crate::views::streams::{run, steps};

/// All that joins is shown; of what does not, all or some or nothing.
fn shapes() -> Vec<Query> {
    let chain = ["R.a = S.a", "S.c = T.c"];
    vec![
        query(&["R", "S"], &["R.a = S.a"], &["R.a", "R.b", "S.e"], &[]),
        query(&["R", "S", "T"], &chain, &["S.a", "T.c"], &[]),
        query(&["R", "S", "T"], &chain, &["T.d", "R.b", "S.c", "R.a"], &[]),
        query(&["R", "T"], &[], &["R.b"], &[]),
        query(&["R x", "R y"], &["x.b = y.a"], &["y.a", "x.a"], &[]),
        query(
            &["R x", "R y", "R z"],
            &["x.a = y.a = z.a"],
            &["x.a", "y.b", "z.b"],
            &[],
        ),
        query(
            &["R", "U", "T"],
            &["R.b = T.c", "T.d = U.d", "U.a = R.a"],
            &["R.a", "R.b", "U.d"],
            &[],
        ),
    ]
}

/// Triangles, with a tail and without, loops of four with a chord and without, and a bow-tie.
fn cycles() -> Vec<(Query, usize)> {
    let triangle = ["x.b = y.a", "y.b = z.a", "z.b = x.a"];
    let tail = [&triangle[..], &["y.b = s.a"]].concat();
    let square = ["x.b = y.a", "y.b = z.a", "z.b = w.a", "w.b = x.a"];
    let chord = [
        "x.b = y.a",
        "y.b = z.a = e.d",
        "z.b = w.a",
        "w.b = x.a = e.a",
    ];
    let wings = [
        "x.b = y.a",
        "y.b = z.a",
        "z.b = x.a = u.a = w.b",
        "u.b = v.a",
        "v.b = w.a",
    ];
    vec![
        (
            query(
                &["R x", "R y", "R z"],
                &triangle,
                &["x.a", "y.a", "z.a"],
                &[],
            ),
            1,
        ),
        (
            query(
                &["R x", "R y", "R z", "S s"],
                &tail,
                &["x.a", "y.a", "z.a", "s.e"],
                &[],
            ),
            1,
        ),
        (
            query(
                &["R x", "R y", "R z", "R w"],
                &square,
                &["x.a", "y.a", "z.a", "w.a"],
                &[],
            ),
            0,
        ),
        (
            query(
                &["R x", "R y", "R z", "R w", "U e"],
                &chord,
                &["x.a", "y.a", "z.a", "w.a"],
                &[],
            ),
            2,
        ),
        (
            query(
                &["R x", "R y", "R z", "R u", "R v", "R w"],
                &wings,
                &["x.a", "y.a", "z.a", "u.b", "v.b"],
                &[],
            ),
            2,
        ),
    ]
}

fn distinct(mut query: Query) -> Query {
    query.bag = Some(Bag {
        representation: Some(Representation::Factorised),
        distinct: true,
    });
    query
}

#[test]
fn cycles_have_indicators() {
    for (query, expected) in cycles() {
        let (plan, _) = tables().view(&distinct(query));
        let found = plan
            .tree
            .nodes
            .iter()
            .filter(|node| node.indicator.is_some());
        assert_eq!(found.count(), expected, "{}", plan.explain());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rows_are_the_groups_of_nested_loops(steps in steps(&tables())) {
        for query in shapes() {
            run(tables(), &distinct(query), &steps);
        }
    }

    #[test]
    fn over_cycles_too(steps in steps(&tables())) {
        for (query, _) in cycles() {
            run(tables(), &distinct(query), &steps);
        }
    }
}
