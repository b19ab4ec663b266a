//! Products of degree-m payloads (paper, section 7.2).
//!
//! c = c1 c2,  s = (c2 s1, c1 s2),  Q = (c2 Q1, s1 s2^T; ., c1 Q2)
//!
//! A payload that stands for c copies of one row x is (c, c x, c x x^T). As long as a delta holds
//! such rows alone it carries (c, x), m + 1 words, and the product of two is (c1 c2, (x1, x2)); it
//! becomes a full payload where rows are summed or meet a group of several. Of a view over bags, a
//! payload with count 1 is that of one row, so that only its sums are read: memory is what bounds
//! wide products.
//!
//! Sums are in an order that the input alone tells, without fused rounding: the same input gives
//! the same bits on every machine. Cost: one multiplication a word of the product.

use multiversion::multiversion;
use ringview_core::prefetch;

use super::shape::{CofactorShape, add_count};
use super::terms::{LANES, Segment, Terms, segments};
use crate::number::Number;
use crate::payload::{Groups, Rows, Slab};
use crate::reals::{reals, reals_mut};

/// Rows of a run that are multiplied at a time: what they are added to is read and written once.
const TOGETHER: usize = 4;

/// Words of operands to come that are asked for ahead, and words of a cache line.
const AHEAD: usize = 512;
const LINE: usize = 8;

/// How two payloads multiply: where the variables of each operand go in the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CofactorProduct {
    shapes: [CofactorShape; 2],
    segments: Vec<Segment>,
    terms: Terms,
    /// Of each operand, and of the product: a payload from one row.
    squares: [Terms; 2],
    square: Terms,
}

impl CofactorProduct {
    /// A product whose variables are those of both operands in ascending order of `left` and
    /// `right`, which name them: each ascending, none in both.
    #[must_use]
    pub fn new(left: &[usize], right: &[usize]) -> Self {
        let shape = |variables: usize| CofactorShape { variables };
        let shapes = [shape(left.len()), shape(right.len())];
        let segments = segments(left, right);
        Self {
            shapes,
            terms: Terms::product(shapes, &segments),
            squares: shapes.map(Terms::square),
            square: Terms::square(shape(left.len() + right.len())),
            segments,
        }
    }

    pub(super) fn left(&self) -> CofactorShape {
        self.shapes[0]
    }

    pub(super) fn out(&self) -> CofactorShape {
        CofactorShape {
            variables: self.shapes[0].variables + self.shapes[1].variables,
        }
    }
}

/// The operands of the rows of a product.
#[derive(Clone, Copy)]
pub(super) struct Factors<'a> {
    pub(super) left: Slab<'a>,
    pub(super) left_rows: Rows<'a>,
    pub(super) right: Slab<'a>,
    pub(super) slots: &'a [u32],
}

/// One operand of one row.
#[derive(Clone, Copy)]
struct Operand<'a> {
    words: &'a [u64],
    /// Whether it stands for copies of one row, whose values follow the count.
    single: bool,
}

impl<'a> Factors<'a> {
    #[inline(always)]
    fn pair(&self, product: &CofactorProduct, row: usize) -> [Operand<'a>; 2] {
        let from = match self.left_rows {
            Rows::All(_) => row,
            Rows::Picked(rows) => rows[row] as usize,
        };
        let [left, right] = product.shapes;
        let slot = self.slots[row] as usize;
        [
            Operand {
                words: self.left.row(from),
                single: left.is_row(self.left, from),
            },
            Operand {
                words: self.right.row(slot),
                single: right.is_row(self.right, slot),
            },
        ]
    }

    /// Whether all operands are single rows.
    #[inline(always)]
    pub(super) fn single(&self, product: &CofactorProduct) -> bool {
        let [left, right] = product.shapes;
        let mut slots = self.slots.iter();
        self.left.width() == left.row_words()
            && slots.all(|&slot| right.is_row(self.right, slot as usize))
    }

