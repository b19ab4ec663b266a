//! A view that is read, replaced.
use ringview_core::Error;
use ringview_engine::{Database, Options};
use ringview_query::Function;

use crate::common::{Value, apply, database, from_arrow, unpolled};
use crate::dag::cases::{create, int, r, shown};
use crate::dag::write::{Q, count_at_least};

fn ints(rows: &[&[i64]]) -> Vec<Vec<Value>> {
    let row = |row: &&[i64]| row.iter().copied().map(Value::Int).collect();
    rows.iter().map(row).collect()
}

fn setting() -> Database {
    let mut db = database(Options::default());
    create(
        &mut db,
        "below",
        &Q::over(&["r"]).by("0.a", "a").sum("b", "0.b"),
    );
    create(
        &mut db,
        "above",
        &Q::over(&["below"]).sum("b", "0.b").count("n"),
    );
    create(
        &mut db,
        "top",
        &Q::over(&["above"]).by("0.n", "n").count("m"),
    );
    apply(&mut db, &[r(&[(1, 2, 0.0), (1, 3, 0.0), (2, 9, 0.0)])]).unwrap();
    db
}

#[test]
fn those_above_go_on_with_the_new_one_and_tell_what_moved() {
    let mut db = setting();
    assert_eq!(shown(&db, "above"), ints(&[&[14, 2]]));
    db.view_changes("above").unwrap();
    db.view_changes("top").unwrap();
    let big = Q::over(&["r"])
        .by("0.a", "a")
        .agg("b", Function::Sum, Some("0.b"));
    let big = big.having(count_at_least(2));
    db.replace_view("below", &big.0, &mut unpolled).unwrap();
    db.check();
    assert_eq!(shown(&db, "above"), ints(&[&[5, 1]]));
    let moved = from_arrow(&db.view_changes("above").unwrap());
    assert_eq!(moved, ints(&[&[5, 1, 1], &[14, 2, -1]]));
    assert_eq!(from_arrow(&db.view_changes("top").unwrap()).len(), 2);
    // And from then on.
    apply(&mut db, &[r(&[(2, 1, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "above"), ints(&[&[15, 2]]));
    assert_eq!(shown(&db, "top"), ints(&[&[2, 1]]));
}

#[test]
fn what_those_above_could_not_read_is_refused() {
    let mut db = setting();
    let refused = |db: &mut Database, query: &Q| {
        let before = shown(db, "below");
        match db.replace_view("below", &query.0, &mut unpolled) {
            Err(Error::InUse { kind, name, views }) => {
                assert_eq!((kind, name.as_str()), ("view", "below"));
                assert_eq!(views, ["above"]);
            }
            other => panic!("{other:?}"),
        }
        db.check();
        assert_eq!(shown(db, "below"), before);
        assert_eq!(db.views(), ["below", "above", "top"]);
    };
    // A column is missing, has another type or position; the key is another.
    refused(&mut db, &Q::over(&["r"]).by("0.a", "a"));
    let real = Q::over(&["r"])
        .by("0.a", "a")
        .agg("b", Function::Avg, Some("0.b"));
    refused(&mut db, &real);
    refused(&mut db, &Q::over(&["r"]).sum("b", "0.b"));
    // It would read itself.
    let circle = Q::over(&["r", "top"])
        .join("0.a", "1.n")
        .by("0.a", "a")
        .sum("b", "0.b");
    refused(&mut db, &circle);
    // A view that reads only itself finds no such table.
    let own = Q::over(&["below"]).by("0.a", "a").sum("b", "0.b");
    let unknown = db.replace_view("below", &own.0, &mut unpolled);
    assert!(
        matches!(unknown, Err(Error::UnknownTable { .. })),
        "{unknown:?}"
    );
    apply(&mut db, &[r(&[(2, 1, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "above"), ints(&[&[15, 2]]));
}

#[test]
fn it_may_read_what_came_later() {
    let mut db = setting();
    create(
        &mut db,
        "late",
        &Q::over(&["r"]).by("0.a", "a").sum("b", "0.b").count("n"),
    );
    let over = Q::over(&["late"]).by("0.a", "a").sum("b", "0.b");
    db.replace_view("below", &over.0, &mut unpolled).unwrap();
    apply(&mut db, &[r(&[(3, 1, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "above"), ints(&[&[15, 3]]));
    assert_eq!(shown(&db, "top"), ints(&[&[3, 1]]));
    db.check();
}

#[test]
fn an_overflow_above_leaves_the_old_one() {
    const HALF: f64 = f64::MAX / 2.0;
    let mut db = database(Options::default());
    let all = Q::over(&["r"]).by("0.a", "a").sum("x", "0.x");
    let some = all.clone().having(count_at_least(2));
    create(&mut db, "below", &some);
    create(
        &mut db,
        "above",
        &Q::over(&["below"]).sum("x", "0.x").count("n"),
    );
    create(
        &mut db,
        "top",
        &Q::over(&["above"]).by("0.n", "n").count("m"),
    );
    let rows = [(7, 1, HALF), (7, 1, HALF), (8, 1, 2.0 * HALF)];
    apply(&mut db, &[r(&rows)]).unwrap();
    assert_eq!(shown(&db, "above"), [[Value::Real(2.0 * HALF), int(1)]]);
    // Each of its groups fits, and their sum above does not.
    let refused = db.replace_view("below", &all.0, &mut unpolled);
    assert!(
        matches!(refused, Err(Error::Overflow { .. })),
        "{refused:?}"
    );
    db.check();
    assert_eq!(db.views(), ["below", "above", "top"]);
    assert_eq!(shown(&db, "below"), [[int(7), Value::Real(2.0 * HALF)]]);
    assert_eq!(shown(&db, "above"), [[Value::Real(2.0 * HALF), int(1)]]);
    apply(&mut db, &[r(&[(9, 1, -HALF), (9, 2, -HALF)])]).unwrap();
    assert_eq!(shown(&db, "above"), [[Value::Real(0.0), int(2)]]);
    assert_eq!(shown(&db, "top"), ints(&[&[2, 1]]));
}
