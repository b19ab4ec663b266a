//! Refused changes leave everything as it was, to the last bit.
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use ringview_core::Error;
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;

use crate::common::{
    Change, Row, TABLES, Value, apply, database, from_arrow, schema, to_arrow, unpolled,
};

fn r(a: i64, b: i64, x: f64) -> Row {
    vec![Value::Int(a), Value::Int(b), Value::Real(x)]
}

fn s(b: i64, c: i64, t: &str) -> Row {
    vec![Value::Int(b), Value::Int(c), Value::Text(t.to_owned())]
}

/// A database with every view of the tests, and rows whose floats do not add up exactly.
fn filled() -> Database {
    let mut db = database(Options::default());
    apply(
        &mut db,
        &[Change::insert(2, vec![vec![Value::Int(5), Value::Int(7)]])],
    )
    .unwrap();
    for (index, query) in crate::common::queries::all().iter().enumerate() {
        db.create_view(&format!("v{index}"), query, &mut unpolled)
            .unwrap();
    }
    let rows = (0..20).map(|i| r(i % 4, i % 3, 0.1 * i as f64)).collect();
    apply(
        &mut db,
        &[
            Change::insert(0, rows),
            Change::insert(1, vec![s(1, 5, "p"), s(2, 5, "q")]),
        ],
    )
    .unwrap();
    db
}

/// All that a user can see: rows of tables, and views with the bits of their floats.
fn state(db: &Database) -> Vec<String> {
    let mut seen: Vec<String> = TABLES
        .iter()
        .map(|t| db.table(t.0).unwrap().rows.to_string())
        .collect();
    for view in db.views() {
        let bits = |value: &Value| match value {
            Value::Real(v) => format!("{:x}", v.to_bits()),
            other => format!("{other:?}"),
        };
        let rows = from_arrow(&db.view_result(&view).unwrap());
        seen.extend(
            rows.iter()
                .map(|row| row.iter().map(bits).collect::<Vec<_>>().join(" ")),
        );
    }
    seen
}

/// The transaction is refused, nothing has moved, and no change is pending for followers.
fn refused(db: &mut Database, changes: &[Change]) -> Error {
    let views = db.views();
    views
        .iter()
        .for_each(|view| drop(db.view_changes(view).unwrap()));
    let before = state(db);
    let error = apply(db, changes).unwrap_err();
    assert_eq!(state(db), before);
    for view in views {
        assert_eq!(
            db.view_changes(&view).unwrap().num_rows(),
            0,
            "changes of {view}"
        );
    }
    error
}

#[test]
fn deleting_too_much_undoes_the_transaction() {
    let mut db = filled();
    let error = refused(
        &mut db,
        &[
            Change::insert(0, vec![r(9, 1, 0.7), r(8, 2, 1e-9)]),
            Change::delete(0, vec![r(0, 0, 0.0)]),
            Change::delete(1, vec![s(1, 5, "p"), s(1, 5, "p")]),
        ],
    );
    assert_eq!(
        error,
        Error::OverDelete {
            table: "s".to_owned(),
            row: "(b = 1, c = 5, t = 'p')".to_owned(),
            asked: 2,
            present: 1
        }
    );
}

#[test]
fn rollback_is_exact_and_what_follows_is_too() {
    let mut db = filled();
    let mut other = filled();
    let good = [
        Change::insert(0, vec![r(1, 1, 0.3)]),
        Change::delete(1, vec![s(2, 5, "q")]),
    ];
    for _ in 0..3 {
        refused(
            &mut db,
            &[
                Change::insert(0, vec![r(1, 1, 1e17), r(1, 2, 0.1)]),
                Change::delete(1, vec![s(7, 7, "none")]),
            ],
        );
    }
    apply(&mut db, &good).unwrap();
    apply(&mut other, &good).unwrap();
    assert_eq!(state(&db), state(&other));
}

#[test]
fn overflow_undoes_the_transaction() {
    let mut db = filled();
    let error = refused(
        &mut db,
        &[Change::insert(
            0,
            vec![r(1, 1, 0.5), r(2, 1, f64::MAX), r(2, 1, f64::MAX)],
        )],
    );
    assert!(matches!(error, Error::Overflow { .. }), "{error}");
}

#[test]
fn rows_that_come_and_go_in_one_transaction_leave_nothing() {
    let mut db = filled();
    let before = state(&db);
    let rows = vec![r(3, 1, 0.1), r(3, 9, 0.7)];
    apply(
        &mut db,
        &[Change::insert(0, rows.clone()), Change::delete(0, rows)],
    )
    .unwrap();
    assert_eq!(state(&db).len(), before.len());
    let table = db.table("r").unwrap();
    assert_eq!(table.rows, 20);
}

