//! Sums of products of degree-m payloads over many rows, a tile of rows at a time.
//!
//! Of operands A, B, .. with counts c, sums s and products Q, over the rows of one group (paper, section
//! 7.2, for any number of operands at once):
//!
//! s_A += w_A s_A,  Q_AA += w_A Q_A,  Q_AB += w_AB s_A s_B^T
//!
//! with w_A the product of the other counts, w_AB of those without both. The rows of a tile are laid out side by side,
//! so that a rectangle Q_AB is a product of two matrices whose sums stay in registers along the tile. Payloads of
//! copies of one row x have s = c x and Q = c x x^T, which is never made.
//!
//! The input alone determines the order of sums, which have no fused rounding. Invariant: between groups nothing of one
//! is left in the sums that the next reads. Cost: one multiplication a number of the product and row.

use super::blocks::{Block, Blocks, LANES, padded};
use super::outer::{Rows, Sums, TOGETHER, add_scaled, copy, load, outer_of, store, triangle};
use super::shape::add_count;
use crate::number::Number;
use crate::reals::{reals, reals_mut};

/// Numbers of a tile, and its rows: what is laid out stays in the nearest cache.
const TILE: usize = 1 << 11;
const ROWS: usize = 64;

/// One operand of one row.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    /// The payload, and what may lie behind it.
    pub(super) words: &'a [u64],
    /// Whether it has copies of one row, whose values follow the count.
    pub(super) single: bool,
}

/// One row: its operands, by number.
pub(super) trait Row {
    /// An operand.
    fn operand(&self, number: usize) -> Operand<'_>;
}

/// Room for a tile and the sums of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Tile {
    /// By row, the values or sums of all operands.
    values: Vec<f64>,
    /// The same times the counts of the other operands.
    weighted: Vec<f64>,
    /// The same times the counts of the operands that are neither theirs nor the one at hand.
    others: Vec<f64>,
    /// By row and operand.
    counts: Vec<f64>,
    single: Vec<bool>,
    /// By operand: the product of the other counts.
    weights: Vec<f64>,
    sums: Vec<f64>,
    /// By operand, whether its triangle holds something of this group.
    begun: Vec<bool>,
    /// Rows of a triangle.
    strip: Vec<f64>,
    /// Whether the other sums do.
    is_begun: bool,
    width: usize,
    /// Rows that there is room for, and that there are.
    rows: usize,
    filled: usize,
}

/// `out[at..][..len] = scale * from[start..][..len]`, and more behind: all have room of a vector there.
#[inline(always)]
fn write_scaled(out: &mut [f64], at: usize, scale: f64, from: &[f64], start: usize, len: usize) {
    for offset in (0..len).step_by(LANES) {
        let vector = load(from, start + offset).map(|value| scale * value);
        store(out, at + offset, vector);
    }
}

/// The values of an operand in their columns. Numbers written behind them are unused.
#[inline(always)]
fn lay_out(block: &Block, words: &[u64], values: &mut [f64]) {
    let (numbers, m) = (reals(&words[1..]), block.variables);
    if numbers.len() >= padded(m) {
        copy(values, block.at, numbers, 0, m);
    } else {
        values[block.at..][..m].copy_from_slice(&numbers[..m]);
    }
}

/// By operand the product of the other counts, that of `left_out` aside.
#[inline(always)]
fn weigh(counts: &[f64], left_out: Option<usize>, weights: &mut [f64]) {
    let mut before = 1.0;
    for (operand, (weight, count)) in weights.iter_mut().zip(counts).enumerate() {
        *weight = before;
        if left_out != Some(operand) {
            before *= count;
        }
    }
    let mut behind = 1.0;
    for (operand, (weight, count)) in weights.iter_mut().zip(counts).enumerate().rev() {
        *weight *= behind;
        if left_out != Some(operand) {
            behind *= count;
        }
    }
}

impl Tile {
    /// Makes room for a product, and begins a group.
    #[inline(always)]
    pub(super) fn begin(&mut self, blocks: &Blocks) {
        let operands = blocks.blocks.len();
        self.width = padded(blocks.variables) + LANES;
        self.rows = (TILE / self.width).clamp(1, ROWS);
        fit(&mut self.values, self.rows * self.width);
        fit(&mut self.weighted, self.rows * self.width);
        fit(&mut self.others, self.rows * self.width);
        fit(&mut self.counts, self.rows * operands);
        fit(&mut self.weights, operands);
        fit(&mut self.sums, blocks.sums);
        fit(&mut self.strip, TOGETHER * self.width);
        if self.single.len() < self.rows * operands {
            self.single.resize(self.rows * operands, false);
        }
        self.begun.clear();
        self.begun.resize(operands, false);
        self.is_begun = false;
        self.filled = 0;
    }

