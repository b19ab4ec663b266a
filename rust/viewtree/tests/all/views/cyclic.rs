//! Cyclic queries against nested loops: indicator projections in every ring, on named shapes and on
//! random hypergraphs under random orders. `check` asserts, after every batch, that indicators are
//! the keys of their relations and that no view has a key which one of its indicators lacks.

use proptest::prelude::*;
use ringview_query::{ColumnRef, OrderRef, Query};

use crate::views::cofactor;
use crate::views::naive::{Row, Tables, batch, commit, feed, query};
use crate::views::streams::{run, steps};

/// Edges with a weight that nothing joins on, wide edges, plain edges, and a tail.
fn tables() -> Tables {
    Tables::new(&[
        ("E", &["a", "b", "w"]),
        ("F", &["a", "b", "x"]),
        ("G", &["a", "b"]),
        ("X", &["x", "y"]),
    ])
}

fn indicators(tables: &Tables, query: &Query) -> usize {
    let (plan, _) = tables.view(query);
    let mut nodes = plan.tree.nodes.iter();
    nodes.by_ref().filter(|n| n.indicator.is_some()).count()
}

const TRIANGLE: [&str; 3] = ["r.b = s.a", "s.b = t.a", "t.b = r.a"];

/// Each with how many indicator projections its tree has.
fn shapes() -> Vec<(Query, usize)> {
    let square = ["r.b = s.a", "s.b = t.a", "t.b = u.a", "u.b = r.a"];
    let chord = [
        "r.b = s.a",
        "s.b = t.a = e.b",
        "t.b = u.a",
        "u.b = r.a = e.a",
    ];
    let bow_tie = [
        "r.b = s.a",
        "s.b = t.a",
        "t.b = r.a = u.a = w.b",
        "u.b = v.a",
        "v.b = w.a",
    ];
    let clique = [
        "p.a = q.a = r.a",
        "p.b = s.a = t.a",
        "q.b = s.b = u.a",
        "r.b = t.b = u.b",
    ];
    vec![
        (
            query(
                &["E r", "F s", "G t"],
                &TRIANGLE,
                &[],
                &["", "r.w * s.x", "avg r.w"],
            ),
            1,
        ),
        (
            query(&["G r", "G s", "G t"], &TRIANGLE, &[], &["", "r.a * s.a"]),
            1,
        ),
        (
            query(
                &["E r", "E s", "E t"],
                &TRIANGLE,
                &["r.a"],
                &["", "r.w * s.w * t.w"],
            ),
            1,
        ),
        (
            query(
                &["E r", "F s", "G t"],
                &TRIANGLE,
                &["r.a", "s.a", "t.a"],
                &["", "r.w"],
            ),
            1,
        ),
        (
            query(&["E r", "F s", "G t"], &TRIANGLE, &["r.w"], &["s.x", "t.a"]),
            1,
        ),
        (
            query(
                &["E r", "F s", "G t"],
                &TRIANGLE,
                &["r.a"],
                &["min r.w", "max s.x", "distinct t.a"],
            ),
            1,
        ),
        (
            query(
                &["G r", "E s", "G t", "F u"],
                &square,
                &[],
                &["", "s.w * u.x"],
            ),
            0,
        ),
        (
            query(
                &["G r", "E s", "G t", "F u", "E e"],
                &chord,
                &[],
                &["", "e.w * u.x"],
            ),
            2,
        ),
        (
            query(
                &["G r", "G s", "G t", "G u", "G v", "G w"],
                &bow_tie,
                &["r.a"],
                &[""],
            ),
            2,
        ),
        (
            query(
                &["G p", "G q", "G r", "G s", "G t", "G u"],
                &clique,
                &[],
                &[""],
            ),
            3,
        ),
        (wide(), 1),
    ]
}

/// A relation that closes the triangle has a further variable, which a tail joins: the indicator
/// projects it away, and counts how many keys are behind each of its own.
fn wide() -> Query {
    let mut joins = TRIANGLE.to_vec();
    joins.push("r.x = z.x");
    let atoms = ["F r", "G s", "E t", "X z"];
    let mut wide = query(&atoms, &joins, &[], &["", "z.y * t.w", "min z.y"]);
    let column = |atom: usize, column: &str| ColumnRef {
        atom,
        column: column.to_owned(),
    };
    let below = |variable, children| OrderRef { variable, children };
    let x = below(column(0, "x"), Vec::new());
    let c = below(column(1, "b"), Vec::new());
    wide.order = Some(vec![below(
        column(0, "a"),
        vec![below(column(0, "b"), vec![c, x])],
    )]);
    wide
}

#[test]
fn every_shape_has_its_indicators() {
    for (query, expected) in shapes() {
        let (plan, _) = tables().view(&query);
        assert_eq!(
            indicators(&tables(), &query),
            expected,
            "{}",
            plan.explain()
        );
    }
    let (plan, _) = tables().view(&wide());
    assert!(plan.explain().contains("∃[a, r.b] r"), "{}", plan.explain());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn shapes_equal_nested_loops(steps in steps(&tables())) {
        for (query, _) in shapes() {
            run(tables(), &query, &steps);
        }
    }

    #[test]
    fn cofactors_over_cycles(steps in cofactor::steps()) {
        let shapes = [
            cofactor::cofactor(&["E r", "F s", "G t"], &TRIANGLE, &[], &["r.w", "s.x", "t.a"]),
            cofactor::cofactor(&["E r", "E s", "E t"], &TRIANGLE, &["r.a"], &["t.w", "r.w", "s.a"]),
            cofactor::cofactor(&["E r", "F s", "E t", "F u", "G e"],
                &["r.b = s.a", "s.b = t.a = e.b", "t.b = u.a", "u.b = r.a = e.a"], &[],
                &["s.x", "u.x", "e.a", "r.w"]),
        ];
        for (query, columns) in shapes {
            cofactor::run(tables(), &query, &columns, &steps);
        }
    }
}

