//! Lifting of the rows of a leaf to reals: their values times their multiplicities.
//!
//! Invariant: all digits are kept, as `expansion/sums.rs` says. Cost: an addition a row; a
//! multiplication too where rows have multiplicities.

use crate::expansion::sums::{Reals, Sums};
use crate::expansion::{Exact, Expansion, bits};
use crate::number::Number;
use crate::payload::Groups;

use super::shape::{Element, NumberKind};

/// The values of rows, and how often each row is there.
#[derive(Clone, Copy, Debug)]
pub struct LiftedReals<'a> {
    /// A double a row, or an expansion.
    pub words: &'a [u64],
    /// Whether they are expansions.
    pub long: bool,
    /// 1, or -1 where rows leave.
    pub sign: i64,
    /// Multiplicities, and which of them belong to the rows if not all do; `None` for 1 each.
    pub times: Option<(&'a [i64], Option<&'a [u32]>)>,
}

impl LiftedReals<'_> {
    /// Sums them by group into a component of payloads of `stride` words; whether any sum is not
    /// finite.
    #[must_use]
    pub fn sum(self, groups: Groups<'_>, to: Element, out: &mut [u64], stride: usize) -> bool {
        debug_assert_eq!(to.kind, NumberKind::Real, "reals are summed to reals");
        let (words, word, sign) = (self.words, to.word, self.sign as f64);
        let sums = Sums {
            groups,
            out,
            stride,
            word,
        };
        match (self.times, self.long) {
            (None, false) => sums.of(Doubles { words, sign }),
            (None, true) => sums.of(Longs { words, sign }),
            (Some(_), _) => sums.of(self),
        }
    }

    /// A row's value and multiplicity.
    #[inline(always)]
    fn row(&self, row: usize) -> (Expansion, i64) {
        let value = match self.long {
            true => Expansion::load(self.words, Expansion::WORDS * row),
            false => f64::from_bits(self.words[row]).into(),
        };
        let times = self.times.map_or(1, |(all, rows)| {
            all[rows.map_or(row, |rows| rows[row] as usize)]
        });
        (value, times.wrapping_mul(self.sign))
    }
}

impl Reals for LiftedReals<'_> {
    type Whole = Expansion;

    #[inline(always)]
    fn short<E: Exact>(&self, row: usize) -> (f64, u64) {
        let (value, times) = self.row(row);
        let (head, tail) = value.short();
        let (product, rest) = E::two_product(head, times as f64);
        let large = times.unsigned_abs() >> f64::MANTISSA_DIGITS;
        (product, tail | large | bits(rest))
    }

    #[inline(always)]
    fn whole<E: Exact>(&self, row: usize) -> Expansion {
        let (value, times) = self.row(row);
        value.times_count::<E>(times)
    }
}

/// Doubles, each once.
struct Doubles<'a> {
    words: &'a [u64],
    sign: f64,
}

impl Reals for Doubles<'_> {
    type Whole = f64;

    #[inline(always)]
    fn short<E: Exact>(&self, row: usize) -> (f64, u64) {
        (self.whole::<E>(row), 0)
    }

    #[inline(always)]
    fn whole<E: Exact>(&self, row: usize) -> f64 {
        f64::from_bits(self.words[row]) * self.sign
    }
}

/// Expansions, each once.
struct Longs<'a> {
    words: &'a [u64],
    sign: f64,
}

impl Longs<'_> {
    #[inline(always)]
    fn value(&self, row: usize) -> Expansion {
        Expansion::load(self.words, Expansion::WORDS * row)
    }
}

impl Reals for Longs<'_> {
    type Whole = Expansion;

    #[inline(always)]
    fn short<E: Exact>(&self, row: usize) -> (f64, u64) {
        let (head, tail) = self.value(row).short();
        (head * self.sign, tail)
    }

    #[inline(always)]
    fn whole<E: Exact>(&self, row: usize) -> Expansion {
        self.value(row).scaled(self.sign)
    }
}
