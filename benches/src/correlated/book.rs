//! Events of an order book, one at a time, the result read after each.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use ringview_core::{Field, Schema, Type};
use ringview_engine::{Cell, Database, Direction, Op, Options};
use ringview_query::Query;
use ringview_rpai::machine::{Machine, Quantity};
use serde::Serialize;

use super::{batch, logical, print, queries};
use crate::common::clock::on_core;

/// A short book, where no other is given.
const EVENTS: &str = include_str!("../../../rust/rpai/tests/data/orderbook.csv");
const TABLES: [&str; 2] = ["bids", "asks"];
const REPEAT: usize = 5;
/// A result over nothing.
const NULL: &str = "NULL";

/// A row of a table that is inserted or deleted.
struct Event {
    table: usize,
    times: i64,
    row: (i64, i64),
}

#[derive(Serialize)]
struct Line {
    workload: &'static str,
    query: &'static str,
    batch: usize,
    system: &'static str,
    tuples: usize,
    tuples_per_second: f64,
    result: String,
}

/// The events of a file of lines "table,times,volume,price".
fn events(path: Option<&Path>, share: usize) -> Result<Vec<Event>, String> {
    let text = match path {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?,
        None => EVENTS.to_owned(),
    };
    let event = |line: &str| {
        let numbers: Result<Vec<i64>, _> = line.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[table @ (0 | 1), times, volume, price]) => Ok(Event {
                table: table as usize,
                times,
                row: (volume, price),
            }),
            _ => Err(format!("{line:?} is no event: table, times, volume, price")),
        }
    };
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let some = lines.len() / share;
    lines[..some].iter().map(|line| event(line)).collect()
}

pub(super) fn run(path: Option<&Path>, share: usize) -> Result<(), String> {
    let events = events(path, share)?;
    for (query, block, is_indexed) in queries::all() {
        if is_indexed {
            let empty = Machine::new(queries::book(block));
            measure(query, "machine", events.len(), || machine(&empty, &events))?;
        }
    }
    for (query, parsed) in logical::logical() {
        measure(query, "engine", events.len(), || engine(&parsed, &events))?;
    }
    Ok(())
}

/// Prints the least of several runs.
fn measure(
    query: &'static str,
    system: &'static str,
    tuples: usize,
    run: impl Fn() -> Result<(Duration, String), String>,
) -> Result<(), String> {
    let (mut least, result) = run()?;
    for _ in 1..REPEAT {
        let (time, again) = run()?;
        if again != result {
            return Err(format!("{query}: {again}, and {result} before"));
        }
        least = least.min(time);
    }
    print(&Line {
        workload: "order-book",
        query,
        batch: 1,
        system,
        tuples,
        tuples_per_second: tuples as f64 / least.as_secs_f64(),
        result,
    })
}

/// The machine alone: no rows are kept, nothing is checked.
fn machine(empty: &Machine, events: &[Event]) -> Result<(Duration, String), String> {
    let mut machine = empty.clone();
    let rows: Vec<_> = events
        .iter()
        .map(|event| (event.table, batch(&[event.row], event.times)))
        .collect();
    let start = on_core();
    for (table, row) in &rows {
        let taken = machine.apply(*table, row, 1);
        taken.map_err(|error| error.to_string())?;
        black_box(machine.scalar().map_err(|error| error.to_string())?);
        machine.commit();
    }
    let time = on_core() - start;
    let end = machine.scalar().map_err(|error| error.to_string())?;
    let end = match end.0 {
        Some(Quantity::Exact { units, scale: 0 }) => units.to_string(),
        Some(number) => format!("{number:?}"),
        None => NULL.to_owned(),
    };
    Ok((time, end))
}

/// A whole database: base rows checked, a transaction and a read each.
fn engine(query: &Query, events: &[Event]) -> Result<(Duration, String), String> {
    let mut db = database(query).map_err(|error| error.to_string())?;
    let rows = arrow(events)?;
    let start = on_core();
    for (event, rows) in events.iter().zip(&rows) {
        let op = Op {
            table: TABLES[event.table],
            direction: match event.times > 0 {
                true => Direction::Insert,
                false => Direction::Delete,
            },
            rows: std::slice::from_ref(rows),
            multiplicity: None,
        };
        let applied = db.apply(&[op], &mut |_| Ok(()));
        applied.map_err(|error| error.to_string())?;
        let row = db.view_get("view", &[]);
        black_box(row.map_err(|error| error.to_string())?);
    }
    let time = on_core() - start;
    let end = db
        .view_get("view", &[])
        .map_err(|error| error.to_string())?;
    let end = match end.as_deref() {
        Some([Cell::Integer(number)]) => number.to_string(),
        Some([Cell::Null]) => NULL.to_owned(),
        other => format!("{other:?}"),
    };
    Ok((time, end))
}

fn database(query: &Query) -> ringview_core::Result<Database> {
    let mut db = Database::new(Options::default());
    let field = |name| Field::new(name, Type::Int64, false);
    for table in TABLES {
        let schema = Schema::new(vec![field("volume"), field("price")])?;
        db.create_table(table, schema, None, false)?;
    }
    db.create_view("view", query, &mut |_| Ok(()))?;
    Ok(db)
}

/// A batch of one row for each event, all of one schema, as a stream has them.
fn arrow(events: &[Event]) -> Result<Vec<RecordBatch>, String> {
    let field = |name| ArrowField::new(name, DataType::Int64, false);
    let schema = Arc::new(ArrowSchema::new(vec![field("volume"), field("price")]));
    let column = |value: i64| Arc::new(Int64Array::from(vec![value])) as _;
    let row = |event: &Event| {
        let columns = vec![column(event.row.0), column(event.row.1)];
        RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| error.to_string())
    };
    events.iter().map(row).collect()
}
