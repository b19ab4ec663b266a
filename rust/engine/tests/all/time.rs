//! Time that passes: all of it or none, at the cost of the rows that it moves.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, TimestampMicrosecondArray};
use ringview_core::{Error, Field, Schema, TimeUnit, Type};
use ringview_engine::{Change, Database, Direction, KeepFor, Op, Options};
use ringview_query::{Interval, Query};

/// A table of 1,000 rows, one a tick, that stay for 100; a view of those whose time is not in the
/// future.
fn database() -> Database {
    let mut db = Database::new(Options::default());
    let moment = Type::Timestamp {
        unit: TimeUnit::Microsecond,
        timezone: None,
    };
    let schema = Schema::new(vec![
        Field::new("ts", moment, true),
        Field::new("x", Type::Int64, true),
    ]);
    let keep_for = KeepFor {
        column: "ts".to_owned(),
        interval: Interval {
            months: 0,
            micros: 100,
        },
    };
    db.create_table_with("r", schema.unwrap(), None, false, Some(&keep_for))
        .unwrap();
    advance(&mut db, 0).unwrap();
    let query = r#"{"atoms": [{"table": "r", "alias": "r"}], "outputs": [], "rows": {"kind": "timed",
        "names": ["x"], "conditions": [{"value": "ts", "op": "le", "clock": {"steps": []}}]}}"#;
    db.create_view("v", &Query::from_json(query).unwrap(), &mut |_| Ok(()))
        .unwrap();
    let numbers: Vec<i64> = (0..1000).collect();
    let rows = RecordBatch::try_from_iter([
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from(numbers.clone())) as _,
        ),
        ("x", Arc::new(Int64Array::from(numbers)) as _),
    ]);
    let op = Op {
        table: "r",
        direction: Direction::Insert,
        rows: &[rows.unwrap()],
        multiplicity: None,
    };
    db.apply(&[op], &mut |_| Ok(())).unwrap();
    db
}

fn advance(db: &mut Database, to: i64) -> ringview_core::Result<()> {
    db.apply(&[Change::Advance(to)], &mut |_| Ok(()))
}

#[test]
fn rows_come_and_leave_with_time() {
    let mut db = database();
    for (now, shown, kept) in [(0, 1, 1000), (10, 11, 1000), (110, 101, 990), (2000, 0, 0)] {
        advance(&mut db, now).unwrap();
        db.check();
        assert_eq!(db.now(), Some(now));
        assert_eq!(db.view_len("v").unwrap(), shown);
        assert_eq!(db.table("r").unwrap().rows, kept);
    }
}

#[test]
fn a_step_of_time_costs_the_rows_that_it_moves() {
    let mut db = database();
    advance(&mut db, 500).unwrap();
    let steps = |db: &Database| db.view_steps("v").unwrap();
    let before = steps(&db);
    advance(&mut db, 500).unwrap();
    assert_eq!(steps(&db), before, "none is due");
    advance(&mut db, 501).unwrap();
    // One row becomes visible; one is deleted.
    assert_eq!(steps(&db) - before, 4);
}

#[test]
fn a_refused_step_moves_nothing() {
    let mut db = database();
    advance(&mut db, 50).unwrap();
    let stop = &mut || Err(Error::Interrupted);
    let done = db.apply_with(&[Change::Advance(300)], false, &mut |_| Ok(()), stop);
    assert_eq!(done, Err(Error::Interrupted));
    let done = advance(&mut db, 49);
    assert!(matches!(done, Err(Error::Value { .. })), "{done:?}");
    db.check();
    let status = db.table("r").unwrap();
    assert_eq!(
        (db.now(), status.rows, status.oldest),
        (Some(50), 1000, Some(0))
    );
    assert_eq!(db.view_len("v").unwrap(), 51);
    for net in [false, true] {
        let changes = [Change::Advance(60 + i64::from(net)), Change::Advance(59)];
        assert!(
            db.apply_with(&changes, net, &mut |_| Ok(()), &mut || Ok(()))
                .is_err()
        );
        assert_eq!(db.now(), Some(50));
    }
}
