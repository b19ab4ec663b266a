//! Queries that are answered once: their rows are the oracle's, with views that share with them and without, nothing is
//! there afterwards that was not, and no rows are loaded that meet none of another table.

use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::Error;
use ringview_engine::{Database, Options};
use ringview_query::Query;
use ringview_sql::{Definition, Options as SqlOptions};
use serde_json::json;

use crate::common::{
    Change, Model, Row, TABLES, Value, apply, database, from_arrow, queries, sort, unpolled,
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
    for unshared in [false, true] {
        let (mut db, model) = filled(Options {
            unshared,
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

/// A row of a table whose values meet, repeat and are absent.
fn row(table: usize) -> BoxedStrategy<Row> {
    let int = || prop_oneof![6 => (0i64..4).prop_map(Value::Int), 1 => Just(Value::Null)];
    match table {
        0 => (int(), int(), (0i64..3).prop_map(|x| Value::Real(x as f64)))
            .prop_map(|(a, b, x)| vec![a, b, x])
            .boxed(),
        1 => (int(), int(), "t[0-2]".prop_map(Value::Text))
            .prop_map(|(b, c, t)| vec![b, c, t])
            .boxed(),
        _ => (int(), int()).prop_map(|(c, d)| vec![c, d]).boxed(),
    }
}

proptest! {
    /// Deletes leave gaps between the rows of a table.
    #[test]
    fn any_rows_are_asked_once(
        tables in (vec(row(0), 0..12), vec(row(1), 0..12), vec(row(2), 0..6)),
        gone in vec(any::<bool>(), 12),
    ) {
        let (mut db, mut model) = (database(Options::default()), Model::default());
        let all = [tables.0, tables.1, tables.2].into_iter().enumerate();
        for (table, rows) in all {
            let goes = rows.iter().zip(&gone).filter(|(_, goes)| **goes && table < 2);
            let goes: Vec<Row> = goes.map(|(row, _)| row.clone()).collect();
            for change in [Change::insert(table, rows), Change::delete(table, goes)] {
                apply(&mut db, std::slice::from_ref(&change)).unwrap();
                assert!(model.apply(&[change]));
            }
        }
        for query in queries::all() {
            let mut found = from_arrow(&db.evaluate(&query, &mut unpolled).unwrap());
            sort(&mut found);
            prop_assert_eq!(found, model.evaluate(&query), "{:?}", query);
        }
    }
}

/// `SELECT COUNT(*) FROM r, s, u WHERE r.b = s.b AND s.c = u.c AND u.d = 7`.
fn chain() -> Query {
    let place = |atom: usize, column: &str| json!({"atom": atom, "column": column});
    let atom = |at: usize, filter: Option<&str>| {
        let table = TABLES[at].0;
        json!({"table": table, "alias": table, "filter": filter})
    };
    ringview_oracle::write::query(&json!({
        "atoms": [atom(0, None), atom(1, None), atom(2, Some("d = 7"))],
        "joins": [
            [place(0, "b"), place(1, "b")],
            [place(1, "c"), place(2, "c")],
        ],
        "outputs": [{"kind": "aggregate", "name": "n", "function": "count", "argument": null}],
    }))
}

/// 400 rows of r, 40 of s, four of u, of which one passes `u.d = 7`: it meets one row of s, and that ten of r.
fn large() -> Database {
    let mut db = database(Options::default());
    let int = |value: i64| Value::Int(value);
    let r = (0..400).map(|at| vec![int(at), int(at % 40), Value::Real(0.0)]);
    let s = (0..40).map(|at| vec![int(at), int(at), Value::Text(String::new())]);
    let u = (0..4).map(|at| vec![int(at), int(4 + at)]);
    let changes = [
        Change::insert(0, r.collect()),
        Change::insert(1, s.collect()),
        Change::insert(2, u.collect()),
    ];
    apply(&mut db, &changes).unwrap();
    db
}

/// The rows of a query, and how many rows were loaded for it.
fn asked(db: &mut Database, query: &Query) -> (Vec<Row>, u64) {
    let mut loaded = 0;
    let found = db.evaluate(query, &mut |rows| {
        loaded = rows;
        Ok(())
    });
    (from_arrow(&found.unwrap()), loaded)
}

#[test]
fn rows_that_meet_no_others_are_not_loaded() {
    let (found, loaded) = asked(&mut large(), &chain());
    assert_eq!((found, loaded), (vec![vec![Value::Int(10)]], 12));
}

/// Subqueries and blocks over s and r, which join u by a column that few values of pass: few of their rows are loaded. A
/// block that two others read in other ways is whole.
#[test]
fn blocks_are_asked_for_what_their_readers_meet() {
    let groups = "(SELECT c, SUM(b) AS total FROM s GROUP BY c)";
    let few = [
        format!("SELECT SUM(total) FROM u JOIN {groups} AS g ON g.c = u.c WHERE d = 7"),
        "SELECT COUNT(*) FROM u WHERE d = 7 AND c * 2 > (SELECT 0.5 * AVG(b) FROM s WHERE s.c = u.c)"
            .to_owned(),
        "SELECT COUNT(*) FROM u WHERE d = 7 AND c <= (SELECT SUM(b) FROM s WHERE s.c = u.c)".to_owned(),
        "SELECT COUNT(*) FROM u WHERE d = 7 AND EXISTS (SELECT 1 FROM s WHERE s.c = u.c AND s.b <> d)"
            .to_owned(),
        "SELECT COUNT(*) FROM u WHERE d = 7 AND c IN (SELECT b FROM r GROUP BY b HAVING SUM(a) > 10)"
            .to_owned(),
        "SELECT COUNT(*) FROM u, (SELECT b + 0 AS e, c FROM s) AS e WHERE d = 7 AND e.c = u.c".to_owned(),
    ];
    let whole = [format!(
        "WITH g AS {groups} SELECT one.total, other.total FROM g AS one, g AS other, u
                 WHERE one.c = u.c AND other.c = one.total AND d = 7"
    )];
    let texts = few.iter().map(|text| (text, true));
    for (text, is_few) in texts.chain(whole.iter().map(|text| (text, false))) {
        let (mut db, mut with_view) = (large(), large());
        let once = SqlOptions {
            once: true,
            ..SqlOptions::default()
        };
        let of = |db: &Database, way| {
            let found = Definition::new(text, way, &db.tables(), &db.catalog());
            found.unwrap().bind().unwrap()
        };
        let (query, kept) = (of(&db, once), of(&with_view, SqlOptions::default()));
        with_view.create_view("v", &kept, &mut unpolled).unwrap();
        let mut expected = from_arrow(&with_view.view_result("v").unwrap());
        sort(&mut expected);
        assert!(!expected.is_empty(), "{text}");
        let (mut found, loaded) = asked(&mut db, &query);
        sort(&mut found);
        assert_eq!(found, expected, "{text}");
        assert_eq!(loaded < 40, is_few, "{loaded} rows for {text}");
    }
}

/// A waiting caller may stop a query although no row passes.
#[test]
fn rows_that_do_not_pass_are_no_reason_not_to_ask() {
    let mut db = database(Options::default());
    let row = |at: i64| vec![Value::Int(at), Value::Int(at), Value::Real(0.0)];
    apply(
        &mut db,
        &[Change::insert(0, (0..200_000).map(row).collect())],
    )
    .unwrap();
    for text in [
        "SELECT COUNT(*) FROM r WHERE a < 0",
        "SELECT COUNT(*) FROM r JOIN s ON r.b = s.b WHERE a < 0",
    ] {
        let query = Definition::new(text, SqlOptions::default(), &db.tables(), &db.catalog());
        let query = query.unwrap().bind().unwrap();
        let mut asked = 0;
        let found = db.evaluate(&query, &mut |_| {
            asked += 1;
            Ok(())
        });
        assert_eq!(from_arrow(&found.unwrap()), [[Value::Int(0)]]);
        assert!(asked > 1, "{text}");
    }
}
