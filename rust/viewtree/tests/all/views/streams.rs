//! Views against nested loops after every batch of random inserts and deletes, with rollbacks.

use std::collections::BTreeMap;

use crate::views::naive::{
    Row, Rows, Tables, batch, commit, feed, load, prepare, query, result, rows,
};
use proptest::prelude::*;
use ringview_core::{Batch, Dictionary};
use ringview_query::Query;

/// The tables that all queries are over.
pub fn tables() -> Tables {
    Tables::new(&[
        ("R", &["a", "b"]),
        ("S", &["a", "c", "e"]),
        ("T", &["c", "d"]),
        ("U", &["d", "a"]),
    ])
}

/// Queries of every kind: the paper's example, stars, paths, cycles, products, self-joins, groups
/// above and below bound variables, NULLs in groups and sums.
pub fn queries() -> Vec<Query> {
    vec![
        query(&["R"], &[], &[], &["", "R.b", "avg R.b"]),
        query(&["R"], &[], &["R.a"], &["", "R.b"]),
        query(
            &["R", "S", "T"],
            &["R.a = S.a", "S.c = T.c"],
            &[],
            &["", "R.b * T.d * S.e"],
        ),
        query(
            &["R", "S", "T"],
            &["R.a = S.a", "S.c = T.c"],
            &["S.a", "S.c"],
            &["R.b * T.d * S.e", ""],
        ),
        query(
            &["R", "S", "T"],
            &["R.a = S.a", "S.c = T.c"],
            &["R.b", "T.d"],
            &["S.e", "avg S.e"],
        ),
        query(
            &["R", "S"],
            &["R.a = S.a"],
            &["S.e"],
            &["R.a * S.c", "R.b", "R.a"],
        ),
        query(
            &["S", "U", "R"],
            &["S.a = U.a = R.a"],
            &["S.a"],
            &["S.a", "S.a * S.e", "U.d * R.b"],
        ),
        query(
            &["S", "U", "R"],
            &["S.a = U.a = R.a"],
            &[],
            &["S.a * S.a", "S.e * U.d * R.b"],
        ),
        query(
            &["R", "T", "U"],
            &["R.b = T.c", "T.d = U.d", "U.a = R.a"],
            &[],
            &["", "R.a * T.c * U.d"],
        ),
        query(
            &["R", "T", "U"],
            &["R.b = T.c", "T.d = U.d", "U.a = R.a"],
            &["R.a"],
            &["T.d", "R.b"],
        ),
        query(&["R x", "R y"], &["x.b = y.a"], &["x.a"], &["", "y.b"]),
        query(
            &["R x", "R y", "R z"],
            &["x.b = y.a", "y.b = z.a", "z.b = x.a"],
            &[],
            &["", "x.a * y.a"],
        ),
        query(&["R", "T"], &[], &[], &["", "R.a * T.d"]),
        query(&["R", "T"], &[], &["R.a", "T.c"], &["R.b * T.d"]),
        query(
            &["R", "T", "U x", "U y"],
            &["x.a = y.d", "R.a = T.c"],
            &["R.a", "x.d"],
            &["", "y.a"],
        ),
        query(&["S"], &["S.a = S.c"], &["S.a"], &["S.e"]),
        query(
            &["R", "S", "T", "U"],
            &["R.a = S.a = U.a", "S.c = T.c", "T.d = U.d"],
            &["R.b"],
            &["S.e", "T.d"],
        ),
        query(&["R"], &[], &[], &["min R.b", "max R.b", "distinct R.b"]),
        query(&["R"], &[], &["R.a"], &["max R.b", "distinct R.a", "R.b"]),
        query(
            &["R", "S", "T"],
            &["R.a = S.a", "S.c = T.c"],
            &["R.b"],
            &["min S.e", "max S.e", "distinct T.d", "min R.a", "max R.b"],
        ),
        query(
            &["R", "T", "U"],
            &["R.b = T.c", "T.d = U.d", "U.a = R.a"],
            &[],
            &["min T.d", "distinct R.a", "max U.a", "R.b"],
        ),
        query(
            &["R x", "R y"],
            &["x.b = y.a"],
            &["x.a"],
            &["min y.b", "max x.b"],
        ),
    ]
}

/// One batch: its table, rows with multiplicities to insert, and whether it is undone again.
#[derive(Clone, Debug)]
pub struct Step {
    table: &'static str,
    picks: Vec<(Row, i64)>,
    undo: bool,
    /// The transaction continues with the next step.
    open: bool,
}

impl Step {
    /// Its table.
    pub fn table(&self) -> &'static str {
        self.table
    }

    /// Makes it a step of one of these tables, and its rows rows of that.
    pub fn fold_onto(&mut self, tables: &Tables) {
        let sum: usize = self.table.bytes().map(usize::from).sum();
        let at = sum % tables.columns.len();
        if let Some((table, columns)) = tables.columns.iter().nth(at) {
            self.table = table;
            for (row, _) in &mut self.picks {
                row.resize(columns.len(), Some(1));
            }
        }
    }
}

