//! Conversions of the raw words of an array into words of the column's type.
//!
//! Invariant: a value is kept exactly or refused with its row; nothing is rounded or wrapped.
//! Arrays of the column's own type need no pass at all; narrowing is one vectorised pass.

use arrow_schema::{DataType, TimeUnit};

use super::format::{format_decimal, format_value};
use crate::column::{Column, high_half, join_halves};
use crate::types::MAX_PRECISION;
use crate::{Dictionary, Type};

/// A value that the column cannot hold.
pub(super) struct Unrepresentable {
    pub(super) row: usize,
    pub(super) problem: String,
}

/// The pass over raw words that a pair of types needs.
#[derive(Clone, Debug)]
pub(super) enum Fix {
    /// The raw words are the words.
    None,
    /// Integers, whose distance from `low` must have none of the `excess` bits.
    Range { low: u64, excess: u64 },
    /// Integers, signed or not, to floats.
    ToFloat { signed: bool },
    /// Doubles, which must be singles already.
    Single,
    /// Decimals of the right scale, whose digits must be as few as their type says: Arrow does not
    /// check that, and the base rows rely on it.
    Digits,
    /// Integers or decimals of scale `from` to decimals.
    ToDecimal { from: Option<i8>, signed: bool },
    /// Ticks, times this.
    Multiply(i64),
    /// Ticks, divided by this without remainder.
    Divide(i64),
}

/// Conversion of values of an Arrow type to a column of type `ty`; `None` if there is none.
pub(super) fn fix_for(arrow: &DataType, ty: &Type) -> Option<Fix> {
    if *arrow == DataType::Null {
        return Some(Fix::None);
    }
    let source = Type::from_arrow(arrow).ok()?;
    match (&source, ty) {
        (Type::Decimal { scale: from, .. }, Type::Decimal { scale, .. }) => {
            Some(if from == scale {
                Fix::Digits
            } else {
                Fix::ToDecimal {
                    from: Some(*from),
                    signed: true,
                }
            })
        }
        (from, to) if from == to => Some(Fix::None),
        (from, to) if from.is_integer() && to.is_integer() => Some(narrowing(from, to)),
        (from, to) if from.is_integer() && to.is_float() => Some(Fix::ToFloat {
            signed: from.is_signed(),
        }),
        (from, Type::Decimal { .. }) if from.is_integer() => Some(Fix::ToDecimal {
            from: None,
            signed: from.is_signed(),
        }),
        (Type::Float32, Type::Float64) => Some(Fix::None),
        (Type::Float64, Type::Float32) => Some(Fix::Single),
        (
            Type::Timestamp {
                unit: from,
                timezone: from_zone,
            },
            Type::Timestamp {
                unit: to,
                timezone: to_zone,
            },
        ) if from_zone.is_some() == to_zone.is_some() => Some(rescaling(*from, *to)),
        _ => None,
    }
}

fn narrowing(from: &Type, to: &Type) -> Fix {
    let range = |ty: &Type| ty.integer_range().unwrap_or_default();
    let ((from_low, from_high), (low, high)) = (range(from), range(to));
    if low <= from_low && from_high <= high {
        return Fix::None;
    }
    // One range lies around 0 and the other reaches at least as far up or down: their intersection
    // is 2^k numbers long, so one subtraction and one mask decide, for signed and unsigned alike.
    let (low, high) = (low.max(from_low), high.min(from_high));
    Fix::Range {
        low: low as u64,
        excess: !((high - low) as u64),
    }
}

fn rescaling(from: TimeUnit, to: TimeUnit) -> Fix {
    let per_second = |unit| match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let (from, to): (i64, i64) = (per_second(from), per_second(to));
    match from.cmp(&to) {
        std::cmp::Ordering::Equal => Fix::None,
        std::cmp::Ordering::Less => Fix::Multiply(to / from),
        std::cmp::Ordering::Greater => Fix::Divide(from / to),
    }
}

