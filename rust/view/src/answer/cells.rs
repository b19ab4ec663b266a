//! Columns of a result before they are Arrow: values by row, as words or as texts.
//!
//! Invariant: a column has one cell a row; a NULL's words are 0. Words mean what `decode` says.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::take::take;
use ringview_core::{Dictionary, Error, Result, Type, decode};

use super::key::Cell;

/// A column.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Encoded values; `high` has the upper halves of decimals, `valid` is `None` if none is NULL.
    Words {
        /// The words.
        words: Vec<u64>,
        /// The upper halves; empty for other types.
        high: Vec<u64>,
        /// Whether each row is not NULL.
        valid: Option<Vec<bool>>,
    },
    /// Strings that may be in no dictionary.
    Texts(Vec<Option<String>>),
    /// Values that only Arrow can hold.
    Array(ArrayRef),
}

/// A value. A NULL is no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Of any type but floats and strings: an integer, the digits of a decimal, a word.
    Exact(i128),
    /// A float.
    Real(f64),
    /// A string.
    Text(&'a str),
}

impl Cell {
    /// A value of a type, or NULL.
    #[must_use]
    pub fn of(value: Option<Value<'_>>, ty: &Type) -> Self {
        match (value, ty) {
            (None, _) => Cell::Null,
            (Some(Value::Text(text)), _) => Cell::Text(text.to_owned()),
            (Some(Value::Real(value)), _) => Cell::Real(value),
            (Some(Value::Exact(value)), Type::Bool) => Cell::Bool(value != 0),
            (Some(Value::Exact(units)), Type::Decimal { scale, .. }) => {
                Cell::Decimal(units, *scale)
            }
            (Some(Value::Exact(_)), Type::Date32 | Type::Timestamp { .. }) => Cell::Other,
            (Some(Value::Exact(value)), _) => Cell::Integer(value),
        }
    }
}

impl Cells {
    /// The value of the first row, as a reader of one row takes it.
    #[must_use]
    pub fn first(&self, ty: &Type, dictionary: &Dictionary) -> Cell {
        match self {
            Cells::Array(array) => match first_of(array) {
                None if !array.is_null(0) => Cell::Other,
                value => Cell::of(value, ty),
            },
            _ => Cell::of(self.value(0, ty, dictionary), ty),
        }
    }

    /// Words without NULLs.
    #[must_use]
    pub fn of_words(words: Vec<u64>) -> Self {
        Self::Words {
            words,
            high: Vec::new(),
            valid: None,
        }
    }

    /// Doubles.
    #[must_use]
    pub fn of_doubles(values: impl Iterator<Item = Option<f64>>) -> Self {
        let (mut words, mut valid) = (Vec::new(), Vec::new());
        for value in values {
            words.push(value.map_or(0, f64::to_bits));
            valid.push(value.is_some());
        }
        Self::Words {
            words,
            high: Vec::new(),
            valid: Some(valid),
        }
    }

