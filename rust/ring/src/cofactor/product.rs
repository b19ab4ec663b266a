//! Products of degree-m payloads (paper, section 7.2).
//!
//! c = c1 c2,  s = (c2 s1, c1 s2),  Q = (c2 Q1, s1 s2^T; ., c1 Q2)
//!
//! and so for any number of operands at once (`tile`): a row that meets several matches is multiplied
//! with all of them together, and what some of them make is never written.
//!
//! The payload of c copies of one row x is (c, c x, c x x^T). As long as a delta holds such rows alone it carries (c,
//! x), m + 1 words, and the product of two is (c1 c2, (x1, x2)); it becomes a full payload where rows are summed or
//! meet a group of several. Of a view over bags, a payload with count 1 is that of one row, so that only its sums are
//! read: memory bounds wide products. Cost: one multiplication a word of the product.

use multiversion::multiversion;
use ringview_core::prefetch;

use super::blocks::{Blocks, LANES, Segment, merged, nested, padded};
use super::shape::{CofactorShape, add_count};
use super::tile::{Operand, Row, Tile};
use crate::number::Number;
use crate::payload::{Groups, JoinedPayloads, MOST_JOINED, Rows, Slab};
use crate::reals::reals_mut;

/// Operands that are multiplied at once, at the most.
const MOST: usize = MOST_JOINED + 1;

/// Rows ahead whose operands are prefetched, and words of a cache line.
const AHEAD: usize = 8;
const LINE: usize = 8;

/// Product of payloads: the position of each operand's variables in the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CofactorProduct {
    shapes: Vec<CofactorShape>,
    segments: Vec<Segment>,
    blocks: Blocks,
}

impl CofactorProduct {
    /// A product whose variables are those of both operands in ascending order of `left` and
    /// `right`, which name them: each ascending, none in both.
    #[must_use]
    pub fn new(left: &[usize], right: &[usize]) -> Self {
        let shape = |variables: usize| CofactorShape { variables };
        let shapes = vec![shape(left.len()), shape(right.len())];
        Self::of(shapes, merged(left, right))
    }

    fn of(shapes: Vec<CofactorShape>, segments: Vec<Segment>) -> Self {
        let blocks = Blocks::new(&shapes, &segments);
        Self {
            shapes,
            segments,
            blocks,
        }
    }

    /// The product of what this one gives with one more operand; `None` where those are too many, or the other does not
    /// continue this one.
    pub(super) fn then(&self, next: &Self) -> Option<Self> {
        let [first, last] = next.shapes[..] else {
            return None;
        };
        if first != self.out() || self.shapes.len() == MOST {
            return None;
        }
        let mut shapes = self.shapes.clone();
        shapes.push(last);
        let segments = nested(&self.segments, &next.segments, self.shapes.len());
        Some(Self::of(shapes, segments))
    }

    pub(super) fn left(&self) -> CofactorShape {
        self.shapes[0]
    }

    pub(super) fn out(&self) -> CofactorShape {
        CofactorShape {
            variables: self.blocks.variables,
        }
    }
}

/// The operands of the rows of a product.
#[derive(Clone, Copy)]
pub(super) struct Factors<'a> {
    pub(super) left: Slab<'a>,
    pub(super) left_rows: Rows<'a>,
    pub(super) right: &'a [JoinedPayloads<'a>],
}

impl<'a> Factors<'a> {
    #[inline(always)]
    fn left_row(&self, row: usize) -> usize {
        match self.left_rows {
            Rows::All(_) => row,
            Rows::Picked(rows) => rows[row] as usize,
        }
    }

    /// An operand of a row.
    #[inline(always)]
    fn operand(&self, product: &CofactorProduct, row: usize, number: usize) -> Operand<'a> {
        let (slab, row) = match number.checked_sub(1) {
            None => (self.left, self.left_row(row)),
            Some(right) => {
                let JoinedPayloads { payloads, slots } = self.right[right];
                (payloads, slots[row] as usize)
            }
        };
        Operand {
            words: &slab.words()[row * slab.width()..],
            single: product.shapes[number].is_row(slab, row),
        }
    }

    /// Whether all operands are single rows.
    #[inline(always)]
    pub(super) fn single(&self, product: &CofactorProduct) -> bool {
        let shapes = product.shapes[1..].iter();
        let mut right = shapes.zip(self.right);
        self.left.width() == product.left().row_words()
            && right.all(|(shape, partners)| {
                let mut slots = partners.slots.iter();
                slots.all(|&slot| shape.is_row(partners.payloads, slot as usize))
            })
    }

    /// Prefetches the right operands of a row, as many words of each as are read of the row `like`.
    #[inline(always)]
    fn prefetch(&self, product: &CofactorProduct, row: usize, like: usize) {
        for (partners, &shape) in self.right.iter().zip(&product.shapes[1..]) {
            let slab = partners.payloads;
            let words = match shape.is_row(slab, partners.slots[like] as usize) {
                true => shape.row_words(),
                false => slab.width(),
            };
            let at = partners.slots[row] as usize * slab.width();
            ask(slab.words(), at, words);
        }
    }
}

/// Prefetches some words, which may begin and end within a cache line.
#[inline(always)]
pub(super) fn ask(all: &[u64], at: usize, words: usize) {
    for word in (0..words).step_by(LINE) {
        prefetch(all, at + word);
    }
    prefetch(all, at + words - 1);
}

