//! Encoded columns back to Arrow arrays: one pass over the words, no copy of the dictionary.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::TimeUnit;

use crate::column::join_halves;
use crate::{Dictionary, Error, Result, Type, nested};

/// The array of type `ty.to_arrow()` that the words encode; `valid` marks those that are not NULL.
///
/// ```
/// use ringview_core::{Dictionary, Type, decode};
/// let array = decode(&Type::Int32, &[7, u64::MAX], &[], None, &Dictionary::new())?;
/// assert_eq!(format!("{array:?}").replace('\n', ""), "PrimitiveArray<Int32>[  7,  -1,]");
/// # Ok::<(), ringview_core::Error>(())
/// ```
pub fn decode(
    ty: &Type,
    words: &[u64],
    high: &[u64],
    valid: Option<&[bool]>,
    dict: &Dictionary,
) -> Result<ArrayRef> {
    let nulls = valid
        .filter(|valid| valid.contains(&false))
        .map(NullBuffer::from);
    Ok(match ty {
        Type::Bool => {
            let bits = BooleanBuffer::from_iter(words.iter().map(|&word| word != 0));
            Arc::new(BooleanArray::new(bits, nulls))
        }
        Type::Int8 => array::<Int8Type>(words, nulls, |word| word as i8),
        Type::Int16 => array::<Int16Type>(words, nulls, |word| word as i16),
        Type::Int32 => array::<Int32Type>(words, nulls, |word| word as i32),
        Type::Int64 => array::<Int64Type>(words, nulls, |word| word as i64),
        Type::UInt8 => array::<UInt8Type>(words, nulls, |word| word as u8),
        Type::UInt16 => array::<UInt16Type>(words, nulls, |word| word as u16),
        Type::UInt32 => array::<UInt32Type>(words, nulls, |word| word as u32),
        Type::UInt64 => array::<UInt64Type>(words, nulls, |word| word),
        Type::Float32 => array::<Float32Type>(words, nulls, |word| f64::from_bits(word) as f32),
        Type::Float64 => array::<Float64Type>(words, nulls, f64::from_bits),
        Type::Date32 => array::<Date32Type>(words, nulls, |word| word as i32),
        Type::Utf8 => strings(words, valid, nulls, dict)?,
        Type::List(_) | Type::Struct(_) | Type::Map(_) => {
            // A NULL's word is 0, which is some string's id.
            let is_null = |row: usize| valid.is_some_and(|valid| !valid[row]);
            let text =
                |(row, &word): (usize, &u64)| (!is_null(row)).then(|| dict.text(word as u32));
            nested::array(words.iter().enumerate().map(text), ty)?
        }
        Type::Decimal { precision, scale } => {
            let units = words
                .iter()
                .zip(high)
                .map(|(&low, &high)| join_halves(low, high));
            let array = PrimitiveArray::<Decimal128Type>::new(units.collect(), nulls);
            let array = array.with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(|problem| Error::Unsupported {
                what: format!("the type {ty}"),
                why: problem.to_string(),
                instead: "use at most 38 digits".to_owned(),
            })?)
        }
        Type::Timestamp { unit, timezone } => {
            let zone = timezone.clone();
            match unit {
                TimeUnit::Second => ticks::<TimestampSecondType>(words, nulls, zone),
                TimeUnit::Millisecond => ticks::<TimestampMillisecondType>(words, nulls, zone),
                TimeUnit::Microsecond => ticks::<TimestampMicrosecondType>(words, nulls, zone),
                TimeUnit::Nanosecond => ticks::<TimestampNanosecondType>(words, nulls, zone),
            }
        }
    })
}

fn array<T: ArrowPrimitiveType>(
    words: &[u64],
    nulls: Option<NullBuffer>,
    value: impl Fn(u64) -> T::Native,
) -> ArrayRef {
    let values: ScalarBuffer<T::Native> = words.iter().map(|&word| value(word)).collect();
    Arc::new(PrimitiveArray::<T>::new(values, nulls))
}

fn ticks<T: arrow_array::types::ArrowTimestampType>(
    words: &[u64],
    nulls: Option<NullBuffer>,
    zone: Option<Arc<str>>,
) -> ArrayRef {
    let values: ScalarBuffer<i64> = words.iter().map(|&word| word as i64).collect();
    Arc::new(PrimitiveArray::<T>::new(values, nulls).with_timezone_opt(zone))
}

fn strings(
    words: &[u64],
    valid: Option<&[bool]>,
    nulls: Option<NullBuffer>,
    dict: &Dictionary,
) -> Result<ArrayRef> {
    // A NULL's word is 0, which is some string's id: skip it.
    let text = |row: usize, word: u64| match valid {
        Some(valid) if !valid[row] => "",
        _ => dict.text(word as u32),
    };
    let lengths = || {
        words
            .iter()
            .enumerate()
            .map(|(row, &word)| text(row, word).len())
    };
    let total: usize = lengths().sum();
    if i32::try_from(total).is_err() {
        return Err(Error::Unsupported {
            what: format!("a string column of {total} bytes in one array"),
            why: "Arrow strings have 32-bit offsets".to_owned(),
            instead: "select fewer columns, or encode the strings as numbers".to_owned(),
        });
    }
    let offsets = OffsetBuffer::from_lengths(lengths());
    let mut bytes = Vec::with_capacity(total);
    for (row, &word) in words.iter().enumerate() {
        bytes.extend_from_slice(text(row, word).as_bytes());
    }
    let array = StringArray::try_new(offsets, Buffer::from_vec(bytes), nulls);
    Ok(Arc::new(array.map_err(|problem| Error::Value {
        place: "a string column of a result".to_owned(),
        problem: problem.to_string(),
    })?))
}
