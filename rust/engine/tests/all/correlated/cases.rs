//! Views over views, what is undone, keys that are not kept, doubles that leave nothing.
use ringview_core::{Error, Type};
use ringview_engine::Database;
use ringview_oracle::{Row, Table, Tables, Value, evaluate};
use serde_json::{Value as Json, json};

use crate::correlated::TABLES;
use crate::correlated::follow::{apply, database, model, parsed, rows_of};
use crate::correlated::grammar::{
    Random, atoms, column, compare, decimal, listed, own, sum_of, times, within,
};

/// `SUM(p * v)` where a share of the total is less than the sum up to the row's `p`.
pub(crate) fn vwap(table: &str) -> Json {
    let upto = compare(&column(0, 0, "p"), "le", &column(1, 0, "p"));
    let share = times(&decimal("0.75"), &sum_of(table, "v", None));
    json!({
        "atoms": atoms(&[table]),
        "outputs": [{"kind": "aggregate", "name": "vwap", "function": "sum", "argument": times(&own(0, "p"), &own(0, "v"))}],
        "condition": compare(&share, "lt", &sum_of(table, "v", Some(upto))),
    })
}

/// `SUM(r.v)` where r and s agree on `p`, and r.x is less than half the mean of its `p`.
pub(crate) fn by_key() -> Json {
    let same = compare(&column(0, 0, "p"), "eq", &column(1, 1, "p"));
    let mean = within("r", "avg", Some(own(0, "v")), Some(same));
    json!({
        "atoms": atoms(&["r", "s"]),
        "joins": [[{"atom": 0, "column": "p"}, {"atom": 1, "column": "p"}]],
        "outputs": [{"kind": "aggregate", "name": "t", "function": "sum", "argument": own(0, "v")}],
        "condition": compare(&column(0, 0, "v"), "lt", &times(&decimal("0.5"), &mean)),
    })
}

pub(crate) fn row(v: i64, p: i64) -> Row {
    vec![
        Value::Int(v),
        Value::Int(p),
        Value::Text("a".to_owned()),
        Value::Real(0.5),
    ]
}

#[test]
fn views_over_views_both_ways() {
    let mut db = database(false);
    let mut tables = model();
    // Groups of a view are the rows of a query with correlated aggregates, which is read by another.
    let below = json!({
        "atoms": atoms(&["r"]),
        "group_by": [{"atom": 0, "column": "p"}],
        "outputs": [{"kind": "group", "name": "p", "column": {"atom": 0, "column": "p"}},
                    {"kind": "aggregate", "name": "v", "function": "sum", "argument": own(0, "v")}],
    });
    let above = json!({
        "atoms": atoms(&["top"]),
        "outputs": [{"kind": "aggregate", "name": "t", "function": "sum", "argument": own(0, "vwap")}],
    });
    let mut chosen = listed(vwap("sums"));
    chosen["group_by"] = json!([{"atom": 0, "column": "v"}]);
    chosen["outputs"] =
        json!([{"kind": "group", "name": "v", "column": {"atom": 0, "column": "v"}}]);
    let count = json!([{"kind": "aggregate", "name": "n", "function": "count"}]);
    let counted = json!({"atoms": atoms(&["chosen"]), "outputs": count});
    let names = [
        ("sums", below),
        ("top", vwap("sums")),
        ("above", above),
        ("chosen", chosen),
        ("counted", counted),
    ];
    for (name, query) in &names {
        db.create_view(name, &parsed(query), &mut |_| Ok(()))
            .unwrap();
    }
    assert_eq!(db.view_explanation("top").unwrap().engine.name, "rpai");
    let mut random = Random::new(5);
    for _ in 0..60 {
        let change = vec![(0, row(random.below(4) as i64, random.below(5) as i64), 1)];
        let gone: Vec<Row> = tables.get("r").rows.keys().cloned().collect();
        let change = match random.below(3) {
            0 if !gone.is_empty() => vec![(0, gone[random.below(gone.len())].clone(), -1)],
            _ => change,
        };
        apply(&mut db, &change).unwrap();
        for (table, row, times) in change {
            assert!(tables.get_mut(TABLES[table]).add(&[(row, times)]));
        }
        let mut sums = Table::new(&[("p", Type::Int64), ("v", Type::Int64)]);
        for row in evaluate(&parsed(&names[0].1), &tables) {
            assert!(sums.add(&[(row, 1)]));
        }
        let expected = evaluate(&parsed(&names[1].1), &Tables::default().with("sums", sums));
        assert_eq!(
            rows_of(&db, "sums"),
            evaluate(&parsed(&names[0].1), &tables)
        );
        assert_eq!(rows_of(&db, "top"), expected);
        assert_eq!(rows_of(&db, "above"), expected);
        let chosen = rows_of(&db, "chosen").len() as i64;
        assert_eq!(rows_of(&db, "counted"), vec![vec![Value::Int(chosen)]]);
        db.check();
    }
}

