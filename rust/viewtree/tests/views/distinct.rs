//! DISTINCT rows of joins kept factorised, against the groups that nested loops find.

use proptest::prelude::*;
use ringview_query::{Bag, Query, Representation};

use crate::naive::{Tables, query};
use crate::streams::{run, steps};

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

fn tables() -> Tables {
    Tables::new(&[
        ("R", &["a", "b"]),
        ("S", &["a", "c", "e"]),
        ("T", &["c", "d"]),
        ("U", &["d", "a"]),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rows_are_the_groups_of_nested_loops(steps in steps(&tables())) {
        for mut query in shapes() {
            query.bag = Some(Bag {
                representation: Some(Representation::Factorised),
                distinct: true,
            });
            run(tables(), &query, &steps);
        }
    }
}
