//! Ordered-set aggregates, which read all their rows at once: quantiles, the most frequent value, texts one behind the other.
//!
//! Invariant: there is at least one row, and rows are in the order that the function requires. Cost: O(rows).

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::arrow::row::{RowConverter, SortField};
use datafusion_common::{Result, ScalarValue};

/// A share of the rows, in units of 10^-18.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(pub(super) i128);

/// All of them.
pub(super) const WHOLE: i128 = 10i128.pow(18);

/// The value below or at which a share of the rows is.
pub(super) fn discrete(values: &ArrayRef, Share(share): Share) -> Result<ScalarValue> {
    let rows = values.len() as i128;
    let above = (rows * WHOLE - share * rows).div_euclid(WHOLE);
    ScalarValue::try_from_array(values, (rows - above).max(1) as usize - 1)
}

/// The same between two values, where none is exactly there.
pub(super) fn continuous(values: &ArrayRef, Share(share): Share) -> Result<ScalarValue> {
    // In doubles, as DuckDB has it: moments show the difference.
    let place = (values.len() - 1) as f64 * (share as f64 / WHOLE as f64);
    let (at, rest) = (place.floor() as usize, place.fract());
    let low = ScalarValue::try_from_array(values, at)?;
    if rest == 0.0 {
        return Ok(low);
    }
    let high = ScalarValue::try_from_array(values, at + 1)?;
    Ok(match (low, high) {
        (ScalarValue::Float64(Some(low)), ScalarValue::Float64(Some(high))) => {
            ScalarValue::Float64(Some(low + (high - low) * rest))
        }
        (
            ScalarValue::Decimal128(Some(low), precision, scale),
            ScalarValue::Decimal128(Some(high), ..),
        ) => ScalarValue::Decimal128(Some(between(low, high, rest)), precision, scale),
        (
            ScalarValue::TimestampMicrosecond(Some(low), zone),
            ScalarValue::TimestampMicrosecond(Some(high), _),
        ) => {
            let found = between(i128::from(low), i128::from(high), rest);
            ScalarValue::TimestampMicrosecond(Some(found as i64), zone)
        }
        (low, _) => low,
    })
}

/// A share of the way from one to the other, in whole steps towards 0.
fn between(low: i128, high: i128, rest: f64) -> i128 {
    let accumulation = (high - low) as f64 * rest;
    let (whole, part) = (low + accumulation.trunc() as i128, accumulation.fract());
    match part {
        part if part < 0.0 && whole > 0 => whole - 1,
        part if part > 0.0 && whole < 0 => whole + 1,
        _ => whole,
    }
}

/// In which type values lie between two others; none where they do not.
pub(super) fn dense(of: &DataType) -> Option<DataType> {
    Some(match of {
        // Sums of integers, and results over uint64 and signed integers: DuckDB's HUGEINT.
        DataType::Decimal128(38 | 20, 0) => DataType::Float64,
        DataType::Decimal128(..) => of.clone(),
        other if other.is_numeric() => DataType::Float64,
        DataType::Date32 => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        _ => return None,
    })
}

/// The value that is there most often, the first of those that are.
pub(super) fn mode(values: &ArrayRef) -> Result<ScalarValue> {
    let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
    let rows = converter.convert_columns(std::slice::from_ref(values))?;
    let mut often: HashMap<&[u8], (usize, usize)> = HashMap::new();
    for at in 0..values.len() {
        let row = rows.row(at);
        often.entry(row.data()).or_insert((0, at)).0 += 1;
    }
    let best = often
        .values()
        .max_by_key(|(count, first)| (*count, std::cmp::Reverse(*first)));
    ScalarValue::try_from_array(values, best.map_or(0, |(_, first)| *first))
}

/// The texts with something between them.
pub(super) fn joined(values: &ArrayRef, between: &str) -> ScalarValue {
    let texts: Vec<&str> = values.as_string::<i32>().iter().flatten().collect();
    ScalarValue::Utf8(Some(texts.join(between)))
}

/// The product of doubles.
pub(super) fn product(values: &ArrayRef) -> ScalarValue {
    let factors = values.as_primitive::<Float64Type>().iter().flatten();
    ScalarValue::Float64(Some(factors.product()))
}
