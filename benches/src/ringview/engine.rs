//! The ringview engine under the same stream: one transaction a batch, as any Rust program would feed it.
//!
//! Invariant: static tables are filled before the view is made. Reading makes every row, column by column, and drops
//! each block before the next; the indexes it walks by are up to date after each batch, so maintenance pays for them.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use ringview_core::{Result, Schema};
use ringview_engine::{Database, Direction, HeavyLight, Op, Options, Planning, ViewTrees};
use ringview_query::Query;
use ringview_view::Engine as Keeps;

use super::query::{Shown, query};
use crate::common::clock::{on_core, resident};
use crate::common::data::Dataset;
use crate::common::system::{Reading, System, Totals, totals_of_matrix};
use crate::workloads::Workload;

const VIEW: &str = "view";
const WELL_FORMED: &str = "the benches' own tables and queries are well formed";

/// Form in which the engine keeps the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// In one payload, rows factorised, cycles under indicators.
    Whole,
    /// A degree-m matrix as a sum for each of its numbers.
    Numbers,
    /// As `Whole`, without indicator projections.
    Plain,
    /// Rows in a listing.
    Listing,
    /// By heavy and light parts.
    HeavyLight,
}

/// A database with the workload's tables and its one view.
pub(crate) struct Engine {
    database: Database,
    tables: Vec<&'static str>,
    /// Number of relations that are still to be loaded before the view is made.
    missing: usize,
    query: Query,
    /// The name of the engine.
    by: String,
    shown: Shown,
}

impl Engine {
    pub(crate) fn new(
        workload: Workload,
        data: &Dataset,
        trust_deletes: bool,
        variant: Variant,
    ) -> Self {
        let options = Options {
            trust_deletes,
            ..Options::default()
        };
        let planning = Planning {
            indicators: variant != Variant::Plain,
        };
        let trees: Arc<dyn Keeps> = Arc::new(ViewTrees { planning });
        let engine = match variant {
            Variant::HeavyLight => Arc::new(HeavyLight::default()),
            _ => trees,
        };
        let by = engine.name().to_owned();
        let mut database = Database::with_engines(options, vec![engine]);
        let streamed = workload.stream.streamed();
        for (index, relation) in data.relations.iter().enumerate() {
            let schema = Schema::from_arrow(&data.batch(index).schema()).expect(WELL_FORMED);
            let is_static = !streamed.contains(&index);
            database
                .create_table(relation.name, schema, None, is_static)
                .expect(WELL_FORMED);
        }
        let (query, shown) = query(workload, data, variant);
        let mut engine = Self {
            database,
            tables: data
                .relations
                .iter()
                .map(|relation| relation.name)
                .collect(),
            missing: workload.stream.loaded().len(),
            query,
            by,
            shown,
        };
        engine.create_view();
        engine
    }

    fn create_view(&mut self) {
        if self.missing == 0 {
            self.database
                .create_view_with(VIEW, &self.query, Some(&self.by), &mut |_| Ok(()))
                .expect(WELL_FORMED);
        }
    }

    /// Every row once: how many there are, and the sum of their last column.
    fn read_rows(&self) -> Result<Reading> {
        let start = Instant::now();
        let rows = self.database.view_len(VIEW)?;
        let counting = start.elapsed();
        let (start, cpu_start, held) = (Instant::now(), on_core(), resident());
        let (mut totals, mut most) = (Totals::default(), 0);
        let mut stream = self.database.view_stream(VIEW)?;
        while let Some(block) = self.database.next_rows(&mut stream)? {
            totals += add_up(&block);
            most = most.max(resident().zip(held).map_or(0, |(now, held)| now - held));
        }
        Ok(Reading {
            totals,
            rows,
            len_seconds: counting.as_secs_f64(),
            seconds: start.elapsed().as_secs_f64(),
            cpu_seconds: (on_core() - cpu_start).as_secs_f64(),
            resident_bytes: most,
        })
    }
}

/// The number of rows and the sum of the last column.
fn add_up(block: &RecordBatch) -> Totals {
    let last = block.column(block.num_columns() - 1);
    let values = last.as_primitive::<Int32Type>().values();
    Totals {
        count: block.num_rows() as i64,
        sum: values.iter().map(|&value| i64::from(value)).sum(),
    }
}

impl System for Engine {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let direction = match sign {
            1 => Direction::Insert,
            _ => Direction::Delete,
        };
        let op = Op {
            table: self.tables[relation],
            direction,
            rows: std::slice::from_ref(batch),
            multiplicity: None,
        };
        self.database
            .apply(&[op], &mut |_| Ok(()))
            .expect("rows that fit are inserted, and rows that are there are deleted");
        if self.missing > 0 {
            self.missing -= 1;
            self.create_view();
        }
    }

    fn totals(&self) -> Totals {
        if let Some(reading) = self.read() {
            return reading.totals;
        }
        let result = self.database.view_result(VIEW).expect(WELL_FORMED);
        let weights = match &self.shown {
            Shown::Matrix(weights) => &weights[..],
            _ => &[1],
        };
        totals_of_matrix(numbers(&result), weights)
    }

    fn read(&self) -> Option<Reading> {
        let rows = matches!(self.shown, Shown::Rows);
        rows.then(|| self.read_rows().expect(WELL_FORMED))
    }

    fn memory(&self) -> usize {
        let parts = self.database.memory_usage();
        parts.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// The one row of a result without groups: its columns, or what a degree-m payload holds.
fn numbers(result: &RecordBatch) -> Vec<i64> {
    let integer = |array: &dyn Array| {
        if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
            // Halves, so that none is lost.
            return (2.0 * doubles.value(0)) as i64;
        }
        if let Some(sums) = array.as_primitive_opt::<Decimal128Type>() {
            let sum = sums.iter().next().flatten().unwrap_or_default();
            return i64::try_from(sum).expect("a sum of small integers");
        }
        let array = array.as_primitive::<Int64Type>();
        array.iter().next().flatten().unwrap_or_default()
    };
    let Some(payload) = result.column(0).as_struct_opt() else {
        return result
            .columns()
            .iter()
            .map(|column| integer(column))
            .collect();
    };
    let mut numbers = vec![integer(payload.column(0))];
    for list in &payload.columns()[1..3] {
        let values = list.as_fixed_size_list().values();
        // Whole numbers, those that are compared below 2^53.
        numbers.extend(
            values
                .as_primitive::<Float64Type>()
                .values()
                .iter()
                .map(|&x| x as i64),
        );
    }
    numbers
}
