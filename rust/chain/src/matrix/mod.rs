//! A part whose keys fill two dense ranges and whose payloads are reals: an array, row by row.
//!
//! Invariant: every value is finite, and its magnitude at most `bound`. So a sum that could leave
//! the range of a double is known before anything is written, and refused.
//!
//! Cost: 8 bytes a key. Joins with a relation of one variable (a matrix times a vector) take
//! rows * columns multiply-adds, joins with another matrix rows * depth * columns.

mod factor;
mod kernels;
mod product;

use ringview_core::{Error, Result};

pub use factor::MatrixFactor;
use product::Operand;

/// Up to this rank a product walks over the matrix; above, it is worth copying it into panels.
const NARROW: usize = 8;

/// Whether something of a matrix is read as it stands or with rows and columns exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transposed {
    /// As it stands.
    No,
    /// Rows and columns exchanged.
    Yes,
}

/// A matrix of finite reals, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
    bound: f64,
}

/// Room for so many values, all 0.
fn room(rows: usize, columns: usize) -> Result<Vec<f64>> {
    let refused = || Error::Value {
        place: format!("a matrix of {rows} x {columns}"),
        problem: "there is not enough memory for it".to_owned(),
    };
    let cells = rows.checked_mul(columns).ok_or_else(refused)?;
    let mut values = Vec::new();
    values.try_reserve_exact(cells).map_err(|_| refused())?;
    values.resize(cells, 0.0);
    Ok(values)
}

impl Matrix {
    /// A matrix of zeros.
    ///
    /// # Errors
    /// `Value` if there is no room for it.
    pub fn zeros(rows: usize, columns: usize) -> Result<Self> {
        Ok(Self {
            rows,
            columns,
            values: room(rows, columns)?,
            bound: 0.0,
        })
    }

    /// A matrix of the values given, row by row.
    ///
    /// # Errors
    /// `Value` if they are not `rows * columns`, or one of them is not finite.
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Result<Self> {
        if Some(values.len()) != rows.checked_mul(columns) {
            return Err(Error::Value {
                place: format!("a matrix of {rows} x {columns}"),
                problem: format!("it has {} values", values.len()),
            });
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::Value {
                place: format!("row {}, column {}", at / columns, at % columns),
                problem: format!("{} is not a finite number", values[at]),
            });
        }
        let bound = kernels::largest(&values);
        Ok(Self {
            rows,
            columns,
            values,
            bound,
        })
    }

    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The values, row by row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values of a row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.columns..][..self.columns]
    }

    /// A factorised delta multiplied out.
    ///
    /// # Errors
    /// As [`Matrix::product`].
    pub fn multiplied_out(
        left: &MatrixFactor,
        right: &MatrixFactor,
        shape: (usize, usize),
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        factor::multiply_out(left, right, shape, poll)
    }

    /// No value has a larger magnitude.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.values.capacity() * size_of::<f64>()
    }

    fn operand(&self, transposed: Transposed) -> Operand<'_> {
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

    /// The product of two matrices, either of them transposed. `poll` is asked now and then whether
    /// to go on.
    ///
    /// # Errors
    /// `Value` if the shapes do not fit or there is no room; `Overflow` if a sum leaves the range of
    /// doubles; what `poll` says.
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
        // With few rows on one side, the other is walked once as it stands.
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
                product::add(left_values, right_values, depth, &mut out, poll)?;
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