    /// Takes the operands of one more row; the count of the row, and whether that overflowed.
    #[inline(always)]
    pub(super) fn push(&mut self, blocks: &Blocks, row: &impl Row) -> (i64, bool) {
        if self.filled == self.rows {
            self.flush(blocks);
        }
        let (width, operands, at) = (self.width, blocks.blocks.len(), self.filled);
        self.filled += 1;
        let counts = &mut self.counts[at * operands..][..operands];
        let single = &mut self.single[at * operands..][..operands];
        let (mut count, mut overflow, mut all_single) = (1i64, false, true);
        for operand in 0..operands {
            let one = row.operand(operand);
            let own = one.words[0] as i64;
            let (product, wrapped) = count.mul(own);
            (count, overflow) = (product, overflow | wrapped);
            counts[operand] = own as f64;
            single[operand] = one.single;
            all_single &= one.single;
        }
        let values = &mut self.values[at * width..][..width];
        let weighted = &mut self.weighted[at * width..][..width];
        if all_single {
            for block in &blocks.blocks {
                lay_out(block, row.operand(block.operand).words, values);
            }
            write_scaled(weighted, 0, count as f64, values, 0, blocks.variables);
            store(weighted, blocks.variables, [0.0; LANES]);
            return (count, overflow);
        }
        let weights = &mut self.weights[..operands];
        weigh(counts, None, weights);
        for block in &blocks.blocks {
            let (words, m) = (row.operand(block.operand).words, block.variables);
            lay_out(block, words, values);
            let weight = weights[block.operand];
            if single[block.operand] {
                let scale = weight * counts[block.operand];
                write_scaled(weighted, block.at, scale, values, block.at, m);
                continue;
            }
            write_scaled(weighted, block.at, weight, values, block.at, m);
            let own = &reals(&words[1 + m..])[..m * (m + 1) / 2];
            let begun = std::mem::replace(&mut self.begun[block.operand], true);
            let triangle = &mut self.sums[block.triangle..][..own.len()];
            add_scaled(triangle, weight, own, begun);
        }
        // The numbers that were written too far are unused.
        store(weighted, blocks.variables, [0.0; LANES]);
        (count, overflow)
    }

    /// Adds the rows of the tile to the sums.
    #[inline(always)]
    fn flush(&mut self, blocks: &Blocks) {
        let (rows, width, operands) = (self.filled, self.width, blocks.blocks.len());
        if rows == 0 {
            return;
        }
        self.filled = 0;
        for vector in (0..padded(blocks.variables)).step_by(LANES) {
            let mut sum = match self.is_begun {
                true => load(&self.sums, vector),
                false => [0.0; LANES],
            };
            for row in 0..rows {
                let next = load(&self.weighted, row * width + vector);
                for lane in 0..LANES {
                    sum[lane] += next[lane];
                }
            }
            store(&mut self.sums, vector, sum);
        }
        for block in &blocks.blocks {
            let single = (0..rows).filter(|row| self.single[row * operands + block.operand]);
            let single = single.count();
            if single == rows {
                let own = (
                    Rows::of(&self.values, width, block.at),
                    Rows::of(&self.weighted, width, block.at),
                );
                let begun = std::mem::replace(&mut self.begun[block.operand], true);
                let (out, m) = (&mut self.sums[block.triangle..], block.variables);
                triangle(own, rows, m, out, begun, &mut self.strip);
            } else if single > 0 {
                self.add_singles(block, rows, operands);
            }
            if block.stride == 0 {
                continue;
            }
            if single < rows {
                self.weigh_others(blocks, block, rows);
            }
            let numbers = match single == rows {
                true => &self.weighted,
                false => &self.others,
            };
            let (x, u) = (
                Rows::of(&self.values, width, block.at),
                Rows::of(numbers, width, block.end()),
            );
            let len = blocks.variables - block.end();
            for first in (0..block.variables).step_by(TOGETHER) {
                let factors = TOGETHER.min(block.variables - first);
                let mut out = Sums {
                    numbers: &mut self.sums[block.rectangle + first * block.stride..],
                    stride: block.stride,
                    begun: self.is_begun,
                };
                outer_of(factors, x.from(first), u, rows, len, &mut out);
            }
        }
        self.is_begun = true;
    }

