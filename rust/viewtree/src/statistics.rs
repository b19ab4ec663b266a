//! Variances, covariances, correlations and regressions from counts, sums and sums of products.
//!
//! With C(a, b) = n * sum(ab) - sum(a) * sum(b), each is a quotient of such C and n. Where the sums
//! are exact, C is computed exactly, in 256 bits, and rounded once. Of doubles, a C(a, a) below what
//! rounding leaves (4 eps sqrt(n) of its first part) counts as no variance. What has no value is NULL,
//! or NaN where SQL's reference implementations say so: a correlation or slope without variance.

use ringview_query::Function;

/// A sum: exact digits and how many of them are behind the point, or a double.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Sum {
    /// Not needed by the function.
    #[default]
    None,
    Exact(i128, i8),
    Real(f64),
}

/// The moments of one group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub(crate) count: i64,
    pub(crate) x: Sum,
    pub(crate) y: Sum,
    pub(crate) xx: Sum,
    pub(crate) xy: Sum,
    pub(crate) yy: Sum,
}

impl Sum {
    pub(crate) fn real(self) -> f64 {
        match self {
            Sum::None => 0.0,
            Sum::Exact(digits, scale) => digits as f64 / 10f64.powi(i32::from(scale)),
            Sum::Real(value) => value,
        }
    }
}

impl Moments {
    /// The value of a function; `None` is NULL.
    pub(crate) fn evaluate(&self, function: Function) -> Option<f64> {
        use Function::{
            Corr, CovarPop, CovarSamp, RegrIntercept, RegrR2, RegrSlope, StddevPop, StddevSamp,
            VarPop, VarSamp,
        };
        if self.count <= 0 {
            return None;
        }
        let n = self.count as f64;
        let sample = (self.count > 1).then_some(n * (n - 1.0));
        Some(match function {
            VarPop => self.c_xx() / n / n,
            VarSamp => self.c_xx() / sample?,
            StddevPop => self.c_xx().sqrt() / n,
            StddevSamp => (self.c_xx() / sample?).sqrt(),
            CovarPop => self.c_xy() / n / n,
            CovarSamp => self.c_xy() / sample?,
            Corr => {
                let spread = self.c_xx().sqrt() * self.c_yy().sqrt();
                if spread == 0.0 {
                    f64::NAN
                } else {
                    (self.c_xy() / spread).clamp(-1.0, 1.0)
                }
            }
            RegrSlope => self.slope().unwrap_or(f64::NAN),
            RegrIntercept => (self.y.real() - self.slope()? * self.x.real()) / n,
            RegrR2 => {
                let slope = self.slope()?;
                match self.c_yy() {
                    0.0 => 1.0,
                    c_yy => slope * self.c_xy() / c_yy,
                }
            }
            // Other functions have no moments.
            _ => return None,
        })
    }

    fn slope(&self) -> Option<f64> {
        let c_xx = self.c_xx();
        (c_xx > 0.0).then(|| self.c_xy() / c_xx)
    }

    fn c_xx(&self) -> f64 {
        self.spread(self.x, self.xx)
    }

    fn c_yy(&self) -> f64 {
        self.spread(self.y, self.yy)
    }

    fn c_xy(&self) -> f64 {
        comoment(self.count, self.x, self.y, self.xy)
    }

    /// C(a, a): never negative, and 0 where only rounding is left.
    fn spread(&self, a: Sum, aa: Sum) -> f64 {
        let spread = comoment(self.count, a, a, aa);
        let rounding = match (a, aa) {
            (Sum::Exact(..), Sum::Exact(..)) => 0.0,
            _ => 4.0 * f64::EPSILON * (self.count as f64).sqrt() * self.count as f64 * aa.real(),
        };
        if spread <= rounding { 0.0 } else { spread }
    }
}

/// n * ab - a * b.
fn comoment(n: i64, a: Sum, b: Sum, ab: Sum) -> f64 {
    if let (Sum::Exact(a, s), Sum::Exact(b, t), Sum::Exact(ab, scale)) = (a, b, ab)
        && s.checked_add(t) == Some(scale)
    {
        let digits = real(minus(times(i128::from(n), ab), times(a, b)));
        return digits / 10f64.powi(i32::from(scale));
    }
    n as f64 * ab.real() - a.real() * b.real()
}

/// 256 bits as a double, by magnitude: halves of different signs would cancel.
fn real((high, low): (i128, u128)) -> f64 {
    if high < 0 {
        return -real(minus((0, 0), (high, low)));
    }
    high as f64 * 2f64.powi(128) + low as f64
}

/// A product in 256 bits: upper and lower half of its two's complement.
fn times(a: i128, b: i128) -> (i128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (x, y) = (a.unsigned_abs(), b.unsigned_abs());
    let (x1, x0, y1, y0) = (x >> 64, x & LOW, y >> 64, y & LOW);
    let middle = x1 * y0 + ((x0 * y0) >> 64);
    let other = x0 * y1 + (middle & LOW);
    let high = x1 * y1 + (middle >> 64) + (other >> 64);
    let low = (other << 64) | ((x0 * y0) & LOW);
    if (a < 0) == (b < 0) {
        return (high as i128, low);
    }
    let carry = u128::from(low == 0);
    ((!high).wrapping_add(carry) as i128, low.wrapping_neg())
}

fn minus(a: (i128, u128), b: (i128, u128)) -> (i128, u128) {
    let (low, borrow) = a.1.overflowing_sub(b.1);
    (a.0.wrapping_sub(b.0).wrapping_sub(i128::from(borrow)), low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_all_their_digits() {
        for (a, b) in [
            (3, 4),
            (-3, 4),
            (3, -4),
            (-3, -4),
            (0, -1),
            (i64::MAX, i64::MIN),
        ] {
            let (a, b) = (i128::from(a), i128::from(b));
            assert_eq!(times(a, b), ((a * b) >> 127, (a * b) as u128));
        }
        assert_eq!(times(i128::MIN, i128::MIN), (1 << 126, 0));
        assert_eq!(times(1 << 126, -8), (-2, 0));
        assert_eq!(times(i128::MAX, 2), (0, u128::MAX - 1));
        assert_eq!(real(times(-5, 1)), -5.0);
        assert_eq!(real(minus(times(2, 3), times(5, 5))), -19.0);
        assert_eq!(real(times(1 << 126, -8)), -2f64.powi(129));
    }

    #[test]
    fn large_values_close_together_keep_their_variance() {
        // 10^18, 10^18 + 1, 10^18 + 2: the squares need 120 bits, the difference of products 180.
        let values = [0, 1, 2].map(|k| 10i128.pow(18) + k);
        let moments = Moments {
            count: 3,
            x: Sum::Exact(values.iter().sum(), 0),
            xx: Sum::Exact(values.iter().map(|v| v * v).sum(), 0),
            ..Moments::default()
        };
        assert_eq!(moments.evaluate(Function::VarSamp), Some(1.0));
        assert_eq!(moments.evaluate(Function::VarPop), Some(6.0 / 9.0));
    }

    #[test]
    fn rounding_is_no_variance() {
        let sum = 0.1 + 0.1 + 0.1;
        let moments = Moments {
            count: 3,
            x: Sum::Real(sum),
            xx: Sum::Real(3.0 * 0.1 * 0.1),
            ..Moments::default()
        };
        assert_eq!(moments.evaluate(Function::StddevPop), Some(0.0));
    }
}
