//! Numbers of queries: exact in units of a power of ten, or doubles.
//!
//! Invariant: sums and products of exact numbers are exact or an error; a quotient is a double,
//! as SQL's AVG and `/` are here; beside a double everything is one. NULL is `None`, and whatever
//! meets it is NULL. Cost: O(1).

use std::cmp::Ordering;

use ringview_core::{Batch, Result, Type};
use ringview_ring::Expansion;

use crate::tree::overflow;

/// A number.
#[derive(Clone, Copy, Debug)]
pub enum Quantity {
    /// `units * 10^-scale`.
    Exact {
        /// The units.
        units: i128,
        /// Digits behind the point.
        scale: u8,
    },
    /// A double, finite.
    Real(f64),
    /// A sum of doubles with more digits than one has; comparisons and arithmetic use the
    /// nearest double.
    Sum(Expansion),
}

/// What kind of number a value is, fixed before any row is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Exact, with so many digits behind the point.
    Exact(u8),
    /// A double.
    Real,
}

impl Kind {
    /// The kind of a column. Strings, dates and times are the integers that encode them.
    #[must_use]
    pub fn of(ty: &Type) -> Self {
        match ty {
            Type::Float32 | Type::Float64 => Kind::Real,
            Type::Decimal { scale, .. } => Kind::Exact((*scale).max(0) as u8),
            _ => Kind::Exact(0),
        }
    }

    /// The kind in which two are compared.
    #[must_use]
    pub fn common(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Exact(a), Kind::Exact(b)) => Kind::Exact(a.max(b)),
            _ => Kind::Real,
        }
    }
}

/// The value of a column in a row of a batch.
pub(crate) fn read(batch: &Batch, column: usize, row: usize, ty: &Type) -> Option<Quantity> {
    let cells = batch.column(column);
    if cells.is_null(row) {
        return None;
    }
    let word = cells.words[row];
    Some(match ty {
        Type::Float32 | Type::Float64 => Quantity::Real(f64::from_bits(word)),
        Type::Decimal { scale, .. } if *scale < 0 => {
            let power = 10i128.saturating_pow(u32::from(scale.unsigned_abs()));
            Quantity::int(cells.decimal(row).saturating_mul(power))
        }
        Type::Decimal { scale, .. } => Quantity::Exact {
            units: cells.decimal(row),
            scale: *scale as u8,
        },
        Type::UInt64 => Quantity::int(i128::from(word)),
        _ => Quantity::int(i128::from(word as i64)),
    })
}

impl Quantity {
    /// An integer.
    #[must_use]
    pub fn int(units: i128) -> Self {
        Quantity::Exact { units, scale: 0 }
    }

    /// The nearest double.
    #[must_use]
    pub fn real(self) -> f64 {
        match self {
            Quantity::Real(value) => value,
            Quantity::Sum(sum) => sum.value(),
            Quantity::Exact { units, scale: 0 } => units as f64,
            Quantity::Exact { units, scale } => Expansion::decimal_value(units, scale as i8),
        }
    }

    /// With all digits that there are of a double.
    pub(crate) fn expansion(self) -> Expansion {
        match self {
            Quantity::Sum(sum) => sum,
            other => Expansion::from(other.real()),
        }
    }

    /// Units of a scale in which it has no further digits.
    pub(crate) fn units_at(self, scale: u8) -> Result<i128> {
        let Quantity::Exact { units, scale: own } = self else {
            return Err(overflow("a double among exact numbers"));
        };
        rescaled(units, own, scale).ok_or_else(|| overflow("a number"))
    }

    /// As a key in the order of numbers of a kind.
    #[inline]
    pub(crate) fn ordinal(self, kind: Kind) -> Result<i128> {
        match kind {
            Kind::Exact(scale) => self.units_at(scale),
            Kind::Real => {
                // Doubles in the order of their bits, but for the sign; -0 is 0.
                let bits = (self.real() + 0.0).to_bits() as i64;
                Ok(i128::from(bits ^ ((bits >> 63) as u64 >> 1) as i64))
            }
        }
    }

