//! A database in use for long: fresh keys and strings are inserted and deleted, and memory stays that of the remaining
//! rows.
//!
//! The oracle is a database of its own into which only what is left was ever inserted.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;

const TABLES: [&str; 2] = ["r", "s"];

/// r(k, n, t) and s(k, m, w), of a string, a number and a string that may be NULL.
fn database(trust_deletes: bool) -> Database {
    let mut db = Database::new(Options {
        trust_deletes,
        ..Options::default()
    });
    for (table, number, text) in [("r", "n", "t"), ("s", "m", "w")] {
        let fields = vec![
            Field::new("k", Type::Utf8, false),
            Field::new(number, Type::Int64, false),
            Field::new(text, Type::Utf8, true),
        ];
        db.create_table(table, Schema::new(fields).unwrap(), None, false)
            .unwrap();
    }
    db
}

/// Rows `from .. to`, each with a key of its own, and with a string that none other has, or NULL.
fn rows(table: &str, from: u64, to: u64) -> RecordBatch {
    let (number, text) = if table == "r" { ("n", "t") } else { ("m", "w") };
    let keys = StringArray::from_iter_values((from..to).map(|at| format!("key {at}")));
    let numbers = Int64Array::from_iter_values((from..to).map(|at| at as i64 % 1_000));
    let texts = (from..to).map(|at| {
        let initial = char::from(b'a' + (at * 7 % 26) as u8);
        (at % 5 != 0).then(|| format!("{initial} of {table} {at}"))
    });
    let columns: [(&str, ArrayRef); 3] = [
        ("k", Arc::new(keys)),
        (number, Arc::new(numbers)),
        (text, Arc::new(StringArray::from_iter(texts))),
    ];
    let fields = columns.iter().map(|(name, array)| {
        arrow_schema::Field::new(*name, array.data_type().clone(), *name == text)
    });
    let schema = arrow_schema::Schema::new(fields.collect::<Vec<_>>());
    let arrays = columns.iter().map(|(_, array)| Arc::clone(array));
    RecordBatch::try_new(Arc::new(schema), arrays.collect()).unwrap()
}

fn change(db: &mut Database, direction: Direction, from: u64, to: u64) -> Result<(), Error> {
    let batches = TABLES.map(|table| [rows(table, from, to)]);
    let ops: Vec<Op<'_>> = TABLES
        .iter()
        .zip(&batches)
        .map(|(table, rows)| Op {
            table,
            direction,
            rows,
            multiplicity: None,
        })
        .collect();
    db.apply(&ops, &mut |_| Ok(()))
}

