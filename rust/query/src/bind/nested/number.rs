//! Numbers of conditions: exact in units of a power of ten, or doubles.
//!
//! Invariant: sums and products of exact numbers are exact or an error, and exact numbers are
//! compared exactly whatever their scales; a quotient is a double, as SQL's AVG and `/` are here;
//! beside a double everything is one. Doubles have SQL's order: one zero, NaN equal to itself and
//! greater than all else. NULL is `None`, and whatever meets it is NULL. Cost: O(1).

use std::cmp::Ordering;

use ringview_core::{Error, Result, Type};
use ringview_ring::Expansion;

use crate::bind::polynomial::{Constant, Kind};

/// A number. Equality is that of one form; `compare` orders numbers of any two forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// `units * 10^-scale`.
    Exact {
        /// The units.
        units: i128,
        /// Digits behind the point.
        scale: u8,
    },
    /// A double.
    Real(f64),
    /// A sum of doubles with more digits than one has; comparisons and arithmetic use the
    /// nearest double.
    Sum(Expansion),
}

impl Quantity {
    /// An integer.
    #[must_use]
    pub fn int(units: i128) -> Self {
        Quantity::Exact { units, scale: 0 }
    }

    /// A constant of a kind; a double where an exact one would not fit.
    #[must_use]
    pub fn constant(kind: Kind, value: Constant) -> Self {
        match value {
            Constant::Real(value) => Quantity::Real(value),
            Constant::Int(value) => Quantity::int(value.into()),
            Constant::Decimal(units) => Self::decimal(units, kind.scale()),
        }
    }

    /// The value of a column's words. Strings, days, ticks and Booleans are the integers that
    /// encode them.
    #[must_use]
    #[inline]
    pub fn of_words(ty: &Type, low: u64, high: u64) -> Self {
        match ty {
            Type::Float32 | Type::Float64 => Quantity::Real(f64::from_bits(low)),
            Type::Decimal { scale, .. } => {
                let units = (u128::from(high) << 64 | u128::from(low)) as i128;
                Self::decimal(units, *scale)
            }
            Type::UInt64 => Quantity::int(i128::from(low)),
            _ => Quantity::int(i128::from(low as i64)),
        }
    }

