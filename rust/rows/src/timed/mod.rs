//! Rows that are visible while conditions on the database's clock hold: a temporal filter.
//!
//! `WHERE ts > now() - INTERVAL '7 days'` and its kin: the moments at which a row's conditions hold are worked out when
//! the row comes, and the row is kept by them until it has left for good. Invariant: between transactions the result is
//! the rows whose conditions hold at the moment that the block is at. Cost: an evaluation and O(log n) a row that
//! changes; O(log n) a row that a step of time moves, O(1) where it moves none.

mod validity;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef, TimeUnit};
use arrow_select::take::take_arrays;
use ringview_core::{
    Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result, Schema, Type, decode,
    format_value,
};
use ringview_explain::Explanation;
use ringview_expr::Projection;
use ringview_query::{Bound, Spans, Timed as Definition};
use ringview_view::answer::Cells;
use ringview_view::{Answer, Context, Delta, Key, RowDelta, View};

use crate::codec::{Codec, Layout, Row, refused};
use crate::explained::{described, visible};
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
    schema: SchemaRef,
    kept: Validity,
    explanation: Explanation,
    rows: u64,
}

impl Timed {
    /// The view of a bound query, without rows, at a moment before all others.
    ///
    /// # Errors
    /// Those of its expressions; `UnknownColumn`.
    pub fn new(query: &Bound, definition: Definition) -> Result<Self> {
        let fields = query.outputs.iter();
        let fields = fields.map(|output| ArrowField::new(&output.name, output.ty.to_arrow(), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
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
            codec: Codec::new(&layout, atom, Arc::clone(&schema))?,
            schema,
            kept: Validity::default(),
            explanation: described(query),
            rows: 0,
            definition,
        })
    }

    /// Goes on to a moment, in microseconds, that is not before the one it is at. O(log n) a row that comes or leaves.
    ///
    /// # Errors
    /// Cancellation and the budget.
    pub fn advance(&mut self, to: i64, budget: &Budget<'_>) -> Result<()> {
        self.kept.advance(to, budget)
    }

    /// When each row of a batch is visible.
    fn spans(&self, rows: &RowDelta<'_>) -> Result<Vec<Spans>> {
        let input = |&at: &usize| {
            let (column, ty) = (rows.batch.column(at), &self.table.fields()[at].ty);
            let valid = column.valid.as_deref();
            decode(ty, &column.words, &column.high, valid, rows.dictionary)
        };
        let inputs = self.projection.inputs().iter().map(input);
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

impl View for Timed {
    fn apply(&mut self, rows: RowDelta<'_>, _cx: &Context<'_, '_>) -> Result<()> {
        self.rows += rows.batch.rows as u64;
        let spans = self.spans(&rows)?;
        let encoded = self.codec.encode(&rows)?;
        for (at, ((_, row), spans)) in encoded.into_iter().zip(spans).enumerate() {
            let change = rows.sign * rows.batch.multiplicity(at);
            if change == 0 {
                continue;
            }
            for span in spans.iter() {
                self.kept.add(span, &row.shown, change);
            }
        }
        Ok(())
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        let Some(wanted) = cx.wanted else {
            return Ok(Delta::default());
        };
        let changes: BTreeMap<&Bytes, i64> = self.kept.difference();
        // Rows that leave come before those that take their place.
        let (leave, enter): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|(_, change)| *change < 0);
        let all = || leave.iter().chain(&enter);
        let rows = self.decoded(all().map(|(row, _)| (*row).clone()))?;
        let columns = rows.columns().iter().zip(wanted);
        let column =
            |(array, &wanted): (&ArrayRef, &bool)| wanted.then(|| Cells::Array(Arc::clone(array)));
        Ok(Delta {
            columns: columns.map(column).collect(),
            multiplicity: all().map(|(_, change)| *change).collect(),
        })
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.kept.commit();
    }

    fn rollback(&mut self) {
        self.kept.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        let (shown, coming) = self.kept.len();
        let when = visible(&self.definition);
        let micros = Type::Timestamp {
            unit: TimeUnit::Microsecond,
            timezone: None,
        };
        let next = match self.kept.next_change() {
            Some(next) => {
                let next = format_value(&micros, next.cast_unsigned(), 0, &Dictionary::new());
                format!("the next change is at {next} UTC")
            }
            None => "none of them will change with time".to_owned(),
        };
        Explanation {
            size: Some(format!(
                "{when}: {shown} are visible, {coming} to come; {next}"
            )),
            bytes: Some(self.memory_usage() as u64),
            ..self.explanation.clone()
        }
    }

    fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.kept.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.rows + self.kept.steps()
    }

    fn check(&self) {
        self.kept.check();
    }
}

/// Its rows hold their own strings.
impl HoldsStrings for Timed {
    fn mark_strings(&self, _held: &mut LiveIds) {}

    fn string_words(&self) -> usize {
        0
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

impl Answer for Timed {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        let counts = self.kept.visible().map(|(_, count)| count.max(0) as u64);
        Ok(counts.sum())
    }

    fn rows(&self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        budget.ask()?;
        // A row that is there many times is decoded once.
        let (mut distinct, mut places) = (Vec::new(), Vec::<u32>::new());
        for (row, copies) in self.kept.visible() {
            places.extend(std::iter::repeat_n(
                distinct.len() as u32,
                copies.max(0) as usize,
            ));
            distinct.push(row.clone());
        }
        let all = distinct.len() == places.len();
        let rows = self.decoded(distinct.into_iter())?;
        if all {
            return Ok(rows);
        }
        let columns =
            take_arrays(rows.columns(), &UInt32Array::from(places), None).map_err(refused)?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(refused)
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a block that is filtered by time".to_owned(),
            why: "they are found by when they leave alone".to_owned(),
            instead: "read the view that it belongs to".to_owned(),
        })
    }
}