#[test]
fn a_second_row_with_a_unique_key_is_refused_and_an_exchange_is_not() {
    let mut db = Database::new(Options::default());
    let columns = schema(TABLES[2].1);
    db.create_table("u", columns, Some(&["c".to_owned()]), false)
        .unwrap();
    let row = |c, d| vec![Value::Int(c), Value::Int(d)];
    apply(&mut db, &[Change::insert(2, vec![row(1, 1), row(2, 1)])]).unwrap();
    let twice = [
        Change::insert(2, vec![row(3, 1)]),
        Change::insert(2, vec![row(1, 2)]),
    ];
    let error = apply(&mut db, &twice).unwrap_err();
    assert!(matches!(error, Error::Duplicate { .. }), "{error}");
    assert_eq!(db.table("u").unwrap().rows, 2);
    apply(
        &mut db,
        &[
            Change::delete(2, vec![row(1, 1)]),
            Change::insert(2, vec![row(1, 2)]),
        ],
    )
    .unwrap();
    assert_eq!(db.table("u").unwrap().unique, Some(vec!["c".to_owned()]));
}

#[test]
fn static_tables_stand_still_once_a_view_reads_them() {
    let mut db = database(Options {
        trust_deletes: true,
        ..Options::default()
    });
    let row = vec![vec![Value::Int(1), Value::Int(2)]];
    apply(&mut db, &[Change::insert(2, row.clone())]).unwrap();
    let cross = &crate::common::queries::all()[6];
    db.create_view("v", cross, &mut unpolled).unwrap();
    let error = apply(
        &mut db,
        &[
            Change::insert(0, vec![r(1, 1, 1.0)]),
            Change::delete(2, row.clone()),
        ],
    );
    assert_eq!(
        error,
        Err(Error::Static {
            table: "u".to_owned(),
            views: vec!["v".to_owned()]
        })
    );
    assert_eq!(db.table("r").unwrap().rows, 0);
    assert_eq!(
        db.drop_table("u").unwrap_err(),
        Error::InUse {
            kind: "table",
            name: "u".to_owned(),
            views: vec!["v".to_owned()]
        }
    );
    db.drop_view("v").unwrap();
    apply(&mut db, &[Change::delete(2, row)]).unwrap();
    db.drop_table("u").unwrap();
    assert_eq!(db.tables(), ["r", "s"]);
}

#[test]
fn names_are_unknown_or_taken() {
    let mut db = filled();
    let batch = to_arrow(0, &[r(1, 1, 1.0)], None);
    let op = Op {
        table: "none",
        direction: Direction::Insert,
        rows: &[batch],
        multiplicity: None,
    };
    let good = to_arrow(0, &[r(1, 1, 1.0)], None);
    let first = Op {
        table: "r",
        rows: std::slice::from_ref(&good),
        ..op
    };
    let before = state(&db);
    let unknown = db.apply(&[first, op], &mut unpolled).unwrap_err();
    assert!(matches!(unknown, Error::UnknownTable { .. }), "{unknown}");
    assert_eq!(state(&db), before);
    assert!(matches!(
        db.view_result("none"),
        Err(Error::UnknownView { .. })
    ));
    assert!(matches!(db.drop_view("r"), Err(Error::UnknownView { .. })));
    assert!(matches!(
        db.drop_table("v0"),
        Err(Error::UnknownTable { .. })
    ));
    let columns = schema(TABLES[2].1);
    let taken =
        |name| move |db: &mut Database, columns| db.create_table(name, columns, None, false);
    assert!(matches!(
        taken("r")(&mut db, columns.clone()),
        Err(Error::Exists { kind: "table", .. })
    ));
    assert!(matches!(
        taken("v0")(&mut db, columns.clone()),
        Err(Error::Exists { kind: "view", .. })
    ));
    let missing = db
        .create_table("w", columns, Some(&["z".to_owned()]), false)
        .unwrap_err();
    assert!(
        matches!(missing, Error::UnknownColumn { ref table, .. } if table == "w"),
        "{missing}"
    );
    let query = &crate::common::queries::all()[0];
    assert!(matches!(
        db.create_view("r", query, &mut unpolled),
        Err(Error::Exists { .. })
    ));
    db.drop_view("v1").unwrap();
    db.create_view("v1", &crate::common::queries::all()[1], &mut unpolled)
        .unwrap();
    assert!(
        db.view_explanation("v1")
            .unwrap()
            .text()
            .contains("view tree")
    );
    assert_eq!(
        db.view_query("v1").unwrap(),
        &crate::common::queries::all()[1]
    );
}

