//! Long work polls for an interruption, wherever it is done, and a stop leaves no trace; memory has
//! a limit, and exceeding it is an error that names the request.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_engine::{
    ByKey, Change, Database, Direction, Keyed, Op, Options, Product, ProductFactor,
};
use ringview_query::Query;

/// r(a, b), s(b, c), u(c, d), e(c, a): a path, and what closes it.
const TABLES: [(&str, [&str; 2]); 4] = [
    ("r", ["a", "b"]),
    ("s", ["b", "c"]),
    ("u", ["c", "d"]),
    ("e", ["c", "a"]),
];

/// Units of work that may lie between two polls: a period, and a block that has begun.
const BETWEEN: u64 = 1 << 17;

fn empty(memory_limit: Option<u64>) -> Database {
    let mut db = Database::new(Options {
        memory_limit,
        ..Options::default()
    });
    for (name, columns) in TABLES {
        let field = |name: &&str| Field::new(*name, Type::Int64, true);
        let schema = Schema::new(columns.iter().map(field).collect()).unwrap();
        db.create_table(name, schema, None, false).unwrap();
    }
    db
}

fn column(atom: usize, name: &str) -> String {
    format!(r#"{{"atom": {atom}, "column": "{name}"}}"#)
}

/// A query over r, s and, if requested, u and e: joins, then groups and outputs in JSON.
fn query(tables: usize, groups: &[(usize, &str)], outputs: &str, more: &str) -> Query {
    let atoms: Vec<String> = TABLES[..tables]
        .iter()
        .map(|(name, _)| format!(r#"{{"table": "{name}", "alias": "{name}"}}"#))
        .collect();
    let pairs = [
        (2, [(0, "b"), (1, "b")]),
        (3, [(1, "c"), (2, "c")]),
        (4, [(2, "c"), (3, "c")]),
        (4, [(0, "a"), (3, "a")]),
    ];
    let joins = pairs.iter().filter(|(needs, _)| *needs <= tables);
    let joins: Vec<String> = joins
        .map(|(_, [l, r])| format!("[{}, {}]", column(l.0, l.1), column(r.0, r.1)))
        .collect();
    let places: Vec<String> = groups.iter().map(|(at, name)| column(*at, name)).collect();
    let shown = groups.iter().zip(&places).map(|((at, name), place)| {
        format!(r#"{{"kind": "group", "name": "{name}{at}", "column": {place}}}"#)
    });
    let shown: Vec<String> = shown
        .chain((!outputs.is_empty()).then(|| outputs.to_owned()))
        .collect();
    let text = format!(
        r#"{{"atoms": [{}], "joins": [{}], "group_by": [{}], "outputs": [{}]{more}}}"#,
        atoms.join(", "),
        joins.join(", "),
        places.join(", "),
        shown.join(", "),
    );
    Query::from_json(&text).unwrap()
}

fn count() -> &'static str {
    r#"{"kind": "aggregate", "name": "n", "function": "count"}"#
}

fn rows(table: usize, rows: impl Iterator<Item = [i64; 2]>) -> RecordBatch {
    let rows: Vec<[i64; 2]> = rows.collect();
    let column = |at: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(row[at])).collect::<Int64Array>())
    };
    let [first, second] = TABLES[table].1;
    RecordBatch::try_from_iter([(first, column(0)), (second, column(1))]).unwrap()
}

fn insert<'a>(table: usize, rows: &'a RecordBatch) -> Change<'a> {
    Change::Rows(Op {
        table: TABLES[table].0,
        direction: Direction::Insert,
        rows: std::slice::from_ref(rows),
        multiplicity: None,
    })
}

fn apply(db: &mut Database, table: usize, batch: &RecordBatch) -> Result<()> {
    db.apply(&[insert(table, batch)], &mut |_| Ok(()))
}

