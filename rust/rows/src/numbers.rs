//! Columns as numbers.
//!
//! Invariant: none beyond the values. Cost: O(rows).

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

/// Digits of decimals of which no table has so many that their sum needs more than 38.
pub(crate) const NARROW: u8 = 26;

/// By row, an integer, the units of a decimal, the days of a date, the ticks of a timestamp, or 1 for true; none of others.
pub(crate) fn scaled(of: &ArrayRef) -> Option<Vec<Option<i128>>> {
    macro_rules! all {
        ($ty:ty) => {
            of.as_primitive::<$ty>()
                .iter()
                .map(|one| one.map(i128::from))
                .collect()
        };
    }
    Some(match of.data_type() {
        DataType::Boolean => of
            .as_boolean()
            .iter()
            .map(|one| one.map(i128::from))
            .collect(),
        DataType::Int8 => all!(Int8Type),
        DataType::Int16 => all!(Int16Type),
        DataType::Int32 => all!(Int32Type),
        DataType::Int64 => all!(Int64Type),
        DataType::UInt8 => all!(UInt8Type),
        DataType::UInt16 => all!(UInt16Type),
        DataType::UInt32 => all!(UInt32Type),
        DataType::UInt64 => all!(UInt64Type),
        DataType::Decimal128(..) => all!(Decimal128Type),
        DataType::Date32 => all!(Date32Type),
        DataType::Timestamp(TimeUnit::Second, _) => all!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => all!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => all!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => all!(TimestampNanosecondType),
        _ => return None,
    })
}

/// By row, a double; none of others.
pub(crate) fn reals(of: &ArrayRef) -> Option<Vec<Option<f64>>> {
    Some(match of.data_type() {
        DataType::Float32 => {
            let all = of.as_primitive::<Float32Type>().iter();
            all.map(|one| one.map(f64::from)).collect()
        }
        DataType::Float64 => of.as_primitive::<Float64Type>().iter().collect(),
        _ => return None,
    })
}