    #[inline]
    fn aligned(self, other: Self) -> Option<(i128, i128, u8)> {
        match (self, other) {
            (Quantity::Exact { units: a, scale: s }, Quantity::Exact { units: b, scale: t }) => {
                let scale = s.max(t);
                Some((rescaled(a, s, scale)?, rescaled(b, t, scale)?, scale))
            }
            _ => None,
        }
    }

    fn both_exact(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Quantity::Exact { .. }, Quantity::Exact { .. })
        )
    }

    /// The sum, or with a sign below 0 the difference.
    pub(crate) fn plus(self, other: Self, sign: i128) -> Result<Self> {
        if !self.both_exact(other) {
            return finite(self.real() + sign as f64 * other.real());
        }
        let sum = self.aligned(other).and_then(|(a, b, scale)| {
            let units = match sign < 0 {
                true => a.checked_sub(b)?,
                false => a.checked_add(b)?,
            };
            Some(Quantity::Exact { units, scale })
        });
        sum.ok_or_else(|| overflow("a sum of columns"))
    }

    /// The product.
    pub(crate) fn times(self, other: Self) -> Result<Self> {
        match (self, other) {
            (Quantity::Exact { units: a, scale: s }, Quantity::Exact { units: b, scale: t }) => {
                let product = product(a, b).zip(s.checked_add(t));
                let (units, scale) = product.ok_or_else(|| overflow("a product"))?;
                Ok(Quantity::Exact { units, scale })
            }
            _ => finite(self.real() * other.real()),
        }
    }

    /// The quotient; NULL by 0.
    pub(crate) fn over(self, other: Self) -> Result<Option<Self>> {
        match other.real() {
            0.0 => Ok(None),
            divisor => finite(self.real() / divisor).map(Some),
        }
    }

    /// In the order of numbers.
    #[inline]
    pub(crate) fn compare(self, other: Self) -> Ordering {
        if let Some((a, b, _)) = self.aligned(other) {
            return a.cmp(&b);
        }
        self.real().total_cmp(&other.real())
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other) == Ordering::Equal
    }
}

/// Powers of ten that fit.
const POWERS: [i128; 39] = {
    let mut all = [1i128; 39];
    let mut at = 1;
    while at < all.len() {
        all[at] = all[at - 1] * 10;
        at += 1;
    }
    all
};

/// A power of ten, where it fits.
#[inline]
pub(crate) fn power_of_ten(digits: u8) -> Option<i128> {
    POWERS.get(usize::from(digits)).copied()
}

/// The quotient by a number above 0, rounded down, and whether nothing is left.
#[inline]
pub(crate) fn floor(units: i128, by: i128) -> (i128, bool) {
    if let (Ok(units), Ok(by)) = (i64::try_from(units), i64::try_from(by)) {
        let (quotient, rest) = (units.div_euclid(by), units.rem_euclid(by));
        return (i128::from(quotient), rest == 0);
    }
    (units.div_euclid(by), units.rem_euclid(by) == 0)
}

fn finite(value: f64) -> Result<Quantity> {
    if value.is_finite() {
        return Ok(Quantity::Real(value + 0.0));
    }
    Err(overflow("a number computed for a predicate"))
}

/// Units of one scale in those of another; `None` if they do not fit, or digits would be lost.
#[inline]
pub(crate) fn rescaled(units: i128, from: u8, to: u8) -> Option<i128> {
    if from <= to {
        return match to - from {
            0 => Some(units),
            digits => product(units, power_of_ten(digits)?),
        };
    }
    let (units, is_whole) = floor(units, power_of_ten(from - to)?);
    is_whole.then_some(units)
}

/// A product that fits: one multiplication where the factors have 64 bits, as most have.
#[inline]
pub(crate) fn product(one: i128, other: i128) -> Option<i128> {
    match (i64::try_from(one), i64::try_from(other)) {
        (Ok(one), Ok(other)) => Some(i128::from(one) * i128::from(other)),
        _ => one.checked_mul(other),
    }
}
