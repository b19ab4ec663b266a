//! A sample restored from its bytes: the same rows, the same later random numbers, even if the ids of strings and the
//! order of rows have changed.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;

const TABLES: [&str; 4] = ["r", "s", "t", "d"];

/// Joins of the tables: a line, a triangle, and facts with a dimension by its key.
const JOINS: [(&[&str], &str); 3] = [
    (
        &["r", "s"],
        r#"[{"atom": 0, "column": "y"}, {"atom": 1, "column": "x"}]"#,
    ),
    (
        &["r", "s", "t"],
        r#"[{"atom": 0, "column": "y"}, {"atom": 1, "column": "x"}],
           [{"atom": 1, "column": "y"}, {"atom": 2, "column": "x"}],
           [{"atom": 2, "column": "y"}, {"atom": 0, "column": "x"}]"#,
    ),
    (
        &["r", "d"],
        r#"[{"atom": 0, "column": "y"}, {"atom": 1, "column": "x"}]"#,
    ),
];

fn query((tables, joins): (&[&str], &str)) -> Query {
    let atom = |table: &&str| format!(r#"{{"table": "{table}", "alias": "{table}"}}"#);
    let atoms: Vec<String> = tables.iter().map(atom).collect();
    let all = || (0..tables.len()).flat_map(|atom| ["x", "y"].map(|column| (atom, column)));
    let column =
        |(atom, column): (usize, &str)| format!(r#"{{"atom": {atom}, "column": "{column}"}}"#);
    let groups: Vec<String> = all().map(column).collect();
    let output = |(atom, name): (usize, &str)| {
        let column = column((atom, name));
        format!(r#"{{"kind": "group", "name": "{name}{atom}", "column": {column}}}"#)
    };
    let outputs: Vec<String> = all().map(output).collect();
    let text = format!(
        r#"{{"atoms": [{}], "joins": [{joins}], "group_by": [{}], "outputs": [{}], "bag": {{}}}}"#,
        atoms.join(","),
        groups.join(","),
        outputs.join(",")
    );
    Query::from_json(&text).unwrap()
}

type Row = (Option<String>, Option<String>);

/// Rows of a table: strings of few values, some NULL, some twice; one for each key of the dimension.
fn rows(table: &str, from: u64, to: u64) -> Vec<Row> {
    let text = |n: u64, values: u64| (n % values != 3).then(|| format!("v{}", n % values));
    let seed = table.as_bytes()[0] as u64;
    let row = |n: u64| {
        let mixed = (n * 31 + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        match table {
            "d" => (Some(format!("v{n}")), text(mixed, 4)),
            _ => (text(mixed, 7), text(mixed / 7, 6)),
        }
    };
    let to = if table == "d" { to.min(9) } else { to };
    (from.min(to)..to).map(row).collect()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let of = |column: fn(&Row) -> &Option<String>| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|row| column(row).as_deref())
                .collect::<StringArray>(),
        )
    };
    RecordBatch::try_from_iter_with_nullable([
        ("x", of(|row| &row.0), true),
        ("y", of(|row| &row.1), true),
    ])
    .unwrap()
}

fn change(db: &mut Database, table: &str, direction: Direction, rows: &[Row]) {
    let rows = [batch(rows)];
    let op = Op {
        table,
        direction,
        rows: &rows,
        multiplicity: None,
    };
    db.apply(&[op], &mut |_| Ok(())).unwrap();
}

fn tables() -> Database {
    let mut db = Database::new(Options::default());
    for name in TABLES {
        let fields = ["x", "y"].map(|name| Field::new(name, Type::Utf8, true));
        let unique = (name == "d").then(|| vec!["x".to_owned()]);
        db.create_table(
            name,
            Schema::new(fields.to_vec()).unwrap(),
            unique.as_deref(),
            false,
        )
        .unwrap();
    }
    db
}

/// A database with a sample, whose tables have had inserts and deletes.
fn sampled(join: (&[&str], &str), seed: u64, deletes: bool) -> Database {
    let mut db = tables();
    db.create_sample("few", &query(join), (12, seed), &mut |_| Ok(()))
        .unwrap();
    for (from, to) in [(0, 20), (20, 60)] {
        for table in TABLES {
            change(&mut db, table, Direction::Insert, &rows(table, from, to));
        }
    }
    for table in TABLES.into_iter().filter(|_| deletes) {
        change(&mut db, table, Direction::Delete, &rows(table, 3, 15));
    }
    db
}

#[test]
fn a_sample_goes_on_from_its_bytes_over_rows_in_another_order() {
    for join in JOINS {
        let db = sampled(join, 7, true);
        let state = db.sample_state("few").unwrap();
        let mut other = tables();
        for table in TABLES.into_iter().rev() {
            let mut all = rows(table, 15, 60);
            all.extend(rows(table, 0, 3));
            all.reverse();
            change(&mut other, table, Direction::Insert, &all);
        }
        other
            .create_sample("few", &query(join), (12, 1), &mut |_| Ok(()))
            .unwrap();
        other.resume_sample("few", &state).unwrap();
        other.check();
        assert_eq!(other.view_result("few"), db.view_result("few"));
        assert_eq!(other.sample_state("few").unwrap(), state);
        // All its rows are of these tables, so deleting these empties it.
        for table in TABLES {
            let mut all = rows(table, 15, 60);
            all.extend(rows(table, 0, 3));
            change(&mut other, table, Direction::Delete, &all);
        }
        assert_eq!(other.view_result("few").unwrap().num_rows(), 0);
    }
}

#[test]
fn what_comes_after_is_drawn_as_if_nothing_had_been_between() {
    for join in JOINS {
        let (mut db, mut other) = (sampled(join, 7, false), sampled(join, 8, false));
        assert_ne!(other.view_result("few"), db.view_result("few"));
        other
            .resume_sample("few", &db.sample_state("few").unwrap())
            .unwrap();
        let before = db.view_result("few").unwrap();
        for table in TABLES {
            let more = rows(table, 60, 200);
            change(&mut db, table, Direction::Insert, &more);
            change(&mut other, table, Direction::Insert, &more);
        }
        assert_ne!(db.view_result("few").unwrap(), before);
        assert_eq!(other.view_result("few"), db.view_result("few"));
    }
}

#[test]
fn bytes_that_are_no_state_of_the_sample_are_refused_and_change_nothing() {
    for join in JOINS {
        let mut db = sampled(join, 7, true);
        let state = db.sample_state("few").unwrap();
        let refused = |db: &mut Database, state: &[u8]| {
            let before = db.sample_state("few");
            let done = db.resume_sample("few", state);
            assert!(matches!(done, Err(Error::Snapshot { .. })), "{done:?}");
            assert_eq!(db.sample_state("few"), before);
        };
        for end in 0..state.len() {
            refused(&mut db, &state[..end]);
        }
        let mut later = state.clone();
        later[0] += 1;
        refused(&mut db, &later);
        let mut longer = state.clone();
        longer.push(0);
        refused(&mut db, &longer);
        // Of a sample of another size, and of other rows.
        let mut larger = tables();
        larger
            .create_sample("few", &query(join), (13, 7), &mut |_| Ok(()))
            .unwrap();
        refused(&mut larger, &state);
        change(&mut db, "r", Direction::Delete, &rows("r", 15, 60));
        refused(&mut db, &state);
    }
    let mut db = sampled(JOINS[0], 7, false);
    let above = r#"{"atoms": [{"table": "few", "alias": "f"}],
        "outputs": [{"kind": "aggregate", "name": "n", "function": "count"}]}"#;
    db.create_view("n", &Query::from_json(above).unwrap(), &mut |_| Ok(()))
        .unwrap();
    let state = db.sample_state("few").unwrap();
    let done = db.resume_sample("few", &state);
    assert!(matches!(done, Err(Error::Unsupported { .. })), "{done:?}");
    assert!(matches!(
        db.sample_state("n"),
        Err(Error::Unsupported { .. })
    ));
}