    /// A decimal, whose scale may be negative.
    #[inline]
    fn decimal(units: i128, scale: i8) -> Self {
        if let Ok(scale) = u8::try_from(scale) {
            return Quantity::Exact { units, scale };
        }
        let whole = rescaled(units, 0, scale.unsigned_abs());
        whole.map_or_else(
            || Quantity::Real(Expansion::decimal_value(units, scale)),
            Quantity::int,
        )
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
    #[must_use]
    pub fn expansion(self) -> Expansion {
        match self {
            Quantity::Sum(sum) => sum,
            other => Expansion::from(other.real()),
        }
    }

    /// Units of a scale in which it has no further digits.
    ///
    /// # Errors
    /// `Overflow` where they do not fit, or it is a double.
    #[inline]
    pub fn units_at(self, scale: u8) -> Result<i128> {
        let Quantity::Exact { units, scale: own } = self else {
            return Err(overflow("a double among exact numbers"));
        };
        rescaled(units, own, scale).ok_or_else(|| overflow("a number"))
    }

    /// The sum.
    ///
    /// # Errors
    /// `Overflow` where it is exact and does not fit.
    #[inline]
    pub fn plus(self, other: Self) -> Result<Self> {
        self.joined(other, i128::checked_add, |a, b| a + b)
    }

    /// The difference.
    ///
    /// # Errors
    /// As of the sum.
    #[inline]
    pub fn minus(self, other: Self) -> Result<Self> {
        self.joined(other, i128::checked_sub, |a, b| a - b)
    }

    #[inline]
    fn joined(
        self,
        other: Self,
        exact: fn(i128, i128) -> Option<i128>,
        real: fn(f64, f64) -> f64,
    ) -> Result<Self> {
        let (Quantity::Exact { units: a, scale: s }, Quantity::Exact { units: b, scale: t }) =
            (self, other)
        else {
            return Ok(Quantity::Real(real(self.real(), other.real()) + 0.0));
        };
        let scale = s.max(t);
        let units = rescaled(a, s, scale).zip(rescaled(b, t, scale));
        let units = units.and_then(|(a, b)| exact(a, b));
        let units = units.ok_or_else(|| overflow("a sum of columns"))?;
        Ok(Quantity::Exact { units, scale })
    }

    /// The product.
    ///
    /// # Errors
    /// As of the sum.
    #[inline]
    pub fn times(self, other: Self) -> Result<Self> {
        match (self, other) {
            (Quantity::Exact { units: a, scale: s }, Quantity::Exact { units: b, scale: t }) => {
                let product = product(a, b).zip(s.checked_add(t));
                let (units, scale) = product.ok_or_else(|| overflow("a product"))?;
                Ok(Quantity::Exact { units, scale })
            }
            _ => Ok(Quantity::Real(self.real() * other.real() + 0.0)),
        }
    }

    /// The quotient; NULL by 0.
    #[must_use]
    pub fn over(self, other: Self) -> Option<Self> {
        match other.real() {
            0.0 => None,
            divisor => Some(Quantity::Real(self.real() / divisor + 0.0)),
        }
    }

    /// In the order of numbers.
    #[must_use]
    #[inline]
    pub fn compare(self, other: Self) -> Ordering {
        let (Quantity::Exact { units: a, scale: s }, Quantity::Exact { units: b, scale: t }) =
            (self, other)
        else {
            return in_order(self.real(), other.real());
        };
        // A number that does not fit the other's finer units lies beyond it, on the side of its
        // sign.
        match s <= t {
            true => rescaled(a, s, t).map_or_else(|| a.cmp(&0), |a| a.cmp(&b)),
            false => rescaled(b, t, s).map_or_else(|| 0.cmp(&b), |b| a.cmp(&b)),
        }
    }
}

/// A number, or NULL, in an order of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell(pub Option<Quantity>);

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Some(a), Some(b)) => a.compare(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cell {}

/// The order of doubles in SQL: NaN is the greatest, and there is one 0.
#[inline]
fn in_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
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
#[must_use]
#[inline]
pub fn power_of_ten(digits: u8) -> Option<i128> {
    POWERS.get(usize::from(digits)).copied()
}

/// The quotient by a number above 0, rounded down, and whether nothing is left.
#[must_use]
#[inline]
pub fn floor(units: i128, by: i128) -> (i128, bool) {
    if let (Ok(units), Ok(by)) = (i64::try_from(units), i64::try_from(by)) {
        let (quotient, rest) = (units.div_euclid(by), units.rem_euclid(by));
        return (i128::from(quotient), rest == 0);
    }
    (units.div_euclid(by), units.rem_euclid(by) == 0)
}

/// Units of one scale in those of another; `None` if they do not fit, or digits would be lost.
#[must_use]
#[inline]
pub fn rescaled(units: i128, from: u8, to: u8) -> Option<i128> {
    if units == 0 {
        return Some(0);
    }
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
#[must_use]
#[inline]
pub fn product(one: i128, other: i128) -> Option<i128> {
    match (i64::try_from(one), i64::try_from(other)) {
        (Ok(one), Ok(other)) => Some(i128::from(one) * i128::from(other)),
        _ => one.checked_mul(other),
    }
}

pub(super) fn overflow(what: &str) -> Error {
    Error::Overflow {
        place: format!("{what} in a condition across tables or with subqueries"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(units: i128, scale: u8) -> Quantity {
        Quantity::Exact { units, scale }
    }

    #[test]
    fn numbers_are_compared_as_they_are() {
        use Ordering::{Equal, Greater, Less};
        let (real, most) = (Quantity::Real, i128::MAX);
        for (order, a, b) in [
            (Equal, exact(150, 2), exact(15, 1)),
            (Less, exact(most - 1, 0), exact(most, 0)),
            // As doubles, neither pair would differ.
            (Greater, exact(most / 10 + 1, 0), exact(most, 1)),
            (Less, exact(-(most / 10) - 1, 0), exact(-most, 1)),
            (Greater, exact(most, 0), exact(5, 30)),
            (Less, exact(0, 0), exact(1, 39)),
            (Greater, exact(0, 0), exact(-1, 60)),
            (Less, exact(1, 20), real(0.5)),
            (Greater, real(f64::NAN), real(f64::INFINITY)),
            (Equal, real(f64::NAN), real(-f64::NAN)),
            (Equal, real(-0.0), exact(0, 3)),
        ] {
            assert_eq!(a.compare(b), order, "{a:?} beside {b:?}");
            assert_eq!(b.compare(a), order.reverse(), "{b:?} beside {a:?}");
        }
    }

    #[test]
    fn arithmetic_is_exact_or_says_so() {
        assert!(matches!(
            exact(1, 1).plus(exact(2, 2)),
            Ok(Quantity::Exact {
                units: 12,
                scale: 2
            })
        ));
        assert!(matches!(
            exact(3, 1).times(exact(5, 2)),
            Ok(Quantity::Exact {
                units: 15,
                scale: 3
            })
        ));
        assert!(exact(i128::MAX, 0).times(exact(2, 0)).is_err());
        assert!(exact(i128::MIN, 0).minus(exact(1, 0)).is_err());
        assert!(exact(i128::MAX, 0).plus(exact(1, 1)).is_err());
        assert!(matches!(
            Quantity::decimal(3, -2),
            Quantity::Exact {
                units: 300,
                scale: 0
            }
        ));
        assert_eq!(
            Quantity::decimal(i128::MAX, -2).real(),
            1.7014118346046924e40
        );
        assert_eq!(exact(1, 0).over(exact(0, 4)), None);
    }
}