#[test]
fn what_fails_is_undone() {
    let mut db = database(false);
    db.create_view("q", &parsed(&vwap("r")), &mut |_| Ok(()))
        .unwrap();
    db.create_view("k", &parsed(&by_key()), &mut |_| Ok(()))
        .unwrap();
    apply(
        &mut db,
        &vec![
            (0, row(4, 2), 1),
            (0, row(6, 3), 2),
            (1, row(1, 3), 1),
            (0, row(1, 3), 1),
        ],
    )
    .unwrap();
    let before = (rows_of(&db, "q"), rows_of(&db, "k"));
    assert_eq!(before.1, vec![vec![Value::Int(1)]]);
    let big = vec![(0, row(1, 1), 1), (0, row(i64::MAX, i64::MAX), 4)];
    let failed = apply(&mut db, &big);
    assert!(matches!(failed, Err(Error::Overflow { .. })), "{failed:?}");
    let mut nan = row(1, 3);
    nan[3] = Value::Real(f64::NAN);
    let absent = vec![(0, row(9, 9), 1), (0, row(5, 5), -1)];
    assert!(matches!(
        apply(&mut db, &absent),
        Err(Error::OverDelete { .. })
    ));
    assert_eq!((rows_of(&db, "q"), rows_of(&db, "k")), before);
    // Nobody compares x, so NaN there is nobody's trouble.
    apply(&mut db, &vec![(0, nan.clone(), 1)]).unwrap();
    apply(&mut db, &vec![(0, nan.clone(), -1)]).unwrap();
    let mut of_x = vwap("r");
    let upto = compare(&column(0, 0, "p"), "le", &column(1, 0, "p"));
    let upto = sum_of("r", "v", Some(upto));
    of_x["condition"] = compare(&column(0, 0, "x"), "lt", &upto);
    db.create_view("x", &parsed(&of_x), &mut |_| Ok(()))
        .unwrap();
    let failed = apply(&mut db, &vec![(0, nan, 1)]);
    assert!(
        matches!(failed, Err(Error::NotANumber { .. })),
        "{failed:?}"
    );
    assert_eq!((rows_of(&db, "q"), rows_of(&db, "k")), before);
    db.check();
}

#[test]
fn keys_that_a_static_table_lacks_are_not_kept() {
    let mut db = database(true);
    apply(&mut db, &vec![(1, row(1, 3), 1), (1, row(1, 4), 2)]).unwrap();
    db.create_view("k", &parsed(&by_key()), &mut |_| Ok(()))
        .unwrap();
    let bytes = |db: &Database| {
        db.memory_usage()
            .iter()
            .find(|(name, _)| name == "view k")
            .map(|(_, bytes)| *bytes)
    };
    apply(&mut db, &vec![(0, row(1, 99), 1)]).unwrap();
    let empty = bytes(&db);
    for p in 100..400 {
        apply(&mut db, &vec![(0, row(p % 7, p), 1)]).unwrap();
    }
    assert_eq!(bytes(&db), empty, "rows of keys that join nothing");
    apply(
        &mut db,
        &vec![(0, row(1, 4), 1), (0, row(7, 4), 1), (0, row(8, 3), 1)],
    )
    .unwrap();
    assert_eq!(rows_of(&db, "k"), vec![vec![Value::Int(2)]]);
    apply(&mut db, &vec![(0, row(7, 4), -1)]).unwrap();
    assert_eq!(rows_of(&db, "k"), vec![vec![Value::Null]]);
    db.check();
}

#[test]
fn doubles_that_came_and_left_leave_nothing() {
    let mut query = vwap("r");
    query["outputs"][0]["argument"] = own(0, "x");
    let mut db = database(false);
    db.create_view("q", &parsed(&query), &mut |_| Ok(()))
        .unwrap();
    let with = |p: i64, x: f64| {
        let mut row = row(1, p);
        row[3] = Value::Real(x);
        row
    };
    apply(&mut db, &vec![(0, with(9, 0.1), 1), (0, with(9, 3e-9), 1)]).unwrap();
    let before = rows_of(&db, "q");
    assert_eq!(before, vec![vec![Value::Real(0.1 + 3e-9)]]);
    for x in [1e17, -7.25e-11, 1.0 / 3.0] {
        apply(&mut db, &vec![(0, with(9, x), 2)]).unwrap();
        assert_ne!(rows_of(&db, "q"), before);
        apply(&mut db, &vec![(0, with(9, x), -2)]).unwrap();
        assert_eq!(rows_of(&db, "q"), before);
    }
    let explanation = db.view_explanation("q").unwrap();
    assert_eq!(explanation.form.name, "aggregate indexes");
    // Of any size, and what is left is what one row would be.
    for x in [1e300, -1e31, 1e-20, 1e-30, 1e-40, 5e-324, f64::MAX] {
        apply(&mut db, &vec![(0, with(9, x), 1)]).unwrap();
        let both = rows_of(&db, "q");
        apply(
            &mut db,
            &vec![(0, with(9, 0.1), -1), (0, with(9, 3e-9), -1)],
        )
        .unwrap();
        assert_eq!(rows_of(&db, "q"), vec![vec![Value::Real(x)]]);
        apply(&mut db, &vec![(0, with(9, 0.1), 1), (0, with(9, 3e-9), 1)]).unwrap();
        assert_eq!(rows_of(&db, "q"), both);
        apply(&mut db, &vec![(0, with(9, x), -1)]).unwrap();
        assert_eq!(rows_of(&db, "q"), before);
    }
    let failed = apply(&mut db, &vec![(0, with(9, f64::MAX), 2)]);
    assert!(matches!(failed, Err(Error::Overflow { .. })), "{failed:?}");
    assert_eq!(rows_of(&db, "q"), before);
    db.check();
}