fn column(atom: usize, column: &str) -> String {
    format!(r#""\"{atom}\".\"{column}\"""#)
}

fn aggregate(name: &str, function: &str, argument: &str) -> String {
    format!(
        r#"{{"kind": "aggregate", "name": "{name}", "function": "{function}", "argument": {argument}}}"#
    )
}

fn group(atom: usize, column: &str, name: &str) -> String {
    format!(
        r#"{{"kind": "group", "name": "{name}", "column": {{"atom": {atom}, "column": "{column}"}}}}"#
    )
}

const ON_K: &str = r#"[{"atom": 0, "column": "k"}, {"atom": 1, "column": "k"}]"#;

const JOINED: &str =
    r#"{"atom": 0, "column": "k"}, {"atom": 0, "column": "t"}, {"atom": 1, "column": "w"}"#;

/// Views of every kind that keeps strings, or what is known of them.
fn views() -> Vec<(&'static str, Query)> {
    let like = |pattern: &str, column: &str| format!(r#"{column} LIKE '{pattern}'"#);
    let atoms = r#"{"table": "r", "alias": "r"}, {"table": "s", "alias": "s"}"#;
    let t = column(0, "t");
    let join = [group(0, "k", "k"), group(0, "t", "t"), group(1, "w", "w")].join(", ");
    let all = [
        (
            "groups",
            format!(
                r#"{{"atoms": [{atoms}], "joins": [{ON_K}],
                "group_by": [{{"atom": 0, "column": "t"}}], "outputs": [{}, {}, {}]}}"#,
                group(0, "t", "t"),
                aggregate("n", "count", "null"),
                aggregate("last", "max", &column(1, "w")),
            ),
        ),
        (
            "ends",
            format!(
                r#"{{"atoms": [{atoms}], "joins": [{ON_K}], "outputs": [{}, {}, {}, {}]}}"#,
                aggregate("first", "min", &t),
                aggregate("last", "max", &t),
                aggregate("texts", "count_distinct", &column(1, "w")),
                aggregate("sum", "sum", &column(1, "m")),
            ),
        ),
        (
            "filtered",
            format!(
                r#"{{"atoms": [{{"table": "r", "alias": "r", "filter": "{}"}}], "outputs": [{}]}}"#,
                like("a%", "t"),
                aggregate("n", "count", "null"),
            ),
        ),
        (
            "unlike",
            format!(
                r#"{{"atoms": [{{"table": "r", "alias": "r", "filter": "NOT {}"}}],
                "group_by": [{{"atom": 0, "column": "n"}}], "outputs": [{}, {}]}}"#,
                like("%e%1%", "t"),
                group(0, "n", "n"),
                aggregate("rows", "count", "null"),
            ),
        ),
        (
            "join",
            format!(
                r#"{{"atoms": [{atoms}], "joins": [{ON_K}], "group_by": [{JOINED}],
                "outputs": [{join}], "bag": {{}}}}"#
            ),
        ),
        (
            "listing",
            format!(
                r#"{{"atoms": [{atoms}], "joins": [{ON_K}], "group_by": [{JOINED}],
                "outputs": [{join}], "bag": {{"representation": "listing"}}}}"#
            ),
        ),
        (
            "distinct",
            format!(
                r#"{{"atoms": [{{"table": "r", "alias": "r"}}], "outputs": [{}, {}],
                "group_by": [{{"atom": 0, "column": "k"}}, {{"atom": 0, "column": "t"}}],
                "bag": {{"distinct": true}}}}"#,
                group(0, "k", "k"),
                group(0, "t", "t"),
            ),
        ),
        (
            "self",
            format!(
                r#"{{"atoms": [{{"table": "r", "alias": "x"}}, {{"table": "r", "alias": "y"}}],
                "joins": [[{{"atom": 0, "column": "n"}}, {{"atom": 1, "column": "n"}}]],
                "group_by": [{{"atom": 0, "column": "k"}}], "outputs": [{}, {}]}}"#,
                group(0, "k", "k"),
                aggregate("last", "max", &column(1, "t")),
            ),
        ),
        (
            "categories",
            format!(
                r#"{{"atoms": [{{"table": "r", "alias": "r", "filter": "t IS NOT NULL"}}],
                "group_by": [{{"atom": 0, "column": "n"}}], "outputs": [{}, {{"kind": "cofactor",
                "name": "c", "columns": [{{"atom": 0, "column": "n"}}],
                "categorical": [{{"atom": 0, "column": "t"}}]}}]}}"#,
                group(0, "n", "n"),
            ),
        ),
    ];
    let query = |text: &String| Query::from_json(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    all.iter()
        .map(|(name, text)| (*name, query(text)))
        .collect()
}

