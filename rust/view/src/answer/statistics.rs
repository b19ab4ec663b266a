//! Variances, covariances, correlations and regressions from counts, sums and sums of products.
//!
//! With C(a, b) = n * sum(ab) - sum(a) * sum(b), each is a quotient of such C and n. If the sums are exact, C is
//! computed exactly, in 256 bits, and rounded once; of reals in expansions of three doubles, which have digits enough
//! for a mean 10^10 deviations away. A statistic without a value is NULL, or NaN where SQL's reference implementations
//! say so: a correlation or slope without variance.

use ringview_query::Function;
use ringview_ring::Expansion;

/// A sum: exact digits and how many of them are behind the point, or a real.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Sum {
    /// Not needed by the function.
    #[default]
    None,
    Exact(i128, i8),
    Real(Expansion),
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
    /// All digits that an expansion has room for.
    fn long(self) -> Expansion {
        match self {
            Sum::None => Expansion::default(),
            Sum::Exact(digits, scale) => Expansion::of_decimal(digits, scale),
            Sum::Real(value) => value,
        }
    }

    /// Rounding error of its double; zero for an exact sum.
    pub(crate) fn rest(self) -> f64 {
        match self {
            Sum::None | Sum::Exact(..) => 0.0,
            Sum::Real(value) => value.rest(),
        }
    }

    /// Rounded to a double.
    pub(crate) fn real(self) -> f64 {
        match self {
            Sum::None => 0.0,
            Sum::Exact(digits, scale) => Expansion::decimal_value(digits, scale),
            Sum::Real(value) => value.value(),
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
                let centred = self.c_xx().sqrt() * self.c_yy().sqrt();
                if centred == 0.0 {
                    f64::NAN
                } else {
                    (self.c_xy() / centred).clamp(-1.0, 1.0)
                }
            }
            RegrSlope => self.slope().unwrap_or(f64::NAN),
            RegrIntercept => self.intercept()?,
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

    /// Intersection of the slope's line with x = 0: (sum(xx) sum(y) - sum(x) sum(xy)) / C(x, x).
    fn intercept(&self) -> Option<f64> {
        let c_xx = self.c_xx();
        if c_xx <= 0.0 {
            return None;
        }
        let (xx, x) = (self.xx.long(), self.x.long());
        let parts = (xx.product(self.y.long()), x.product(self.xy.long()));
        Some(parts.0.difference(parts.1).value() / c_xx)
    }

    fn c_xx(&self) -> f64 {
        self.centred_square(self.x, self.xx)
    }

    fn c_yy(&self) -> f64 {
        self.centred_square(self.y, self.yy)
    }

    fn c_xy(&self) -> f64 {
        comoment(self.count, self.x, self.y, self.xy)
    }

    /// C(a, a): never negative, and 0 where only the last digits of its parts are left.
    fn centred_square(&self, a: Sum, aa: Sum) -> f64 {
        /// 2^-145: doubles that differ vary by more, even one among 2^30.
        const ROUNDING: f64 = f64::from_bits((1023 - 145) << 52);
        let centred = comoment(self.count, a, a, aa);
        let rounding = match (a, aa) {
            (Sum::Exact(..), Sum::Exact(..)) => 0.0,
            _ => ROUNDING * self.count as f64 * aa.real(),
        };
        if centred <= rounding { 0.0 } else { centred }
    }
}

/// n * ab - a * b.
fn comoment(n: i64, a: Sum, b: Sum, ab: Sum) -> f64 {
    if let (Sum::Exact(a, s), Sum::Exact(b, t), Sum::Exact(ab, scale)) = (a, b, ab)
        && s.checked_add(t) == Some(scale)
    {
        let digits = real(minus(times(i128::from(n), ab), times(a, b)));
        return digits / Expansion::decimal_value(1, -scale);
    }
    let product = a.long().product(b.long());
    ab.long().product(n.into()).difference(product).value()
}

/// 256 bits as a double, by magnitude: halves of different signs would cancel.
fn real((high, low): (i128, u128)) -> f64 {
    if high < 0 {
        return -real(minus((0, 0), (high, low)));
    }
    const HALF: f64 = f64::from_bits((1023 + 128) << 52);
    high as f64 * HALF + low as f64
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
        let values = [0.1; 3];
        let moments = moments_of(&values, &values);
        assert_eq!(moments.evaluate(Function::StddevPop), Some(0.0));
    }

    fn moments_of(x: &[f64], y: &[f64]) -> Moments {
        let sum = |values: &mut dyn Iterator<Item = Expansion>| {
            Sum::Real(values.fold(Expansion::default(), Expansion::sum))
        };
        let products = |a: &[f64], b: &[f64]| {
            let pairs = a.iter().zip(b);
            sum(&mut pairs.map(|(&a, &b)| Expansion::product_of(a, b)))
        };
        Moments {
            count: x.len() as i64,
            x: sum(&mut x.iter().map(|&x| x.into())),
            y: sum(&mut y.iter().map(|&y| y.into())),
            xx: products(x, x),
            xy: products(x, y),
            yy: products(y, y),
        }
    }

    #[test]
    fn reals_far_from_zero_keep_their_line() {
        let x = [4.0, 7.0, 13.0, 16.0].map(|x| 1e9 + x);
        let y = x.map(|x| 1e10 + 0.25 * (x - 1e9));
        let moments = moments_of(&x, &y);
        for (function, value) in [
            (Function::VarPop, 22.5),
            (Function::VarSamp, 30.0),
            (Function::CovarPop, 5.625),
            (Function::Corr, 1.0),
            (Function::RegrSlope, 0.25),
            (Function::RegrIntercept, 1e10 - 0.25e9),
            (Function::RegrR2, 1.0),
        ] {
            assert_eq!(moments.evaluate(function), Some(value), "{function:?}");
        }
    }
}
