//! A failure in the middle of a DAG leaves all of it as it was.
use ringview_core::Error;
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Function;

use crate::common::{Change, Row, Value, apply, database, from_arrow, unpolled};
use crate::dag::cases::{create, r, shown};
use crate::dag::write::{Q, aggregate};

/// Sums a group, how many have each sum, and the sum of what joins: three floors over r.
fn stack(db: &mut Database) {
    let one = Q::over(&["r"])
        .by("0.a", "a")
        .sum("b", "0.b")
        .sum("x", "0.x");
    create(db, "one", &one);
    create(db, "two", &Q::over(&["one"]).by("0.b", "b").count("n"));
    let three = Q::over(&["one", "two"]).join("0.b", "1.b");
    create(db, "three", &three.sum("b", "0.b").sum("x", "0.x"));
}

fn all(db: &Database) -> Vec<Vec<Row>> {
    db.check();
    let views = db.views();
    views.iter().map(|view| shown(db, view)).collect()
}

fn deltas(db: &mut Database) -> Vec<usize> {
    let views = db.views();
    let moved = views
        .iter()
        .map(|view| db.view_changes(view).unwrap().num_rows());
    moved.collect()
}

#[test]
fn an_overflow_above_undoes_what_is_below() {
    let mut db = database(Options::default());
    stack(&mut db);
    apply(&mut db, &[r(&[(1, 5, 1.0), (2, 7, f64::MAX)])]).unwrap();
    let before = all(&db);
    deltas(&mut db);
    // Below each group fits; their sum above does not.
    let more = r(&[(3, 100, f64::MAX), (4, 1, 0.0)]);
    let error = apply(&mut db, std::slice::from_ref(&more)).unwrap_err();
    assert!(matches!(error, Error::Overflow { .. }), "{error}");
    assert_eq!(all(&db), before);
    assert_eq!(deltas(&mut db), [0, 0, 0]);
    // The same rows fit once others are deleted.
    let gone = Change {
        direction: Direction::Delete,
        ..r(&[(2, 7, f64::MAX), (1, 5, 1.0)])
    };
    apply(&mut db, &[gone, more]).unwrap();
    assert_eq!(
        shown(&db, "three"),
        [[Value::Int(101), Value::Real(f64::MAX)]]
    );
}

#[test]
fn an_interrupt_at_any_question_undoes_all() {
    let mut db = database(Options::default());
    stack(&mut db);
    apply(&mut db, &[r(&[(1, 5, 0.0), (2, 6, 0.0)])]).unwrap();
    let before = all(&db);
    let rows = r(&[(1, 1, 0.0), (3, 6, 0.0)]).batch();
    let op = Op {
        table: "r",
        direction: Direction::Insert,
        rows: &[rows],
        multiplicity: None,
    };
    let mut last = 0;
    loop {
        let mut asked = 0;
        let done = db.apply(&[op], &mut |_| {
            asked += 1;
            if asked > last {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        });
        if done.is_ok() {
            break;
        }
        assert_eq!(all(&db), before);
        last += 1;
    }
    // Polled behind the rows, and between the views.
    assert!(last >= 3, "asked {last} times");
    assert_eq!(shown(&db, "three"), [[Value::Int(18), Value::Real(0.0)]]);
}

#[test]
fn a_delete_of_what_is_not_there_undoes_all() {
    let mut db = database(Options::default());
    stack(&mut db);
    apply(&mut db, &[r(&[(1, 5, 0.0)])]).unwrap();
    let before = all(&db);
    let gone = Change {
        direction: Direction::Delete,
        ..r(&[(9, 9, 0.0)])
    };
    let error = apply(&mut db, &[r(&[(2, 2, 0.0)]), gone]).unwrap_err();
    assert!(matches!(error, Error::OverDelete { .. }), "{error}");
    assert_eq!(all(&db), before);
}

#[test]
fn nan_that_becomes_a_key_above_is_refused_in_words() {
    let mut db = database(Options::default());
    let sum = |of: &str| aggregate(Function::Sum, Some(of));
    let quotient = format!("{} / {}", sum("0.a"), sum("0.b"));
    let quotients = Q::over(&["r"]).by("0.a", "a").expression("q", quotient);
    create(&mut db, "quotients", &quotients);
    create(
        &mut db,
        "greatest",
        &Q::over(&["quotients"]).by("0.a", "a").count("n"),
    );
    create(
        &mut db,
        "above",
        &Q::over(&["quotients"]).by("0.q", "q").count("n"),
    );
    apply(&mut db, &[r(&[(1, 1, 2.5)])]).unwrap();
    let before = all(&db);
    // 0 / 0 is a value below, and no key above.
    match apply(&mut db, &[r(&[(0, 0, 0.0)])]) {
        Err(Error::Value { place, problem }) => {
            assert_eq!(place, "column \"q\" of view \"quotients\"");
            assert!(
                problem.contains("is NaN") && problem.contains("HAVING"),
                "{problem}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(all(&db), before);
    db.drop_view("above").unwrap();
    apply(&mut db, &[r(&[(0, 0, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "greatest").len(), 2);
    // Nor is it one at birth.
    let above = Q::over(&["quotients"]).by("0.q", "q").count("n");
    let refused = db.create_view("above", &above.0, &mut unpolled);
    assert!(matches!(refused, Err(Error::Value { .. })), "{refused:?}");
    assert_eq!(db.views(), ["quotients", "greatest"]);
}

#[test]
fn a_birth_that_fails_leaves_no_block() {
    let mut db = database(Options::default());
    apply(&mut db, &[r(&[(1, 1, f64::MAX), (2, 1, f64::MAX)])]).unwrap();
    let block = Q::over(&["r"]).by("0.a", "a").sum("x", "0.x");
    let top = Q::over(&["b"]).sum("x", "0.x").with("b", &block);
    let error = db.create_view("top", &top.0, &mut unpolled).unwrap_err();
    assert!(matches!(error, Error::Overflow { .. }), "{error}");
    assert!(db.views().is_empty());
    db.drop_table("r").unwrap();
    let parts = db.memory_usage();
    assert!(parts.iter().all(|(part, _)| !part.contains("block")));
}

#[test]
fn a_limit_of_memory_counts_what_is_above_and_undoes_it() {
    let mut db = database(Options {
        memory_limit: Some(600_000),
        ..Options::default()
    });
    create(&mut db, "one", &Q::over(&["r"]).by("0.a", "a").count("n"));
    let pairs = Q::over(&["one", "one"])
        .join("0.n", "1.n")
        .by("0.a", "a")
        .by("1.a", "b");
    create(&mut db, "pairs", &pairs.count("n"));
    apply(&mut db, &[r(&[(1, 1, 0.0)])]).unwrap();
    let before = all(&db);
    let many: Vec<(i64, i64, f64)> = (0..400).map(|a| (a + 2, 1, 0.0)).collect();
    let error = apply(&mut db, &[r(&many)]).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
    assert_eq!(all(&db), before);
    assert_eq!(from_arrow(&db.view_result("pairs").unwrap()).len(), 1);
}