    /// The value of a row.
    #[must_use]
    pub fn value<'a>(
        &'a self,
        row: usize,
        ty: &Type,
        dictionary: &'a Dictionary,
    ) -> Option<Value<'a>> {
        let (words, high, valid) = match self {
            Self::Texts(texts) => return texts[row].as_deref().map(Value::Text),
            // Nothing is computed from these.
            Self::Array(_) => return None,
            Self::Words { words, high, valid } => (words, high, valid),
        };
        if valid.as_ref().is_some_and(|valid| !valid[row]) {
            return None;
        }
        let word = words[row];
        Some(match ty {
            Type::Utf8 => Value::Text(dictionary.text(word as u32)),
            ty if ty.is_nested() => return None,
            Type::Float32 | Type::Float64 => Value::Real(f64::from_bits(word)),
            Type::Decimal { .. } => {
                Value::Exact((i128::from(high[row] as i64) << 64) | i128::from(word))
            }
            ty if ty.is_signed() => Value::Exact(i128::from(word as i64)),
            _ => Value::Exact(i128::from(word)),
        })
    }

    /// Whether a row has the same cell as a row of another column of the same kind.
    #[must_use]
    pub fn is_same(&self, row: usize, other: &Self, at: usize) -> bool {
        match (self, other) {
            (Self::Texts(texts), Self::Texts(others)) => texts[row] == others[at],
            (Self::Array(array), Self::Array(others)) => array.slice(row, 1) == others.slice(at, 1),
            (
                Self::Words { words, high, valid },
                Self::Words {
                    words: w,
                    high: h,
                    valid: v,
                },
            ) => {
                let is_valid = |valid: &Option<Vec<bool>>, at: usize| {
                    valid.as_ref().is_none_or(|valid| valid[at])
                };
                words[row] == w[at]
                    && high.get(row) == h.get(at)
                    && is_valid(valid, row) == is_valid(v, at)
            }
            _ => false,
        }
    }

    /// The cells of some rows.
    ///
    /// # Errors
    /// What Arrow cannot gather.
    pub fn gather(&self, rows: &[u32]) -> Result<Self> {
        fn pick<T: Clone>(all: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&row| all[row as usize].clone()).collect()
        }
        Ok(match self {
            Self::Texts(texts) => Self::Texts(pick(texts, rows)),
            Self::Array(array) if !array.data_type().is_nested() => {
                let rows = UInt32Array::from(rows.to_vec());
                Self::Array(take(array, &rows, None).map_err(unfit)?)
            }
            // Arrow's own `take` loses the length of lists of no elements.
            Self::Array(array) => match rows {
                [] => Self::Array(array.slice(0, 0)),
                _ => {
                    let rows = rows.iter().map(|&row| array.slice(row as usize, 1));
                    let rows: Vec<ArrayRef> = rows.collect();
                    let rows: Vec<&dyn Array> = rows.iter().map(AsRef::as_ref).collect();
                    Self::Array(concat(&rows).map_err(unfit)?)
                }
            },
            Self::Words { words, high, valid } => Self::Words {
                words: pick(words, rows),
                high: if high.is_empty() {
                    Vec::new()
                } else {
                    pick(high, rows)
                },
                valid: valid.as_ref().map(|valid| pick(valid, rows)),
            },
        })
    }

    /// The same with those of another column of the same kind behind.
    ///
    /// # Errors
    /// What Arrow cannot put together.
    pub fn append(self, other: Self) -> Result<Self> {
        Ok(match (self, other) {
            (Self::Texts(mut texts), Self::Texts(others)) => {
                texts.extend(others);
                Self::Texts(texts)
            }
            (
                Self::Words {
                    mut words,
                    mut high,
                    valid,
                },
                Self::Words {
                    words: w,
                    high: h,
                    valid: v,
                },
            ) => {
                let (rows, more) = (words.len(), w.len());
                words.extend(w);
                high.extend(h);
                let valid = (valid.is_some() || v.is_some()).then(|| {
                    let mut all = valid.unwrap_or_else(|| vec![true; rows]);
                    all.extend(v.unwrap_or_else(|| vec![true; more]));
                    all
                });
                Self::Words { words, high, valid }
            }
            (Self::Array(one), Self::Array(other)) => {
                Self::Array(concat(&[&one, &other]).map_err(unfit)?)
            }
            _ => unreachable!("a column has cells of one kind"),
        })
    }

    /// As Arrow.
    ///
    /// # Errors
    /// What Arrow cannot hold.
    pub fn array(&self, ty: &Type, dictionary: &Dictionary) -> Result<ArrayRef> {
        match self {
            Self::Texts(texts) => Ok(Arc::new(texts.iter().collect::<StringArray>())),
            Self::Array(array) => Ok(Arc::clone(array)),
            Self::Words { words, high, valid } => {
                decode(ty, words, high, valid.as_deref(), dictionary)
            }
        }
    }
}

/// The first value of an array; a NULL, and what only Arrow can hold, is none.
fn first_of(array: &ArrayRef) -> Option<Value<'_>> {
    if array.is_null(0) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(0)),
        DataType::Boolean => Value::Exact(array.as_boolean().value(0).into()),
        DataType::Float64 => Value::Real(array.as_primitive::<Float64Type>().value(0)),
        DataType::Float32 => Value::Real(array.as_primitive::<Float32Type>().value(0).into()),
        DataType::Decimal128(..) => Value::Exact(array.as_primitive::<Decimal128Type>().value(0)),
        DataType::Int64 => Value::Exact(array.as_primitive::<Int64Type>().value(0).into()),
        DataType::Int32 => Value::Exact(array.as_primitive::<Int32Type>().value(0).into()),
        DataType::Int16 => Value::Exact(array.as_primitive::<Int16Type>().value(0).into()),
        DataType::Int8 => Value::Exact(array.as_primitive::<Int8Type>().value(0).into()),
        DataType::UInt64 => Value::Exact(array.as_primitive::<UInt64Type>().value(0).into()),
        DataType::UInt32 => Value::Exact(array.as_primitive::<UInt32Type>().value(0).into()),
        DataType::UInt16 => Value::Exact(array.as_primitive::<UInt16Type>().value(0).into()),
        DataType::UInt8 => Value::Exact(array.as_primitive::<UInt8Type>().value(0).into()),
        _ => return None,
    })
}

fn unfit(problem: ArrowError) -> Error {
    Error::Value {
        place: "the change of a view".to_owned(),
        problem: problem.to_string(),
    }
}

/// Keeps the elements that are marked.
pub fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut marks = kept.iter();
    all.retain(|_| marks.next().copied().unwrap_or(false));
}