    /// Asks for the first words of the right operand of a row some rows ahead of this one.
    #[inline(always)]
    fn prefetch(&self, row: usize, words: usize) {
        let ahead = (AHEAD / words).clamp(1, 8);
        if let Some(&slot) = self.slots.get(row + ahead) {
            for line in (0..words).step_by(LINE) {
                prefetch(
                    self.right.words(),
                    slot as usize * self.right.width() + line,
                );
            }
        }
    }
}

/// Room for the rows that are multiplied together, and for their sum.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    rows: [RowScratch; TOGETHER],
    sum: Vec<f64>,
}

/// Everything has room of a vector behind.
#[derive(Clone, Debug, Default)]
struct RowScratch {
    /// The count and the sums of each operand.
    scales: Vec<f64>,
    /// The values of each operand, where they are not read in place.
    values: [Vec<f64>; 2],
    /// The values of one row.
    row: Vec<f64>,
}

impl Scratch {
    /// Makes room for a product.
    pub(super) fn fit(&mut self, product: &CofactorProduct) {
        let fit = |room: &mut Vec<f64>, len: usize| {
            if room.len() < len {
                room.resize(len, 0.0);
            }
        };
        let values = |shape: CofactorShape| shape.words() - 1 + LANES;
        let variables = product.out().variables;
        for row in &mut self.rows {
            fit(&mut row.scales, variables + 2);
            for (room, shape) in row.values.iter_mut().zip(product.shapes) {
                fit(room, values(shape));
            }
            fit(&mut row.row, variables + LANES);
        }
        fit(&mut self.sum, values(product.out()));
    }
}

