//! Degree-m payloads against nested loops, after every batch of random inserts and deletes.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use proptest::prelude::*;
use ringview_core::{Batch, Error};
use ringview_query::{ColumnRef, Function, Nulls, Output, Query};

use crate::views::naive::{Row, Tables, batch, commit, feed, query, result, value};

/// A query for the degree-m payload of columns "alias.column".
pub fn cofactor(
    atoms: &[&str],
    joins: &[&str],
    groups: &[&str],
    features: &[&str],
) -> (Query, Vec<ColumnRef>) {
    let mut query = query(atoms, joins, groups, &[]);
    let reference = |text: &&str| {
        let (alias, column) = text.split_once('.').unwrap();
        let atom = query
            .atoms
            .iter()
            .position(|atom| atom.alias == alias)
            .unwrap();
        ColumnRef {
            atom,
            column: column.to_owned(),
        }
    };
    let columns: Vec<ColumnRef> = features.iter().map(reference).collect();
    query.outputs.push(Output::Cofactor {
        name: "cofactor".to_owned(),
        columns: columns.clone(),
        categorical: Vec::new(),
        nulls: Nulls::Refuse,
    });
    (query, columns)
}

/// Features local, joined, grouped by; in any order; in some relations and not in others.
fn queries() -> Vec<(Query, Vec<ColumnRef>)> {
    vec![
        cofactor(&["R"], &[], &[], &["R.b", "R.a"]),
        cofactor(&["R"], &[], &["R.a"], &["R.b", "R.a"]),
        cofactor(
            &["R", "S", "T"],
            &["R.a = S.a", "S.c = T.c"],
            &[],
            &["T.d", "R.b", "S.a", "S.e", "T.c"],
        ),
        cofactor(
            &["R", "S", "T"],
            &["R.a = S.a", "S.c = T.c"],
            &["S.a", "T.d"],
            &["R.b", "S.e"],
        ),
        cofactor(
            &["R", "S", "U"],
            &["R.a = S.a = U.a"],
            &[],
            &["U.d", "S.c", "S.e", "R.b", "R.a"],
        ),
        cofactor(
            &["R", "T", "U"],
            &["R.b = T.c", "T.d = U.d", "U.a = R.a"],
            &[],
            &["R.a", "T.d", "T.c"],
        ),
        cofactor(&["R x", "R y"], &["x.b = y.a"], &["x.a"], &["y.b", "x.b"]),
        cofactor(&["R", "T"], &[], &[], &["R.a", "T.d"]),
    ]
}

pub fn tables() -> Tables {
    Tables::new(&[
        ("R", &["a", "b"]),
        ("S", &["a", "c", "e"]),
        ("T", &["c", "d"]),
        ("U", &["d", "a"]),
    ])
}

fn found(batch: &RecordBatch) -> BTreeMap<Row, Vec<i64>> {
    let width = batch.num_columns() - 1;
    let payload = batch.column(width).as_struct();
    let counts = payload.column(0).as_primitive::<Int64Type>();
    let list = |column: usize, row: usize| -> Vec<i64> {
        let values = payload.column(column).as_fixed_size_list().value(row);
        values
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .map(|&v| v as i64)
            .collect()
    };
    let row = |row: usize| {
        let key = (0..width).map(|c| value(batch, c, row));
        let all = [vec![counts.value(row)], list(1, row), list(2, row)].concat();
        (key.collect(), all)
    };
    (0..batch.num_rows()).map(row).collect()
}

pub type Step = (usize, Vec<(Vec<i64>, i64)>, bool);

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = (prop::collection::vec(-2i64..3, 3), -2i64..4);
    prop::collection::vec(
        (0usize..4, prop::collection::vec(row, 0..10), any::<bool>()),
        1..12,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_payload_equals_nested_loops(steps in steps()) {
        for (query, columns) in queries() {
            run(tables(), &query, &columns, &steps);
        }
    }
}

/// The same query with the exact sum of its first feature before the payload.
fn in_company(query: &Query, columns: &[ColumnRef]) -> Query {
    let mut query = query.clone();
    let sum = Output::Aggregate {
        name: "sum".to_owned(),
        function: Function::Sum,
        argument: Some(columns[0].expr().into()),
    };
    query.outputs.insert(query.outputs.len() - 1, sum);
    query
}