/// Everything that a user sees of a view.
fn seen(db: &mut Database) -> (RecordBatch, RecordBatch, u64) {
    let rows = TABLES.map(|(name, _)| db.table(name).unwrap().rows);
    (
        db.view_result("v").unwrap(),
        db.view_changes("v").unwrap(),
        rows.iter().sum(),
    )
}

/// Applies a change that polls; then, to a database as it was, stopped at each poll in turn, or at some of them.
fn stops(make: impl Fn() -> Database, change: &[Change<'_>]) -> u64 {
    let mut asked = 0;
    make()
        .apply(change, &mut |_| {
            asked += 1;
            Ok(())
        })
        .unwrap();
    let mut db = make();
    let before = seen(&mut db);
    let empty = db.view_changes("v").unwrap();
    for stop in (0..asked).step_by(1 + asked as usize / 6) {
        let mut at = 0;
        let stopped = db.apply(change, &mut |_| {
            at += 1;
            if at > stop {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        });
        assert_eq!(stopped, Err(Error::Interrupted), "stopped at ask {stop}");
        let after = seen(&mut db);
        assert_eq!((&after.0, after.2), (&before.0, before.2), "at ask {stop}");
        assert_eq!(after.1, empty, "nothing moved at ask {stop}");
    }
    db.apply(change, &mut |_| Ok(())).unwrap();
    let mut other = make();
    other.apply(change, &mut |_| Ok(())).unwrap();
    let (now, expected) = (db.view_len("v"), other.view_len("v"));
    assert_eq!(now, expected, "after all stops it goes through");
    asked
}

/// One row of r meets 300,000 rows of s.
fn star(query: &Query) -> Database {
    let mut db = empty(None);
    apply(&mut db, 1, &rows(1, (0..300_000).map(|c| [0, c]))).unwrap();
    db.create_view("v", query, &mut |_| Ok(())).unwrap();
    db
}

#[test]
fn one_row_that_meets_many_asks_and_leaves_no_trace() {
    let one = rows(0, [[7, 0]].into_iter());
    for query in [
        query(2, &[(1, "c")], count(), ""),
        query(2, &[(0, "a")], count(), ""),
    ] {
        // The second needs no pairs: the group is one number.
        let least = if query.group_by[0].column == "c" {
            300_000 / BETWEEN
        } else {
            1
        };
        let asked = stops(|| star(&query), &[insert(0, &one)]);
        assert!(asked >= least, "{asked} asks");
    }
}

#[test]
fn a_cycle_asks_as_it_intersects() {
    let all = query(4, &[], count(), "");
    let make = || {
        let mut db = empty(None);
        let side = 700;
        let pairs = || (0..side).flat_map(|i| (0..side).map(move |j| [i, j]));
        apply(&mut db, 1, &rows(1, pairs())).unwrap();
        apply(&mut db, 3, &rows(3, pairs())).unwrap();
        apply(&mut db, 2, &rows(2, (0..side).map(|c| [c, 0]))).unwrap();
        db.create_view("v", &all, &mut |_| Ok(())).unwrap();
        db
    };
    let batch = rows(0, (0..1_000).map(|i| [i % 700, i * 7 % 700]));
    let asked = stops(make, &[insert(0, &batch)]);
    assert!(asked >= 700_000 / BETWEEN, "{asked} asks");
}

#[test]
fn a_listing_and_a_log_of_changes_ask() {
    let shown = [(0, "a"), (1, "c")];
    let one = rows(0, [[7, 0]].into_iter());
    for kept in [
        r#", "bag": {"representation": "listing"}"#,
        r#", "bag": {}"#,
    ] {
        let query = query(2, &shown, "", kept);
        let make = || {
            let mut db = star(&query);
            // From the first look on, changes of a factorised join are logged row by row.
            db.view_changes("v").unwrap();
            db
        };
        let asked = stops(make, &[insert(0, &one)]);
        assert!(asked >= 300_000 / BETWEEN, "{asked} asks {kept}");
    }
}

#[test]
fn factors_ask_where_they_meet_and_where_they_are_multiplied_out() {
    let all = query(2, &[(0, "a"), (1, "c")], count(), "");
    let make = || {
        let mut db = empty(None);
        let many = (0..500).flat_map(|b| (0..200).map(move |c| [b, c]));
        apply(&mut db, 1, &rows(1, many)).unwrap();
        db.create_view("v", &all, &mut |_| Ok(())).unwrap();
        db
    };
    let one = |name: &str, values: std::ops::Range<i64>| {
        let values: ArrayRef = Arc::new(values.map(Some).collect::<Int64Array>());
        [RecordBatch::try_from_iter([(name, values)]).unwrap()]
    };
    let (a, b) = (one("a", 0..1_000), one("b", 0..500));
    let factors = [&a, &b].map(|rows| ProductFactor {
        rows: &rows[..],
        multiplicity: None,
    });
    let product = Change::Product(Product {
        table: "r",
        direction: Direction::Insert,
        factors: &factors,
    });
    assert!(stops(make, &[product]) >= 500_000 / BETWEEN);
}

#[test]
fn a_view_that_is_filled_asks_within_a_chunk() {
    let mut db = empty(None);
    apply(&mut db, 1, &rows(1, (0..300_000).map(|c| [0, c]))).unwrap();
    apply(&mut db, 0, &rows(0, (0..2).map(|a| [a, 0]))).unwrap();
    let query = query(2, &[(1, "c")], count(), "");
    let mut asked = 0;
    db.create_view("v", &query, &mut |_| {
        asked += 1;
        Ok(())
    })
    .unwrap();
    assert!(asked >= 600_000 / BETWEEN, "{asked} asks");
    let expected = db.view_result("v").unwrap();
    db.drop_view("v").unwrap();
    for stop in (0..asked).step_by(5) {
        let mut at = 0;
        let stopped = db.create_view("v", &query, &mut |_| {
            at += 1;
            if at > stop {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        });
        assert_eq!(stopped, Err(Error::Interrupted));
        assert!(db.views().is_empty());
    }
    db.create_view("v", &query, &mut |_| Ok(())).unwrap();
    assert_eq!(db.view_result("v").unwrap(), expected);
}

#[test]
fn a_change_beyond_the_limit_is_undone_and_smaller_ones_go_on() {
    let limit = 40_000_000;
    let mut db = empty(Some(limit));
    let shown = [(0, "a"), (1, "c")];
    let listing = r#", "bag": {"representation": "listing"}"#;
    db.create_view("v", &query(2, &shown, "", listing), &mut |_| Ok(()))
        .unwrap();
    apply(&mut db, 1, &rows(1, (0..100_000).map(|c| [c % 10, c]))).unwrap();
    let before = seen(&mut db);
    // 2,000 rows that meet 10,000 each: found out within the propagation, long before it ends.
    let many = rows(0, (0..2_000).map(|a| [a, a % 10]));
    let Err(Error::Memory {
        needed, limit: of, ..
    }) = apply(&mut db, 0, &many)
    else {
        panic!("20 million rows do not fit");
    };
    assert_eq!(of, limit);
    assert!(
        needed > limit && needed < 4 * limit,
        "noticed at {needed} bytes"
    );
    let after = seen(&mut db);
    assert_eq!((&after.0, after.2), (&before.0, before.2));
    // Memory that a rolled-back change leaves is no reason to refuse the next.
    let one = rows(0, [[1, 1]].into_iter());
    apply(&mut db, 0, &one).unwrap();
    assert_eq!(db.view_len("v").unwrap(), 10_000);
}

#[test]
fn base_rows_and_strings_count() {
    let mut db = empty(Some(1_000_000));
    let refused = apply(&mut db, 0, &rows(0, (0..200_000).map(|a| [a, a])));
    let Err(error @ Error::Memory { .. }) = refused else {
        panic!("{refused:?}");
    };
    let said = error.to_string();
    for words in [
        "what the database would keep",
        "limit of 1.0 MB",
        "memory_limit",
        "nothing",
    ] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(db.table("r").unwrap().rows, 0);
    apply(&mut db, 0, &rows(0, (0..1_000).map(|a| [a, a]))).unwrap();
}

/// A join of 3,000 x 3,000 rows, kept factorised.
fn square(memory_limit: Option<u64>) -> Database {
    let mut db = empty(memory_limit);
    let all = query(2, &[(0, "a"), (1, "c")], "", r#", "bag": {}"#);
    db.create_view("v", &all, &mut |_| Ok(())).unwrap();
    apply(&mut db, 0, &rows(0, (0..3_000).map(|a| [a, 0]))).unwrap();
    apply(&mut db, 1, &rows(1, (0..3_000).map(|c| [0, c]))).unwrap();
    db
}

#[test]
fn what_is_read_at_once_is_refused_before_it_is_made() {
    let db = square(Some(20_000_000));
    for refused in [
        db.view_result("v"),
        db.view_slice("v", 1, 8_999_999),
        db.view_draw("v", 5_000_000, 1),
        db.view_draw("v", u64::MAX, 1),
    ] {
        let Err(error @ Error::Memory { .. }) = refused else {
            panic!("{refused:?}");
        };
        let said = error.to_string();
        assert!(
            said.contains("limit of 20.0 MB; read the rows as a stream"),
            "{said}"
        );
    }
    let all = db.view_result("v").unwrap_err().to_string();
    assert!(all.contains("a table of 9000000 rows"), "{all}");
    // The advice in the message.
    let mut stream = db.view_stream("v").unwrap();
    let mut rows = 0;
    while let Some(block) = db.next_rows(&mut stream).unwrap() {
        rows += block.num_rows();
    }
    assert_eq!(rows, 9_000_000);
    assert_eq!(db.view_slice("v", 5, 100_005).unwrap().num_rows(), 100_000);
}

#[test]
fn groups_and_listings_are_refused_before_they_are_made() {
    let limit = 30_000_000;
    let listing = r#", "bag": {"representation": "listing"}"#;
    let mut db = empty(Some(limit));
    let all = query(2, &[(0, "b")], "", listing);
    db.create_view("v", &all, &mut |_| Ok(())).unwrap();
    // One distinct row, ten million times.
    apply(&mut db, 0, &rows(0, (0..10_000).map(|a| [a, 0]))).unwrap();
    apply(&mut db, 1, &rows(1, (0..1_000).map(|c| [0, c]))).unwrap();
    assert_eq!(db.view_len("v"), Ok(10_000_000));
    let refused = db.view_result("v");
    assert!(matches!(refused, Err(Error::Memory { .. })), "{refused:?}");
}

#[test]
fn reading_asks_and_can_be_stopped() {
    let db = square(None);
    let mut asked = 0;
    let mut stop = |_| {
        asked += 1;
        if asked % 4 == 0 {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    };
    let stopped = db.view_slice_with("v", (10, 1_000_010), &mut stop);
    assert_eq!(stopped, Err(Error::Interrupted));
    let stopped = db.view_draw_with("v", (100_000, 3), &mut stop);
    assert_eq!(stopped, Err(Error::Interrupted));
    let stopped = db.view_result_with("v", &mut stop);
    assert_eq!(stopped, Err(Error::Interrupted));
    assert_eq!(db.view_draw("v", 100, 3), db.view_draw("v", 100, 3));
    let one = db.view_slice("v", 10, 11).unwrap();
    assert_eq!(one.num_rows(), 1);
}

/// The options of a database that may hold so many bytes.
fn limited(bytes: u64) -> Options {
    Options {
        memory_limit: Some(bytes),
        ..Options::default()
    }
}

fn change(table: usize, direction: Direction, rows: &RecordBatch) -> Change<'_> {
    Change::Rows(Op {
        table: TABLES[table].0,
        direction,
        rows: std::slice::from_ref(rows),
        multiplicity: None,
    })
}

/// Fills a database until not one row more is taken; how many rows r has.
fn fill(db: &mut Database) -> i64 {
    let (mut from, mut step) = (0, 4_096);
    while step > 0 {
        let more = rows(0, (from..from + step).map(|a| [a, a % 100]));
        match apply(db, 0, &more) {
            Ok(()) => from += step,
            Err(Error::Memory { .. }) => step /= 2,
            Err(other) => panic!("{other}"),
        }
    }
    from
}

/// A full database with a table alone, or with joins and groups over it.
fn full(with_views: bool) -> (Database, i64) {
    let mut db = empty(Some(8_000_000));
    if with_views {
        apply(&mut db, 1, &rows(1, (0..100).map(|b| [b, b % 7]))).unwrap();
        let views = [
            ("v", query(2, &[(0, "a"), (1, "c")], count(), "")),
            ("w", query(2, &[(1, "c")], count(), "")),
            (
                "l",
                query(
                    2,
                    &[(0, "a"), (1, "c")],
                    "",
                    r#", "bag": {"representation": "listing"}"#,
                ),
            ),
        ];
        for (name, query) in &views {
            db.create_view(name, query, &mut |_| Ok(())).unwrap();
        }
    }
    let all = fill(&mut db);
    (db, all)
}

#[test]
fn at_the_limit_whatever_frees_is_taken() {
    let go = &mut |_| Ok(());
    for with_views in [false, true] {
        let (mut db, all) = full(with_views);
        assert!(all > 1_000);
        let one = rows(0, [[0, 0]].into_iter());
        db.apply(&[change(0, Direction::Delete, &one)], go).unwrap();
        let half = rows(0, (1..all / 2).map(|a| [a, a % 100]));
        db.apply_net(&[change(0, Direction::Delete, &half)], go)
            .unwrap();
        let rest = rows(0, (all / 2..all).map(|a| [a, a % 100]));
        db.apply(&[change(0, Direction::Delete, &rest)], go)
            .unwrap();
        assert_eq!(db.table("r").unwrap().rows, 0);
        db.check();
        // There is room again.
        apply(&mut db, 0, &rows(0, (0..all / 2).map(|a| [a, a % 100]))).unwrap();
    }
}

#[test]
fn deletes_by_key_and_rows_in_the_place_of_others_are_taken_at_the_limit() {
    let go = &mut |_| Ok(());
    let mut db = Database::new(limited(8_000_000));
    let field = |name: &&str| Field::new(*name, Type::Int64, false);
    let schema = Schema::new(TABLES[0].1.iter().map(field).collect()).unwrap();
    db.create_table("r", schema, Some(&["a".to_owned()]), false)
        .unwrap();
    let all = fill(&mut db);
    let keyed = |by, rows| {
        Change::Keyed(Keyed {
            table: "r",
            by,
            rows,
        })
    };
    let placed = [rows(0, [[5, 50], [6, 60]].into_iter())];
    db.apply(&[keyed(ByKey::Upsert, &placed)], go).unwrap();
    let keys: ArrayRef = Arc::new((0..all - 1).map(Some).collect::<Int64Array>());
    let keys = [RecordBatch::try_from_iter([("a", keys)]).unwrap()];
    db.apply(&[keyed(ByKey::Delete, &keys)], go).unwrap();
    assert_eq!(db.table("r").unwrap().rows, 1);
}

#[test]
fn a_change_that_frees_less_than_it_adds_is_refused_at_the_limit() {
    let go = &mut |_| Ok(());
    let (mut db, all) = full(true);
    let one = rows(0, [[0, 0]].into_iter());
    let many = rows(0, (all..2 * all).map(|a| [a, a % 100]));
    let refused = db.apply(&[change(0, Direction::Delete, &one), insert(0, &many)], go);
    assert!(matches!(refused, Err(Error::Memory { .. })), "{refused:?}");
    let refused = db.apply_net(&[insert(0, &many)], go);
    assert!(matches!(refused, Err(Error::Memory { .. })), "{refused:?}");
    assert_eq!(db.table("r").unwrap().rows, all as u64);
}