    /// The triangle of an operand that has copies of one row in some rows of the tile.
    #[inline(always)]
    fn add_singles(&mut self, block: &Block, rows: usize, operands: usize) {
        let m = block.variables;
        let triangle = &mut self.sums[block.triangle..][..m * (m + 1) / 2];
        // The rows that do not have begun it.
        for row in (0..rows).filter(|row| self.single[row * operands + block.operand]) {
            let at = row * self.width + block.at;
            let (x, u) = (&self.values[at..][..m], &self.weighted[at..][..m]);
            let mut rest = &mut *triangle;
            for variable in 0..m {
                let (here, behind) = rest.split_at_mut(m - variable);
                add_scaled(here, x[variable], &u[variable..], true);
                rest = behind;
            }
        }
    }

    /// Factors for the columns behind a block, to multiply them with its own values: all counts but theirs, and its own
    /// unless it has copies of one row.
    #[inline(always)]
    fn weigh_others(&mut self, blocks: &Blocks, block: &Block, rows: usize) {
        let (width, operands) = (self.width, blocks.blocks.len());
        for row in 0..rows {
            let counts = &self.counts[row * operands..][..operands];
            let single = &self.single[row * operands..][..operands];
            let values = &self.values[row * width..][..width];
            let others = &mut self.others[row * width..][..width];
            let left_out = (!single[block.operand]).then_some(block.operand);
            weigh(counts, left_out, &mut self.weights);
            let further = blocks.blocks.iter().filter(|other| other.at >= block.end());
            for other in further.filter(|other| other.variables > 0) {
                let scale = match single[other.operand] {
                    true => self.weights[other.operand] * counts[other.operand],
                    false => self.weights[other.operand],
                };
                write_scaled(others, other.at, scale, values, other.at, other.variables);
            }
            store(others, blocks.variables, [0.0; LANES]);
        }
    }

    /// Ends a group: its sums without the count, in the order of the product. `out` has room of a vector
    /// behind.
    #[inline(always)]
    pub(super) fn end(&mut self, blocks: &Blocks, out: &mut [f64]) {
        self.flush(blocks);
        for part in &blocks.copies {
            let (to, from, len) = (part.to as usize, part.from as usize, part.len as usize);
            copy(out, to, &self.sums, from, len);
        }
    }
}

fn fit(buffer: &mut Vec<f64>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
}

/// Buffers for lifting runs of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct LiftScratch {
    weighted: Vec<f64>,
    strip: Vec<f64>,
}

impl LiftScratch {
    /// The sums of times * (1, x, x x^T) over consecutive rows x of m values; whether the count
    /// overflowed. The values and `out` have room of a vector behind.
    #[inline(always)]
    pub(super) fn lift(
        &mut self,
        (values, times): (&[f64], &[i64]),
        m: usize,
        out: &mut [u64],
    ) -> bool {
        let rows = times.len();
        let (mut count, mut overflow, mut once) = (0, false, true);
        for &times in times {
            overflow |= add_count(&mut count, (times, false));
            once &= times == 1;
        }
        out[0] = count;
        let out = reals_mut(&mut out[1..]);
        fit(&mut self.strip, TOGETHER * (padded(m) + LANES));
        if !once {
            self.weighted.clear();
            for (x, &times) in values.chunks_exact(m.max(1)).zip(times) {
                self.weighted.extend(x.iter().map(|x| times as f64 * x));
            }
            self.weighted.resize(rows * m + LANES, 0.0);
        }
        let u = if once { values } else { &self.weighted };
        for offset in (0..m).step_by(LANES) {
            let mut sum = [0.0; LANES];
            for row in 0..rows {
                let next = load(u, row * m + offset);
                for lane in 0..LANES {
                    sum[lane] += next[lane];
                }
            }
            store(out, offset, sum);
        }
        let of = |numbers| Rows { numbers, stride: m };
        let (x, u) = (of(values), of(u));
        triangle((x, u), rows, m, &mut out[m..], false, &mut self.strip);
        overflow
    }
}
