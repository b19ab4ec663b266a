//! The rows of the natural join of Housing: kept factorised under the stream, then read back (paper, figures 9 and 12).
//!
//! Invariant: the clock of maintenance runs as in `measure`, over batches cut beforehand, deletes trusted; the indexes
//! that reading walks by are up to date after each batch, so it pays for them. Reading makes every row, column by
//! column, and drops each block before the next; a sum over one column shows that they are all there.

use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use ringview_core::Schema;
use ringview_engine::{Database, Direction, Op, Options};
use serde_json::{Value, json};

use crate::data::{Dataset, Order, housing};
use crate::measure::{on_core, resident};

const VIEW: &str = "view";
const WELL_FORMED: &str = "the benches' own tables and queries are well formed";
const STRETCH: usize = 256;

/// Streams, reads and prints a line for each order.
pub(crate) fn run(
    orders: &[Order],
    batch: usize,
    repeat: usize,
    quick: bool,
) -> Result<(), String> {
    for &order in orders {
        let data = housing::generate(order, quick);
        for repetition in 0..repeat {
            let line = one(&data, order, batch, repetition).map_err(|error| error.to_string())?;
            println!("{line}");
        }
    }
    Ok(())
}

fn one(
    data: &Dataset,
    order: Order,
    batch: usize,
    repetition: usize,
) -> ringview_core::Result<Value> {
    let before = resident();
    let mut database = Database::new(Options {
        trust_deletes: true,
    });
    for (index, relation) in data.relations.iter().enumerate() {
        let schema = Schema::from_arrow(&data.batch(index).schema())?;
        database.create_table(relation.name, schema, None, false)?;
    }
    let query = serde_json::from_value(query(data)).expect(WELL_FORMED);
    database.create_view(VIEW, &query, &mut |_| Ok(()))?;

    let all: Vec<usize> = (0..data.relations.len()).collect();
    let slices = data.stream(&all, batch);
    let (mut time, mut cpu, mut tuples) = (Duration::ZERO, Duration::ZERO, 0);
    for stretch in slices.chunks(STRETCH) {
        let stretch: Vec<(usize, RecordBatch)> = stretch
            .iter()
            .map(|slice| (slice.relation, data.cut(slice)))
            .collect();
        let (start, cpu_start) = (Instant::now(), on_core());
        for (relation, rows) in &stretch {
            let op = Op {
                table: data.relations[*relation].name,
                direction: Direction::Insert,
                rows: std::slice::from_ref(rows),
                multiplicity: None,
            };
            database.apply(&[op], &mut |_| Ok(()))?;
            tuples += rows.num_rows();
        }
        time += start.elapsed();
        cpu += on_core() - cpu_start;
    }
    let bytes: usize = database
        .memory_usage()
        .iter()
        .filter(|(part, _)| part.starts_with("view"))
        .map(|(_, bytes)| bytes)
        .sum();
    let grown = resident().zip(before).map(|(after, before)| after - before);

    let start = Instant::now();
    let rows = database.view_len(VIEW)?;
    let counting = start.elapsed();
    let (start, cpu_start) = (Instant::now(), on_core());
    let (mut read, mut sum, mut most) = (0usize, 0i64, 0i64);
    let mut stream = database.view_stream(VIEW)?;
    let held = resident();
    while let Some(block) = database.next_rows(&mut stream)? {
        read += block.num_rows();
        let column = block.column(block.num_columns() - 1);
        let values = column.as_primitive::<Int32Type>().values();
        sum += values.iter().map(|&value| i64::from(value)).sum::<i64>();
        if read % (1 << 22) < block.num_rows() {
            most = most.max(resident().zip(held).map_or(0, |(now, held)| now - held));
        }
    }
    let (reading, cpu_reading) = (start.elapsed(), on_core() - cpu_start);
    assert_eq!(read, rows, "the stream has as many rows as the view");
    Ok(json!({
        "workload": "housing-join",
        "order": if order == Order::Sorted { "sorted" } else { "shuffled" },
        "batch": batch,
        "system": "ringview-trusted",
        "repetition": repetition,
        "tuples": tuples,
        "seconds": time.as_secs_f64(),
        "cpu_seconds": cpu.as_secs_f64(),
        "tuples_per_second": tuples as f64 / time.as_secs_f64(),
        "bytes": bytes,
        "bytes_a_tuple": bytes as f64 / tuples as f64,
        "resident_bytes": grown,
        "rows": rows,
        "len_seconds": counting.as_secs_f64(),
        "read_seconds": reading.as_secs_f64(),
        "read_cpu_seconds": cpu_reading.as_secs_f64(),
        "rows_per_second": rows as f64 / reading.as_secs_f64(),
        "read_resident_bytes": most,
        "sum": sum,
    }))
}

/// `SELECT *` over the natural join of all relations.
fn query(data: &Dataset) -> Value {
    let place = |atom: usize, column: &str| json!({"atom": atom, "column": column});
    let (mut atoms, mut joins, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for (atom, relation) in data.relations.iter().enumerate() {
        atoms.push(json!({"table": relation.name, "alias": relation.name}));
        for column in &relation.names {
            if atom > 0 && column == "postcode" {
                joins.push(json!([place(0, column), place(atom, column)]));
            } else {
                columns.push((column.clone(), place(atom, column)));
            }
        }
    }
    let group = columns.iter().map(|(_, column)| column.clone());
    let outputs = columns
        .iter()
        .map(|(name, column)| json!({"kind": "group", "name": name, "column": column}));
    json!({
        "atoms": atoms,
        "joins": joins,
        "group_by": group.collect::<Vec<Value>>(),
        "outputs": outputs.collect::<Vec<Value>>(),
        "bag": {"representation": "factorised"},
    })
}
