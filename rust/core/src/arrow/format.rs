//! Encoded values as text, for messages and explanations. Never on a hot path.

use arrow_array::temporal_conversions::{as_datetime, date32_to_datetime};
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_cast::display::array_value_to_string;
use arrow_schema::TimeUnit;

use crate::column::join_halves;
use crate::{Batch, Dictionary, Schema, Type, nested};

/// A value as a user would write it: `17`, `0.5`, `12.30`, `'text'`, `1995-03-15`, `true`.
///
/// ```
/// use ringview_core::{Dictionary, Type, format_value};
/// let price = Type::Decimal { precision: 12, scale: 2 };
/// assert_eq!(format_value(&price, 1230, 0, &Dictionary::new()), "12.30");
/// ```
pub fn format_value(ty: &Type, word: u64, high: u64, dict: &Dictionary) -> String {
    match ty {
        Type::Bool => (word != 0).to_string(),
        Type::UInt8 | Type::UInt16 | Type::UInt32 | Type::UInt64 => word.to_string(),
        Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 => (word as i64).to_string(),
        Type::Float32 | Type::Float64 => format!("{:?}", f64::from_bits(word)),
        Type::Decimal { scale, .. } => format_decimal(join_halves(word, high), *scale),
        Type::Utf8 => match u32::try_from(word) {
            Ok(id) if (id as usize) < dict.len() => {
                format!("'{}'", dict.text(id).replace('\'', "''"))
            }
            _ => format!("string {word}"),
        },
        Type::List(_) | Type::Struct(_) | Type::Map(_) => {
            let shown = dict.get(word).and_then(|text| {
                let array = nested::array(std::iter::once(Some(text)), ty).ok()?;
                array_value_to_string(&array, 0).ok()
            });
            shown.unwrap_or_else(|| format!("value {word}"))
        }
        Type::Date32 => match date32_to_datetime(word as i32) {
            Some(day) => day.date().to_string(),
            None => format!("day {}", word as i32),
        },
        Type::Timestamp { unit, timezone } => {
            let ticks = word as i64;
            let time = match unit {
                TimeUnit::Second => as_datetime::<TimestampSecondType>(ticks),
                TimeUnit::Millisecond => as_datetime::<TimestampMillisecondType>(ticks),
                TimeUnit::Microsecond => as_datetime::<TimestampMicrosecondType>(ticks),
                TimeUnit::Nanosecond => as_datetime::<TimestampNanosecondType>(ticks),
            };
            let zone = if timezone.is_some() { " UTC" } else { "" };
            time.map_or_else(|| format!("tick {ticks}"), |time| format!("{time}{zone}"))
        }
    }
}

/// The named columns of one row: `(id = 3, name = 'x', price = NULL)`.
pub fn format_row(
    schema: &Schema,
    columns: &[usize],
    batch: &Batch,
    row: usize,
    dict: &Dictionary,
) -> String {
    let value = |&index: &usize| {
        let (field, column) = (&schema.fields()[index], batch.column(index));
        let value = if column.is_null(row) {
            "NULL".to_owned()
        } else {
            format_value(&field.ty, column.words[row], column.high(row), dict)
        };
        format!("{} = {value}", field.name)
    };
    format!(
        "({})",
        columns.iter().map(value).collect::<Vec<_>>().join(", ")
    )
}

/// `units * 10^-scale`, in full.
pub(super) fn format_decimal(units: i128, scale: i8) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = units.unsigned_abs().to_string();
    let Ok(scale) = usize::try_from(scale) else {
        let zeros = if units == 0 {
            0
        } else {
            usize::from(scale.unsigned_abs())
        };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    };
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}
