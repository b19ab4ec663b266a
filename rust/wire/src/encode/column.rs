//! A column, and its values in both formats.
//!
//! Invariant: the array is of the type that `plain` gives, so each kind has one array. Cost: a cast of the column where its type
//! is another, then O(1) a value, and its bytes.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};
use bytes::{BufMut, BytesMut};

use super::kind::{Kind, cast, plain};
use super::{json, numeric, text};

/// PostgreSQL counts days and microseconds from 2000.
const DAYS: i32 = 10_957;
const MICROS: i64 = 946_684_800_000_000;

/// A column that is sent.
#[derive(Debug)]
pub(crate) struct Column {
    kind: Kind,
    array: ArrayRef,
}

impl Column {
    pub(crate) fn of(array: &ArrayRef) -> Result<Column, ArrowError> {
        let kind = Kind::of(array.data_type());
        let to = plain(array.data_type());
        let array = match kind != Kind::Json && to != *array.data_type() {
            true => cast(array, &to)?,
            false => ArrayRef::clone(array),
        };
        Ok(Column { kind, array })
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || *self.array.data_type() == DataType::Null
    }

    /// Writes a value that is not NULL as a text.
    pub(crate) fn text(&self, row: usize, out: &mut BytesMut) -> Result<(), ArrowError> {
        let array = &self.array;
        match &self.kind {
            Kind::Bool => out.put_u8(if array.as_boolean().value(row) {
                b't'
            } else {
                b'f'
            }),
            Kind::Int2 => integer(i64::from(array.as_primitive::<Int16Type>().value(row)), out),
            Kind::Int4 => integer(i64::from(array.as_primitive::<Int32Type>().value(row)), out),
            Kind::Int8 => integer(array.as_primitive::<Int64Type>().value(row), out),
            Kind::Float4 => {
                let number = array.as_primitive::<Float32Type>().value(row);
                let (plain, power) = (format!("{number}"), format!("{number:e}"));
                text::float(f64::from(number), &plain, &power, out);
            }
            Kind::Float8 => {
                let number = array.as_primitive::<Float64Type>().value(row);
                text::float(number, &format!("{number}"), &format!("{number:e}"), out);
            }
            Kind::Numeric(..) => out.put_slice(self.digits(row).as_bytes()),
            Kind::Text => out.put_slice(array.as_string::<i32>().value(row).as_bytes()),
            Kind::Bytea => text::bytes(array.as_binary::<i32>().value(row), out),
            Kind::Date => text::date(array.as_primitive::<Date32Type>().value(row), out),
            Kind::Time => text::time(
                array.as_primitive::<Time64MicrosecondType>().value(row),
                out,
            ),
            Kind::Timestamp | Kind::Timestamptz => {
                let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
                text::timestamp(micros, self.kind == Kind::Timestamptz, out);
            }
            Kind::Interval => {
                text::interval(
                    array.as_primitive::<IntervalMonthDayNanoType>().value(row),
                    out,
                );
            }
            Kind::Json => json::write(array, row, out)?,
            Kind::Array(_) => {
                let items = Column::of(&array.as_list::<i32>().value(row))?;
                out.put_u8(b'{');
                for at in 0..items.array.len() {
                    if at > 0 {
                        out.put_u8(b',');
                    }
                    if items.is_null(at) {
                        out.put_slice(b"NULL");
                        continue;
                    }
                    let mut one = BytesMut::new();
                    items.text(at, &mut one)?;
                    text::item(&one, out);
                }
                out.put_u8(b'}');
            }
        }
        Ok(())
    }

    /// Writes a value that is not NULL in the binary format.
    pub(crate) fn binary(&self, row: usize, out: &mut BytesMut) -> Result<(), ArrowError> {
        let array = &self.array;
        match &self.kind {
            Kind::Bool => out.put_u8(u8::from(array.as_boolean().value(row))),
            Kind::Int2 => out.put_i16(array.as_primitive::<Int16Type>().value(row)),
            Kind::Int4 => out.put_i32(array.as_primitive::<Int32Type>().value(row)),
            Kind::Int8 => out.put_i64(array.as_primitive::<Int64Type>().value(row)),
            Kind::Float4 => out.put_f32(array.as_primitive::<Float32Type>().value(row)),
            Kind::Float8 => out.put_f64(array.as_primitive::<Float64Type>().value(row)),
            Kind::Numeric(..) => numeric::write(&self.digits(row), out),
            Kind::Bytea => out.put_slice(array.as_binary::<i32>().value(row)),
            Kind::Date => {
                let days = array.as_primitive::<Date32Type>().value(row);
                out.put_i32(days.saturating_sub(DAYS));
            }
            Kind::Time => out.put_i64(array.as_primitive::<Time64MicrosecondType>().value(row)),
            Kind::Timestamp | Kind::Timestamptz => {
                let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
                out.put_i64(micros.saturating_sub(MICROS));
            }
            Kind::Interval => {
                let of = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
                out.put_i64(of.nanoseconds / 1000);
                out.put_i32(of.days);
                out.put_i32(of.months);
            }
            Kind::Text | Kind::Json => self.text(row, out)?,
            Kind::Array(of) => {
                let items = Column::of(&array.as_list::<i32>().value(row))?;
                let count = items.array.len() as i32;
                out.put_i32(i32::from(count > 0));
                out.put_i32(i32::from(
                    (0..items.array.len()).any(|at| items.is_null(at)),
                ));
                out.put_u32(of.oid());
                if count > 0 {
                    out.put_i32(count);
                    out.put_i32(1);
                }
                for at in 0..items.array.len() {
                    items.framed(at, true, out)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a value behind its length, which is -1 for NULL.
    pub(crate) fn framed(
        &self,
        row: usize,
        binary: bool,
        out: &mut BytesMut,
    ) -> Result<(), ArrowError> {
        if self.is_null(row) {
            out.put_i32(-1);
            return Ok(());
        }
        let start = out.len();
        out.put_i32(0);
        match binary {
            true => self.binary(row, out)?,
            false => self.text(row, out)?,
        }
        let length = (out.len() - start - 4) as i32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    fn digits(&self, row: usize) -> String {
        self.array
            .as_primitive::<Decimal128Type>()
            .value_as_string(row)
    }
}

fn integer(number: i64, out: &mut BytesMut) {
    use std::fmt::Write;
    // Writing to memory never fails.
    let _ = write!(out, "{number}");
}
