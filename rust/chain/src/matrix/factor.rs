//! A delta in factors: sum over c of `left[c] right[c]^T`, two relations of one variable each a
//! term (paper, section 5: factorisable updates).
//!
//! A factor that names single rows or columns says so instead of holding zeros: then a join with a
//! matrix picks rows or columns, and only the rows named are written.
//!
//! Cost: of a join with a matrix, rank times its size at most; of adding, the same.

use std::sync::Arc;

use ringview_core::{Error, Result};

use super::{Matrix, NARROW, Transposed, kernels, product};

/// One side of a factorised delta: `rank` vectors.
#[derive(Clone, Debug, PartialEq)]
pub enum MatrixFactor {
    /// Unit vectors: 1 at the place given, 0 elsewhere.
    Units(Arc<Vec<usize>>),
    /// The vectors, as the rows of a matrix.
    Dense(Arc<Matrix>),
}

impl MatrixFactor {
    /// Unit vectors at these places.
    #[must_use]
    pub fn units(places: Vec<usize>) -> Self {
        Self::Units(Arc::new(places))
    }

    /// The rows of a matrix.
    #[must_use]
    pub fn dense(vectors: Matrix) -> Self {
        Self::Dense(Arc::new(vectors))
    }

    /// Number of vectors.
    #[must_use]
    pub fn rank(&self) -> usize {
        match self {
            Self::Units(places) => places.len(),
            Self::Dense(vectors) => vectors.rows,
        }
    }

    /// No value has a larger magnitude.
    #[must_use]
    pub fn bound(&self) -> f64 {
        match self {
            Self::Units(_) => 1.0,
            Self::Dense(vectors) => vectors.bound,
        }
    }

    /// matrix * u for each vector u.
    ///
    /// # Errors
    /// As [`Matrix::product`].
    pub fn times(&self, matrix: &Matrix, poll: &mut dyn FnMut() -> Result<()>) -> Result<Self> {
        match self {
            Self::Units(places) => {
                let mut out = Matrix::zeros(places.len(), matrix.rows)?;
                for row in 0..matrix.rows {
                    let values = matrix.row(row);
                    for (c, &place) in places.iter().enumerate() {
                        out.values[c * matrix.rows + row] = values[place];
                    }
                }
                out.bound = kernels::largest(&out.values);
                Ok(Self::dense(out))
            }
            Self::Dense(vectors) => {
                let (u, matrix) = ((&**vectors, Transposed::No), (matrix, Transposed::Yes));
                Matrix::product(u, matrix, poll).map(Self::dense)
            }
        }
    }

    /// v^T * matrix for each vector v.
    ///
    /// # Errors
    /// As [`Matrix::product`].
    pub fn transposed_times(
        &self,
        matrix: &Matrix,
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        match self {
            Self::Units(places) => {
                let mut out = Matrix::zeros(places.len(), matrix.columns)?;
                for (c, &place) in places.iter().enumerate() {
                    out.row_mut(c).copy_from_slice(matrix.row(place));
                }
                out.bound = kernels::largest(&out.values);
                Ok(Self::dense(out))
            }
            Self::Dense(vectors) => {
                let (v, matrix) = ((&**vectors, Transposed::No), (matrix, Transposed::No));
                Matrix::product(v, matrix, poll).map(Self::dense)
            }
        }
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        match self {
            Self::Units(places) => places.capacity() * size_of::<usize>(),
            Self::Dense(vectors) => vectors.memory_usage(),
        }
    }
}

impl Matrix {
    /// A factorised delta multiplied out, a matrix of `rows` times `columns`.
    ///
    /// # Errors
    /// As [`Matrix::product`].
    pub fn multiplied_out(
        left: &MatrixFactor,
        right: &MatrixFactor,
        (rows, columns): (usize, usize),
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        if let (MatrixFactor::Dense(left), MatrixFactor::Dense(right)) = (left, right) {
            return Self::product((left, Transposed::Yes), (right, Transposed::No), poll);
        }
        let mut out = Self::zeros(rows, columns)?;
        out.check(left, right)?;
        out.add(left, right);
        Ok(out)
    }

    /// Whether the sum of this matrix and a factorised delta stays in the range of doubles; nothing
    /// is written. O(1), or O(values) where the numbers are huge.
    ///
    /// # Errors
    /// `Overflow` if it could leave it.
    pub fn check(&mut self, left: &MatrixFactor, right: &MatrixFactor) -> Result<()> {
        let moved = left.rank() as f64 * left.bound() * right.bound();
        // Half of the range: the other half is for what rounding adds to the bound.
        if self.bound + moved > f64::MAX / 2.0 {
            self.bound = kernels::largest(&self.values);
        }
        if self.bound + moved <= f64::MAX / 2.0 {
            return Ok(());
        }
        Err(Error::Overflow {
            place: format!("a matrix of {} x {}", self.rows, self.columns),
        })
    }

    /// Adds a factorised delta that [`check`](Self::check) let through.
    pub fn add(&mut self, left: &MatrixFactor, right: &MatrixFactor) {
        let written = match (left, right) {
            (MatrixFactor::Units(rows), MatrixFactor::Dense(v)) => self.add_rows(rows, v),
            (MatrixFactor::Units(rows), MatrixFactor::Units(columns)) => {
                let mut most = 0.0f64;
                for (&row, &column) in rows.iter().zip(&**columns) {
                    let value = &mut self.row_mut(row)[column];
                    *value += 1.0;
                    most = most.max(value.abs());
                }
                most
            }
            (MatrixFactor::Dense(u), MatrixFactor::Units(columns)) => self.add_columns(u, columns),
            (MatrixFactor::Dense(u), MatrixFactor::Dense(v)) if u.rows <= NARROW => {
                let empty = u.rows == 0 || self.values.is_empty();
                if empty {
                    return;
                }
                kernels::add_product(&mut self.values, self.rows, &u.values, &v.values)
            }
            (MatrixFactor::Dense(u), MatrixFactor::Dense(v)) => {
                let (u, v) = (u.operand(Transposed::Yes), v.operand(Transposed::No));
                // Its only error is that of its poll, which has none.
                let _ = product::add(u, v, left.rank(), self, &mut || Ok(()));
                kernels::largest(&self.values)
            }
        };
        self.bound = self.bound.max(written);
    }

    fn add_rows(&mut self, rows: &[usize], v: &Matrix) -> f64 {
        let mut most = 0.0f64;
        for (c, &row) in rows.iter().enumerate() {
            let values = self.row_mut(row);
            for (value, v) in values.iter_mut().zip(v.row(c)) {
                *value += v;
            }
            most = most.max(kernels::largest(values));
        }
        most
    }

    fn add_columns(&mut self, u: &Matrix, columns: &[usize]) -> f64 {
        let mut most = 0.0f64;
        for row in 0..self.rows {
            for (c, &column) in columns.iter().enumerate() {
                let by = u.row(c)[row];
                let value = &mut self.row_mut(row)[column];
                *value += by;
                most = most.max(value.abs());
            }
        }
        most
    }
}
