//! Rows lifted to payloads of counts and sums: a number for each factor of the program.
//!
//! Invariant: number i of a payload is the sum, over the rows of its group, of the multiplicity times
//! factor i. Cost: O(rows) a factor, a column at a time.

use ringview_core::{Batch, Error, Result};
use ringview_ring::{
    Common, Element, Groups, LiftedReals, Number, NumberKind, SumProductShape, Wide, Widen,
    sum_groups,
};

use super::{AtomProgram, Selection, Values};

/// The rows of a batch that take part.
#[derive(Clone, Copy, Debug)]
pub struct LiftedRows<'a> {
    /// The batch.
    pub batch: &'a Batch,
    /// The rows that take part.
    pub selection: &'a Selection,
    /// 1 or -1, times their multiplicities.
    pub sign: i64,
    /// The groups of rows that are summed into one payload.
    pub groups: Groups<'a>,
    /// Words of a payload.
    pub stride: usize,
}

impl LiftedRows<'_> {
    /// Payloads that the program of an atom computes from the rows, summed by group into `out`: the multiplicity times
    /// each factor. The program is one of long reals, or of doubles.
    ///
    /// # Errors
    /// `Overflow`; as [`AtomProgram::factor`].
    pub fn read(
        &self,
        program: &mut AtomProgram,
        shape: &SumProductShape,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        out.clear();
        out.resize(self.groups.len() * self.stride, 0);
        for (component, &element) in shape.elements().iter().enumerate() {
            let values = program.factor_in_units(component, self.batch, self.selection)?;
            let overflowed = match (values, element.kind) {
                (Values::Ones, NumberKind::Wide) => self.fill_ones(element, Wide::ONE, out),
                (Values::Ones, NumberKind::Decimal) => self.fill_ones(element, 1i128, out),
                (Values::Ones, _) => self.fill_ones(element, 1i64, out),
                (Values::Words(words), NumberKind::Integer) => {
                    self.fill(element, |row| i64::load(words, row), out)
                }
                (Values::Words(words), NumberKind::Decimal) => match self.kind(words) {
                    NumberKind::Integer => {
                        let value = |row: usize| i128::from(i64::load(words, row));
                        self.fill(element, value, out)
                    }
                    _ => self.fill(element, |row| i128::load(words, 2 * row), out),
                },
                (Values::Words(words), NumberKind::Real) => {
                    self.fill_reals(element, (words, false), out)
                }
                (Values::Words(words), NumberKind::Wide) => {
                    let kind = self.kind(words);
                    let value = |row: usize| Wide::of(kind, words, row * kind.words());
                    self.fill(element, value, out)
                }
                (Values::Long(words), _) => self.fill_reals(element, (words, true), out),
            };
            if overflowed {
                return Err(Error::Overflow {
                    place: "a sum or count of the rows of a batch".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The kind of exact values: integers, which a sum of 128 or 256 bits may take, or decimals.
    fn kind(&self, words: &[u64]) -> NumberKind {
        match words.len() == self.selection.len() {
            true => NumberKind::Integer,
            false => NumberKind::Decimal,
        }
    }

    /// As `fill`, of doubles or of expansions.
    fn fill_reals(&self, to: Element, (words, long): (&[u64], bool), out: &mut [u64]) -> bool {
        let times = self.batch.multiplicity.as_deref();
        let reals = LiftedReals {
            words,
            long,
            sign: self.sign,
            times: times.map(|all| (all, self.selection.rows())),
        };
        reals.sum(self.groups, to, out, self.stride)
    }

    /// As `fill`, of ones: rows that are there once are counted by where their group ends.
    fn fill_ones<N>(&self, element: Element, one: N, out: &mut [u64]) -> bool
    where
        N: Number,
        i64: Widen<N>,
    {
        let (Groups::Runs { starts, rows }, None) = (self.groups, &self.batch.multiplicity) else {
            return self.fill(element, |_| one, out);
        };
        let ends = starts.iter().skip(1).map(|&end| end as usize);
        let ends = ends.chain(std::iter::once(rows));
        let targets = out.chunks_exact_mut(self.stride);
        for ((&start, end), target) in starts.iter().zip(ends).zip(targets) {
            let count = (end - start as usize) as i64 * self.sign;
            Widen::<N>::widen(count).store(target, element.word);
        }
        false
    }

    /// Sums multiplicity times value into one component; whether any number overflowed.
    #[inline(always)]
    fn fill<N>(&self, element: Element, value: impl Fn(usize) -> N, out: &mut [u64]) -> bool
    where
        N: Number,
        i64: Widen<N>,
    {
        let times = |row: usize, times: i64| {
            let times = times.wrapping_mul(self.sign);
            let (number, wrapped) = value(row).mul(Widen::<N>::widen(times));
            // The one multiplicity whose inverse is none.
            (number, wrapped | (times == i64::MIN))
        };
        let (groups, stride, word) = (self.groups, self.stride, element.word);
        match (&self.batch.multiplicity, self.selection.rows()) {
            (None, _) if self.sign == 1 => {
                sum_groups::<N>(groups, |row| (value(row), false), out, stride, word)
            }
            (None, _) => sum_groups::<N>(groups, |row| times(row, 1), out, stride, word),
            (Some(all), None) => {
                sum_groups::<N>(groups, |row| times(row, all[row]), out, stride, word)
            }
            (Some(all), Some(rows)) => {
                let value = |row: usize| times(row, all[rows[row] as usize]);
                sum_groups::<N>(groups, value, out, stride, word)
            }
        }
    }
}
