//! Exact fractions: what widths are compared as.
//!
//! Invariant: in lowest terms, the denominator positive. Sums that pass 64 bits are none. Cost:
//! O(log).

/// A fraction.
pub type Ratio = num_rational::Ratio<i64>;

/// A fraction as a double.
#[must_use]
pub fn to_f64(ratio: Ratio) -> f64 {
    *ratio.numer() as f64 / *ratio.denom() as f64
}

/// Denominators that the solution of a linear program is read with.
const LARGEST: i64 = 5040;
/// Maximal distance of a double from the fraction that it is read as.
const NEAR: f64 = 1e-7;

/// The fraction of a small denominator next to a double, by continued fractions.
pub(super) fn near(value: f64) -> Option<Ratio> {
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

#[cfg(test)]
mod tests {
    use num_traits::CheckedAdd;

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
            assert_eq!(near(to_f64(ratio)), Some(ratio));
        }
        assert_eq!(near(std::f64::consts::PI), None);
        assert_eq!(near(f64::NAN), None);
    }

    #[test]
    fn fractions_are_added_and_compared_exactly() {
        let third = Ratio::new(1, 3);
        let sum = third
            .checked_add(&third)
            .and_then(|sum| sum.checked_add(&third));
        assert_eq!(sum, Some(Ratio::ONE));
        assert!(Ratio::new(3, 2) > Ratio::new(4, 3));
        assert_eq!(Ratio::new(6, 4).to_string(), "3/2");
        assert_eq!(Ratio::new(i64::MAX, 1).checked_add(&Ratio::ONE), None);
    }
}