#[test]
fn wrong_columns_and_types_are_refused_with_what_came_before() {
    let mut db = filled();
    let before = state(&db);
    let good = to_arrow(0, &[r(1, 1, 1.0)], None);
    let numbers = |name| (name, Arc::new(Int64Array::from(vec![1])) as _);
    for names in [["a", "b", "y"], ["a", "b", "x"], ["a", "x", "t"]] {
        let bad = RecordBatch::try_from_iter(names.map(numbers)).unwrap();
        let op = |table, rows| Op {
            table,
            direction: Direction::Insert,
            rows,
            multiplicity: None,
        };
        let outcome = db.apply(
            &[
                op("r", std::slice::from_ref(&good)),
                op("s", std::slice::from_ref(&bad)),
            ],
            &mut unpolled,
        );
        assert!(outcome.is_err(), "{names:?}");
        assert_eq!(state(&db), before);
    }
}

#[test]
fn nan_in_a_key_is_found_by_its_row_in_all_the_data() {
    let mut db = database(Options::default());
    let by_x = Query::from_json(
        r#"{"atoms": [{"table": "r", "alias": "r"}],
            "group_by": [{"atom": 0, "column": "x"}],
            "outputs": [{"kind": "aggregate", "name": "n", "function": "count"}]}"#,
    )
    .unwrap();
    db.create_view("v", &by_x, &mut unpolled).unwrap();
    let mut rows: Vec<Row> = (0..70_000).map(|i| r(i, i, 1.0)).collect();
    rows[69_999] = r(1, 1, f64::NAN);
    let error = apply(&mut db, &[Change::insert(0, rows)]).unwrap_err();
    assert!(
        matches!(error, Error::NotANumber { row: 69_999, .. }),
        "{error}"
    );
    assert_eq!((db.table("r").unwrap().rows, db.view_len("v")), (0, Ok(0)));
    assert_eq!(db.table("r").unwrap().rows, 0);
}

#[test]
fn empty_batches_and_empty_transactions_do_nothing() {
    let mut db = filled();
    let before = state(&db);
    apply(&mut db, &[]).unwrap();
    apply(
        &mut db,
        &[Change::insert(0, vec![]), Change::delete(1, vec![])],
    )
    .unwrap();
    let op = Op {
        table: "r",
        direction: Direction::Insert,
        rows: &[],
        multiplicity: None,
    };
    db.apply(&[op], &mut unpolled).unwrap();
    assert_eq!(state(&db), before);
    let none = RecordBatch::new_empty(to_arrow(2, &[], None).schema());
    let wrong = Op {
        rows: &[none],
        ..op
    };
    assert!(
        db.apply(&[wrong], &mut unpolled).is_err(),
        "columns are checked even of no rows"
    );
}

#[test]
fn a_stop_between_chunks_undoes_everything() {
    let mut db = filled();
    let before = state(&db);
    let rows: Vec<Row> = (0..150_000).map(|i| r(i % 7, i % 3, 0.1)).collect();
    let batch = to_arrow(0, &rows, None);
    let op = Op {
        table: "r",
        direction: Direction::Insert,
        rows: &[batch],
        multiplicity: None,
    };
    let mut seen = Vec::new();
    let outcome = db.apply(&[op], &mut |done| {
        seen.push(done);
        if done > 100_000 {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    });
    assert_eq!(outcome, Err(Error::Interrupted));
    // It is polled within a chunk too, with the number done before it.
    seen.dedup();
    assert!(seen.ends_with(&[65_536, 131_072]), "{seen:?}");
    assert_eq!(state(&db), before);
    let mut late = crate::common::queries::all()[0].clone();
    // Other rows make it one that no view keeps already.
    late.atoms[0].filter = Some("\"b\" < 9".parse().unwrap());
    let outcome = db.create_view("late", &late, &mut |_| Err(Error::Interrupted));
    assert_eq!(outcome, Err(Error::Interrupted));
    assert!(!db.views().contains(&"late".to_owned()));
}

#[test]
fn an_overflow_while_a_view_is_filled_leaves_no_view() {
    let mut db = database(Options::default());
    apply(
        &mut db,
        &[
            Change::insert(0, vec![r(1, 1, f64::MAX), r(2, 1, f64::MAX)]),
            Change::insert(2, vec![vec![Value::Int(5), Value::Int(7)]]),
        ],
    )
    .unwrap();
    let sum = &crate::common::queries::all()[6];
    let outcome = db.create_view("v", sum, &mut unpolled);
    assert!(
        matches!(outcome, Err(Error::Overflow { .. })),
        "{outcome:?}"
    );
    assert!(db.views().is_empty());
    db.drop_table("r").unwrap();
}

#[test]
fn memory_is_told_part_by_part() {
    let db = filled();
    let parts = db.memory_usage();
    let names: Vec<&str> = parts.iter().map(|part| part.0.as_str()).collect();
    assert!(
        names.contains(&"table r") && names.contains(&"view v0"),
        "{names:?}"
    );
}
