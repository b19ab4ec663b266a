//! Samples in a database: views read them, and a failed transaction leaves them as they were.

use std::sync::Arc;

use arrow_array::{Decimal128Array, Int64Array, RecordBatch};
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, JoinSize, Op, Options};
use ringview_query::Query;

fn column(rows: &RecordBatch, name: &str) -> Vec<i64> {
    let column = rows.column_by_name(name).unwrap();
    match column.as_any().downcast_ref::<Int64Array>() {
        Some(column) => column.values().to_vec(),
        None => {
            let sums = column.as_any().downcast_ref::<Decimal128Array>().unwrap();
            let sums = sums.values().iter();
            sums.map(|&sum| i64::try_from(sum).unwrap()).collect()
        }
    }
}

/// Rows (n, n % 5) for the numbers of a range.
fn rows(from: i64, to: i64) -> RecordBatch {
    let numbers = |of: fn(i64) -> i64| Arc::new((from..to).map(of).collect::<Int64Array>()) as _;
    RecordBatch::try_from_iter([("a", numbers(|n| n)), ("b", numbers(|n| n % 5))]).unwrap()
}

fn op<'a>(table: &'a str, direction: Direction, rows: &'a [RecordBatch]) -> Op<'a> {
    Op {
        table,
        direction,
        rows,
        multiplicity: None,
    }
}

fn database() -> Database {
    let mut db = Database::new(Options::default());
    let schema = |names: [&str; 2]| {
        Schema::new(
            names
                .map(|name| Field::new(name, Type::Int64, true))
                .to_vec(),
        )
        .unwrap()
    };
    db.create_table("r", schema(["a", "b"]), None, false)
        .unwrap();
    db.create_table("s", schema(["a", "b"]), None, false)
        .unwrap();
    let query = Query::from_json(
        r#"{"atoms": [{"table": "r", "alias": "r"}, {"table": "s", "alias": "s"}],
            "joins": [[{"atom": 0, "column": "b"}, {"atom": 1, "column": "b"}]],
            "group_by": [{"atom": 0, "column": "a"}, {"atom": 1, "column": "a"}],
            "outputs": [
                {"kind": "group", "name": "x", "column": {"atom": 0, "column": "a"}},
                {"kind": "group", "name": "y", "column": {"atom": 1, "column": "a"}}],
            "bag": {}}"#,
    );
    db.create_sample("few", &query.unwrap(), (20, 7), &mut |_| Ok(()))
        .unwrap();
    let above = Query::from_json(
        r#"{"atoms": [{"table": "few", "alias": "f"}],
            "outputs": [
                {"kind": "aggregate", "name": "n", "function": "count"},
                {"kind": "aggregate", "name": "sum", "function": "sum",
                 "argument": "\"0\".\"x\""}]}"#,
    );
    db.create_view("above", &above.unwrap(), &mut |_| Ok(()))
        .unwrap();
    db
}

fn agree(db: &Database) -> Vec<i64> {
    db.check();
    let held = column(&db.view_result("few").unwrap(), "x");
    let above = db.view_result("above").unwrap();
    assert_eq!(column(&above, "n"), [held.len() as i64]);
    assert_eq!(column(&above, "sum"), [held.iter().sum::<i64>()]);
    held
}

#[test]
fn a_view_reads_a_sample_whatever_comes_and_goes() {
    let mut db = database();
    let mut go = |table, direction, from, to| {
        let rows = [rows(from, to)];
        let done = db.apply(&[op(table, direction, &rows)], &mut |_| Ok(()));
        done.map(|_| agree(&db))
    };
    go("r", Direction::Insert, 0, 10).unwrap();
    assert_eq!(go("s", Direction::Insert, 0, 5).unwrap().len(), 10);
    assert_eq!(go("s", Direction::Insert, 5, 40).unwrap().len(), 20);
    let before = go("r", Direction::Insert, 10, 60).unwrap();
    let refused = go("r", Direction::Delete, 50, 70);
    assert!(
        matches!(refused, Err(Error::OverDelete { .. })),
        "{refused:?}"
    );
    let after = go("r", Direction::Delete, 0, 0).unwrap();
    assert_eq!(after, before);
    let left = go("r", Direction::Delete, 0, 50).unwrap();
    assert!(left.len() == 20 && left.iter().all(|&x| x >= 50));
    assert_eq!(go("r", Direction::Delete, 51, 60).unwrap().len(), 8);
    assert!(go("r", Direction::Delete, 50, 51).unwrap().is_empty());
    assert_eq!(db.sample_join_size("few"), Ok(JoinSize::Exact(0)));
    let refused = db.sample_join_size("above");
    assert!(
        matches!(refused, Err(Error::Unsupported { .. })),
        "{refused:?}"
    );
}

#[test]
fn more_copies_of_a_row_than_there_is_room_for_are_refused() {
    let mut db = Database::new(Options::default());
    let fields = ["a", "n"].map(|name| Field::new(name, Type::Int64, true));
    db.create_table("r", Schema::new(fields.to_vec()).unwrap(), None, false)
        .unwrap();
    let query = Query::from_json(
        r#"{"atoms": [{"table": "r", "alias": "r"}],
            "group_by": [{"atom": 0, "column": "a"}, {"atom": 0, "column": "n"}],
            "outputs": [
                {"kind": "group", "name": "a", "column": {"atom": 0, "column": "a"}},
                {"kind": "group", "name": "n", "column": {"atom": 0, "column": "n"}}],
            "bag": {}}"#,
    );
    db.create_sample("few", &query.unwrap(), (2, 7), &mut |_| Ok(()))
        .unwrap();
    let numbers = |values: [i64; 2]| Arc::new(Int64Array::from(values.to_vec())) as _;
    let rows = RecordBatch::try_from_iter([
        ("a", numbers([1, 2])),
        ("n", numbers([3, 1_000_000_000_000_000])),
        ("times", numbers([3, 1_000_000_000_000_000])),
    ]);
    let rows = [rows.unwrap()];
    let copied = Op {
        multiplicity: Some("times"),
        ..op("r", Direction::Insert, &rows)
    };
    let refused = db.apply(&[copied], &mut |_| Ok(()));
    let description = refused.unwrap_err().to_string();
    assert!(
        description.contains("copies of rows") && description.contains("weight="),
        "{description}"
    );
    assert_eq!(db.view_result("few").unwrap().num_rows(), 0);
    // The advice in the message.
    let rows = [rows[0].project(&[0, 1]).unwrap()];
    db.apply(&[op("r", Direction::Insert, &rows)], &mut |_| Ok(()))
        .unwrap();
    let weight = ["n".to_owned()];
    let drawn = db.sample_draw("few", (20, 1, true), Some(&weight), &mut |_| Ok(()));
    assert_eq!(column(&drawn.unwrap(), "a"), [2; 20]);
}
