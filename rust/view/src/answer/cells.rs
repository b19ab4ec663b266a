//! Columns of a result before they are Arrow: values by row, as words or as texts.
//!
//! Invariant: a column has one cell a row; a NULL's words are 0. Words mean what `decode` says.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, UInt32Array};
use arrow_schema::ArrowError;
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
            Self::Array(array) => {
                let rows = UInt32Array::from(rows.to_vec());
                Self::Array(take(array, &rows, None).map_err(unfit)?)
            }
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
