//! Reals as sums of three doubles: what sums of floats are kept in.
//!
//! Invariant: the parts do not overlap and fall in magnitude, so the first is the sum rounded to a double, and a finite
//! first part means finite others. A sum is off by at most a few parts in 2^157 of its larger operand; one of many
//! numbers (`cascade`) for each of them by 2^-149 of the largest sum in passing. Both are exact where bits span no more
//! than 148 places: there numbers that are added and subtracted leave nothing behind, in any order; elsewhere n changes
//! leave at most n 2^-148 of the largest sum of magnitudes. Sums and products of two doubles are exact (error-free
//! transformations: two-sum, two-product) unless they leave the range of doubles.
//!
//! | file | holds |
//! |---|---|
//! | `exact` | sums and products of two doubles with what they are off by; loops compiled for the machine |
//! | `cascade` | sums of many numbers, brought to the invariant now and then |
//! | `sums` | sums by group, in one double where nothing is left |
//!
//! Cost: a sum takes 39 additions, a product with a count of one none.

mod cascade;
mod exact;
pub(crate) mod sums;

use crate::algebra::{CommutativeMonoid, Group, Ring};
use crate::number::{Number, Widen};
use exact::two_sum;
pub(crate) use exact::{Exact, Split, bits};

/// A real number, as the unevaluated sum of three doubles, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expansion([f64; 3]);

impl Expansion {
    /// `a + b`, exactly.
    #[must_use]
    #[inline(always)]
    pub fn sum_of(a: f64, b: f64) -> Self {
        let (sum, rest) = two_sum(a, b);
        Self([sum, rest, 0.0])
    }

    /// `a * b`, exactly.
    #[must_use]
    #[inline(always)]
    pub fn product_of(a: f64, b: f64) -> Self {
        Self::product_by::<Split>(a, b)
    }

    /// The products of pairs, one after the other in `out`.
    pub fn products_of<A: Into<Self>, B: Into<Self>>(
        pairs: impl ExactSizeIterator<Item = (A, B)>,
        out: &mut Vec<u64>,
    ) {
        out.resize(Self::WORDS * pairs.len(), 0);
        exact::run(Products { pairs, out });
    }

    #[inline(always)]
    pub(crate) fn product_by<E: Exact>(a: f64, b: f64) -> Self {
        let (product, rest) = E::two_product(a, b);
        Self([product, rest, 0.0])
    }

    /// `digits * 10^-scale`; exact where the scale is not positive, and there are digits enough.
    #[must_use]
    pub fn of_decimal(digits: i128, scale: i8) -> Self {
        let power = 10i128.saturating_pow(u32::from(scale.unsigned_abs()));
        let (digits, power) = (Self::from(digits), Self::from(power));
        match scale {
            0 => digits,
            1.. => digits.divided_by(power),
            ..0 => digits.product(power),
        }
    }

    /// `digits * 10^-scale` as a double, rounded once but for decimals of more than 22 digits.
    #[must_use]
    pub fn decimal_value(digits: i128, scale: i8) -> f64 {
        match u32::try_from(scale) {
            Ok(0) => digits as f64,
            // Both are doubles.
            Ok(scale @ 1..=18) if digits.unsigned_abs() < 1 << 53 => {
                digits as f64 / 10u64.pow(scale) as f64
            }
            _ => Self::of_decimal(digits, scale).value(),
        }
    }

    /// The nearest double (but for ties that the third part decides). Never -0.
    #[must_use]
    #[inline(always)]
    pub fn value(self) -> f64 {
        let [high, middle, low] = self.0;
        if middle == 0.0 {
            return high + 0.0;
        }
        high + (middle + low) + 0.0
    }

    /// The rounding error of `value`, rounded to a double.
    #[must_use]
    pub fn rest(self) -> f64 {
        self.sum(Self::from(-self.value())).value()
    }

    /// Whether it is a number, and no infinity.
    #[must_use]
    #[inline(always)]
    pub fn is_finite(self) -> bool {
        self.0[0].is_finite()
    }

    /// Parts of falling magnitude, brought to the invariant; each may overlap the next, or be less
    /// than it, where larger numbers have cancelled.
    #[inline(always)]
    fn normal(a: f64, b: f64, c: f64) -> Self {
        let (b, c) = two_sum(b, c);
        let (a, b) = two_sum(a, b);
        let (b, c) = two_sum(b, c);
        Self([a, b, c])
    }

