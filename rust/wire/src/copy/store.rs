//! The values of a column on their way to an array.
//!
//! Invariant: each value is one of the column's, in the type that it has in its table. Cost: O(1) a value, and its bytes; a cast
//! of the whole array for types that are gathered as wider ones.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int64Builder,
    StringBuilder, UInt64Builder,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use bytes::Buf;

use super::moment;
use super::value::{self, Bad};
use crate::encode::kind::{Kind, cast};
use crate::encode::numeric;

/// PostgreSQL counts days and microseconds from 2000.
const DAYS: i32 = 10_957;
const MICROS: i64 = 946_684_800_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Store {
    to: DataType,
    kind: Kind,
    /// Name of the type, by itself and with its range.
    name: String,
    range: String,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Bool(BooleanBuilder),
    /// Integers from the least to the most.
    Whole(Int64Builder, i64, i64),
    Unsigned(UInt64Builder),
    Single(Float32Builder),
    Double(Float64Builder),
    Decimal(Decimal128Builder, u8, i8),
    Text(StringBuilder),
    Day(Date32Builder),
    Moment(Int64Builder, TimeUnit),
}

impl Store {
    /// For a column of a type; `None` for a type that is not read.
    pub(super) fn of(to: &DataType) -> Option<Store> {
        let whole = |least: i64, most: i64| Values::Whole(Int64Builder::new(), least, most);
        let values = match to {
            DataType::Boolean => Values::Bool(BooleanBuilder::new()),
            DataType::Int8 => whole(i8::MIN.into(), i8::MAX.into()),
            DataType::Int16 => whole(i16::MIN.into(), i16::MAX.into()),
            DataType::Int32 => whole(i32::MIN.into(), i32::MAX.into()),
            DataType::Int64 => whole(i64::MIN, i64::MAX),
            DataType::UInt8 => whole(0, u8::MAX.into()),
            DataType::UInt16 => whole(0, u16::MAX.into()),
            DataType::UInt32 => whole(0, u32::MAX.into()),
            DataType::UInt64 => Values::Unsigned(UInt64Builder::new()),
            DataType::Float32 => Values::Single(Float32Builder::new()),
            DataType::Float64 => Values::Double(Float64Builder::new()),
            DataType::Decimal128(precision, scale) => {
                let of = Decimal128Builder::new().with_data_type(to.clone());
                Values::Decimal(of, *precision, *scale)
            }
            DataType::Utf8 => Values::Text(StringBuilder::new()),
            DataType::Date32 => Values::Day(Date32Builder::new()),
            DataType::Timestamp(unit, _) => Values::Moment(Int64Builder::new(), *unit),
            _ => return None,
        };
        let kind = Kind::of(to);
        let name = kind.name();
        let range = match (&values, to) {
            (_, DataType::Int16 | DataType::Int32 | DataType::Int64) => name.clone(),
            (Values::Whole(_, least, most), _) => format!("{name} ({least} to {most})"),
            (Values::Unsigned(_), _) => format!("{name} (0 to {})", u64::MAX),
            _ => name.clone(),
        };
        Some(Store {
            to: to.clone(),
            kind,
            name,
            range,
            values,
        })
    }

    /// NULL.
    pub(super) fn null(&mut self) {
        match &mut self.values {
            Values::Bool(of) => of.append_null(),
            Values::Whole(of, ..) | Values::Moment(of, _) => of.append_null(),
            Values::Unsigned(of) => of.append_null(),
            Values::Single(of) => of.append_null(),
            Values::Double(of) => of.append_null(),
            Values::Decimal(of, ..) => of.append_null(),
            Values::Text(of) => of.append_null(),
            Values::Day(of) => of.append_null(),
        }
    }

