//! Raw words of one Arrow array: its own values, one word each, before any change of type.
//!
//! Invariant: afterwards the column has one word a row, NULLs are 0 and marked, floats are
//! canonical (no -0.0, one NaN), decimals have their high halves. Places of texts, views and keys
//! of dictionaries are checked as they are read, and so is the UTF-8 of strings that the dictionary
//! does not have: the array may have been made without any check. Values under a NULL are not
//! looked at. The type of the array is looked at once an array, so plain numbers are one tight
//! loop; strings cost a hash each, dictionary-encoded ones a hash for each entry in use.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Decimal32Type, Decimal64Type,
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowNativeTypeOp, downcast_integer};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::fix::Unrepresentable;
use super::texts::Texts;
use crate::column::{Column, high_half};
use crate::{Dictionary, Error, Type, nested};

/// Why an array could not be read: its own fault in one row, or the dictionary's.
pub(super) enum Fault {
    Row(Unrepresentable),
    Other(Error),
}

/// Refills `column` with the raw words of `array`, which is of type `ty`; `nulls` are its logical
/// nulls, if it has any. The caller has made sure that `fix` supports the array's type; any other
/// is all zeros.
pub(super) fn fill(
    array: &dyn Array,
    ty: &DataType,
    nulls: Option<&NullBuffer>,
    dict: &mut Dictionary,
    column: &mut Column,
) -> Result<(), Fault> {
    column.clear();
    match ty {
        DataType::Int8 => signed::<Int8Type>(array, column),
        DataType::Int16 => signed::<Int16Type>(array, column),
        DataType::Int32 => signed::<Int32Type>(array, column),
        DataType::Int64 => signed::<Int64Type>(array, column),
        DataType::UInt8 => unsigned::<UInt8Type>(array, column),
        DataType::UInt16 => unsigned::<UInt16Type>(array, column),
        DataType::UInt32 => unsigned::<UInt32Type>(array, column),
        DataType::UInt64 => unsigned::<UInt64Type>(array, column),
        DataType::Date32 => signed::<Date32Type>(array, column),
        DataType::Timestamp(TimeUnit::Second, _) => signed::<TimestampSecondType>(array, column),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            signed::<TimestampMillisecondType>(array, column);
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            signed::<TimestampMicrosecondType>(array, column);
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            signed::<TimestampNanosecondType>(array, column);
        }
        DataType::Float32 => floats::<Float32Type>(array, column),
        DataType::Float64 => floats::<Float64Type>(array, column),
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array, column),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array, column),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array, column),
        DataType::Boolean => column
            .words
            .extend(array.as_boolean().values().iter().map(u64::from)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            strings(&Texts::of(array), nulls, dict, column)?;
        }
        DataType::Dictionary(key, _) => {
            macro_rules! keyed {
                ($key:ty) => {
                    dictionary::<$key>(array, nulls, dict, column)?
                };
            }
            downcast_integer! {
                key.as_ref() => (keyed),
                _ => column.words.resize(array.len(), 0)
            }
        }
        _ => match Type::from_arrow(ty) {
            Ok(own) if own.is_nested() => values_of_many(array, &own, nulls, dict, column)?,
            _ => column.words.resize(array.len(), 0),
        },
    }
    if let Some(nulls) = nulls {
        blank(nulls, column);
    }
    Ok(())
}

/// Marks the NULLs, and zeroes what Arrow left in their place.
fn blank(nulls: &NullBuffer, column: &mut Column) {
    let mut valid = Vec::with_capacity(nulls.len());
    let chunks = nulls.inner().bit_chunks();
    // 64 rows at a time, each bit spread to a byte.
    for bits in chunks.iter_padded() {
        valid.extend((0..64).map(|row| bits >> row & 1 == 1));
    }
    valid.truncate(nulls.len());
    for words in [&mut column.words, &mut column.high] {
        for (word, &valid) in words.iter_mut().zip(&valid) {
            *word &= u64::from(valid).wrapping_neg();
        }
    }
    column.valid = Some(valid);
}

fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array, column: &mut Column) {
    let values = array.as_primitive::<T>().values();
    column
        .words
        .extend(values.iter().map(|&value| value.into() as u64));
}

fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(array: &dyn Array, column: &mut Column) {
    let values = array.as_primitive::<T>().values();
    column
        .words
        .extend(values.iter().map(|&value| value.into()));
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array, column: &mut Column) {
    let values = array.as_primitive::<T>().values();
    column.words.extend(values.iter().map(|&value| {
        // Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
        let value = value.into() + 0.0;
        if value.is_nan() {
            f64::NAN.to_bits()
        } else {
            value.to_bits()
        }
    }));
}

fn decimals<T: ArrowPrimitiveType<Native: Into<i128> + ArrowNativeTypeOp>>(
    array: &dyn Array,
    column: &mut Column,
) {
    let values = array.as_primitive::<T>().values();
    column
        .words
        .extend(values.iter().map(|&value| value.into() as u64));
    column
        .high
        .extend(values.iter().map(|&value| high_half(value.into())));
}

fn strings(
    texts: &Texts<'_>,
    nulls: Option<&NullBuffer>,
    dict: &mut Dictionary,
    column: &mut Column,
) -> Result<(), Fault> {
    for row in 0..texts.len() {
        let id = match nulls {
            Some(nulls) if nulls.is_null(row) => 0,
            _ => intern(texts, row, row, dict)?,
        };
        column.words.push(u64::from(id));
    }
    Ok(())
}

/// Lists, structs and maps as texts of the dictionary.
fn values_of_many(
    array: &dyn Array,
    ty: &Type,
    nulls: Option<&NullBuffer>,
    dict: &mut Dictionary,
    column: &mut Column,
) -> Result<(), Fault> {
    for (row, text) in nested::texts(array, ty)
        .map_err(Fault::Other)?
        .iter()
        .enumerate()
    {
        let id = match nulls {
            Some(nulls) if nulls.is_null(row) => 0,
            _ => dict.intern(text).map_err(Fault::Other)?,
        };
        column.words.push(u64::from(id));
    }
    Ok(())
}

/// The id of text `place`, which row `row` holds.
fn intern(
    texts: &Texts<'_>,
    place: usize,
    row: usize,
    dict: &mut Dictionary,
) -> Result<u32, Fault> {
    let unrepresentable = |problem: String| Fault::Row(Unrepresentable { row, problem });
    let text = texts
        .get(place)
        .map_err(|why| unrepresentable(why.to_owned()))?;
    dict.intern_bytes(text).map_err(|error| match error {
        Error::Value { problem, .. } => unrepresentable(problem),
        other => Fault::Other(other),
    })
}

fn dictionary<K: ArrowDictionaryKeyType>(
    array: &dyn Array,
    nulls: Option<&NullBuffer>,
    dict: &mut Dictionary,
    column: &mut Column,
) -> Result<(), Fault> {
    let array = array.as_dictionary::<K>();
    let keys = array.keys().values();
    let mut entries = Entries::new(array.values().as_ref());
    for (row, key) in keys.iter().enumerate() {
        let id = match nulls {
            Some(nulls) if nulls.is_null(row) => 0,
            _ => entries.id(key.as_usize(), row, dict)?,
        };
        column.words.push(u64::from(id));
    }
    Ok(())
}

/// The entries of an Arrow dictionary, translated when first met: a slice of a long array may use
/// few.
struct Entries<'a> {
    texts: Texts<'a>,
    ids: Vec<Option<u32>>,
}

impl<'a> Entries<'a> {
    fn new(values: &'a dyn Array) -> Self {
        Entries {
            texts: Texts::of(values),
            ids: vec![None; values.len()],
        }
    }

    fn id(&mut self, key: usize, row: usize, dict: &mut Dictionary) -> Result<u32, Fault> {
        match self.ids.get(key) {
            Some(Some(id)) => return Ok(*id),
            Some(None) => {}
            None => {
                let entries = self.ids.len();
                let problem = format!("its key is not one of the {entries} of its dictionary");
                return Err(Fault::Row(Unrepresentable { row, problem }));
            }
        }
        let id = intern(&self.texts, key, row, dict)?;
        self.ids[key] = Some(id);
        Ok(id)
    }
}
