//! Columns of a result before they are Arrow: values by row, as words or as texts.
//!
//! Invariant: a column has one cell a row; a NULL's words are 0. Words mean what `decode` says.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use ringview_core::{Dictionary, Result, Type, decode};

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
        /// Which rows are not NULL.
        valid: Option<Vec<bool>>,
    },
    /// Strings that no dictionary may know.
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
        if matches!(self, Cells::Array(_)) {
            return Cell::Other;
        }
        Cell::of(self.value(0, ty, dictionary), ty)
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

    /// Values of a type, which they fit.
    #[must_use]
    pub fn of_values(values: &[Option<Value<'_>>], ty: &Type) -> Self {
        if *ty == Type::Utf8 {
            let text = |value: &Option<Value<'_>>| match value {
                Some(Value::Text(text)) => Some((*text).to_owned()),
                _ => None,
            };
            return Self::Texts(values.iter().map(text).collect());
        }
        let bits = |value: &Option<Value<'_>>| match value {
            Some(Value::Exact(value)) => *value,
            Some(Value::Real(value)) => i128::from(value.to_bits()),
            Some(Value::Text(_)) | None => 0,
        };
        let high = |value| (bits(value) >> 64) as u64;
        Self::Words {
            words: values.iter().map(|value| bits(value) as u64).collect(),
            high: match ty {
                Type::Decimal { .. } => values.iter().map(high).collect(),
                _ => Vec::new(),
            },
            valid: Some(values.iter().map(Option::is_some).collect()),
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
            Type::Float32 | Type::Float64 => Value::Real(f64::from_bits(word)),
            Type::Decimal { .. } => {
                Value::Exact((i128::from(high[row] as i64) << 64) | i128::from(word))
            }
            ty if ty.is_signed() => Value::Exact(i128::from(word as i64)),
            _ => Value::Exact(i128::from(word)),
        })
    }

    /// Whether two rows are known to have the same cell.
    #[must_use]
    pub fn same(&self, one: usize, other: usize) -> bool {
        match self {
            Self::Texts(texts) => texts[one] == texts[other],
            Self::Array(array) => array.slice(one, 1) == array.slice(other, 1),
            Self::Words { words, high, valid } => {
                words[one] == words[other]
                    && (high.is_empty() || high[one] == high[other])
                    && valid
                        .as_ref()
                        .is_none_or(|valid| valid[one] == valid[other])
            }
        }
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

/// Keeps the elements that are marked.
pub fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut marks = kept.iter();
    all.retain(|_| marks.next().copied().unwrap_or(false));
}