    /// A value from its text.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Bad> {
        let (name, range) = (&self.name, &self.range);
        let (no, outside) = (|| Bad::no(text, name), || Bad::outside(text, range));
        match &mut self.values {
            Values::Bool(of) => of.append_value(value::truth(text).ok_or_else(no)?),
            Values::Whole(of, least, most) => {
                let number = number(text, name, range)?;
                let fits = i64::try_from(number).ok();
                let fits = fits.filter(|number| (*least..=*most).contains(number));
                of.append_value(fits.ok_or_else(outside)?);
            }
            Values::Unsigned(of) => {
                let fits = u64::try_from(number(text, name, range)?);
                of.append_value(fits.map_err(|_| outside())?);
            }
            Values::Single(of) => of.append_value(value::single(text, name)?),
            Values::Double(of) => of.append_value(value::double(text, name)?),
            Values::Decimal(of, precision, scale) => {
                of.append_value(value::decimal(text, *precision, *scale, name)?);
            }
            Values::Text(of) => of.append_value(text),
            Values::Day(of) => of.append_value(moment::day(text).ok_or_else(no)?),
            Values::Moment(of, unit) => {
                let nanos = moment::moment(text).ok_or_else(no)?;
                let ticks = value::ticks(nanos, *unit);
                of.append_value(ticks.ok_or_else(outside)?);
            }
        }
        Ok(())
    }

    /// A value from its binary form.
    pub(super) fn binary(&mut self, bytes: &[u8]) -> Result<(), Bad> {
        let wrong = || Bad {
            code: "22P03",
            problem: format!(
                "{} bytes are no {} in the binary format; say the types of the columns",
                bytes.len(),
                self.kind.name()
            ),
        };
        let size = self.kind.size();
        if size >= 0 && bytes.len() != size as usize {
            return Err(wrong());
        }
        let mut from = bytes;
        match &mut self.values {
            Values::Bool(of) => of.append_value(bytes != [0]),
            Values::Whole(of, least, most) => {
                let number = match bytes.len() {
                    2 => from.get_i16().into(),
                    4 => from.get_i32().into(),
                    _ => from.get_i64(),
                };
                let fits = (*least..=*most).contains(&number);
                let outside = || Bad::outside(&number.to_string(), &self.range);
                of.append_value(fits.then_some(number).ok_or_else(outside)?);
            }
            Values::Single(of) => of.append_value(from.get_f32()),
            Values::Double(of) => of.append_value(from.get_f64()),
            Values::Day(of) => of.append_value(from.get_i32().saturating_add(DAYS)),
            Values::Moment(of, unit) => {
                let micros = i128::from(from.get_i64()) + i128::from(MICROS);
                let ticks = value::ticks(micros * 1000, *unit);
                let outside = || Bad::outside(&format!("{micros} microseconds"), &self.name);
                of.append_value(ticks.ok_or_else(outside)?);
            }
            Values::Unsigned(_) | Values::Decimal(..) => {
                let digits = numeric::read(bytes).ok_or_else(wrong)?;
                self.text(&digits)?;
            }
            Values::Text(of) => of.append_value(utf8(bytes)?),
        }
        Ok(())
    }

    /// The values so far as an array; the next ones are those of another.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let array: ArrayRef = match &mut self.values {
            Values::Bool(of) => Arc::new(of.finish()),
            Values::Whole(of, ..) | Values::Moment(of, _) => Arc::new(of.finish()),
            Values::Unsigned(of) => Arc::new(of.finish()),
            Values::Single(of) => Arc::new(of.finish()),
            Values::Double(of) => Arc::new(of.finish()),
            Values::Decimal(of, ..) => Arc::new(of.finish()),
            Values::Text(of) => Arc::new(of.finish()),
            Values::Day(of) => Arc::new(of.finish()),
        };
        match *array.data_type() == self.to {
            true => Ok(array),
            false => cast(&array, &self.to),
        }
    }
}

fn number(text: &str, kind: &str, range: &str) -> Result<i128, Bad> {
    let trimmed = text.trim();
    trimmed.parse().map_err(|_| {
        let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
        match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => Bad::outside(text, range),
            false => Bad::no(text, kind),
        }
    })
}

/// The text that bytes are.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Bad> {
    std::str::from_utf8(bytes).map_err(|_| Bad {
        code: "22021",
        problem: "a field is no text in UTF-8; send it as UTF-8".to_owned(),
    })
}
