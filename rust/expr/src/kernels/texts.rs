//! Texts: a part of one, counted from either end or between separators; numbers and moments as text.
//!
//! Invariant: characters are counted, not bytes; NULL where an argument is. Cost: one pass over the characters.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, NaiveDate};
use datafusion_common::Result;
use datafusion_common::arrow::compute::cast;
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use super::plain::Plain;

/// `substring`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Substring {
    signature: Signature,
}

impl Default for Substring {
    fn default() -> Self {
        let of = |numbers: usize| {
            let mut types = vec![DataType::Utf8];
            types.resize(1 + numbers, DataType::Int64);
            TypeSignature::Exact(types)
        };
        Self {
            signature: Signature::one_of(vec![of(1), of(2)], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Substring {
    fn name(&self) -> &str {
        "duckdb_substring"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let operands = args.args.iter().map(|of| of.to_array(rows));
        let operands = operands.collect::<Result<Vec<ArrayRef>>>()?;
        let texts = operands[0].as_string::<i32>();
        let numbers: Vec<_> = operands[1..]
            .iter()
            .map(|of| of.as_primitive::<Int64Type>())
            .collect();
        let parts = (0..rows).map(|row| {
            let is_known = texts.is_valid(row) && numbers.iter().all(|of| of.is_valid(row));
            is_known.then(|| {
                let length = numbers.get(1).map(|of| of.value(row));
                substring(texts.value(row), numbers[0].value(row), length)
            })
        });
        let parts: StringArray = parts.collect();
        Ok(ColumnarValue::Array(Arc::new(parts)))
    }
}

/// `text_slice(text, start [, stop])`: the characters from a place to another, or that at one. Both are counted from 1, or
/// from the end below zero; what lies in front of the text counts for nothing.
pub(super) fn slice() -> Arc<ScalarUDF> {
    let takes = [DataType::Utf8, DataType::Int64, DataType::Int64];
    Plain::function("text_slice", (&takes, 2), DataType::Utf8, |of| {
        let texts = of[0].as_string::<i32>();
        let (starts, stops) = (
            of[1].as_primitive::<Int64Type>(),
            of[of.len() - 1].as_primitive::<Int64Type>(),
        );
        let parts = texts.iter().zip(starts).zip(stops);
        let parts = parts.map(|((text, start), stop)| Some(between_places(text?, start?, stop?)));
        Ok(Arc::new(parts.collect::<StringArray>()))
    })
}

fn between_places(text: &str, start: i64, stop: i64) -> &str {
    let all = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let place = |of: i64| match of {
        ..0 => all().saturating_add(of).saturating_add(1),
        _ => of,
    };
    let (start, stop) = (place(start).max(1), place(stop).max(0));
    let byte = |at: i64| {
        let mut places = text.char_indices();
        let found = usize::try_from(at).ok().and_then(|at| places.nth(at));
        found.map_or(text.len(), |(byte, _)| byte)
    };
    text.get(byte(start - 1)..byte(stop)).unwrap_or("")
}

/// `string_split`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Split {
    signature: Signature,
}

impl Default for Split {
    fn default() -> Self {
        Self {
            signature: Signature::exact(vec![DataType::Utf8; 2], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Split {
    fn name(&self) -> &str {
        "string_split"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Utf8, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let operands = [0, 1].map(|at: usize| args.args[at].to_array(args.number_rows));
        let [texts, separators] = operands;
        let (texts, separators) = (texts?, separators?);
        let (texts, separators) = (texts.as_string::<i32>(), separators.as_string::<i32>());
        let mut parts = ListBuilder::new(StringBuilder::new());
        for (text, separator) in texts.iter().zip(separators) {
            match (text, separator) {
                (Some(text), Some("")) => {
                    let characters = text.chars().map(|one| Some(one.to_string()));
                    parts.append_value(characters);
                }
                (Some(text), Some(separator)) => {
                    parts.append_value(text.split(separator).map(Some));
                }
                _ => parts.append_null(),
            }
        }
        Ok(ColumnarValue::Array(Arc::new(parts.finish())))
    }
}

/// `split_part`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SplitPart {
    signature: Signature,
}

impl Default for SplitPart {
    fn default() -> Self {
        let types = vec![DataType::Utf8, DataType::Utf8, DataType::Int64];
        Self {
            signature: Signature::exact(types, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for SplitPart {
    fn name(&self) -> &str {
        "duckdb_split_part"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let operands = args.args.iter().map(|of| of.to_array(rows));
        let operands = operands.collect::<Result<Vec<ArrayRef>>>()?;
        let (texts, by) = (
            operands[0].as_string::<i32>(),
            operands[1].as_string::<i32>(),
        );
        let numbers = operands[2].as_primitive::<Int64Type>();
        let parts = (0..rows).map(|row| {
            let is_known = texts.is_valid(row) && by.is_valid(row) && numbers.is_valid(row);
            is_known.then(|| between(texts.value(row), by.value(row), numbers.value(row)))
        });
        let parts: StringArray = parts.collect();
        Ok(ColumnarValue::Array(Arc::new(parts)))
    }
}

/// A part of a text between separators, counted from 1, or from the end below zero; empty where there is none.
fn between(text: &str, by: &str, number: i64) -> String {
    let parts: Vec<&str> = if by.is_empty() {
        text.split("").filter(|part| !part.is_empty()).collect()
    } else {
        text.split(by).collect()
    };
    let number_of = i64::try_from(parts.len()).unwrap_or(i64::MAX);
    let at = match number {
        0 => return String::new(),
        ..0 => number_of.saturating_add(number),
        _ => number - 1,
    };
    let found = usize::try_from(at).ok().and_then(|at| parts.get(at));
    found.map_or_else(String::new, |part| (*part).to_owned())
}

/// `as_text`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct AsText {
    signature: Signature,
}

impl Default for AsText {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for AsText {
    fn name(&self) -> &str {
        "as_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let shown: StringArray = match values.data_type() {
            DataType::Float64 => {
                let values = values.as_primitive::<Float64Type>().iter();
                values.map(|value| value.map(double)).collect()
            }
            DataType::Float32 => {
                let values = values.as_primitive::<Float32Type>().iter();
                values.map(|value| value.map(single)).collect()
            }
            DataType::Interval(_) => {
                let intervals = values.as_primitive::<IntervalMonthDayNanoType>().iter();
                intervals.map(|of| of.map(interval)).collect()
            }
            DataType::Date32 => {
                let days = values.as_primitive::<Date32Type>().iter();
                let shown = |day| Date32Type::to_naive_date_opt(day).map(day_of);
                days.map(|day| day.and_then(shown)).collect()
            }
            DataType::Decimal128(..) => {
                let texts = cast(&values, &DataType::Utf8)?;
                let texts = texts.as_string::<i32>().iter();
                texts
                    .map(|text| text.map(|text| text.replacen("0.", ".", 1)))
                    .collect()
            }
            _ => {
                let moments = cast(&values, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
                let moments = moments.as_primitive::<TimestampMicrosecondType>().iter();
                moments.map(|value| value.and_then(moment)).collect()
            }
        };
        Ok(ColumnarValue::Array(Arc::new(shown)))
    }
}

/// The shortest digits that are the value, with an exponent where it is far from 1.
fn double(value: f64) -> String {
    shortest(
        &format!("{value:e}"),
        &format!("{value}"),
        value.is_finite(),
    )
}

fn single(value: f32) -> String {
    if value.is_finite() && value.abs() >= 1e7 && value.abs() < 1e16 {
        return format!("{:.1}", f64::from(value));
    }
    shortest(
        &format!("{value:e}"),
        &format!("{value}"),
        value.is_finite(),
    )
}

fn shortest(scientific: &str, plain: &str, is_finite: bool) -> String {
    if !is_finite {
        return plain.to_lowercase();
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -4..16 if plain.contains('.') => plain.to_owned(),
        -4..16 => format!("{plain}.0"),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
    }
}

/// An interval: what it has of years, months and days, and the time.
fn interval(of: IntervalMonthDayNano) -> String {
    let units = [
        (of.months / 12, "year"),
        (of.months % 12, "month"),
        (of.days, "day"),
    ];
    let mut parts: Vec<String> = Vec::new();
    for (number, unit) in units.into_iter().filter(|(number, _)| *number != 0) {
        let plural = if number.abs() == 1 { "" } else { "s" };
        parts.push(format!("{number} {unit}{plural}"));
    }
    let micros = of.nanoseconds / 1000;
    if micros != 0 || parts.is_empty() {
        let sign = if micros < 0 { "-" } else { "" };
        let (seconds, fraction) = (micros.abs() / 1_000_000, micros.abs() % 1_000_000);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let time = format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}");
        let time = time.trim_end_matches('0').trim_end_matches('.');
        // Zeros of seconds stay.
        let least = sign.len() + format!("{hours:02}:{minutes:02}:{seconds:02}").len();
        parts.push(format!("{time:0<least$}"));
    }
    parts.join(" ")
}

/// A day; a year before the first is one before Christ.
fn day_of(of: NaiveDate) -> String {
    let (year, month, day) = (of.year(), of.month(), of.day());
    match year {
        1.. => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{:04}-{month:02}-{day:02} (BC)", 1 - year),
    }
}

/// A moment, its fraction without zeros behind.
fn moment(ticks: i64) -> Option<String> {
    let shown = DateTime::from_timestamp_micros(ticks)?.naive_utc();
    let shown = format!("{} {}", day_of(shown.date()), shown.format("%H:%M:%S%.6f"));
    let (whole, fraction) = shown.split_once('.')?;
    Some(match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    })
}

/// The characters from a start, counted from 1, or from the end below zero; before it where the length is below zero.
fn substring(text: &str, start: i64, length: Option<i64>) -> String {
    let all = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let first = match start {
        ..0 => all.saturating_add(start),
        _ => start - 1,
    };
    let other = length.map_or(i64::MAX, |length| first.saturating_add(length));
    let within = |at: i64| usize::try_from(at.clamp(0, all)).unwrap_or(0);
    let (from, to) = (within(first.min(other)), within(first.max(other)));
    text.chars().skip(from).take(to - from).collect()
}
