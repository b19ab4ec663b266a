//! Rows that are visible while conditions on the database's clock hold: a temporal filter.
//!
//! `WHERE ts > now() - INTERVAL '7 days'` and its kin: the moments at which a row's conditions hold are computed at its
//! insert, and the row is kept by them until it has disappeared for good. Invariant: between transactions the result is
//! the rows whose conditions hold at the current moment of the block. Cost: an evaluation and O(log n) a row that
//! changes; O(log n) a row that a step of time moves, O(1) where it moves none.

mod validity;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use ringview_core::{Budget, Dictionary, Result, Schema, Type, format_value};
use ringview_expr::Projection;
use ringview_query::{Bound, Rows, Spans, Timed as Definition};
use ringview_view::RowDelta;

use crate::block::{Block, BlockView, Changes, other_rows, repeated};
use crate::codec::{Codec, Layout, Row, array, schema_of};
use crate::explained::visible;
use crate::partitions::leaving_first;
use validity::{Bytes, Validity};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// A view of rows that are there for a time.
#[derive(Debug)]
pub struct Timed {
    definition: Definition,
    projection: Projection,
    table: Arc<Schema>,
    codec: Codec,
    validity: Validity,
    rows: u64,
}

impl Timed {
    /// The view of a bound query, without rows, at a moment before all others.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        let Some(Rows::Timed(definition)) = query.rows.clone() else {
            return Err(other_rows());
        };
        let shown: Vec<&String> = definition.names.iter().collect();
        let layout = Layout {
            partition: &[],
            order: &[],
            shown: &shown,
        };
        let atom = &query.atoms[0];
        Ok(Self {
            projection: definition.projection(&atom.schema)?,
            table: Arc::clone(&atom.schema),
            codec: Codec::new(&layout, atom, schema_of(query))?,
            validity: Validity::default(),
            rows: 0,
            definition,
        })
    }

    /// When each row of a batch is visible.
    fn spans(&self, rows: &RowDelta<'_>) -> Result<Vec<Spans>> {
        let inputs = self.projection.inputs().iter();
        let inputs = inputs.map(|&at| array(rows, &self.table, at));
        let inputs = inputs.collect::<Result<Vec<ArrayRef>>>()?;
        let made = self.projection.evaluate(inputs, rows.batch.rows)?;
        let values: Vec<Int64Array> = made.columns.iter().map(moments).collect();
        let mut spans = Vec::with_capacity(rows.batch.rows);
        let mut passed = 0;
        for row in 0..rows.batch.rows {
            if made.passes.as_ref().is_some_and(|mask| !mask.value(row)) {
                spans.push(Spans::default());
                continue;
            }
            let mut found = Spans::all();
            for (condition, values) in self.definition.conditions.iter().zip(&values) {
                found = match values.is_null(passed) {
                    // A comparison with NULL holds never.
                    true => Spans::default(),
                    false => found.intersect(&condition.holds(values.value(passed))),
                };
            }
            passed += 1;
            spans.push(found);
        }
        Ok(spans)
    }

    fn decoded(&self, rows: impl Iterator<Item = Bytes>) -> Result<RecordBatch> {
        let rows: Vec<Row> = rows
            .map(|shown| Row {
                order: Box::default(),
                shown,
            })
            .collect();
        self.codec.decode(rows.iter())
    }
}

impl BlockView<Timed> {
    /// Advances to a moment, in microseconds, that is not before the current one. O(log n) a row that appears or
    /// disappears.
    ///
    /// # Errors
    /// Cancellation and the budget.
    pub fn advance(&mut self, to: i64, budget: &Budget<'_>) -> Result<()> {
        self.block.validity.advance(to, budget)
    }
}

/// Dates and timestamps as microseconds; what has no such number is at the end of them.
fn moments(of: &ArrayRef) -> Int64Array {
    match of.data_type() {
        DataType::Date32 => of
            .as_primitive::<Date32Type>()
            .unary(|day| i64::from(day) * DAY),
        DataType::Timestamp(TimeUnit::Second, _) => of
            .as_primitive::<TimestampSecondType>()
            .unary(|ticks| ticks.saturating_mul(1_000_000)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => of
            .as_primitive::<TimestampMillisecondType>()
            .unary(|ticks| ticks.saturating_mul(1_000)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of
            .as_primitive::<TimestampMicrosecondType>()
            .unary(|ticks| ticks),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of
            .as_primitive::<TimestampNanosecondType>()
            .unary(|ticks| ticks.div_euclid(1_000)),
        _ => Int64Array::new_null(of.len()),
    }
}

impl Block for Timed {
    fn apply(&mut self, rows: &RowDelta<'_>, _asked: bool) -> Result<()> {
        self.rows += rows.batch.rows as u64;
        let spans = self.spans(rows)?;
        let encoded = self.codec.encode(rows)?;
        for (at, ((_, row), spans)) in encoded.into_iter().zip(spans).enumerate() {
            let change = rows.sign * rows.batch.multiplicity(at);
            if change == 0 {
                continue;
            }
            for span in spans.iter() {
                self.validity.add(span, &row.shown, change);
            }
        }
        Ok(())
    }

    fn changes(&mut self, asked: bool) -> Result<Changes> {
        if !asked {
            return Ok(Changes::default());
        }
        let (rows, often) = leaving_first(self.validity.difference().into_iter());
        let rows = self.decoded(rows.into_iter().cloned())?;
        Ok((rows.columns().to_vec(), often))
    }

    fn commit(&mut self) {
        self.validity.commit();
    }

    fn rollback(&mut self) {
        self.validity.rollback();
    }

    fn len(&self) -> Result<u64> {
        let counts = self
            .validity
            .visible()
            .map(|(_, count)| count.max(0) as u64);
        Ok(counts.sum())
    }

    fn rows(&self) -> Result<RecordBatch> {
        // A row that is there many times is decoded once.
        let (mut distinct, mut places) = (Vec::new(), Vec::<u32>::new());
        for (row, copies) in self.validity.visible() {
            places.extend(std::iter::repeat_n(
                distinct.len() as u32,
                copies.max(0) as usize,
            ));
            distinct.push(row.clone());
        }
        repeated(self.decoded(distinct.into_iter())?, places)
    }

    fn size(&self) -> String {
        let (shown, coming) = self.validity.len();
        let when = visible(&self.definition);
        let micros = Type::Timestamp {
            unit: TimeUnit::Microsecond,
            timezone: None,
        };
        let next = match self.validity.next_change() {
            Some(next) => {
                let next = format_value(&micros, next.cast_unsigned(), 0, &Dictionary::new());
                format!("the next change is at {next} UTC")
            }
            None => "none of them will change with time".to_owned(),
        };
        format!("{when}: {shown} are visible, {coming} to come; {next}")
    }

    fn memory_usage(&self) -> usize {
        self.validity.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.rows + self.validity.steps()
    }

    fn check(&self) {
        self.validity.check();
    }
}
