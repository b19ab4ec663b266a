//! Exact fractions: what widths are compared as.
//!
//! Invariant: in lowest terms, the denominator positive. Sums that pass 64 bits are none. Cost: O(log).

use std::cmp::Ordering;
use std::fmt;

/// Denominators that the solution of a linear program is read with.
const LARGEST: i64 = 5040;
/// How far a double may be from the fraction that it is read as.
const NEAR: f64 = 1e-7;

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    above: i64,
    below: i64,
}

impl Ratio {
    /// 0.
    pub const ZERO: Ratio = Ratio { above: 0, below: 1 };
    /// 1.
    pub const ONE: Ratio = Ratio { above: 1, below: 1 };

    /// `above / below`.
    ///
    /// # Panics
    /// If `below` is not positive.
    #[must_use]
    pub fn new(above: i64, below: i64) -> Ratio {
        assert!(below > 0, "a denominator is positive");
        let common = gcd(above.unsigned_abs(), below.unsigned_abs()) as i64;
        Ratio {
            above: above / common,
            below: below / common,
        }
    }

    /// The fraction of a small denominator next to a double, by continued fractions.
    #[must_use]
    pub fn near(value: f64) -> Option<Ratio> {
        if !value.is_finite() || value.abs() > 1e9 {
            return None;
        }
        let (mut before, mut now) = ((0i64, 1i64), (1i64, 0i64));
        let mut rest = value;
        loop {
            let whole = rest.floor();
            let next = (
                (whole as i64).checked_mul(now.0)?.checked_add(before.0)?,
                (whole as i64).checked_mul(now.1)?.checked_add(before.1)?,
            );
            if next.1 > LARGEST || next.1 <= 0 {
                return None;
            }
            (before, now) = (now, next);
            if (now.0 as f64 / now.1 as f64 - value).abs() < NEAR {
                return Some(Ratio::new(now.0, now.1));
            }
            rest = 1.0 / (rest - whole);
        }
    }

    /// The sum, where it fits.
    #[must_use]
    pub fn plus(self, other: Ratio) -> Option<Ratio> {
        let wide = |a: i64, b: i64| i128::from(a) * i128::from(b);
        let above = wide(self.above, other.below).checked_add(wide(other.above, self.below))?;
        let below = wide(self.below, other.below);
        let common = gcd_wide(above.unsigned_abs(), below.unsigned_abs()) as i128;
        Some(Ratio {
            above: i64::try_from(above / common).ok()?,
            below: i64::try_from(below / common).ok()?,
        })
    }

    /// As a double.
    #[must_use]
    pub fn value(self) -> f64 {
        self.above as f64 / self.below as f64
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        let left = i128::from(self.above) * i128::from(other.below);
        left.cmp(&(i128::from(other.above) * i128::from(self.below)))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.below == 1 {
            return write!(to, "{}", self.above);
        }
        write!(to, "{}/{}", self.above, self.below)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    gcd_wide(u128::from(a), u128::from(b)) as u64
}

fn gcd_wide(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_read_as_the_fractions_that_they_are() {
        for (above, below) in [
            (0, 1),
            (1, 1),
            (3, 2),
            (4, 3),
            (-1, 3),
            (22, 7),
            (5039, 5040),
        ] {
            let ratio = Ratio::new(above, below);
            assert_eq!(Ratio::near(ratio.value()), Some(ratio));
        }
        assert_eq!(Ratio::near(std::f64::consts::PI), None);
        assert_eq!(Ratio::near(f64::NAN), None);
    }

    #[test]
    fn fractions_are_added_and_compared_exactly() {
        let third = Ratio::new(1, 3);
        let sum = third.plus(third).and_then(|sum| sum.plus(third));
        assert_eq!(sum, Some(Ratio::ONE));
        assert!(Ratio::new(3, 2) > Ratio::new(4, 3));
        assert_eq!(Ratio::new(6, 4).to_string(), "3/2");
        assert_eq!(Ratio::new(i64::MAX, 1).plus(Ratio::ONE), None);
    }
}
