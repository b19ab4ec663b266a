//! Transactions of one row allocate nothing once everything is warm.
//!
//! Memory grows now and then, so a thousand rows may allocate a few times; a hundredth of that is far below one a row.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use ringview_core::Schema;
use ringview_engine::{Database, Direction, Op, Options};
use ringview_sql::Definition;

use crate::calls;

const KEYS: i64 = 50;
const ROWS: i64 = 1_000;

/// Three relations that join on one key, and a fact with two dimensions.
const TABLES: [(&str, &[&str]); 6] = [
    ("house", &["postcode", "area", "price"]),
    ("shop", &["postcode", "size"]),
    ("stop", &["postcode", "lines"]),
    ("sale", &["place", "day", "item", "units"]),
    ("weather", &["place", "day", "rain"]),
    ("goods", &["item", "price"]),
];

const VIEWS: [&str; 5] = [
    "SELECT COUNT(*) AS n, SUM(area) AS area FROM house JOIN shop USING (postcode) JOIN stop USING (postcode)",
    "SELECT COFACTOR(area, price, size, lines) AS c FROM house JOIN shop USING (postcode) JOIN stop USING (postcode)",
    "SELECT SUM(units) AS units FROM sale JOIN weather USING (place, day) JOIN goods USING (item)",
    "SELECT COFACTOR(units, rain, goods.price) AS c \
     FROM sale JOIN weather USING (place, day) JOIN goods USING (item)",
    "SELECT place, SUM(units * rain) AS wet FROM sale JOIN weather USING (place, day) GROUP BY place",
];

fn row(table: usize, number: i64) -> RecordBatch {
    let key = number * 7 % KEYS;
    let value = |column: &str| match column {
        "postcode" | "item" => key,
        "place" => key % 5,
        "day" => key / 5,
        other => (number * 31 + other.len() as i64) % 100,
    };
    let columns = TABLES[table].1.iter();
    let columns = columns.map(|&name| {
        (
            name,
            Arc::new(Int64Array::from(vec![value(name)])) as ArrayRef,
        )
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

fn insert(db: &mut Database, table: usize, rows: &RecordBatch) {
    let op = Op {
        table: TABLES[table].0,
        direction: Direction::Insert,
        rows: std::slice::from_ref(rows),
        multiplicity: None,
    };
    db.apply(&[op], &mut |_| Ok(())).unwrap();
}

/// Allocations of each table's inserts of `ROWS` single rows, after as many of all tables.
fn allocations(trust_deletes: bool, view: &str) -> Vec<u64> {
    let options = Options {
        trust_deletes,
        ..Options::default()
    };
    let mut db = Database::new(options);
    for (table, (name, _)) in TABLES.iter().enumerate() {
        let schema = Schema::from_arrow(&row(table, 0).schema()).unwrap();
        db.create_table(name, schema, None, false).unwrap();
    }
    let definition =
        Definition::new(view, Default::default(), &db.tables(), &db.catalog()).unwrap();
    let query = definition.bind().unwrap();
    db.create_view("v", &query, &mut |_| Ok(())).unwrap();
    // As a stream has them: one schema for all batches of a table.
    let schemas = [0, 1, 2, 3, 4, 5].map(|table| row(table, 0).schema());
    let batches = |table: usize| {
        let of = move |number: i64| row(table, number);
        (0..ROWS)
            .map(of)
            .map(|rows| rows.with_schema(Arc::clone(&schemas[table])).unwrap())
            .collect::<Vec<_>>()
    };
    let all: Vec<Vec<RecordBatch>> = (0..TABLES.len()).map(batches).collect();
    let mut rounds = Vec::new();
    for _ in 0..2 {
        rounds.clear();
        for (table, batches) in all.iter().enumerate() {
            let before = calls();
            batches.iter().for_each(|rows| insert(&mut db, table, rows));
            rounds.push(calls() - before);
        }
    }
    db.check();
    rounds
}

#[test]
fn one_row_allocates_nothing() {
    for trust_deletes in [true, false] {
        for view in VIEWS {
            let found = allocations(trust_deletes, view);
            let few = found.iter().all(|&calls| calls < ROWS as u64 / 20);
            assert!(
                few,
                "{found:?} allocations by table, {trust_deletes}: {view}"
            );
        }
    }
}
