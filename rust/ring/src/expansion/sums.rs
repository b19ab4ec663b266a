//! Sums of reals by group: in one double where that is all there is, in three elsewhere.
//!
//! Invariant: what is summed in one double was exact in each step: no number had a second part, no
//! product and no sum left a remainder. So a result does not depend on which way it was computed,
//! and all digits are there. Rows are tried in blocks, or groups; the first that leaves something
//! is computed again whole, and so is all behind it. Cost: 6 additions a row, or 21 and a try of
//! one block.

use crate::expansion::Expansion;
use crate::expansion::cascade::{Cascade, Summand};
use crate::expansion::exact::{self, Exact, Loop, bits};
use crate::number::Number;
use crate::payload::Groups;

/// Rows that are tried at a time, where each is a sum of its own.
const BLOCK: usize = 64;

/// Reals, one a row.
pub(crate) trait Reals {
    /// A real with all its digits.
    type Whole: Summand;

    /// A real as one double, and bits: if any is set, that is not all of it, or not finite.
    fn short<E: Exact>(&self, row: usize) -> (f64, u64);

    /// A real with all its digits.
    fn whole<E: Exact>(&self, row: usize) -> Self::Whole;
}

/// Target of sums: one word and the two behind it of payloads of `stride` words, a group each.
pub(crate) struct Sums<'a> {
    /// The rows of each sum.
    pub(crate) groups: Groups<'a>,
    /// The payloads.
    pub(crate) out: &'a mut [u64],
    /// Words of a payload.
    pub(crate) stride: usize,
    /// The first word of the sum.
    pub(crate) word: usize,
}

impl Sums<'_> {
    /// Sums reals by group; whether any is not finite.
    pub(crate) fn of(self, values: impl Reals) -> bool {
        exact::run(Summing { values, to: self })
    }
}

struct Summing<'a, V> {
    values: V,
    to: Sums<'a>,
}

impl<V: Reals> Loop for Summing<'_, V> {
    type Out = bool;

    #[inline(always)]
    fn run<E: Exact>(self) -> bool {
        match self.to.groups {
            Groups::Each(rows) => self.each::<E>(rows),
            Groups::Runs { starts, rows } => self.runs::<E>(starts, rows),
            Groups::Named { of, .. } => self.named::<E>(of),
        }
    }
}

impl<V: Reals> Summing<'_, V> {
    #[inline(always)]
    fn each<E: Exact>(self, rows: usize) -> bool {
        let Sums {
            out, stride, word, ..
        } = self.to;
        let mut start = 0;
        let mut blocks = out[..rows * stride].chunks_mut(BLOCK * stride);
        for block in &mut blocks {
            let mut left = 0;
            for (row, payload) in block.chunks_exact_mut(stride).enumerate() {
                let (value, rest) = self.values.short::<E>(start + row);
                Expansion::from(value).store(payload, word);
                left |= rest;
            }
            if left != 0 {
                break;
            }
            start += BLOCK;
        }
        let mut overflow = false;
        let rest = out[..rows * stride].chunks_exact_mut(stride).enumerate();
        for (row, payload) in rest.skip(start) {
            let value: Expansion = self.values.whole::<E>(row).into();
            value.store(payload, word);
            overflow |= !value.is_finite();
        }
        overflow
    }

    #[inline(always)]
    fn runs<E: Exact>(self, starts: &[u32], rows: usize) -> bool {
        let Self { values, to } = self;
        let Sums {
            out, stride, word, ..
        } = to;
        let (mut short, mut overflow) = (true, false);
        for (group, payload) in out.chunks_exact_mut(stride).enumerate() {
            let end = starts.get(group + 1).map_or(rows, |&end| end as usize);
            let start = starts[group] as usize;
            if short {
                let (sum, left) = short_sum::<E>(&values, start, end);
                Expansion::from(sum).store(payload, word);
                short = left == 0;
            }
            if !short {
                let mut sum = Cascade::default();
                (start..end).for_each(|row| sum.take(values.whole::<E>(row)));
                let sum = sum.total();
                sum.store(payload, word);
                overflow |= !sum.is_finite();
            }
        }
        overflow
    }

    #[inline(always)]
    fn named<E: Exact>(self, of: &[u32]) -> bool {
        let Sums {
            out, stride, word, ..
        } = self.to;
        let mut overflow = false;
        for (row, &group) in of.iter().enumerate() {
            let at = group as usize * stride + word;
            let sum = Expansion::load(out, at).sum(self.values.whole::<E>(row).into());
            sum.store(out, at);
            overflow |= !sum.is_finite();
        }
        overflow
    }
}

/// The sum of some rows in one double, and bits: if any is set, that is not all of it.
#[inline(always)]
fn short_sum<E: Exact>(values: &impl Reals, start: usize, end: usize) -> (f64, u64) {
    let (mut sum, mut left) = values.short::<E>(start);
    for row in start + 1..end {
        let (value, rest) = values.short::<E>(row);
        let (next, carry) = exact::two_sum(sum, value);
        sum = next;
        left |= rest | bits(carry);
    }
    (sum, left)
}
