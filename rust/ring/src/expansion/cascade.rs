//! Sums of many reals: brought to the form of an expansion once, and not once a number.
//!
//! Invariant: the three parts add up to the numbers taken, but for roundings of the last. The error
//! of a part is carried to the next, so only the carry from row to row waits for the sum before it.
//! Cost: 13 additions a double, 21 an expansion; 18 more every `BLOCK` numbers, which keep the
//! second part below 2^-48 of the largest sum in passing and the third below 2^-96 of it: a sum is
//! exact where its digits span 148 binary places.

use super::Expansion;
use super::exact::two_sum;

/// Numbers between which the parts are not brought in order.
const BLOCK: u32 = 32;

/// A sum on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cascade {
    parts: [f64; 3],
    taken: u32,
}

/// Summand of a cascade.
pub(crate) trait Summand: Copy + Into<Expansion> {
    /// Adds it to the parts of a sum.
    fn add_to(self, parts: &mut [f64; 3]);
}

impl Summand for f64 {
    #[inline(always)]
    fn add_to(self, parts: &mut [f64; 3]) {
        let (sum, carry) = two_sum(parts[0], self);
        let (middle, low) = two_sum(parts[1], carry);
        *parts = [sum, middle, parts[2] + low];
    }
}

impl Summand for Expansion {
    #[inline(always)]
    fn add_to(self, parts: &mut [f64; 3]) {
        let (sum, carry) = two_sum(parts[0], self.0[0]);
        let (middle, one) = two_sum(carry, self.0[1]);
        let (middle, other) = two_sum(parts[1], middle);
        *parts = [sum, middle, parts[2] + (self.0[2] + (one + other))];
    }
}

impl Cascade {
    /// One number more.
    #[inline(always)]
    pub(crate) fn take(&mut self, number: impl Summand) {
        number.add_to(&mut self.parts);
        self.taken += 1;
        if self.taken == BLOCK {
            *self = Self {
                parts: self.total().0,
                taken: 0,
            };
        }
    }

    /// The sum of the numbers taken.
    #[inline(always)]
    pub(crate) fn total(self) -> Expansion {
        let [a, b, c] = self.parts;
        Expansion::normal(a, b, c)
    }
}