impl RowScratch {
    /// Makes the operands of a row ready; which of them are to be read in place.
    #[inline(always)]
    fn load(&mut self, product: &CofactorProduct, pair: [Operand<'_>; 2]) -> [bool; 2] {
        let mut at = 0;
        let mut in_place = [false; 2];
        for side in [0, 1] {
            let Operand { words, single } = pair[side];
            let variables = product.shapes[side].variables;
            let values = reals(&words[1..]);
            let scales = &mut self.scales[at..][..variables + 1];
            scales[0] = words[0] as i64 as f64;
            if single {
                self.row[..variables].copy_from_slice(&values[..variables]);
                let count = scales[0];
                for (scale, x) in scales[1..].iter_mut().zip(values) {
                    *scale = count * x;
                }
                let out = &mut self.values[side];
                product.squares[side].write([[&self.row]; 2], [scales], out);
            } else {
                scales[1..].copy_from_slice(&values[..variables]);
                in_place[side] = !product.terms.beyond[side];
                if !in_place[side] {
                    self.values[side][..values.len()].copy_from_slice(values);
                }
            }
            at += variables + 1;
        }
        in_place
    }

    /// The one row that two single rows make.
    #[inline(always)]
    fn join(&mut self, product: &CofactorProduct, pair: [Operand<'_>; 2]) {
        let (mut at, values) = (0, pair.map(|operand| reals(&operand.words[1..])));
        for segment in &product.segments {
            let from = &values[segment.side][segment.start..segment.end];
            self.row[at..][..from.len()].copy_from_slice(from);
            at += from.len();
        }
        let count = (pair[0].words[0] as i64 as f64) * (pair[1].words[0] as i64 as f64);
        self.scales[0] = count;
        for (scale, x) in self.scales[1..=at].iter_mut().zip(&self.row) {
            *scale = count * x;
        }
    }
}

impl CofactorProduct {
    /// The sum over the rows of left * right, without the counts. `out` has room behind.
    #[inline(always)]
    fn write<const ROWS: usize>(
        &self,
        pairs: [[Operand<'_>; 2]; ROWS],
        rows: &mut [RowScratch; TOGETHER],
        out: &mut [f64],
    ) {
        if pairs.iter().flatten().all(|operand| operand.single) {
            for (row, pair) in rows.iter_mut().zip(pairs) {
                row.join(self, pair);
            }
            let values: [&[f64]; ROWS] = std::array::from_fn(|row| &rows[row].row[..]);
            let scales: [&[f64]; ROWS] = std::array::from_fn(|row| &rows[row].scales[..]);
            self.square.write([values; 2], scales, out);
            return;
        }
        let mut in_place = [[false; 2]; ROWS];
        for row in 0..ROWS {
            in_place[row] = rows[row].load(self, pairs[row]);
        }
        let operands: [[&[f64]; ROWS]; 2] = std::array::from_fn(|side| {
            std::array::from_fn(|row| match in_place[row][side] {
                true => reals(&pairs[row][side].words[1..]),
                false => &rows[row].values[side][..],
            })
        });
        let scales: [&[f64]; ROWS] = std::array::from_fn(|row| &rows[row].scales[..]);
        self.terms.write(operands, scales, out);
    }
}

/// target += sum
#[inline(always)]
fn add_values(target: &mut [u64], sum: &[f64]) {
    for (target, sum) in reals_mut(target).iter_mut().zip(sum) {
        *target += sum;
    }
}

/// The product of the counts; whether it overflowed.
#[inline(always)]
fn count([left, right]: [Operand<'_>; 2]) -> (i64, bool) {
    (left.words[0] as i64).mul(right.words[0] as i64)
}

/// Products of single rows, each by itself; whether a count overflowed.
pub(super) fn join_all(
    product: &CofactorProduct,
    factors: Factors<'_>,
    out: &mut Vec<u64>,
) -> bool {
    let mut overflow = false;
    out.clear();
    for row in 0..factors.slots.len() {
        factors.prefetch(row, product.shapes[1].row_words());
        let pair = factors.pair(product, row);
        let (count, wrapped) = count(pair);
        overflow |= wrapped;
        out.push(count as u64);
        for segment in &product.segments {
            let values = &pair[segment.side].words[1..];
            out.extend_from_slice(&values[segment.start..segment.end]);
        }
    }
    overflow
}

/// The sums of products of a batch, by group; whether a count overflowed. `out` is zero, unless
/// each row is its own group, and has room for a vector behind.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
pub(super) fn multiply_all(
    product: &CofactorProduct,
    factors: Factors<'_>,
    groups: Groups<'_>,
    scratch: &mut Scratch,
    out: &mut [u64],
) -> bool {
    let words = product.out().words();
    let Scratch { rows: room, sum } = scratch;
    let (narrow, full) = (product.shapes[1].row_words(), factors.right.width());
    let mut overflow = false;
    // What is read of the next operands is likely what was read of the last.
    let read = |pair: [Operand<'_>; 2]| if pair[1].single { narrow } else { full };
    let mut ahead = full;
    match groups {
        Groups::Each(rows) => {
            for row in 0..rows {
                factors.prefetch(row, ahead);
                let pair = factors.pair(product, row);
                ahead = read(pair);
                let target = &mut out[row * words..];
                target[0] = 0;
                overflow |= add_count(&mut target[0], count(pair));
                product.write([pair], room, reals_mut(&mut target[1..]));
            }
        }
        Groups::Named { of, .. } => {
            for (row, &group) in of.iter().enumerate() {
                factors.prefetch(row, ahead);
                let pair = factors.pair(product, row);
                ahead = read(pair);
                let target = &mut out[group as usize * words..][..words];
                overflow |= add_count(&mut target[0], count(pair));
                product.write([pair], room, sum);
                add_values(&mut target[1..], sum);
            }
        }
        Groups::Runs { starts, rows } => {
            for (group, &start) in starts.iter().enumerate() {
                let target = &mut out[group * words..][..words];
                let end = starts.get(group + 1).map_or(rows, |&end| end as usize);
                let mut row = start as usize;
                while row < end {
                    let pair = factors.pair(product, row);
                    ahead = read(pair);
                    let taken = if row + TOGETHER <= end {
                        let together: [_; TOGETHER] = std::array::from_fn(|next| {
                            factors.prefetch(row + next, ahead);
                            factors.pair(product, row + next)
                        });
                        for pair in together {
                            overflow |= add_count(&mut target[0], count(pair));
                        }
                        product.write(together, room, sum);
                        TOGETHER
                    } else {
                        factors.prefetch(row, ahead);
                        overflow |= add_count(&mut target[0], count(pair));
                        product.write([pair], room, sum);
                        1
                    };
                    add_values(&mut target[1..], sum);
                    row += taken;
                }
            }
        }
    }
    overflow
}
