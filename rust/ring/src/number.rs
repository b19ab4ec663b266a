//! The numbers of payloads, as they lie in words: integers take one, decimals two, reals three.
//!
//! The loops over batches want no branch a number, so an operation here returns its result wrapped
//! around together with whether it overflowed; the loop collects the flags and the whole batch is
//! refused. A real that is no longer finite has overflowed too: no delete could take an infinity
//! out of a sum again. If no flag is raised, the results are those of the `algebra` ladder.

use crate::algebra::Ring;

/// A number in a payload.
pub trait Number: Ring + Send + Sync + 'static {
    /// Words it takes.
    const WORDS: usize;
    /// Whether sums and products are exact.
    const EXACT: bool;

    /// The number that starts at `words[at]`.
    fn load(words: &[u64], at: usize) -> Self;
    /// Writes the number at `words[at]`.
    fn store(self, words: &mut [u64], at: usize);
    /// The sum, and whether it overflowed.
    fn add(self, other: Self) -> (Self, bool);
    /// The product, and whether it overflowed.
    fn mul(self, other: Self) -> (Self, bool);
}

/// A number as one of a kind that holds it: counts multiply decimals and reals.
pub trait Widen<Wide> {
    /// The same number.
    fn widen(self) -> Wide;
}

impl Number for i64 {
    const WORDS: usize = 1;
    const EXACT: bool = true;

    #[inline(always)]
    fn load(words: &[u64], at: usize) -> Self {
        words[at] as i64
    }

    #[inline(always)]
    fn store(self, words: &mut [u64], at: usize) {
        words[at] = self as u64;
    }

    #[inline(always)]
    fn add(self, other: Self) -> (Self, bool) {
        self.overflowing_add(other)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> (Self, bool) {
        self.overflowing_mul(other)
    }
}

impl Number for i128 {
    const WORDS: usize = 2;
    const EXACT: bool = true;

    #[inline(always)]
    fn load(words: &[u64], at: usize) -> Self {
        (u128::from(words[at]) | u128::from(words[at + 1]) << 64) as i128
    }

    #[inline(always)]
    fn store(self, words: &mut [u64], at: usize) {
        words[at] = self as u64;
        words[at + 1] = (self >> 64) as u64;
    }

    #[inline(always)]
    fn add(self, other: Self) -> (Self, bool) {
        self.overflowing_add(other)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> (Self, bool) {
        self.overflowing_mul(other)
    }
}

impl<N: Number> Widen<N> for N {
    #[inline(always)]
    fn widen(self) -> N {
        self
    }
}

impl Widen<i128> for i64 {
    #[inline(always)]
    fn widen(self) -> i128 {
        i128::from(self)
    }
}
