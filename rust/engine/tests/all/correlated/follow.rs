//! A query over a random stream, held to nested loops after each event: its rows, and what moved.
use std::collections::BTreeMap;

use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_oracle::arrow::{from_arrow, to_arrow};
use ringview_oracle::{Row, Table, Tables, Value, evaluate};
use ringview_query::Query;
use serde_json::Value as Json;

use crate::correlated::grammar::{Random, listed, shown};
use crate::correlated::{COLUMNS, TABLES};

pub(crate) fn parsed(query: &Json) -> Query {
    ringview_oracle::write::query(query)
}

pub(crate) fn schema() -> Schema {
    let field = |(name, ty): &(&str, Type)| Field::new(*name, ty.clone(), true);
    Schema::new(COLUMNS.iter().map(field).collect()).unwrap()
}

pub(crate) fn database(static_second: bool) -> Database {
    let mut db = Database::new(Options::default());
    for (at, table) in TABLES.iter().enumerate() {
        db.create_table(table, schema(), None, static_second && at == 1)
            .unwrap();
    }
    db
}

/// Rows of tables that are inserted (positive) or deleted.
pub(crate) type Event = Vec<(usize, Row, i64)>;

pub(crate) fn apply(db: &mut Database, event: &Event) -> Result<(), Error> {
    let rows: Vec<_> = event
        .iter()
        .map(|(_, row, times)| to_arrow(&COLUMNS, std::slice::from_ref(row), Some(&[times.abs()])))
        .collect();
    let ops: Vec<Op<'_>> = event
        .iter()
        .zip(&rows)
        .map(|((table, _, times), rows)| Op {
            table: TABLES[*table],
            direction: if *times > 0 {
                Direction::Insert
            } else {
                Direction::Delete
            },
            rows: std::slice::from_ref(rows),
            multiplicity: Some("n"),
        })
        .collect();
    db.apply(&ops, &mut |_| Ok(()))
}

pub(crate) fn rows_of(db: &Database, view: &str) -> Vec<Row> {
    let mut rows = from_arrow(&db.view_result(view).unwrap());
    rows.sort();
    rows
}

/// One event: a few changes, at most one of which cannot be.
pub(crate) fn event(random: &mut Random, tables: &Tables) -> (Event, bool) {
    let (mut all, mut fails) = (Vec::new(), false);
    for _ in 0..1 + random.below(3) {
        let table = random.below(2);
        let held: Vec<&Row> = tables.get(TABLES[table]).rows.keys().collect();
        match random.below(9) {
            0..=3 if !held.is_empty() => {
                all.push((table, held[random.below(held.len())].clone(), -1));
            }
            4 if random.below(4) == 0 => {
                let absent = vec![Value::Int(77), Value::Null, Value::Null, Value::Null];
                all.push((table, absent, -1));
                fails = true;
            }
            _ if held.len() < 6 => all.push((table, random.row(), 1 + random.below(2) as i64)),
            _ => {}
        }
    }
    (all, fails)
}

pub(crate) fn model() -> Tables {
    let with = |tables: Tables, name: &&str| tables.with(name, Table::new(&COLUMNS));
    TABLES.iter().fold(Tables::default(), with)
}

/// Follows a query over a random stream; the form in which it was kept.
pub(crate) fn follow(query: &Json, random: &mut Random, events: usize) -> String {
    let query = match random.below(4) {
        0 => parsed(&listed(query.clone())),
        _ => parsed(&shown(query.clone(), random)),
    };
    let (mut db, mut tables) = (database(false), model());
    // The query is also evaluated once, without a view, over the same rows.
    let mut without_views = database(false);
    // Half of the views are born over rows that are there.
    let born = random.below(2) * 2;
    if born == 0 {
        db.create_view("q", &query, &mut |_| Ok(())).unwrap();
    }
    let mut description: BTreeMap<Row, i64> = BTreeMap::new();
    for at in 0..events {
        let (change, fails) = event(random, &tables);
        let before = tables.clone();
        let fits = change.iter().all(|(table, row, times)| {
            tables.get_mut(TABLES[*table]).add(&[(row.clone(), *times)])
        });
        let done = apply(&mut db, &change);
        assert_eq!(done.is_ok(), fits, "{done:?}, {fails}");
        assert_eq!(apply(&mut without_views, &change).is_ok(), fits);
        if !fits {
            tables = before;
        }
        if at + 1 == born {
            db.create_view("q", &query, &mut |_| Ok(())).unwrap();
        }
        if at < born.saturating_sub(1) {
            continue;
        }
        db.check();
        let mut expected = evaluate(&query, &tables);
        expected.sort();
        assert_eq!(
            rows_of(&db, "q"),
            expected,
            "event {at} of {}",
            query.to_json().unwrap()
        );
        let once = without_views.evaluate(&query, &mut |_| Ok(())).unwrap();
        let mut once = from_arrow(&once);
        once.sort();
        assert_eq!(once, expected, "asked once, event {at}");
        for mut row in from_arrow(&db.view_changes("q").unwrap()) {
            let Some(Value::Int(times)) = row.pop() else {
                panic!("a multiplicity")
            };
            *description.entry(row).or_default() += times;
        }
        description.retain(|_, times| *times != 0);
        let repeated = |(row, times): (&Row, &i64)| vec![row.clone(); *times as usize];
        let kept: Vec<Row> = description.iter().flat_map(repeated).collect();
        assert_eq!(kept, expected, "what moved, event {at}");
    }
    let explanation = db.view_explanation("q").unwrap();
    // A condition on a row's own columns is a filter, and needs no index.
    assert!(["rpai", "viewtree"].contains(&&*explanation.engine.name));
    explanation.form.name
}
