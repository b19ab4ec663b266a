//! The columns of a block of rows: each replays the operations of its union, at its own width.
//!
//! Invariant: a column is written once, front to back. Cost: a run is a fill, a repeated pattern a
//! copy of memory that doubles. The memory of a block that its reader has dropped is written again:
//! allocating new memory would cost more than all that is written to it.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use ringview_core::{Budget, Dictionary, Error, Result, TimeUnit, Type, decode, reserve};
use ringview_relation::KeyedTable;

use super::reader::{Lent, Op};
use super::shape::Column;

/// Number of blocks that may be in use at a time before new memory is allocated.
const LENT: usize = 2;

/// A column under construction.
struct Filler<'a, 'p> {
    column: &'a Column,
    table: &'a KeyedTable,
    ops: &'a [Op],
    rows: usize,
    lent: &'a mut Lent,
    budget: &'a Budget<'p>,
}

/// The array of a column of `rows` rows, whose union is walked in `table`.
pub(crate) fn array(
    column: &Column,
    table: &KeyedTable,
    (ops, rows): (&[Op], usize),
    lent: &mut Lent,
    (dictionary, budget): (&Dictionary, &Budget<'_>),
) -> Result<ArrayRef> {
    let mut filler = Filler {
        column,
        table,
        ops,
        rows,
        lent,
        budget,
    };
    Ok(match &column.ty {
        Type::Bool => Arc::new(BooleanArray::new(
            filler.values(|word| word != 0)?.into(),
            filler.valid()?.map(Into::into),
        )),
        Type::Int8 => Arc::new(filler.numbers::<Int8Type>(|word| word as i8)?),
        Type::Int16 => Arc::new(filler.numbers::<Int16Type>(|word| word as i16)?),
        Type::Int32 => Arc::new(filler.numbers::<Int32Type>(|word| word as i32)?),
        Type::Int64 => Arc::new(filler.numbers::<Int64Type>(|word| word as i64)?),
        Type::UInt8 => Arc::new(filler.numbers::<UInt8Type>(|word| word as u8)?),
        Type::UInt16 => Arc::new(filler.numbers::<UInt16Type>(|word| word as u16)?),
        Type::UInt32 => Arc::new(filler.numbers::<UInt32Type>(|word| word as u32)?),
        Type::UInt64 => Arc::new(filler.numbers::<UInt64Type>(|word| word)?),
        Type::Float32 => Arc::new(filler.numbers::<Float32Type>(|w| f64::from_bits(w) as f32)?),
        Type::Float64 => Arc::new(filler.numbers::<Float64Type>(f64::from_bits)?),
        Type::Date32 => Arc::new(filler.numbers::<Date32Type>(|word| word as i32)?),
        Type::Utf8 | Type::List(_) | Type::Struct(_) | Type::Map(_) => {
            let words = filler.values(|word| word)?;
            decode(
                &column.ty,
                &words,
                &[],
                filler.valid()?.as_deref(),
                dictionary,
            )?
        }
        Type::Decimal { precision, scale } => {
            let array = filler
                .decimals()?
                .with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(|problem| Error::Value {
                place: format!("a column of type {}", column.ty),
                problem: problem.to_string(),
            })?)
        }
        Type::Timestamp { unit, timezone } => filler.timestamps(*unit, timezone.clone())?,
    })
}

impl Filler<'_, '_> {
    fn timestamps(&mut self, unit: TimeUnit, zone: Option<Arc<str>>) -> Result<ArrayRef> {
        let ticks = |word| word as i64;
        Ok(match unit {
            TimeUnit::Second => {
                let array = self.numbers::<TimestampSecondType>(ticks)?;
                Arc::new(array.with_timezone_opt(zone))
            }
            TimeUnit::Millisecond => {
                let array = self.numbers::<TimestampMillisecondType>(ticks)?;
                Arc::new(array.with_timezone_opt(zone))
            }
            TimeUnit::Microsecond => {
                let array = self.numbers::<TimestampMicrosecondType>(ticks)?;
                Arc::new(array.with_timezone_opt(zone))
            }
            TimeUnit::Nanosecond => {
                let array = self.numbers::<TimestampNanosecondType>(ticks)?;
                Arc::new(array.with_timezone_opt(zone))
            }
        })
    }

    fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        value: impl Fn(u64) -> T::Native,
    ) -> Result<PrimitiveArray<T>> {
        let field = self.column.word;
        let out = self.reused_buffer();
        let values = self.replay(out, |slot| value(self.table.field(slot, field)))?;
        self.array(values)
    }

    fn array<T: ArrowPrimitiveType>(
        &mut self,
        values: Vec<T::Native>,
    ) -> Result<PrimitiveArray<T>> {
        let values = ScalarBuffer::from(values);
        self.lent.push_back(values.inner().clone());
        Ok(PrimitiveArray::new(values, self.valid()?.map(Into::into)))
    }

    /// The memory of the oldest block, if nobody holds it any more.
    fn reused_buffer<T: ArrowNativeType>(&mut self) -> Vec<T> {
        if self.lent.len() < LENT {
            return Vec::new();
        }
        let oldest = self.lent.pop_front().map(Buffer::into_vec);
        let mut buffer: Vec<T> = oldest.and_then(|taken| taken.ok()).unwrap_or_default();
        buffer.clear();
        buffer
    }

    fn decimals(&mut self) -> Result<PrimitiveArray<Decimal128Type>> {
        let Column { word, high, .. } = *self.column;
        let out = self.reused_buffer();
        let values = self.replay(out, |slot| {
            let high = high.map_or(0, |field| self.table.field(slot, field));
            (i128::from(high as i64) << 64) | i128::from(self.table.field(slot, word))
        })?;
        self.array(values)
    }

    fn values<T: Copy>(&self, value: impl Fn(u64) -> T) -> Result<Vec<T>> {
        let field = self.column.word;
        self.replay(Vec::new(), |slot| value(self.table.field(slot, field)))
    }

    /// Whether each row is not NULL; `None` if all are.
    fn valid(&self) -> Result<Option<Vec<bool>>> {
        let Some(field) = self.column.null else {
            return Ok(None);
        };
        let valid = self.replay(Vec::new(), |slot| self.table.field(slot, field) == 0)?;
        Ok(valid.contains(&false).then_some(valid))
    }

    /// Writes the column to `out`, which is empty.
    fn replay<T: Copy>(&self, mut out: Vec<T>, value: impl Fn(u32) -> T) -> Result<Vec<T>> {
        reserve(&mut out, self.rows, || {
            format!("a column of {} rows", self.rows)
        })?;
        let mut polled = 0;
        for op in self.ops {
            if out.len() - polled >= 1 << 16 {
                self.budget.work((out.len() - polled) as u64)?;
                polled = out.len();
            }
            match *op {
                Op::Fill { slot, rows: 1 } => out.push(value(slot)),
                Op::Fill { slot, rows } => out.resize(out.len() + rows as usize, value(slot)),
                Op::Repeat { back, rows } => repeat(&mut out, back as usize, rows as usize),
            }
        }
        Ok(out)
    }
}

/// Appends `rows` elements that continue the pattern of the last `back`.
fn repeat<T: Copy>(out: &mut Vec<T>, back: usize, mut rows: usize) {
    let start = out.len() - back;
    let mut pattern = back;
    while rows > 0 {
        let copied = rows.min(pattern);
        out.extend_from_within(start..start + copied);
        rows -= copied;
        pattern += copied;
    }
}
