//! Products of exact numbers, by the match of a row in one view or in several, summed by group.
//!
//! Invariant: component c of the result is the sum, over the rows of a group, of one component of the row times one of each
//! of its matches. That a number did not fit on the way is returned, whether or not the result would. Cost: a
//! multiplication a row and component, and one a row and match for components that share them, in small loops over blocks of
//! rows, whose numbers stay in the nearest cache.

use std::ops::Range;

use super::shape::{Element, NumberKind, TermProduct, refuse};
use crate::number::{Number, Widen};
use crate::payload::{Groups, JoinedPayloads, Overflow, Rows, Slab};

/// Rows that are multiplied at a time.
const BLOCK: usize = 128;

/// The rows of a product and their matches.
#[derive(Clone, Copy)]
pub(super) struct ExactFactors<'a> {
    pub(super) left: Slab<'a>,
    pub(super) left_rows: Rows<'a>,
    pub(super) right: &'a [JoinedPayloads<'a>],
    pub(super) groups: Groups<'a>,
}

/// Some rows that follow each other, and the group of the first of them where groups are runs.
#[derive(Clone, Debug)]
struct Block {
    rows: Range<usize>,
    group: usize,
}

/// An exact number, read from payloads of its kind or a narrower one.
trait ExactNumber: Number {
    fn of(kind: NumberKind, words: &[u64], at: usize) -> Self;
}

impl ExactNumber for i64 {
    #[inline(always)]
    fn of(_: NumberKind, words: &[u64], at: usize) -> Self {
        Self::load(words, at)
    }
}

impl ExactNumber for i128 {
    #[inline(always)]
    fn of(kind: NumberKind, words: &[u64], at: usize) -> Self {
        match kind {
            NumberKind::Decimal => Self::load(words, at),
            _ => i64::load(words, at).widen(),
        }
    }
}

impl TermProduct {
    /// The factors of a component, one a match.
    fn factors(&self, component: usize) -> impl Iterator<Item = Element> {
        let further = self.further.get(component).into_iter().flatten();
        std::iter::once(self.terms[component].right).chain(further.copied())
    }
}