/// The operands of one row.
struct FactorRow<'a> {
    factors: Factors<'a>,
    product: &'a CofactorProduct,
    row: usize,
}

impl Row for FactorRow<'_> {
    #[inline(always)]
    fn operand(&self, number: usize) -> Operand<'_> {
        self.factors.operand(self.product, self.row, number)
    }
}

/// Room for products.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    tile: Tile,
    /// The rows group by group, and where each group begins.
    order: Vec<u32>,
    starts: Vec<u32>,
}

/// Products of single rows, each by itself; whether a count overflowed.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
pub(super) fn join_all(
    product: &CofactorProduct,
    factors: Factors<'_>,
    out: &mut Vec<u64>,
) -> bool {
    let (rows, width) = (factors.left_rows.len(), product.out().row_words());
    out.resize(rows * width + LANES, 0);
    let mut overflow = false;
    for row in 0..rows {
        if row + AHEAD < rows {
            factors.prefetch(product, row + AHEAD, row);
        }
        let mut count = 1i64;
        for number in 0..product.shapes.len() {
            let own = factors.operand(product, row, number).words[0];
            let (next, wrapped) = count.mul(own as i64);
            (count, overflow) = (next, overflow | wrapped);
        }
        let mut at = row * width;
        out[at] = count as u64;
        at += 1;
        // The words that one copy writes too far are overwritten by the next.
        for segment in &product.segments {
            let values = &factors.operand(product, row, segment.operand).words[1..];
            copy_words(out, at, &values[segment.start..], segment.len());
            at += segment.len();
        }
    }
    out.truncate(rows * width);
    overflow
}

/// `out[at..][..len] = from[..len]`, and perhaps more behind.
#[inline(always)]
fn copy_words(out: &mut [u64], at: usize, from: &[u64], len: usize) {
    if from.len() < padded(len) {
        out[at..][..len].copy_from_slice(&from[..len]);
        return;
    }
    for offset in (0..len).step_by(LANES) {
        let (out, from) = (&mut out[at + offset..], &from[offset..]);
        out[..LANES].copy_from_slice(&from[..LANES]);
    }
}

/// The sums of products of a batch, by group; whether a count overflowed. `out` has room for a
/// vector behind.
pub(super) fn multiply_all(
    product: &CofactorProduct,
    factors: Factors<'_>,
    groups: Groups<'_>,
    scratch: &mut Scratch,
    out: &mut [u64],
) -> bool {
    let Scratch {
        tile,
        order,
        starts,
    } = scratch;
    let runs = match groups {
        Groups::Each(_) => Runs {
            starts: None,
            order: None,
        },
        Groups::Runs { starts, .. } => Runs {
            starts: Some(starts),
            order: None,
        },
        Groups::Named { of, groups } => {
            by_group(of, groups, starts, order);
            Runs {
                starts: Some(starts),
                order: Some(order),
            }
        }
    };
    multiply_runs(product, factors, runs, tile, out)
}

/// Groups one after the other, without a list of their beginnings each row by itself.
#[derive(Clone, Copy)]
struct Runs<'a> {
    starts: Option<&'a [u32]>,
    /// The order of the rows, if they are not in group order already.
    order: Option<&'a [u32]>,
}

/// The rows of each group together, in their order.
fn by_group(of: &[u32], groups: usize, starts: &mut Vec<u32>, order: &mut Vec<u32>) {
    starts.clear();
    starts.resize(groups + 1, 0);
    of.iter().for_each(|&group| starts[group as usize + 1] += 1);
    let mut total = 0;
    for start in starts.iter_mut() {
        total += *start;
        *start = total;
    }
    order.clear();
    order.resize(of.len(), 0);
    for (row, &group) in (0u32..).zip(of) {
        let place = &mut starts[group as usize];
        order[*place as usize] = row;
        *place += 1;
    }
    // Each start has moved to the next one.
    starts.rotate_right(1);
    starts[0] = 0;
    starts.pop();
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
fn multiply_runs(
    product: &CofactorProduct,
    factors: Factors<'_>,
    runs: Runs<'_>,
    tile: &mut Tile,
    out: &mut [u64],
) -> bool {
    let blocks = &product.blocks;
    let (words, rows) = (product.out().words(), factors.left_rows.len());
    let groups = runs.starts.map_or(rows, <[u32]>::len);
    let row_at = |position: usize| {
        runs.order
            .map_or(position, |order| order[position] as usize)
    };
    let (mut overflow, mut position) = (false, 0);
    for group in 0..groups {
        let end = match runs.starts {
            None => group + 1,
            Some(starts) => starts.get(group + 1).map_or(rows, |&end| end as usize),
        };
        tile.begin(blocks);
        let mut total = 0;
        while position < end {
            let row = row_at(position);
            if position + AHEAD < rows {
                factors.prefetch(product, row_at(position + AHEAD), row);
            }
            let row = FactorRow {
                factors,
                product,
                row,
            };
            let count = tile.push(blocks, &row);
            overflow |= add_count(&mut total, count);
            position += 1;
        }
        let target = &mut out[group * words..];
        target[0] = total;
        tile.end(blocks, reals_mut(&mut target[1..]));
    }
    overflow
}