impl Fix {
    /// Rewrites the raw words of `column`, which were read from an array of type `arrow`.
    pub(super) fn apply(
        &self,
        arrow: &DataType,
        ty: &Type,
        column: &mut Column,
    ) -> Result<(), Unrepresentable> {
        let unrepresentable = match self {
            Fix::None => None,
            Fix::Range { low, excess } => {
                let beyond = |word: &u64| word.wrapping_sub(*low) & excess;
                // First all at once, which is vectorised; then, if need be, which one it was.
                match column.words.iter().fold(0, |any, word| any | beyond(word)) {
                    0 => None,
                    _ => column.words.iter().position(|word| beyond(word) != 0),
                }
            }
            Fix::ToFloat { signed } => {
                let single = *ty == Type::Float32;
                rewrite(&mut column.words, |word| {
                    let exact = integer(word, *signed);
                    let float = if single {
                        f64::from(exact as f32)
                    } else {
                        exact as f64
                    };
                    (float as i128 == exact).then(|| float.to_bits())
                })
            }
            Fix::Single => rewrite(&mut column.words, |word| {
                let float = f64::from_bits(word);
                (f64::from(float as f32).to_bits() == word).then_some(word)
            }),
            Fix::Digits => {
                let limit = digits_limit(ty);
                let fits = |row: &usize| column.decimal(*row).unsigned_abs() < limit;
                (0..column.len()).find(|row| !fits(row))
            }
            Fix::ToDecimal { from, signed } => to_decimal(column, *from, *signed, ty),
            Fix::Multiply(by) => rewrite(&mut column.words, |word| {
                (word as i64).checked_mul(*by).map(|ticks| ticks as u64)
            }),
            Fix::Divide(by) => rewrite(&mut column.words, |word| {
                let ticks = word as i64;
                (ticks % by == 0).then_some((ticks / by) as u64)
            }),
        };
        match unrepresentable {
            None => Ok(()),
            Some(row) => Err(Unrepresentable {
                row,
                problem: describe(arrow, ty, column, row),
            }),
        }
    }
}

/// Replaces each word; stops at the first that has no replacement, and returns its row.
fn rewrite(words: &mut [u64], replace: impl Fn(u64) -> Option<u64>) -> Option<usize> {
    for (row, word) in words.iter_mut().enumerate() {
        match replace(*word) {
            Some(new) => *word = new,
            None => return Some(row),
        }
    }
    None
}

fn integer(word: u64, signed: bool) -> i128 {
    if signed {
        i128::from(word as i64)
    } else {
        i128::from(word)
    }
}

fn to_decimal(column: &mut Column, from: Option<i8>, signed: bool, ty: &Type) -> Option<usize> {
    let Type::Decimal { scale, .. } = *ty else {
        return None;
    };
    // For integers, the high halves are computed here.
    column.high.resize(column.words.len(), 0);
    let shift = i32::from(scale) - i32::from(from.unwrap_or(0));
    let limit = digits_limit(ty);
    for (row, (word, high)) in column.words.iter_mut().zip(&mut column.high).enumerate() {
        let units = match from {
            Some(_) => join_halves(*word, *high),
            None => integer(*word, signed),
        };
        match rescale(units, shift).filter(|units| units.unsigned_abs() < limit) {
            Some(units) => (*word, *high) = (units as u64, high_half(units)),
            None => return Some(row),
        }
    }
    None
}

/// `units * 10^shift`, if that is an integer of 128 bits.
fn rescale(units: i128, shift: i32) -> Option<i128> {
    match power_of_ten(shift.unsigned_abs()) {
        _ if units == 0 => Some(0),
        None => None,
        Some(power) if shift >= 0 => units.checked_mul(power),
        Some(power) => (units % power == 0).then(|| units / power),
    }
}

/// The first number that has too many digits for a decimal type.
fn digits_limit(ty: &Type) -> u128 {
    match ty {
        Type::Decimal { precision, .. } => 10_u128.pow(u32::from(*precision.min(&MAX_PRECISION))),
        _ => u128::MAX,
    }
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

/// Describes the value that did not fit. The raw value is still in its row.
fn describe(arrow: &DataType, ty: &Type, column: &Column, row: usize) -> String {
    let value = match (Type::from_arrow(arrow), ty) {
        (Ok(Type::Decimal { scale, .. }), _) => format_decimal(column.decimal(row), scale),
        (Ok(source), _) => format_value(
            &source,
            column.words[row],
            column.high(row),
            &Dictionary::new(),
        ),
        (Err(_), _) => "the value".to_owned(),
    };
    match ty.integer_range() {
        Some((low, high)) => format!("{value} does not fit {ty} ({low} to {high})"),
        None => format!("{value} cannot be kept exactly as {ty}; round or cast it first"),
    }
}