/// All pairs and triples of five variables, and one with all but one.
pub const POOL: [(&str, &[&str]); 16] = [
    ("ab", &["a", "b"]),
    ("ac", &["a", "c"]),
    ("ad", &["a", "d"]),
    ("ae", &["a", "e"]),
    ("bc", &["b", "c"]),
    ("bd", &["b", "d"]),
    ("be", &["b", "e"]),
    ("cd", &["c", "d"]),
    ("ce", &["c", "e"]),
    ("de", &["d", "e"]),
    ("abc", &["a", "b", "c"]),
    ("abd", &["a", "b", "d"]),
    ("bce", &["b", "c", "e"]),
    ("cde", &["c", "d", "e"]),
    ("ade", &["a", "d", "e"]),
    ("acd", &["a", "c", "d"]),
];

/// The natural join of some relations of the pool, grouped by some of its variables, in an order of
/// its own or in a chain.
pub fn natural(names: &[&'static str], free: u8, chain: Option<&[usize]>) -> (Tables, Query) {
    let chosen: Vec<_> = POOL
        .into_iter()
        .filter(|(name, _)| names.contains(name))
        .collect();
    let of = |variable: &str| -> Vec<String> {
        let has = chosen
            .iter()
            .filter(|(_, columns)| columns.contains(&variable));
        has.map(|(name, _)| format!("{name}.{variable}")).collect()
    };
    let all = ["a", "b", "c", "d", "e"].map(of);
    let joins: Vec<String> = all
        .iter()
        .filter(|c| c.len() > 1)
        .map(|c| c.join(" = "))
        .collect();
    let joins: Vec<&str> = joins.iter().map(String::as_str).collect();
    let present: Vec<&String> = all.iter().filter_map(|columns| columns.first()).collect();
    let grouped = (0..present.len()).filter(|id| free >> id & 1 == 1);
    let groups: Vec<&str> = grouped.map(|id| present[id].as_str()).collect();
    let sum = format!("{} * {}", present[0], present[present.len() - 1]);
    let atoms: Vec<&str> = chosen.iter().map(|(name, _)| *name).collect();
    let mut query = query(&atoms, &joins, &groups, &["", &sum]);
    if let Some(chain) = chain {
        let mut order = Vec::new();
        for id in chain.iter().filter(|id| !all[**id].is_empty()) {
            let (alias, column) = all[*id][0].split_once('.').unwrap();
            let atom = atoms.iter().position(|name| *name == alias).unwrap();
            let variable = ColumnRef {
                atom,
                column: column.to_owned(),
            };
            order = vec![OrderRef {
                variable,
                children: order,
            }];
        }
        query.order = Some(order);
    }
    (Tables::new(&chosen), query)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_hypergraphs_equal_nested_loops(
        names in prop::sample::subsequence(POOL.map(|(name, _)| name).to_vec(), 3..6),
        free in any::<u8>(), thin in any::<u8>(),
        chain in prop::option::of(Just(vec![0usize, 1, 2, 3, 4]).prop_shuffle()),
        steps in steps(&Tables::new(&POOL)).prop_map(|steps| steps),
        fixed in any::<bool>(),
    ) {
        let (mut tables, query) = natural(&names, free & thin & 31, chain.as_deref());
        // Steps name tables of the whole pool: fold them onto those that are there.
        let mut steps = steps;
        for step in &mut steps {
            step.fold_onto(&tables);
        }
        if fixed {
            // A relation that never changes and is empty: still a plan, still exact.
            tables.fixed = vec![names[0]];
            steps.retain(|step| step.table() != names[0]);
        }
        run(tables, &query, &steps);
    }
}

/// A triangle query over a star: every pair of a centre's leaves joins in two of the relations, and
/// none closes. The view over them stays empty, and memory linear, where it had been quadratic.
#[test]
fn memory_is_linear_on_a_star() {
    let bytes = |size: i64| {
        let tables = tables();
        let triangle = query(&["E r", "F s", "G t"], &TRIANGLE, &[], &[""]);
        let (plan, mut view) = tables.view(&triangle);
        view.freeze();
        let star = |from_centre: bool, width: usize| -> Vec<(Row, i64)> {
            let leaf = |leaf| {
                if from_centre {
                    [0, leaf, 1]
                } else {
                    [leaf, 0, 1]
                }
            };
            let row = |at| (leaf(at)[..width].iter().map(|&v| Some(v)).collect(), 1);
            (1..=size).map(row).collect()
        };
        for (table, from_centre, width) in [("E", true, 3), ("F", false, 3), ("G", true, 2)] {
            let rows = star(from_centre, width);
            feed(&plan, &mut view, table, &batch(width, &rows), 1).unwrap();
            commit(&mut view);
        }
        view.check();
        let most = view
            .explanation()
            .nodes
            .iter()
            .filter_map(|node| node.rows)
            .max();
        assert!(most <= Some(size as u64), "{:?}", view.explanation().nodes);
        // The smallest group is walked: a change costs no more steps than the star has rows.
        let before = view.steps();
        let closing = vec![(vec![Some(5), Some(6), Some(1)], 1)];
        feed(&plan, &mut view, "E", &batch(3, &closing), 1).unwrap();
        assert!(
            view.steps() - before < 12,
            "{} steps",
            view.steps() - before
        );
        view.memory_usage()
    };
    let (small, large) = (bytes(2_000), bytes(16_000));
    assert!(large < 10 * small, "{small} bytes, then {large}");
}