    /// The sum.
    #[must_use]
    #[inline(always)]
    pub fn sum(self, other: Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, other.0);
        let (s0, t0) = two_sum(a0, b0);
        let (s1, t1) = two_sum(a1, b1);
        let (s1, t0) = two_sum(s1, t0);
        Self::normal(s0, s1, (a2 + b2) + (t1 + t0))
    }

    /// The first part, and bits that are set where there are others.
    #[inline(always)]
    pub(crate) fn short(self) -> (f64, u64) {
        (self.0[0], bits(self.0[1]))
    }

    /// Adds a number where it lies; whether the sum is not finite. Of two doubles the sum is two.
    #[inline(always)]
    pub(crate) fn add_words(sum: &mut [u64], added: &[u64]) -> bool {
        if (sum[1] | added[1]) << 1 != 0 {
            let total = Self::load(sum, 0).sum(Self::load(added, 0));
            total.store(sum, 0);
            return !total.is_finite();
        }
        let (total, rest) = two_sum(f64::from_bits(sum[0]), f64::from_bits(added[0]));
        (sum[0], sum[1]) = (total.to_bits(), rest.to_bits());
        !total.is_finite()
    }

    /// The difference.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        self.sum(other.negated())
    }

    /// The product.
    #[must_use]
    #[inline(always)]
    pub fn product(self, other: Self) -> Self {
        self.times_by::<Split>(other)
    }

    /// The same with the remainders of a loop.
    #[inline(always)]
    pub(crate) fn times_by<E: Exact>(self, other: Self) -> Self {
        if other.0[1] == 0.0 {
            return self.scaled_by::<E>(other.0[0]);
        }
        if self.0[1] == 0.0 {
            return other.scaled_by::<E>(self.0[0]);
        }
        self.times_all::<E>(other)
    }

    #[inline]
    fn times_all<E: Exact>(self, other: Self) -> Self {
        let ([a0, a1, a2], [b0, b1, b2]) = (self.0, other.0);
        let (p0, q0) = E::two_product(a0, b0);
        let (p1, q1) = E::two_product(a0, b1);
        let (p2, q2) = E::two_product(a1, b0);
        let (s1, t1) = two_sum(p1, p2);
        let (s1, t2) = two_sum(s1, q0);
        let low = (a0 * b2 + a2 * b0) + a1 * b1;
        Self::normal(p0, s1, ((t1 + t2) + (q1 + q2)) + low)
    }

    /// The product with a double.
    #[must_use]
    #[inline(always)]
    pub fn scaled(self, factor: f64) -> Self {
        self.scaled_by::<Split>(factor)
    }

    #[inline(always)]
    fn scaled_by<E: Exact>(self, factor: f64) -> Self {
        let [a0, a1, a2] = self.0;
        if factor.abs() == 1.0 {
            return Self([a0 * factor, a1 * factor, a2 * factor]);
        }
        let (p0, q0) = E::two_product(a0, factor);
        if a1 == 0.0 {
            return Self([p0, q0, 0.0]);
        }
        let (p1, q1) = E::two_product(a1, factor);
        let (s1, t1) = two_sum(p1, q0);
        Self::normal(p0, s1, (t1 + q1) + a2 * factor)
    }

    /// The product with a count.
    #[inline(always)]
    pub(crate) fn times_count<E: Exact>(self, count: i64) -> Self {
        match count.unsigned_abs() >> f64::MANTISSA_DIGITS {
            0 => self.scaled_by::<E>(count as f64),
            _ => self.times_by::<E>(Self::from(count)),
        }
    }

    /// The quotient, by long division.
    #[must_use]
    pub fn divided_by(self, divisor: Self) -> Self {
        let mut rest = self;
        let mut digits = [0.0; 3];
        for digit in &mut digits {
            *digit = rest.0[0] / divisor.0[0];
            rest = rest.difference(divisor.product(Self::from(*digit)));
        }
        Self::normal(digits[0], digits[1], digits[2])
    }

    /// The same with the other sign.
    #[must_use]
    #[inline(always)]
    pub fn negated(self) -> Self {
        Self(self.0.map(|part| -part))
    }
}

struct Products<'a, I> {
    pairs: I,
    out: &'a mut [u64],
}

impl<A: Into<Expansion>, B: Into<Expansion>, I> exact::Loop for Products<'_, I>
where
    I: Iterator<Item = (A, B)>,
{
    type Out = ();

    #[inline(always)]
    fn run<E: Exact>(self) {
        let places = self.out.chunks_exact_mut(Expansion::WORDS);
        for (out, (a, b)) in places.zip(self.pairs) {
            a.into().times_by::<E>(b.into()).store(out, 0);
        }
    }
}

impl From<f64> for Expansion {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self([value, 0.0, 0.0])
    }
}

impl From<i64> for Expansion {
    #[inline(always)]
    fn from(value: i64) -> Self {
        let high = (value >> 32) as f64 * 4_294_967_296.0;
        Self::sum_of(high, (value & 0xffff_ffff) as f64)
    }
}

impl From<i128> for Expansion {
    fn from(value: i128) -> Self {
        const BITS: i128 = (1 << 48) - 1;
        let scale = 281_474_976_710_656.0;
        let high = (value >> 96) as f64 * scale * scale;
        let middle = ((value >> 48) & BITS) as f64 * scale;
        let (high, middle) = two_sum(high, middle);
        let [middle, low, _] = Self::sum_of(middle, (value & BITS) as f64).0;
        Self::normal(high, middle, low)
    }
}

impl CommutativeMonoid for Expansion {
    const ZERO: Self = Self([0.0; 3]);

    fn plus(self, other: Self) -> Option<Self> {
        Some(self.sum(other)).filter(|sum| sum.is_finite())
    }
}

impl Group for Expansion {
    fn minus(self) -> Option<Self> {
        Some(self.negated())
    }
}

impl Ring for Expansion {
    const ONE: Self = Self([1.0, 0.0, 0.0]);

    fn times(self, other: Self) -> Option<Self> {
        Some(self.product(other)).filter(|product| product.is_finite())
    }
}

impl Number for Expansion {
    const WORDS: usize = 3;
    const EXACT: bool = false;

    #[inline(always)]
    fn load(words: &[u64], at: usize) -> Self {
        let words = &words[at..at + 3];
        Self([words[0], words[1], words[2]].map(f64::from_bits))
    }

    #[inline(always)]
    fn store(self, words: &mut [u64], at: usize) {
        words[at..at + 3].copy_from_slice(&self.0.map(f64::to_bits));
    }

    #[inline(always)]
    fn add(self, other: Self) -> (Self, bool) {
        let sum = self.sum(other);
        (sum, !sum.is_finite())
    }

    #[inline(always)]
    fn mul(self, other: Self) -> (Self, bool) {
        let product = self.product(other);
        (product, !product.is_finite())
    }
}

impl Widen<Expansion> for i64 {
    #[inline(always)]
    fn widen(self) -> Expansion {
        Expansion::from(self)
    }
}
