//! Queries that are answered once: their rows are the oracle's, with views that share with them and without, and nothing
//! is there afterwards that was not.

use ringview_core::Error;
use ringview_engine::{Database, Options};

use crate::common::{
    Change, Model, Row, Value, apply, database, from_arrow, queries, sort, unpolled,
};

/// Rows whose values meet and repeat.
fn rows(table: usize) -> Vec<Row> {
    let int = |value: usize| Value::Int((value % 4) as i64);
    let row = |at: usize| match table {
        0 => vec![int(at), int(at / 2), Value::Real((at % 3) as f64)],
        1 => vec![int(at / 3), int(at), Value::Text(format!("t{}", at % 2))],
        _ => vec![int(at), int(at / 4)],
    };
    (0..10).map(row).collect()
}

fn filled(options: Options) -> (Database, Model) {
    let (mut db, mut model) = (database(options), Model::default());
    let changes: Vec<Change> = (0..3).map(|at| Change::insert(at, rows(at))).collect();
    apply(&mut db, &changes).unwrap();
    assert!(model.apply(&changes));
    (db, model)
}

#[test]
fn a_query_is_answered_as_its_view_would_be() {
    for keep_apart in [false, true] {
        let (mut db, model) = filled(Options {
            keep_apart,
            ..Options::default()
        });
        for (at, query) in queries::all().iter().enumerate() {
            if at % 3 == 0 {
                db.create_view(&format!("v{at}"), query, &mut unpolled)
                    .unwrap();
            }
            let before = (db.view_ids(), db.memory_usage());
            let mut found = from_arrow(&db.evaluate(query, &mut unpolled).unwrap());
            sort(&mut found);
            assert_eq!(found, model.evaluate(query), "{query:?}");
            assert_eq!((db.view_ids(), db.memory_usage()), before);
            db.check();
        }
    }
}

#[test]
fn a_query_that_is_given_up_leaves_nothing() {
    let (mut db, _) = filled(Options::default());
    let before = (db.view_ids(), db.memory_usage());
    let stop = &mut |_| Err(Error::Interrupted);
    for query in queries::all() {
        assert!(db.evaluate(&query, stop).is_err());
        assert_eq!((db.view_ids(), db.memory_usage()), before);
    }
    let rows = rows(0);
    apply(&mut db, &[Change::delete(0, rows)]).unwrap();
    db.check();
}
