//! Products of payloads that hold reals or wide numbers, a component at a time, summed by group.
//!
//! Invariant: component c of the result is the sum, over the rows of a group, of one component of
//! the row times one of its slot. Cost: a multiplication a row and component; reals in one double where that is all there
//! is (`expansion/sums.rs`).

use std::marker::PhantomData;

use arrow_buffer::i256;

use super::shape::{NumberKind, Term, TermProduct};
use super::widening::Common;
use crate::expansion::sums::{Reals, Sums};
use crate::expansion::{Exact, Expansion, bits};
use crate::number::Number;
use crate::payload::{Groups, Rows, sum_groups};

/// One component of a batch of products.
pub(super) struct Factors<'a> {
    pub(super) product: &'a TermProduct,
    pub(super) term: &'a Term,
    pub(super) left: &'a [u64],
    pub(super) left_rows: Rows<'a>,
    pub(super) right: &'a [u64],
    pub(super) slots: &'a [u32],
    pub(super) groups: Groups<'a>,
}

impl Factors<'_> {
    /// One component; whether a number did not fit. Those whose numbers are exact are none of its concern (`exact`).
    #[inline(never)]
    pub(super) fn multiply(&self, out: &mut [u64]) -> bool {
        use NumberKind::{Decimal, Integer, Real};
        let term = self.term;
        match (term.left.kind, term.right.kind, term.out.kind) {
            (Integer, Integer, Real) => self.multiply_reals::<i64, i64>(out),
            (Integer, Real, _) => self.multiply_reals::<i64, Expansion>(out),
            (Real, Integer, _) => self.multiply_reals::<Expansion, i64>(out),
            (Real, Real, _) => self.multiply_reals::<Expansion, Expansion>(out),
            (_, _, NumberKind::Wide) => self.multiply_common::<i256>(out),
            // The plan converts decimals to reals where a row is read.
            (Decimal, Real, _) | (Real, Decimal, _) => true,
            _ => self.multiply_common::<Expansion>(out),
        }
    }

    fn multiply_reals<L: Side, R: Side>(&self, out: &mut [u64]) -> bool {
        let pairs = Pairs::<L, R> {
            factors: self,
            picked: match self.left_rows {
                Rows::All(_) => None,
                Rows::Picked(rows) => Some(rows),
            },
            kinds: PhantomData,
        };
        let to = Sums {
            groups: self.groups,
            out,
            stride: self.product.out,
            word: self.term.out.word,
        };
        to.of(pairs)
    }

    /// The same of numbers of any kinds, where speed is of no matter.
    #[cold]
    fn multiply_common<O: Common>(&self, out: &mut [u64]) -> bool {
        let TermProduct { left, right, .. } = *self.product;
        let Term {
            left: from,
            right: with,
            ..
        } = *self.term;
        let times = |row: usize, slot: u32| {
            let l = O::of(from.kind, self.left, row * left + from.word);
            let r = O::of(with.kind, self.right, slot as usize * right + with.word);
            l.mul(r)
        };
        self.sum(times, out)
    }

    /// Sums what each row and its slot make.
    #[inline(always)]
    fn sum<O: Number>(&self, times: impl Fn(usize, u32) -> (O, bool), out: &mut [u64]) -> bool {
        let (stride, to) = (self.product.out, self.term.out);
        let slots = self.slots;
        match self.left_rows {
            Rows::All(_) => {
                let value = |row: usize| times(row, slots[row]);
                sum_groups::<O>(self.groups, value, out, stride, to.word)
            }
            Rows::Picked(rows) => {
                let value = |row: usize| times(rows[row] as usize, slots[row]);
                sum_groups::<O>(self.groups, value, out, stride, to.word)
            }
        }
    }
}

/// Factor that is multiplied with a real.
trait Side: Number {
    /// It as a double, and bits that are set where that is not all of it.
    fn short(words: &[u64], at: usize) -> (f64, u64);

    /// A real times it.
    fn scale<E: Exact>(self, real: Expansion) -> Expansion;

    /// It as a real.
    fn real(self) -> Expansion;
}

impl Side for i64 {
    #[inline(always)]
    fn short(words: &[u64], at: usize) -> (f64, u64) {
        let count = i64::load(words, at);
        (count as f64, count.unsigned_abs() >> f64::MANTISSA_DIGITS)
    }

    #[inline(always)]
    fn scale<E: Exact>(self, real: Expansion) -> Expansion {
        real.times_count::<E>(self)
    }

    #[inline(always)]
    fn real(self) -> Expansion {
        self.into()
    }
}

impl Side for Expansion {
    #[inline(always)]
    fn short(words: &[u64], at: usize) -> (f64, u64) {
        let words = &words[at..at + 2];
        (f64::from_bits(words[0]), words[1] << 1)
    }

    #[inline(always)]
    fn scale<E: Exact>(self, real: Expansion) -> Expansion {
        real.times_by::<E>(self)
    }

    #[inline(always)]
    fn real(self) -> Expansion {
        self
    }
}

/// The products of rows and their slots.
struct Pairs<'a, L, R> {
    factors: &'a Factors<'a>,
    picked: Option<&'a [u32]>,
    kinds: PhantomData<(L, R)>,
}

impl<L, R> Pairs<'_, L, R> {
    /// Positions of the numbers of a row, left and right.
    #[inline(always)]
    fn offsets(&self, row: usize) -> (usize, usize) {
        let Factors {
            product,
            term,
            slots,
            ..
        } = self.factors;
        let left = self.picked.map_or(row, |picked| picked[row] as usize);
        (
            left * product.left + term.left.word,
            slots[row] as usize * product.right + term.right.word,
        )
    }
}

impl<L: Side, R: Side> Reals for Pairs<'_, L, R> {
    type Whole = Expansion;

    #[inline(always)]
    fn short<E: Exact>(&self, row: usize) -> (f64, u64) {
        let (left, right) = self.offsets(row);
        let (l, left) = L::short(self.factors.left, left);
        let (r, right) = R::short(self.factors.right, right);
        let (product, rest) = E::two_product(l, r);
        (product, left | right | bits(rest))
    }

    #[inline(always)]
    fn whole<E: Exact>(&self, row: usize) -> Expansion {
        let (left, right) = self.offsets(row);
        let right = R::load(self.factors.right, right);
        // A count on the left is a double and a branch, and products commute.
        if L::WORDS < R::WORDS {
            return L::load(self.factors.left, left).scale::<E>(right.real());
        }
        right.scale::<E>(L::load(self.factors.left, left).real())
    }
}
