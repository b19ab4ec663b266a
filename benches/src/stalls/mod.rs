//! Stalls: cost of the slowest of many batches beside the median, while tables grow.
//!
//! Invariant: the time of a batch is that of its thread on a core, from the rows in memory to the views that are right;
//! batches are made before the clock runs. If rows are kept, the first delete follows the last insert.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use ringview_core::Schema;
use ringview_engine::{Database, Direction, Op, Options, Planning, ViewTrees};
use ringview_query::Query;
use serde::Serialize;
use serde_json::json;

use crate::common::clock::on_core;

const ROWS: usize = 10_000_000;
const BATCH: usize = 1_000;
const WELL_FORMED: &str = "the benches' own tables and queries are well formed";

#[derive(Serialize)]
struct Line {
    workload: &'static str,
    /// The tables or views that grow.
    data: &'static str,
    rows: usize,
    /// Of a batch on a core.
    median_seconds: f64,
    /// These in medians.
    p99: f64,
    max: f64,
    /// A batch of deletes, the first.
    first_delete: Option<f64>,
}

/// Streams one case to its end and prints its line.
pub(crate) fn run(share: usize) -> Result<(), String> {
    for case in [
        Case {
            name: "base rows",
            tables: &["r"],
            view: None,
            trusts: false,
        },
        Case {
            name: "groups of a view",
            tables: &["r"],
            view: Some(json!({
                "atoms": [{"table": "r", "alias": "r"}], "joins": [],
                "group_by": [{"atom": 0, "column": "a"}],
                "outputs": [COUNT.clone()],
            })),
            trusts: true,
        },
        Case {
            name: "a join by an index",
            tables: &["r", "s"],
            view: Some(json!({
                "atoms": [{"table": "r", "alias": "r"}, {"table": "s", "alias": "s"}],
                "joins": [[{"atom": 0, "column": "b"}, {"atom": 1, "column": "b"}]],
                "group_by": [{"atom": 0, "column": "a"}],
                "outputs": [COUNT.clone()],
            })),
            trusts: true,
        },
    ] {
        let line = case.run(ROWS / share)?;
        println!(
            "{}",
            serde_json::to_string(&line).map_err(|error| error.to_string())?
        );
    }
    Ok(())
}

static COUNT: std::sync::LazyLock<serde_json::Value> = std::sync::LazyLock::new(
    || json!({"kind": "aggregate", "name": "count", "function": "count", "argument": null}),
);

struct Case {
    name: &'static str,
    /// They take turns.
    tables: &'static [&'static str],
    view: Option<serde_json::Value>,
    trusts: bool,
}

impl Case {
    fn run(&self, rows: usize) -> Result<Line, String> {
        let mut database = self.database();
        let mut times = Vec::with_capacity(rows / BATCH);
        for number in 0..rows / BATCH {
            let table = self.tables[number % self.tables.len()];
            let batch = batch(number, rows);
            times.push(apply(&mut database, table, &batch, Direction::Insert)?);
        }
        let first_delete = match self.trusts {
            true => None,
            false => {
                let gone = batch(rows / BATCH / 2, rows);
                let table = self.tables[rows / BATCH / 2 % self.tables.len()];
                Some(apply(&mut database, table, &gone, Direction::Delete)?)
            }
        };
        times.sort_unstable();
        let median = times[times.len() / 2];
        let beside = |time: Duration| time.as_secs_f64() / median.as_secs_f64();
        Ok(Line {
            workload: "stalls",
            data: self.name,
            rows,
            median_seconds: median.as_secs_f64(),
            p99: beside(times[times.len() * 99 / 100]),
            max: beside(times[times.len() - 1]),
            first_delete: first_delete.map(beside),
        })
    }

    fn database(&self) -> Database {
        let options = Options {
            trust_deletes: self.trusts,
            ..Options::default()
        };
        let planning = Planning { indicators: true };
        let mut database = Database::with_engines(options, vec![Arc::new(ViewTrees { planning })]);
        let schema = Schema::from_arrow(&batch(0, BATCH).schema()).expect(WELL_FORMED);
        for table in self.tables {
            database
                .create_table(table, schema.clone(), None, false)
                .expect(WELL_FORMED);
        }
        if let Some(view) = &self.view {
            let query: Query = serde_json::from_value(view.clone()).expect(WELL_FORMED);
            database
                .create_view_with("view", &query, None, &mut |_| Ok(()))
                .expect(WELL_FORMED);
        }
        database
    }
}

fn apply(
    database: &mut Database,
    table: &str,
    batch: &RecordBatch,
    direction: Direction,
) -> Result<Duration, String> {
    let op = Op {
        table,
        direction,
        rows: std::slice::from_ref(batch),
        multiplicity: None,
    };
    let start = on_core();
    let done = database.apply(&[op], &mut |_| Ok(()));
    let time = on_core() - start;
    done.map_err(|error| error.to_string()).map(|()| time)
}

/// Rows of which `a` hardly repeats, and two have each `b`.
fn batch(number: usize, rows: usize) -> RecordBatch {
    let column = |salt: u64, below: u64| -> ArrayRef {
        let first = (number * BATCH) as u64;
        let values =
            (first..first + BATCH as u64).map(|row| (mixed(row ^ salt << 40) % below) as i64);
        Arc::new(Int64Array::from_iter_values(values))
    };
    let columns = [
        ("a", column(1, 1 << 40)),
        ("b", column(2, rows as u64 / 4 + 1)),
        ("c", column(3, 100)),
    ];
    RecordBatch::try_from_iter(columns).expect(WELL_FORMED)
}

/// Spreads numbers over all words.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