fn with_views(trust_deletes: bool) -> Database {
    let mut db = database(trust_deletes);
    for (name, query) in views() {
        db.create_view(name, &query, &mut |_| Ok(()))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    db
}

/// The rows of a result, sorted.
fn sorted(result: &RecordBatch) -> Vec<String> {
    let row = |at| format!("{:?}", result.slice(at, 1).columns());
    let mut lines: Vec<String> = (0..result.num_rows()).map(row).collect();
    lines.sort_unstable();
    lines
}

fn bytes(db: &Database, of: &str) -> usize {
    let parts = db.memory_usage();
    let parts = parts.iter().filter(|(name, _)| name.contains(of));
    parts.map(|(_, bytes)| bytes).sum()
}

/// Slides a window over fresh rows, with refused changes between; every view is what it is of the
/// window alone, and nothing grows.
fn live(trust_deletes: bool, window: u64, rounds: u64, followed: bool) {
    let mut db = with_views(trust_deletes);
    let step = window / 4;
    let mut seen = Vec::new();
    for round in 0..rounds {
        let from = round * step;
        change(&mut db, Direction::Insert, from, from + step).unwrap();
        if round >= 4 {
            change(
                &mut db,
                Direction::Delete,
                from - window,
                from + step - window,
            )
            .unwrap();
        }
        // Refused, with strings that nobody has seen, and that others get the ids of.
        let mut calls = 0;
        let ops = [Op {
            table: "r",
            direction: Direction::Insert,
            rows: &[rows("r", from + 1_000_003, from + 1_000_003 + step)],
            multiplicity: None,
        }];
        let refused = db.apply(&ops, &mut |_| {
            calls += 1;
            Err(Error::Interrupted)
        });
        assert_eq!(refused, Err(Error::Interrupted));
        assert!(calls > 0);
        if !trust_deletes {
            let absent = change(&mut db, Direction::Delete, from + step, from + 2 * step);
            assert!(matches!(absent, Err(Error::OverDelete { .. })));
        }
        if followed && round % 3 == 0 {
            let moved = views().into_iter();
            let moved = moved.map(|(name, _)| db.view_changes(name).unwrap().num_rows());
            assert!(moved.sum::<usize>() > 0);
        }
        let total = bytes(&db, "");
        seen.push(total);
    }
    let from = (rounds - 4) * step;
    let mut fresh = with_views(false);
    change(&mut fresh, Direction::Insert, from, rounds * step).unwrap();
    for (name, _) in views() {
        let (found, expected) = (
            db.view_result(name).unwrap(),
            fresh.view_result(name).unwrap(),
        );
        assert!(found.num_rows() > 0, "{name}");
        assert_eq!(sorted(&found), sorted(&expected), "{name}");
    }
    let (early, late) = seen.split_at(seen.len() / 4);
    let most = |bytes: &[usize]| bytes.iter().max().copied().unwrap_or(0);
    assert!(
        most(late) * 5 <= most(early) * 6,
        "{} then {}: {:?}",
        most(early),
        most(late),
        db.memory_usage()
    );
}

#[test]
fn a_window_over_fresh_rows_takes_what_it_took() {
    live(false, 800, 120, false);
}

#[test]
fn it_does_so_where_deletes_are_trusted() {
    live(true, 800, 120, false);
}

#[test]
fn it_does_so_while_changes_are_read() {
    live(false, 800, 60, true);
}

/// Minutes: ten million rows of each table through a window of 10^4.
#[test]
#[ignore = "takes minutes"]
fn a_window_for_months() {
    live(false, 10_000, 4_000, false);
}

#[test]
fn refused_changes_add_nothing() {
    for trust_deletes in [false, true] {
        let mut db = with_views(trust_deletes);
        change(&mut db, Direction::Insert, 0, 100).unwrap();
        let before = bytes(&db, "dictionary");
        let results = |db: &Database| -> Vec<_> {
            let names = views().into_iter();
            names
                .map(|(name, _)| sorted(&db.view_result(name).unwrap()))
                .collect()
        };
        let were = results(&db);
        for round in 1..40 {
            let ops = [Op {
                table: "r",
                direction: Direction::Delete,
                rows: &[rows("r", round * 2_000, round * 2_000 + 2_000)],
                multiplicity: None,
            }];
            let refused = db.apply(&ops, &mut |_| Err(Error::Interrupted));
            assert!(refused.is_err());
            assert_eq!(results(&db), were);
        }
        let after = bytes(&db, "dictionary");
        assert!(after < before + 100_000, "{before} then {after}");
        assert!(bytes(&db, "") < 20_000_000, "{:?}", db.memory_usage());
    }
}

#[test]
fn what_left_leaves_nothing_behind() {
    for trust_deletes in [false, true] {
        let mut db = with_views(trust_deletes);
        let empty = bytes(&db, "");
        for from in (0..40_000).step_by(4_000) {
            change(&mut db, Direction::Insert, from, from + 4_000).unwrap();
        }
        let full = bytes(&db, "");
        for from in (0..40_000).step_by(4_000) {
            change(&mut db, Direction::Delete, from, from + 4_000).unwrap();
        }
        // Buffers for the next batch have the size of the last ones.
        for from in 0..4 {
            change(&mut db, Direction::Insert, from, from + 1).unwrap();
            change(&mut db, Direction::Delete, from, from + 1).unwrap();
        }
        let left = bytes(&db, "");
        assert!(
            left < empty + full / 20,
            "{empty}, {full}, {left}: {:?}",
            db.memory_usage()
        );
    }
}

/// Strings that only a filter has seen, and those of a view that was dropped.
#[test]
fn strings_that_nobody_keeps_go() {
    let mut db = database(true);
    let (_, filtered) = views().swap_remove(2);
    db.create_view("filtered", &filtered, &mut |_| Ok(()))
        .unwrap();
    let insert = |db: &mut Database, from: u64, to: u64| {
        let ops = [Op {
            table: "r",
            direction: Direction::Insert,
            rows: &[rows("r", from, to)],
            multiplicity: None,
        }];
        db.apply(&ops, &mut |_| Ok(())).unwrap();
    };
    let mut most = 0;
    for from in (0..200_000).step_by(2_000) {
        insert(&mut db, from, from + 2_000);
        most = most.max(bytes(&db, "dictionary"));
    }
    assert!(most < 1_000_000, "{most}");
    let count = db.view_result("filtered").unwrap();
    let expected = (0..200_000u64).filter(|at| at * 7 % 26 == 0 && at % 5 != 0);
    let counted: &Int64Array = count.column(0).as_any().downcast_ref().unwrap();
    assert_eq!(counted.value(0), expected.count() as i64);

    let mut db = with_views(false);
    change(&mut db, Direction::Insert, 0, 20_000).unwrap();
    let full = bytes(&db, "dictionary");
    for (name, _) in views() {
        db.drop_view(name).unwrap();
    }
    db.drop_table("r").unwrap();
    db.drop_table("s").unwrap();
    assert!(bytes(&db, "dictionary") < full / 10);
}
