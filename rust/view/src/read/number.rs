//! The three kinds of numbers, and loops over columns of them.
//!
//! Reals are doubles, as SQL compares them; where they are summed, what is computed of them is an
//! `Expansion`, so that no digit is lost before the sum. Invariant: a value takes `WORDS` words, low half first, so that a column is a flat `[u64]` that
//! payloads can take over as it is. An operation that leaves the range reports it; what it wrote
//! there is of no meaning. No loop allocates once its output has grown.

use ringview_ring::{Expansion, Number as _};

/// Numbers as they lie in words, as a zero-sized type.
pub(crate) trait Words {
    /// The number itself.
    type Value: Copy;
    /// Words a value.
    const WORDS: usize;

    fn read(words: &[u64]) -> Self::Value;
    fn write(value: Self::Value, words: &mut [u64]);
}

/// A kind of number.
pub(crate) trait Arithmetic: Words {
    /// Comparison key: equal and ordered as SQL has it.
    type Key: Copy + Ord;

    fn key(value: Self::Value) -> Self::Key;
    fn add(left: Self::Value, right: Self::Value) -> (Self::Value, bool);
    fn subtract(left: Self::Value, right: Self::Value) -> (Self::Value, bool);
    fn multiply(left: Self::Value, right: Self::Value) -> (Self::Value, bool);
    fn negate(value: Self::Value) -> (Self::Value, bool);
}

pub(crate) enum Int {}
pub(crate) enum Decimal {}
pub(crate) enum Real {}
/// Reals of all their digits.
pub(crate) enum Long {}

impl Words for Int {
    type Value = i64;
    const WORDS: usize = 1;

    #[inline(always)]
    fn read(words: &[u64]) -> i64 {
        words[0] as i64
    }
    #[inline(always)]
    fn write(value: i64, words: &mut [u64]) {
        words[0] = value as u64;
    }
}

impl Arithmetic for Int {
    type Key = i64;

    #[inline(always)]
    fn key(value: i64) -> i64 {
        value
    }
    #[inline(always)]
    fn add(left: i64, right: i64) -> (i64, bool) {
        left.overflowing_add(right)
    }
    #[inline(always)]
    fn subtract(left: i64, right: i64) -> (i64, bool) {
        left.overflowing_sub(right)
    }
    #[inline(always)]
    fn multiply(left: i64, right: i64) -> (i64, bool) {
        left.overflowing_mul(right)
    }
    #[inline(always)]
    fn negate(value: i64) -> (i64, bool) {
        value.overflowing_neg()
    }
}

impl Words for Decimal {
    type Value = i128;
    const WORDS: usize = 2;

    #[inline(always)]
    fn read(words: &[u64]) -> i128 {
        ((u128::from(words[1]) << 64) | u128::from(words[0])) as i128
    }
    #[inline(always)]
    fn write(value: i128, words: &mut [u64]) {
        words[0] = value as u64;
        words[1] = (value >> 64) as u64;
    }
}

impl Arithmetic for Decimal {
    type Key = i128;

    #[inline(always)]
    fn key(value: i128) -> i128 {
        value
    }
    #[inline(always)]
    fn add(left: i128, right: i128) -> (i128, bool) {
        left.overflowing_add(right)
    }
    #[inline(always)]
    fn subtract(left: i128, right: i128) -> (i128, bool) {
        left.overflowing_sub(right)
    }
    #[inline(always)]
    fn multiply(left: i128, right: i128) -> (i128, bool) {
        // Most decimals fit 64 bits, where a product is one instruction and cannot overflow.
        match (i64::try_from(left), i64::try_from(right)) {
            (Ok(left), Ok(right)) => (i128::from(left) * i128::from(right), false),
            _ => left.overflowing_mul(right),
        }
    }
    #[inline(always)]
    fn negate(value: i128) -> (i128, bool) {
        value.overflowing_neg()
    }
}

impl Words for Real {
    type Value = f64;
    const WORDS: usize = 1;

    #[inline(always)]
    fn read(words: &[u64]) -> f64 {
        f64::from_bits(words[0])
    }
    #[inline(always)]
    fn write(value: f64, words: &mut [u64]) {
        words[0] = value.to_bits();
    }
}

impl Arithmetic for Real {
    type Key = i64;

    /// NaN equals itself and is greater than all else, as in PostgreSQL and DuckDB; -0 equals 0.
    #[inline(always)]
    fn key(value: f64) -> i64 {
        if value.is_nan() {
            return i64::MAX;
        }
        let bits = (value + 0.0).to_bits() as i64;
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    }
    #[inline(always)]
    fn add(left: f64, right: f64) -> (f64, bool) {
        (left + right, false)
    }
    #[inline(always)]
    fn subtract(left: f64, right: f64) -> (f64, bool) {
        (left - right, false)
    }
    #[inline(always)]
    fn multiply(left: f64, right: f64) -> (f64, bool) {
        (left * right, false)
    }
    #[inline(always)]
    fn negate(value: f64) -> (f64, bool) {
        (-value, false)
    }
}

