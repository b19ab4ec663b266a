//! Where expressions find their columns, and how words become numbers of a kind.
//!
//! Invariant: what is loaded has `Number::WORDS` words a selected row, in the order of the rows.

use ringview_core::Batch;
use ringview_query::Kind;

use super::number::{Decimal, Int, Number, Real, Source, map};

/// Where an expression finds its columns.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// The columns of a batch, at some rows (all where `None`).
    Batch(&'a Batch, Option<&'a [u32]>),
    /// The values of the one variable of a lifting function: words, and upper halves of decimals.
    Variable(&'a [u64], &'a [u64]),
}

impl<'a> Input<'a> {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Input::Batch(batch, chosen) => chosen.map_or(batch.rows, <[u32]>::len),
            Input::Variable(words, _) => words.len(),
        }
    }

    pub(crate) fn words(&self, column: usize) -> (&'a [u64], &'a [u64]) {
        match self {
            Input::Batch(batch, _) => {
                let column = batch.column(column);
                (&column.words, &column.high)
            }
            Input::Variable(words, high) => (words, high),
        }
    }

    pub(crate) fn chosen(&self) -> Option<&'a [u32]> {
        match self {
            Input::Batch(_, chosen) => *chosen,
            Input::Variable(..) => None,
        }
    }

    pub(crate) fn has_nulls(&self, columns: &[usize]) -> bool {
        matches!(self, Input::Batch(batch, _)
            if columns.iter().any(|&column| batch.column(column).valid.is_some()))
    }

    pub(crate) fn is_null(&self, columns: &[usize], position: usize) -> bool {
        let Input::Batch(batch, chosen) = self else {
            return false;
        };
        let row = chosen.map_or(position, |rows| rows[position] as usize);
        columns.iter().any(|&c| batch.column(c).is_null(row))
    }
}

/// How the words of a column become numbers.
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
    let rows = input.chosen();
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
