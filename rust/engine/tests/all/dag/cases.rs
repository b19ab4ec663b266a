//! Shapes of DAGs, and what can be read of what.
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{
    ByKey, Database, Direction, KeyValue, Keyed, Op, Options, Product, ProductFactor,
};
use ringview_query::{ColumnRef, Function, Nulls, Output, Representation};

use crate::common::{Change, Row, Value, apply, database, from_arrow, to_arrow, unpolled};
use crate::dag::write::{Q, count_at_least, scalar};

pub fn create(db: &mut Database, name: &str, query: &Q) {
    db.create_view(name, &query.0, &mut unpolled).unwrap();
    db.check();
}

pub fn shown(db: &Database, view: &str) -> Vec<Row> {
    from_arrow(&db.view_result(view).unwrap())
}

pub fn int(value: i64) -> Value {
    Value::Int(value)
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

/// Rows of r(a, b, x).
pub fn r(rows: &[(i64, i64, f64)]) -> Change {
    let row = |&(a, b, x): &(i64, i64, f64)| vec![int(a), int(b), Value::Real(x)];
    Change::insert(0, rows.iter().map(row).collect())
}

/// Rows of s(b, c, t).
pub fn s(rows: &[(i64, i64, &str)]) -> Change {
    let row = |&(b, c, t): &(i64, i64, &str)| vec![int(b), int(c), text(t)];
    Change::insert(1, rows.iter().map(row).collect())
}

fn gone(change: Change) -> Change {
    Change {
        direction: Direction::Delete,
        ..change
    }
}

#[test]
fn counts_of_counts() {
    let mut db = database(Options::default());
    apply(&mut db, &[r(&[(1, 0, 0.0), (1, 1, 0.0), (2, 0, 0.0)])]).unwrap();
    create(
        &mut db,
        "orders",
        &Q::over(&["r"]).by("0.a", "a").count("n"),
    );
    create(
        &mut db,
        "many",
        &Q::over(&["orders"]).by("0.n", "n").count("customers"),
    );
    let pairs = |db: &Database| shown(db, "many");
    assert_eq!(pairs(&db), [vec![int(1), int(1)], vec![int(2), int(1)]]);
    apply(&mut db, &[r(&[(2, 5, 0.0), (3, 5, 0.0)])]).unwrap();
    assert_eq!(pairs(&db), [vec![int(1), int(1)], vec![int(2), int(2)]]);
    apply(&mut db, &[gone(r(&[(1, 0, 0.0), (1, 1, 0.0)]))]).unwrap();
    assert_eq!(pairs(&db), [vec![int(1), int(1)], vec![int(2), int(1)]]);
    db.check();
}

#[test]
fn a_table_reaches_a_view_on_two_ways_once() {
    let mut db = database(Options::default());
    create(
        &mut db,
        "total",
        &Q::over(&["r"]).by("0.a", "a").sum("sum", "0.b"),
    );
    create(
        &mut db,
        "least",
        &Q::over(&["r"])
            .by("0.a", "a")
            .agg("min", Function::Min, Some("0.b")),
    );
    let both = Q::over(&["total", "least", "r"])
        .join("0.a", "1.a")
        .join("1.a", "2.a");
    let both = both
        .by("0.a", "a")
        .sum("sum", "0.sum")
        .sum("min", "1.min")
        .count("n");
    create(&mut db, "both", &both);
    let mut follower = db.follow("both", true).unwrap();
    apply(&mut db, &[r(&[(1, 2, 0.0), (1, 3, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "both"), [[1, 10, 4, 2].map(int).to_vec()]);
    // One change is reported once, not once a path.
    let description = |db: &mut Database, follower: &mut _| {
        let rows = from_arrow(&db.changes(follower).unwrap());
        db.advance(follower).unwrap();
        rows
    };
    assert_eq!(
        description(&mut db, &mut follower),
        [[1, 10, 4, 2, 1].map(int).to_vec()]
    );
    apply(&mut db, &[r(&[(1, 1, 0.0)])]).unwrap();
    let rows = [[1, 10, 4, 2, -1], [1, 18, 3, 3, 1]];
    assert_eq!(
        description(&mut db, &mut follower),
        rows.map(|row| row.map(int).to_vec())
    );
    db.check();
}

#[test]
fn an_aggregate_over_nothing_has_a_row_that_is_read() {
    let mut db = database(Options::default());
    create(
        &mut db,
        "total",
        &Q::over(&["r"]).sum("sum", "0.b").count("n"),
    );
    create(
        &mut db,
        "rows",
        &Q::over(&["total"])
            .count("rows")
            .sum("n", "0.n")
            .sum("sum", "0.sum"),
    );
    assert_eq!(shown(&db, "rows"), [vec![int(1), int(0), Value::Null]]);
    apply(&mut db, &[r(&[(1, 4, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "rows"), [[1, 1, 4].map(int).to_vec()]);
    apply(&mut db, &[gone(r(&[(1, 4, 0.0)]))]).unwrap();
    assert_eq!(shown(&db, "rows"), [vec![int(1), int(0), Value::Null]]);
    // With HAVING its row is inserted and deleted.
    let some = Q::over(&["r"]).sum("sum", "0.b").having(count_at_least(1));
    create(&mut db, "some", &some);
    create(&mut db, "of_some", &Q::over(&["some"]).count("rows"));
    assert_eq!(shown(&db, "of_some"), [[int(0)]]);
    apply(&mut db, &[r(&[(1, 4, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "of_some"), [[int(1)]]);
}

#[test]
fn the_columns_of_a_change_log_keep_apart_from_one_named_multiplicity() {
    let mut db = database(Options::default());
    create(
        &mut db,
        "below",
        &Q::over(&["r"]).by("0.a", "a").count("multiplicity"),
    );
    let above = Q::over(&["below"])
        .by("0.multiplicity", "multiplicity")
        .count("n");
    create(&mut db, "above", &above);
    db.view_changes("above").unwrap();
    apply(&mut db, &[r(&[(1, 4, 0.0)])]).unwrap();
    let changes = db.view_changes("above").unwrap();
    let schema = changes.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["multiplicity", "n", "multiplicity_"]);
    assert_eq!(from_arrow(&changes), [[1, 1, 1].map(int).to_vec()]);
    let found = db
        .view_get("above", &[("multiplicity", KeyValue::Integer(1))])
        .unwrap();
    assert!(found.is_some());
}

#[test]
fn a_group_that_looks_as_it_did_costs_nothing_above() {
    let mut db = database(Options::default());
    let below = Q::over(&["r"])
        .by("0.a", "a")
        .agg("max", Function::Max, Some("0.b"));
    create(&mut db, "below", &below.count("n"));
    create(
        &mut db,
        "above",
        &Q::over(&["below"]).by("0.max", "max").count("groups"),
    );
    let groups: Vec<(i64, i64, f64)> = (0..100).map(|a| (a, 9, 0.0)).collect();
    apply(&mut db, &[r(&groups)]).unwrap();
    let steps = db.view_steps("above").unwrap();
    // The greatest value stays; that the count moves is not read above.
    apply(&mut db, &[r(&[(5, 3, 0.0)])]).unwrap();
    assert_eq!(db.view_steps("above").unwrap(), steps);
    // One of a hundred groups moves: one row is deleted and one inserted.
    apply(&mut db, &[r(&[(5, 10, 0.0)])]).unwrap();
    let one = db.view_steps("above").unwrap() - steps;
    assert!(one > 0 && one <= 8, "{one}");
    assert_eq!(
        shown(&db, "above"),
        [[9, 99], [10, 1]].map(|row| row.map(int).to_vec())
    );
}

#[test]
fn strings_that_are_computed_are_keys_above() {
    let mut db = database(Options::default());
    let below = Q::over(&["s"])
        .hidden("0.t")
        .or_else("t", &scalar("0.t"), "'none'");
    create(&mut db, "below", &below.count("n"));
    create(
        &mut db,
        "above",
        &Q::over(&["below"]).by("0.t", "t").sum("n", "0.n"),
    );
    let unnamed = |b: i64| vec![int(b), int(0), Value::Null];
    apply(&mut db, &[Change::insert(1, vec![unnamed(1)])]).unwrap();
    assert_eq!(shown(&db, "above"), [vec![text("none"), int(1)]]);
    // Strings are inserted and deleted, often enough that a sweep removes those without a
    // reference.
    for round in 0..40i64 {
        let names: Vec<String> = (0..300).map(|i| format!("name {round} {i}")).collect();
        let rows: Vec<(i64, i64, &str)> = names.iter().map(|name| (1, 1, name.as_str())).collect();
        apply(&mut db, &[s(&rows)]).unwrap();
        assert_eq!(db.view_len("above").unwrap(), 301);
        apply(&mut db, &[gone(s(&rows))]).unwrap();
    }
    apply(
        &mut db,
        &[Change::insert(1, vec![unnamed(2)]), s(&[(1, 1, "none")])],
    )
    .unwrap();
    assert_eq!(shown(&db, "above"), [vec![text("none"), int(3)]]);
    assert_eq!(shown(&db, "below").len(), 2);
    let parts = db.memory_usage();
    let dictionary = parts
        .iter()
        .find(|(part, _)| part == "dictionary")
        .unwrap()
        .1;
    assert!(dictionary < 400_000, "{dictionary} bytes for a few strings");
}

#[test]
fn a_static_view_is_read_and_sealed() {
    let mut db = database(Options::default());
    let fixed = Change::insert(2, vec![vec![int(1), int(7)], vec![int(1), int(8)]]);
    apply(&mut db, &[fixed]).unwrap();
    create(
        &mut db,
        "fixed",
        &Q::over(&["u"]).by("0.c", "c").sum("d", "0.d"),
    );
    let above = Q::over(&["s", "fixed"])
        .join("0.c", "1.c")
        .by("0.b", "b")
        .sum("d", "1.d");
    create(&mut db, "above", &above);
    apply(&mut db, &[s(&[(4, 1, "p"), (4, 2, "p"), (5, 1, "q")])]).unwrap();
    assert_eq!(
        shown(&db, "above"),
        [[4, 15], [5, 15]].map(|row| row.map(int).to_vec())
    );
    let refused = apply(&mut db, &[Change::insert(2, vec![vec![int(1), int(1)]])]);
    assert!(matches!(refused, Err(Error::Static { .. })), "{refused:?}");
}

#[test]
fn rows_of_a_factorised_join_are_read_beside_others_who_follow_it() {
    let mut db = database(Options::default());
    let joined = Q::over(&["r", "s"])
        .join("0.b", "1.b")
        .by("0.a", "a")
        .by("1.c", "c");
    create(
        &mut db,
        "joined",
        &joined.rows(Some(Representation::Factorised), false),
    );
    apply(
        &mut db,
        &[
            r(&[(1, 1, 0.0), (2, 1, 0.0)]),
            s(&[(1, 5, "p"), (1, 6, "p")]),
        ],
    )
    .unwrap();
    let before = db.follow("joined", true).unwrap();
    create(
        &mut db,
        "above",
        &Q::over(&["joined"])
            .by("0.a", "a")
            .count("n")
            .sum("c", "0.c"),
    );
    assert_eq!(
        shown(&db, "above"),
        [[1, 2, 11], [2, 2, 11]].map(|row| row.map(int).to_vec())
    );
    apply(&mut db, &[r(&[(1, 1, 0.5)]), gone(s(&[(1, 6, "p")]))]).unwrap();
    assert_eq!(
        shown(&db, "above"),
        [[1, 2, 10], [2, 1, 5]].map(|row| row.map(int).to_vec())
    );
    let description = from_arrow(&db.changes(&before).unwrap());
    let rows = [[1, 5, 1], [1, 6, -1], [2, 6, -1]];
    assert_eq!(description, rows.map(|row| row.map(int).to_vec()));
    // Nobody reads it any more: nothing is kept for them.
    db.drop_view("above").unwrap();
    apply(&mut db, &[r(&[(3, 1, 0.0)])]).unwrap();
    let description = from_arrow(&db.changes(&before).unwrap());
    assert_eq!(description.len(), 4);
    db.check();
}

#[test]
fn without_base_rows_views_over_views_are_filled_from_below() {
    let mut db = database(Options {
        trust_deletes: true,
        ..Options::default()
    });
    create(
        &mut db,
        "one",
        &Q::over(&["r"]).by("0.a", "a").sum("b", "0.b"),
    );
    apply(&mut db, &[r(&[(1, 2, 0.0), (2, 5, 0.0)])]).unwrap();
    create(
        &mut db,
        "two",
        &Q::over(&["one"]).sum("b", "0.b").count("n"),
    );
    assert_eq!(shown(&db, "two"), [[7, 2].map(int).to_vec()]);
    apply(&mut db, &[gone(r(&[(1, 2, 0.0)]))]).unwrap();
    assert_eq!(shown(&db, "two"), [[5, 1].map(int).to_vec()]);
    let over = db.create_view(
        "three",
        &Q::over(&["r", "one"]).join("0.a", "1.a").count("n").0,
        &mut unpolled,
    );
    assert!(matches!(over, Err(Error::Unsupported { .. })), "{over:?}");
}

#[test]
fn changes_by_key_products_and_net_effects_go_on_to_views_above() {
    let column = |name: &str| Field::new(name, Type::Int64, true);
    let mut db = database(Options::default());
    let keyed = Schema::new(vec![column("b"), column("c")]).unwrap();
    db.create_table("k", keyed, Some(&["b".to_owned()]), false)
        .unwrap();
    create(&mut db, "one", &Q::over(&["k"]).by("0.c", "c").count("n"));
    create(&mut db, "two", &Q::over(&["one"]).by("0.n", "n").count("m"));
    let rows = |pairs: &[(i64, i64)]| {
        let row = |&(c, d): &(i64, i64)| vec![int(c), int(d)];
        let names = [("b", Type::Int64), ("c", Type::Int64)];
        let rows: Vec<Row> = pairs.iter().map(row).collect();
        ringview_oracle::arrow::to_arrow(&names, &rows, None)
    };
    let two = |db: &Database| shown(db, "two");
    let upsert = |db: &mut Database, pairs: &[(i64, i64)]| {
        let change = Keyed {
            table: "k",
            by: ByKey::Upsert,
            rows: &[rows(pairs)],
        };
        db.apply(&[ringview_engine::Change::Keyed(change)], &mut unpolled)
            .unwrap();
        db.check();
    };
    upsert(&mut db, &[(1, 1), (2, 1), (3, 2)]);
    assert_eq!(two(&db), [[1, 1], [2, 1]].map(|row| row.map(int).to_vec()));
    upsert(&mut db, &[(2, 2), (1, 2)]);
    assert_eq!(two(&db), [[3, 1].map(int).to_vec()]);
    // The net effect: a row is deleted before its insert in the list.
    let (old, new) = (rows(&[(9, 9)]), rows(&[(9, 9), (4, 4)]));
    let op = |direction, rows| Op {
        table: "k",
        direction,
        rows: std::slice::from_ref(rows),
        multiplicity: None,
    };
    let ops = [op(Direction::Delete, &old), op(Direction::Insert, &new)];
    db.apply_net(&ops, &mut unpolled).unwrap();
    assert_eq!(two(&db), [[1, 1], [3, 1]].map(|row| row.map(int).to_vec()));
    // A product of factors.
    create(
        &mut db,
        "sums",
        &Q::over(&["r"]).by("0.a", "a").sum("b", "0.b"),
    );
    create(
        &mut db,
        "most",
        &Q::over(&["sums"]).agg("most", Function::Max, Some("0.b")),
    );
    let part = |name: &str, values: &[i64]| {
        let rows: Vec<Row> = values.iter().map(|&v| vec![int(v)]).collect();
        ringview_oracle::arrow::to_arrow(&[(name, Type::Int64)], &rows, None)
    };
    let x = to_arrow(0, &[vec![int(0), int(0), Value::Real(1.0)]], None)
        .project(&[2])
        .unwrap();
    let factors = [[part("a", &[1, 2])], [part("b", &[3, 4])], [x]];
    let factors = factors.each_ref().map(|rows| ProductFactor {
        rows,
        multiplicity: None,
    });
    let product = Product {
        table: "r",
        direction: Direction::Insert,
        factors: &factors,
    };
    db.apply(&[ringview_engine::Change::Product(product)], &mut unpolled)
        .unwrap();
    assert_eq!(shown(&db, "most"), [[int(7)]]);
    db.check();
}

#[test]
fn beside_a_cofactor_the_other_columns_are_read() {
    let mut db = database(Options::default());
    let on = |column: &str| ColumnRef {
        atom: 0,
        column: column.to_owned(),
    };
    for (name, categorical) in [("numbers", vec![]), ("categories", vec![on("t")])] {
        let mut below = Q::over(&["s"]).by("0.b", "b").sum("sum", "0.c");
        below.0.outputs.insert(
            1,
            Output::Cofactor {
                name: "m".to_owned(),
                columns: vec![on("c")],
                categorical,
                nulls: Nulls::Refuse,
            },
        );
        create(
            &mut db,
            name,
            &below.agg("most", Function::Max, Some("0.t")),
        );
        let above = Q::over(&[name])
            .by("0.most", "most")
            .sum("sum", "0.sum")
            .count("n");
        create(&mut db, &format!("above {name}"), &above);
        let cofactor = Q::over(&[name]).agg("m", Function::Max, Some("0.m"));
        let refused = db.create_view("no", &cofactor.0, &mut unpolled);
        assert!(
            matches!(refused, Err(Error::Unsupported { .. })),
            "{refused:?}"
        );
    }
    // The degree-m payload alone, in the place of sums.
    let mut alone = Q::over(&["s"]).by("0.b", "b");
    alone.0.outputs.push(Output::Cofactor {
        name: "m".to_owned(),
        columns: vec![on("c")],
        categorical: Vec::new(),
        nulls: Nulls::Refuse,
    });
    create(&mut db, "alone", &alone);
    create(
        &mut db,
        "keys",
        &Q::over(&["alone"]).count("n").sum("b", "0.b"),
    );
    let rows = [(1, 5, "p"), (1, 6, "q"), (2, 7, "p")];
    apply(&mut db, &[s(&rows)]).unwrap();
    apply(
        &mut db,
        &[s(&[(2, 1, "q"), (3, 1, "a")]), gone(s(&rows[..1]))],
    )
    .unwrap();
    let expected = [
        vec![text("a"), int(1), int(1)],
        vec![text("q"), int(14), int(2)],
    ];
    for name in ["above numbers", "above categories"] {
        assert_eq!(shown(&db, name), expected);
    }
    assert_eq!(shown(&db, "keys"), [[3, 6].map(int).to_vec()]);
    db.check();
}
