//! Source of an expression's columns, and conversion of words to numbers of a kind.
//!
//! Invariant: what is loaded has `Words::WORDS` words a selected row, in the order of the rows.

use ringview_core::Batch;
use ringview_query::Kind;

use super::number::{Arithmetic, Decimal, Int, Real, Source, map};

/// Source of an expression's columns: a batch, at some rows (all where `None`).
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) chosen: Option<&'a [u32]>,
}

impl<'a> Input<'a> {
    pub(crate) fn rows(&self) -> usize {
        self.chosen.map_or(self.batch.rows, <[u32]>::len)
    }

    pub(crate) fn words(&self, column: usize) -> (&'a [u64], &'a [u64]) {
        let column = self.batch.column(column);
        (&column.words, &column.high)
    }

    pub(crate) fn has_nulls(&self, columns: &[usize]) -> bool {
        let mut columns = columns.iter();
        columns.any(|&column| self.batch.column(column).valid.is_some())
    }

    pub(crate) fn is_null(&self, columns: &[usize], position: usize) -> bool {
        let row = self.chosen.map_or(position, |rows| rows[position] as usize);
        let mut columns = columns.iter();
        columns.any(|&column| self.batch.column(column).is_null(row))
    }
}

/// Conversion of the words of a column to numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    /// As they are.
    Word,
    /// A uint64 that must fit an int64.
    Unsigned,
    /// A uint64 as a decimal.
    WideUnsigned,
    /// A decimal.
    Wide,
}

/// Fills the register of a column; whether a value did not fit.
pub(crate) fn load_column(
    load: Load,
    input: &Input<'_>,
    column: usize,
    into: &mut Vec<u64>,
) -> bool {
    let (words, high) = input.words(column);
    let high = |row: usize| match load {
        Load::Wide => high.get(row).copied().unwrap_or(0),
        _ => 0,
    };
    let rows = input.chosen;
    into.clear();
    match (load, rows) {
        (Load::Word, None) => return false,
        (Load::Word | Load::Unsigned, Some(rows)) => {
            into.extend(rows.iter().map(|&row| words[row as usize]));
        }
        (Load::Unsigned, None) => into.extend_from_slice(words),
        (Load::Wide | Load::WideUnsigned, None) => {
            into.extend((0..words.len()).flat_map(|row| [words[row], high(row)]));
        }
        (Load::Wide | Load::WideUnsigned, Some(rows)) => {
            into.extend(rows.iter().flat_map(|&row| {
                let row = row as usize;
                [words[row], high(row)]
            }));
        }
    }
    load == Load::Unsigned && into.iter().any(|&word| word > i64::MAX as u64)
}

/// Converts a column of numbers; whether one left its range.
pub(crate) fn convert(
    from: Kind,
    to: Kind,
    power: i128,
    source: Source<'_>,
    rows: usize,
    into: &mut Vec<u64>,
) -> bool {
    match (from, to) {
        (Kind::Int, Kind::Real) => {
            map::<Int, Real>(source, rows, into, |value| (value as f64, false))
        }
        (Kind::Int, _) => map::<Int, Decimal>(source, rows, into, |value| {
            i128::from(value).overflowing_mul(power)
        }),
        (Kind::Decimal { scale }, Kind::Real) if scale < 0 => {
            map::<Decimal, Real>(source, rows, into, |v| (v as f64 * power as f64, false))
        }
        (Kind::Decimal { .. }, Kind::Real) => {
            map::<Decimal, Real>(source, rows, into, |v| (v as f64 / power as f64, false))
        }
        (Kind::Decimal { .. }, _) => {
            map::<Decimal, Decimal>(source, rows, into, |value| Decimal::multiply(value, power))
        }
        (Kind::Real, _) => map::<Real, Real>(source, rows, into, |value| (value, false)),
    }
}