/// Batches for these tables.
pub fn steps(tables: &Tables) -> impl Strategy<Value = Vec<Step>> + use<> {
    let names: Vec<(&'static str, usize)> = tables
        .columns
        .iter()
        .map(|(name, columns)| (*name, columns.len()))
        .collect();
    let value = prop_oneof![1 => Just(None), 12 => (-1i64..3).prop_map(Some)];
    let row = (prop::collection::vec(value, 3), -2i64..4);
    let step = (
        0..names.len(),
        prop::collection::vec(row, 0..8),
        any::<u8>(),
    )
        .prop_map(move |(table, rows, dice)| {
            let (table, width) = names[table];
            let picks = rows
                .into_iter()
                .map(|(row, times)| (row[..width].to_vec(), times))
                .collect();
            Step {
                table,
                picks,
                undo: dice % 5 == 0,
                open: dice % 7 < 2,
            }
        });
    prop::collection::vec(step, 1..12)
}

/// Deletes of what is not there become inserts: multiplicities stay above zero.
fn legal(tables: &Tables, step: &Step) -> Vec<(Row, i64)> {
    let mut now = tables.rows[step.table].clone();
    let mut batch = Vec::new();
    for (row, times) in &step.picks {
        let entry = now.entry(row.clone()).or_default();
        let times = if *entry + times < 0 { -times } else { *times };
        *entry += times;
        batch.push((row.clone(), times));
    }
    batch
}

/// Adds the change of a result to the rows that were seen.
fn replay(changed: Rows, seen: &mut Rows) {
    for (row, times) in changed {
        *seen.entry(row).or_default() += times;
    }
    seen.retain(|_, times| *times != 0);
}

/// A view from empty to empty: after each step it is what nested loops say.
pub fn run(tables: Tables, query: &Query, steps: &[Step]) {
    run_from(tables, query, &[], steps);
}

/// The same of a view that is filled with the rows of some steps.
fn run_from(mut tables: Tables, query: &Query, filled: &[Step], steps: &[Step]) {
    let (plan, mut view) = tables.view(query);
    view.freeze();
    let mut batches: BTreeMap<&str, Vec<Batch>> = BTreeMap::new();
    for step in filled {
        let legal = legal(&tables, step);
        let encoded = batch(tables.columns[step.table].len(), &legal);
        batches.entry(step.table).or_default().push(encoded);
        tables.apply(step.table, &legal);
    }
    for (table, batches) in batches {
        load(&plan, &mut view, table, &batches).unwrap();
    }
    commit(&mut view);
    view.check();
    assert_eq!(rows(&result(&*view), false), tables.evaluate(query));
    let mut seen = rows(&result(&*view), false);
    let mut before = tables.clone();
    for (at, step) in steps.iter().enumerate() {
        let legal = legal(&tables, step);
        let encoded = batch(tables.columns[step.table].len(), &legal);
        feed(&plan, &mut view, step.table, &encoded, 1).unwrap();
        tables.apply(step.table, &legal);
        if step.open && at + 1 < steps.len() {
            continue;
        }
        let changed = prepare(&plan, &mut view).unwrap();
        if step.undo {
            view.rollback();
            tables = before.clone();
        } else {
            view.commit(&Dictionary::new());
            before = tables.clone();
            replay(changed, &mut seen);
        }
        view.check();
        let expected = tables.evaluate(query);
        assert_eq!(rows(&result(&*view), false), expected);
        assert_eq!(seen, expected, "the deltas add up to the result");
    }
    // All rows are deleted: nothing stays.
    for (table, stored) in tables.rows.clone() {
        let all: Vec<(Row, i64)> = stored.into_iter().collect();
        feed(
            &plan,
            &mut view,
            table,
            &batch(tables.columns[table].len(), &all),
            -1,
        )
        .unwrap();
        commit(&mut view);
        view.check();
        tables.rows.get_mut(table).unwrap().clear();
    }
    assert_eq!(rows(&result(&*view), false), tables.evaluate(query));
    for node in view.explanation().nodes {
        assert!(
            node.rows.is_none_or(|rows| rows == 0),
            "{} is not empty",
            node.name
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_query_equals_nested_loops(steps in steps(&tables())) {
        for query in queries() {
            run(tables(), &query, &steps);
        }
    }

    /// A view that is filled, in several batches a table, continues as one that received all rows as a stream.
    #[test]
    fn views_that_are_filled_equal_nested_loops(filled in steps(&tables()), steps in steps(&tables())) {
        for query in queries() {
            run_from(tables(), &query, &filled, &steps);
        }
    }

    /// With some relations static, loaded first, fewer views are kept and the result is the same.
    #[test]
    fn static_relations(steps in steps(&tables()), fixed in prop::sample::subsequence(vec!["R", "S", "T", "U"], 1..4)) {
        for query in queries() {
            let mut tables = tables();
            tables.fixed = fixed.clone();
            let (plan, mut view) = tables.view(&query);
            let (loads, streams): (Vec<&Step>, Vec<&Step>) =
                steps.iter().partition(|step| fixed.contains(&step.table));
            for step in loads {
                let legal = legal(&tables, step);
                tables.apply(step.table, &legal);
            }
            // Static relations lose no row: their content is loaded in several batches.
            for table in &fixed {
                let there = tables.rows[table].clone().into_iter().filter(|(_, times)| *times != 0);
                for rows in there.collect::<Vec<_>>().chunks(2) {
                    let encoded = batch(tables.columns[table].len(), rows);
                    feed(&plan, &mut view, table, &encoded, 1).unwrap();
                    commit(&mut view);
                }
            }
            view.freeze();
            for step in streams {
                let legal = legal(&tables, step);
                let encoded = batch(tables.columns[step.table].len(), &legal);
                feed(&plan, &mut view, step.table, &encoded, 1).unwrap();
                commit(&mut view);
                tables.apply(step.table, &legal);
            }
            prop_assert_eq!(rows(&result(&*view), false), tables.evaluate(&query));
        }
    }
}
