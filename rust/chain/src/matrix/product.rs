//! The product of two dense parts, blocked for the caches and tiled for the registers.
//!
//! Panels of both operands are copied into the order in which the innermost loop reads them; a
//! tile of the result stays in registers for the length of a panel. Each value of the result is
//! summed in one order whatever the tiling: panel by panel, and within one from first to last.
//!
//! Cost: rows * depth * columns multiply-adds; room for two panels.

use multiversion::multiversion;
use ringview_core::{Error, Result};

use super::{Matrix, NARROW, Transposed, kernels};

/// A tile of the result: rows times columns.
const TILE_ROWS: usize = 4;
const TILE_COLUMNS: usize = 16;
/// Depth of a panel.
const DEPTH: usize = 256;
/// Rows of a panel of the left operand: together half of the second cache.
const BLOCK_ROWS: usize = 192;
/// Columns of a panel of the right operand: together within the third cache.
const BLOCK_COLUMNS: usize = 1024;
/// Multiply-adds between two looks for an interrupt.
const LOOK: usize = 1 << 30;

/// An operand as the packing reads it: its values, and the steps to the next row and column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand<'a> {
    pub(super) values: &'a [f64],
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Operand<'_> {
    /// Copies `outer` times `inner` values as strips `width` wide along the outer dimension, the
    /// last one filled up with zeros.
    #[inline(always)]
    fn pack(
        self,
        (outer_start, outer, outer_step): (usize, usize, usize),
        (inner_start, inner, inner_step): (usize, usize, usize),
        width: usize,
        out: &mut Vec<f64>,
    ) {
        out.clear();
        for start in (0..outer).step_by(width) {
            let here = width.min(outer - start);
            for at in 0..inner {
                let from = (outer_start + start) * outer_step + (inner_start + at) * inner_step;
                if outer_step == 1 {
                    out.extend_from_slice(&self.values[from..from + here]);
                } else {
                    out.extend((0..here).map(|next| self.values[from + next * outer_step]));
                }
                out.extend(std::iter::repeat_n(0.0, width - here));
            }
        }
    }
}

impl Matrix {
    pub(super) fn operand(&self, transposed: Transposed) -> Operand<'_> {
        let (row, column) = match transposed {
            Transposed::No => (self.columns, 1),
            Transposed::Yes => (1, self.columns),
        };
        Operand {
            values: &self.values,
            row,
            column,
        }
    }

    /// The product of two matrices, either of them transposed. `poll` is called now and then; its
    /// error stops the product.
    ///
    /// # Errors
    /// `Value` if the shapes do not fit or there is no room; `Overflow` if a sum leaves the range
    /// of doubles; what `poll` says.
    pub fn product(
        (left, left_transposed): (&Matrix, Transposed),
        (right, right_transposed): (&Matrix, Transposed),
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let shape = |matrix: &Matrix, transposed| match transposed {
            Transposed::No => (matrix.rows, matrix.columns),
            Transposed::Yes => (matrix.columns, matrix.rows),
        };
        let (rows, depth) = shape(left, left_transposed);
        let (other, columns) = shape(right, right_transposed);
        if depth != other {
            return Err(Error::Value {
                place: format!("a product of {rows} x {depth} and {other} x {columns}"),
                problem: format!("{depth} columns meet {other} rows"),
            });
        }
        let mut out = Self::zeros(rows, columns)?;
        let (left_values, right_values) = (
            left.operand(left_transposed),
            right.operand(right_transposed),
        );
        if rows.min(columns).min(depth) == 0 {
            return Ok(out);
        }
        // With few rows on one side, the other is walked once as it is.
        use Transposed::{No, Yes};
        let narrow = |matrix: &Matrix| matrix.rows <= NARROW;
        out.bound = match (left_transposed, right_transposed) {
            (No, No) if narrow(left) => {
                kernels::transposed_times(&right.values, depth, &left.values, &mut out.values)
            }
            (No, Yes) if narrow(left) => {
                kernels::times(&right.values, depth, &left.values, &mut out.values)
            }
            (Yes, No) if narrow(left) => {
                kernels::add_product(&mut out.values, rows, &left.values, &right.values)
            }
            _ => {
                add(left_values, right_values, depth, &mut out, poll)?;
                kernels::largest(&out.values)
            }
        };
        if out.bound.is_finite() {
            Ok(out)
        } else {
            Err(Error::Overflow {
                place: format!("a product of {rows} x {depth} and {depth} x {columns}"),
            })
        }
    }
}

/// The sum of the products of two packed strips.
#[inline(always)]
fn tile(left: &[f64], right: &[f64]) -> [[f64; TILE_COLUMNS]; TILE_ROWS] {
    let mut sums = [[0.0; TILE_COLUMNS]; TILE_ROWS];
    let (left, right) = (
        left.as_chunks::<TILE_ROWS>().0,
        right.as_chunks::<TILE_COLUMNS>().0,
    );
    for (left, right) in left.iter().zip(right) {
        for row in 0..TILE_ROWS {
            for column in 0..TILE_COLUMNS {
                sums[row][column] += left[row] * right[column];
            }
        }
    }
    sums
}

/// out += left * right, of packed panels; `out` begins at the panel's first value and has rows
/// `stride` apart. Returns the number of tiles.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
fn panels(
    left: &[f64],
    right: &[f64],
    depth: usize,
    shape: (usize, usize),
    out: &mut [f64],
    stride: usize,
) -> usize {
    let (rows, columns) = shape;
    let mut tiles = 0;
    for (at, right) in right.chunks_exact(depth * TILE_COLUMNS).enumerate() {
        let column = at * TILE_COLUMNS;
        let width = TILE_COLUMNS.min(columns - column);
        for (at, left) in left.chunks_exact(depth * TILE_ROWS).enumerate() {
            let row = at * TILE_ROWS;
            let sums = tile(left, right);
            for (row, sums) in (row..rows).zip(&sums) {
                let out = &mut out[row * stride + column..][..width];
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out += sum;
                }
            }
            tiles += 1;
        }
    }
    tiles
}

/// out += left * right, `depth` deep. `poll` is called now and then; its error stops it.
pub(super) fn add(
    left: Operand<'_>,
    right: Operand<'_>,
    depth: usize,
    out: &mut Matrix,
    poll: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let (rows, columns) = (out.rows, out.columns);
    let (mut left_panel, mut right_panel) = (Vec::new(), Vec::new());
    let mut done = 0;
    for column in (0..columns).step_by(BLOCK_COLUMNS) {
        let width = BLOCK_COLUMNS.min(columns - column);
        for start in (0..depth).step_by(DEPTH) {
            let deep = DEPTH.min(depth - start);
            let inner = (start, deep, right.row);
            let outer = (column, width, right.column);
            right.pack(outer, inner, TILE_COLUMNS, &mut right_panel);
            for row in (0..rows).step_by(BLOCK_ROWS) {
                let high = BLOCK_ROWS.min(rows - row);
                let inner = (start, deep, left.column);
                left.pack((row, high, left.row), inner, TILE_ROWS, &mut left_panel);
                let out = &mut out.values[row * columns + column..];
                let tiles = panels(&left_panel, &right_panel, deep, (high, width), out, columns);
                done += tiles * deep * TILE_ROWS * TILE_COLUMNS;
                if done >= LOOK {
                    done = 0;
                    poll()?;
                }
            }
        }
    }
    Ok(())
}
