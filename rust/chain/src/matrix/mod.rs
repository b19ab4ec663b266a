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

/// Up to this rank a product walks over the matrix; above, it is worth copying it into panels.
const NARROW: usize = 8;

/// Whether a part of a matrix is read as it is or with rows and columns exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transposed {
    /// As it is.
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

/// A matrix of zeros, as its values.
fn zeros(rows: usize, columns: usize) -> Result<Vec<f64>> {
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
            values: zeros(rows, columns)?,
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

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
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
}