impl Words for Long {
    type Value = Expansion;
    const WORDS: usize = 3;

    #[inline(always)]
    fn read(words: &[u64]) -> Expansion {
        Expansion::load(words, 0)
    }
    #[inline(always)]
    fn write(value: Expansion, words: &mut [u64]) {
        value.store(words, 0);
    }
}

/// A column of numbers, or one number for all rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// `WORDS` words a row.
    Words(&'a [u64]),
    /// The same in every row; kinds of one word use the first.
    Constant([u64; 2]),
}

impl Source<'_> {
    #[inline(always)]
    pub(crate) fn get<N: Words>(&self, row: usize) -> N::Value {
        match self {
            Source::Words(words) => N::read(&words[row * N::WORDS..][..N::WORDS]),
            Source::Constant(words) => N::read(words),
        }
    }
}

/// `into[i] = f(source[i])`; whether any left the range.
pub(crate) fn map<A: Words, B: Words>(
    source: Source<'_>,
    rows: usize,
    into: &mut Vec<u64>,
    f: impl Fn(A::Value) -> (B::Value, bool),
) -> bool {
    into.resize(rows * B::WORDS, 0);
    let mut left_range = false;
    match source {
        Source::Words(words) => {
            let values = words.chunks_exact(A::WORDS);
            for (out, value) in into.chunks_exact_mut(B::WORDS).zip(values) {
                let (value, over) = f(A::read(value));
                B::write(value, out);
                left_range |= over;
            }
        }
        Source::Constant(words) => {
            let (value, over) = f(A::read(&words));
            left_range = over && rows > 0;
            into.chunks_exact_mut(B::WORDS)
                .for_each(|out| B::write(value, out));
        }
    }
    left_range
}

/// `into[i] = f(left[i], right[i])`; whether any left the range.
pub(crate) fn combine<L: Words, R: Words, O: Words>(
    left: Source<'_>,
    right: Source<'_>,
    rows: usize,
    into: &mut Vec<u64>,
    f: impl Fn(L::Value, R::Value) -> (O::Value, bool),
) -> bool {
    match (left, right) {
        (Source::Words(left), Source::Words(right)) => {
            into.resize(rows * O::WORDS, 0);
            let values = left
                .chunks_exact(L::WORDS)
                .zip(right.chunks_exact(R::WORDS));
            let mut left_range = false;
            for (out, (left, right)) in into.chunks_exact_mut(O::WORDS).zip(values) {
                let (value, over) = f(L::read(left), R::read(right));
                O::write(value, out);
                left_range |= over;
            }
            left_range
        }
        (left, Source::Constant(right)) => {
            let right = R::read(&right);
            map::<L, O>(left, rows, into, |left| f(left, right))
        }
        (Source::Constant(left), right) => {
            let left = L::read(&left);
            map::<R, O>(right, rows, into, |right| f(left, right))
        }
    }
}

/// `into[i] = truth(test(key(left[i]), key(right[i])))`, for any test of two keys.
pub(crate) fn test<N: Arithmetic>(
    left: Source<'_>,
    right: Source<'_>,
    rows: usize,
    into: &mut Vec<u8>,
    truth: impl Fn(N::Key, N::Key) -> u8,
) {
    into.resize(rows, 0);
    match (left, right) {
        (Source::Words(left), Source::Words(right)) => {
            let values = left
                .chunks_exact(N::WORDS)
                .zip(right.chunks_exact(N::WORDS));
            for (out, (left, right)) in into.iter_mut().zip(values) {
                *out = truth(N::key(N::read(left)), N::key(N::read(right)));
            }
        }
        (Source::Words(left), Source::Constant(right)) => {
            let right = N::key(N::read(&right));
            for (out, left) in into.iter_mut().zip(left.chunks_exact(N::WORDS)) {
                *out = truth(N::key(N::read(left)), right);
            }
        }
        (Source::Constant(left), Source::Words(right)) => {
            let left = N::key(N::read(&left));
            for (out, right) in into.iter_mut().zip(right.chunks_exact(N::WORDS)) {
                *out = truth(left, N::key(N::read(right)));
            }
        }
        (Source::Constant(left), Source::Constant(right)) => {
            into.fill(truth(N::key(N::read(&left)), N::key(N::read(&right))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_reals_order_as_numbers_do() {
        let sorted = [f64::NEG_INFINITY, -1.5, -0.0, 1e-300, 2.0, f64::INFINITY];
        assert!(
            sorted
                .windows(2)
                .all(|pair| Real::key(pair[0]) < Real::key(pair[1]))
        );
        assert_eq!(Real::key(-0.0), Real::key(0.0));
        assert_eq!(Real::key(f64::NAN), Real::key(-f64::NAN));
        assert!(Real::key(f64::NAN) > Real::key(f64::INFINITY));
    }
}