/// A view from empty to empty: after each step it equals nested loops, and so does one with the payload beside a sum.
pub fn run(mut tables: Tables, query: &Query, columns: &[ColumnRef], steps: &[Step]) {
    let (plan, mut view) = tables.view(query);
    view.freeze();
    let (_, mut company) = tables.view(&in_company(query, columns));
    company.freeze();
    for (table, rows, undo) in steps {
        let name = *tables.columns.keys().nth(*table).unwrap();
        let width = tables.columns[name].len();
        let mut legal: Vec<(Row, i64)> = Vec::new();
        let mut now = tables.rows[name].clone();
        for (row, times) in rows {
            let row: Row = row[..width].iter().map(|&v| Some(v)).collect();
            let entry = now.entry(row.clone()).or_default();
            let times = if *entry + times < 0 { -times } else { *times };
            *entry += times;
            legal.push((row, times));
        }
        feed(&plan, &mut view, name, &batch(width, &legal), 1).unwrap();
        feed(&plan, &mut company, name, &batch(width, &legal), 1).unwrap();
        if *undo {
            view.rollback();
            company.rollback();
        } else {
            commit(&mut view);
            commit(&mut company);
            tables.apply(name, &legal);
        }
        view.check();
        company.check();
        let sums = found(&result(&*view));
        assert_eq!(sums, tables.cofactors(query, columns));
        let beside = found(&result(&*company));
        let without_sum = |(mut key, payload): (Row, Vec<i64>)| {
            // A sum over nothing but NULL is NULL.
            assert_eq!(key.pop().map(Option::unwrap_or_default), Some(payload[1]));
            (key, payload)
        };
        assert_eq!(sums, beside.into_iter().map(without_sum).collect());
    }
    for (table, stored) in tables.rows.clone() {
        let all: Vec<(Row, i64)> = stored.into_iter().collect();
        let all = batch(tables.columns[table].len(), &all);
        for view in [&mut view, &mut company] {
            feed(&plan, view, table, &all, -1).unwrap();
            commit(view);
            view.check();
        }
    }
    for node in [view.explanation().nodes, company.explanation().nodes].concat() {
        assert!(node.rows.is_none_or(|rows| rows == 0), "{}", node.name);
    }
}

#[test]
fn null_features_are_refused_and_leave_no_trace() {
    let (query, _) = cofactor(&["R", "S"], &["R.a = S.a"], &[], &["R.b", "S.e"]);
    let (plan, mut view) = tables().view(&query);
    view.freeze();
    let row = |values: &[Option<i64>]| (values.to_vec(), 1);
    let feed_row = |view: &mut _, table: &str, values: &[Option<i64>]| {
        let batch: Batch = batch(values.len(), &[row(values)]);
        feed(&plan, view, table, &batch, 1)
    };
    feed_row(&mut view, "S", &[Some(1), Some(1), Some(3)]).unwrap();
    commit(&mut view);
    let before = result(&*view);
    let refused = feed_row(&mut view, "R", &[Some(1), None]);
    view.rollback();
    assert!(
        matches!(&refused, Err(Error::NullFeature { column, row: 0, .. }) if column == "b"),
        "{refused:?}"
    );
    view.check();
    // A NULL where it joins drops the row, as ever.
    feed_row(&mut view, "R", &[None, Some(2)]).unwrap();
    commit(&mut view);
    assert_eq!(result(&*view), before);
}

/// A fact that jumps about in a large dimension moves the mean each time by far more than it deviates:
/// what moving origins handles stays within what rows handle.
#[test]
fn origins_move_no_more_often_than_rows_pay_for() {
    let (query, columns) = cofactor(&["R", "S"], &["R.a = S.a"], &[], &["R.b", "S.e"]);
    let mut tables = tables();
    let (plan, mut view) = tables.view(&query);
    view.freeze();
    let (keys, changes) = (1000, 3000);
    let dimension = |a: i64| (vec![Some(a), Some(0), Some(a * 10_007 + 7)], 1);
    let dimension: Vec<(Row, i64)> = (0..keys).map(dimension).collect();
    feed(&plan, &mut view, "S", &batch(3, &dimension), 1).unwrap();
    commit(&mut view);
    tables.apply("S", &dimension);
    let fact = |step: i64| vec![(vec![Some(step * 389 % keys), Some(step)], 1)];
    let before = view.steps();
    for step in 0..changes {
        feed(&plan, &mut view, "R", &batch(2, &fact(step)), 1).unwrap();
        if step > 0 {
            feed(&plan, &mut view, "R", &batch(2, &fact(step - 1)), -1).unwrap();
        }
        commit(&mut view);
    }
    let steps = view.steps() - before;
    assert!(steps < 40 * changes as u64, "{steps} steps");
    view.check();
    tables.apply("R", &fact(changes - 1));
    let sums = found(&result(&*view));
    assert_eq!(sums, tables.cofactors(&query, &columns));
}