impl ExactFactors<'_> {
    /// Sums the components whose numbers are exact. `out` holds zeros there.
    pub(super) fn multiply(&self, product: &TermProduct, out: &mut [u64]) -> Result<(), Overflow> {
        let mut block = Block {
            rows: 0..0,
            group: 0,
        };
        let rows = self.left_rows.len();
        while block.rows.end < rows {
            let start = block.rows.end;
            block.rows = start..(start + BLOCK).min(rows);
            if let Groups::Runs { starts, .. } = self.groups {
                let begins = |group: usize| starts.get(group).map(|&first| first as usize);
                while begins(block.group + 1).is_some_and(|first| first <= start) {
                    block.group += 1;
                }
            }
            self.block(&block, product, out)?;
        }
        Ok(())
    }

    /// The same of a block of rows. The product of their matches is computed once for adjacent components with the same
    /// factors there.
    fn block(&self, block: &Block, product: &TermProduct, out: &mut [u64]) -> Result<(), Overflow> {
        let (mut narrow, mut wide) = ([0_i64; BLOCK], [0_i128; BLOCK]);
        let rows = block.rows.len();
        let (narrow, wide) = (&mut narrow[..rows], &mut wide[..rows]);
        let mut before = None;
        let exact = product.terms.iter().enumerate();
        for (component, term) in exact.filter(|(_, term)| term.is_exact()) {
            let factors = || product.factors(component);
            let is_narrow = factors().all(|factor| factor.kind == NumberKind::Integer);
            let is_made = before.is_some_and(|before| product.factors(before).eq(factors()));
            let mut overflow = match (is_made, is_narrow) {
                (true, _) => false,
                (false, true) => self.matches(block, factors(), narrow),
                (false, false) => self.matches(block, factors(), wide),
            };
            before = Some(component);
            let to = (product.out, term.out.word);
            overflow |= match (is_narrow, term.out.kind) {
                (true, NumberKind::Integer) => {
                    self.times::<_, i64>(block, term.left, narrow, out, to)
                }
                (true, _) => self.times::<_, i128>(block, term.left, narrow, out, to),
                (false, _) => self.times::<_, i128>(block, term.left, wide, out, to),
            };
            refuse(overflow, component)?;
        }
        Ok(())
    }

    /// The product of the matches of each row; whether one did not fit.
    fn matches<N: ExactNumber>(
        &self,
        block: &Block,
        factors: impl Iterator<Item = Element>,
        values: &mut [N],
    ) -> bool {
        let mut overflow = false;
        for (number, (element, joined)) in factors.zip(self.right).enumerate() {
            let slots = &joined.slots[block.rows.clone()];
            match number {
                0 => read(joined.payloads, element, slots, values),
                _ => overflow |= multiply(joined.payloads, element, slots, values),
            }
        }
        overflow
    }

    /// Sums the numbers of the rows times what their matches make; whether one did not fit.
    #[inline(always)]
    fn times<N: ExactNumber + Widen<O>, O: ExactNumber>(
        &self,
        block: &Block,
        element: Element,
        matches: &[N],
        out: &mut [u64],
        to: (usize, usize),
    ) -> bool {
        let (words, width) = (self.left.words(), self.left.width());
        let times = |row: usize, factor: N| {
            let own = O::of(element.kind, words, row * width + element.word);
            own.mul(factor.widen())
        };
        let first = block.rows.start;
        match self.left_rows {
            Rows::All(_) => self.sum(block, |row| times(first + row, matches[row]), out, to),
            Rows::Picked(rows) => {
                let rows = &rows[block.rows.clone()];
                self.sum(
                    block,
                    |row| times(rows[row] as usize, matches[row]),
                    out,
                    to,
                )
            }
        }
    }

    /// Adds the values of a block, by place in it, to the sums of their groups.
    #[inline(always)]
    fn sum<O: Number>(
        &self,
        block: &Block,
        value: impl Fn(usize) -> (O, bool),
        out: &mut [u64],
        (stride, word): (usize, usize),
    ) -> bool {
        let (first, rows) = (block.rows.start, block.rows.len());
        let mut overflow = false;
        match self.groups {
            Groups::Each(_) => {
                let targets = out[first * stride..].chunks_exact_mut(stride);
                for (row, target) in targets.take(rows).enumerate() {
                    let (number, wrapped) = value(row);
                    number.store(target, word);
                    overflow |= wrapped;
                }
            }
            Groups::Runs { starts, .. } => {
                let (mut group, mut row) = (block.group, 0);
                while row < rows {
                    let end = starts
                        .get(group + 1)
                        .map_or(usize::MAX, |&end| end as usize);
                    let end = end.saturating_sub(first).min(rows);
                    let at = group * stride + word;
                    let mut sum = O::load(out, at);
                    for row in row..end {
                        let (number, wrapped) = value(row);
                        let (next, carried) = sum.add(number);
                        sum = next;
                        overflow |= wrapped | carried;
                    }
                    sum.store(out, at);
                    (group, row) = (group + 1, end);
                }
            }
            Groups::Named { of, .. } => {
                for (row, &group) in of[block.rows.clone()].iter().enumerate() {
                    let at = group as usize * stride + word;
                    let (number, wrapped) = value(row);
                    let (next, carried) = O::load(out, at).add(number);
                    next.store(out, at);
                    overflow |= wrapped | carried;
                }
            }
        }
        overflow
    }
}

/// Reads a number of the match of each row.
fn read<N: ExactNumber>(payloads: Slab<'_>, element: Element, slots: &[u32], values: &mut [N]) {
    let (words, width) = (payloads.words(), payloads.width());
    for (value, &slot) in values.iter_mut().zip(slots) {
        *value = N::of(element.kind, words, slot as usize * width + element.word);
    }
}

/// Multiplies each value with a number of its match; whether one did not fit.
fn multiply<N: ExactNumber>(
    payloads: Slab<'_>,
    element: Element,
    slots: &[u32],
    values: &mut [N],
) -> bool {
    let (words, width) = (payloads.words(), payloads.width());
    let mut overflow = false;
    for (value, &slot) in values.iter_mut().zip(slots) {
        let factor = N::of(element.kind, words, slot as usize * width + element.word);
        let (product, wrapped) = value.mul(factor);
        *value = product;
        overflow |= wrapped;
    }
    overflow
}
