//! A chain of matrices, its product kept fresh: F-IVM over dense two-dimensional parts.
//!
//! Matrices are relations A_i[X_i, X_i+1] -> real, the product is their join with all inner
//! variables marginalised (paper, section 7.1), its view tree a bracketing of the chain. The delta
//! rule is that of every view tree, with deltas in factors (section 5).
//!
//! Invariant: every stored view equals its product over the matrices as they are, within
//! eps * (p + updates) * the same product over magnitudes; `refresh` starts anew from the matrices.
//!
//! | file | holds |
//! |---|---|
//! | `order` | the bracketing, by dynamic programming |
//! | `views` | the tree and which of its views are stored |
//! | `update` | a factorised delta on its way to the result |
//! | `decompose` | factors found in a given delta |
//! | `matrix/` | a part whose keys fill two dense ranges: an array of reals, and products of them |
//! | `explain` | what there is, and what a change costs |

mod decompose;
mod explain;
mod matrix;
mod order;
mod update;
mod views;

use std::sync::Arc;

use ringview_core::{Error, Result};

pub use matrix::{Matrix, MatrixFactor, Transposed};

use order::Order;
use update::{name, shape};
use views::Views;

/// Callback of a long call between products: an error stops it, and nothing has changed.
pub type ChainPoll<'a> = &'a mut dyn FnMut() -> Result<()>;

/// The product of a chain of matrices, fresh under changes of any of them.
#[derive(Clone, Debug)]
pub struct MatrixChain {
    views: Views,
    order: Order,
    matrices: usize,
    steps: u64,
}

/// A refused value, with the words for where.
fn wrong(place: impl Into<String>, problem: impl Into<String>) -> Error {
    Error::Value {
        place: place.into(),
        problem: problem.into(),
    }
}

impl MatrixChain {
    /// Computes the product of the matrices. Those not named by `changing` cannot be changed: fewer
    /// views are kept for them. Without `changing` all can.
    ///
    /// # Errors
    /// `Value` for a chain without matrices, shapes that do not follow each other, a matrix that
    /// does not exist, or too little memory; `Overflow` if a product leaves the range of doubles;
    /// what `poll` says.
    pub fn new(
        matrices: Vec<Matrix>,
        changing: Option<&[usize]>,
        poll: ChainPoll<'_>,
    ) -> Result<Self> {
        let Some(first) = matrices.first() else {
            return Err(wrong(
                "a matrix chain",
                "it has no matrices; give one or more",
            ));
        };
        let mut dimensions = vec![first.rows()];
        for (at, matrix) in matrices.iter().enumerate() {
            let before = dimensions[at];
            if matrix.rows() != before {
                return Err(wrong(
                    format!("matrix {at} of the chain"),
                    format!(
                        "it has {} rows, but matrix {} has {before} columns",
                        matrix.rows(),
                        at - 1
                    ),
                ));
            }
            dimensions.push(matrix.columns());
        }
        let mut moving = vec![changing.is_none(); matrices.len()];
        for &at in changing.unwrap_or_default() {
            let moves = moving.get_mut(at).ok_or_else(|| {
                wrong(
                    "`changing`",
                    format!("there is no matrix {at}: the chain has {}", matrices.len()),
                )
            })?;
            *moves = true;
        }
        let order = order::choose(&dimensions, &moving);
        let count = matrices.len();
        let mut views = Views::new(matrices, &moving, &order);
        let steps = views.compute(poll)?;
        Ok(Self {
            views,
            order,
            matrices: count,
            steps,
        })
    }

    /// Number of matrices.
    #[must_use]
    pub fn matrices(&self) -> usize {
        self.matrices
    }

    /// A matrix as it is now. The `Arc` keeps this state: the next change of the matrix works on a
    /// copy.
    ///
    /// # Errors
    /// `Value` if there is none at this position.
    pub fn matrix(&self, at: usize) -> Result<Arc<Matrix>> {
        let known = self.views.nodes[..self.matrices].get(at);
        known
            .and_then(|view| view.part.clone())
            .ok_or_else(|| self.no_matrix(at))
    }

    fn no_matrix(&self, at: usize) -> Error {
        wrong(
            "a matrix chain",
            format!("there is no matrix {at}: the chain has {}", self.matrices),
        )
    }

    /// The product as it is now, under the same terms as [`matrix`](Self::matrix).
    #[must_use]
    pub fn product(&self) -> Arc<Matrix> {
        match &self.views.nodes[self.views.root()].part {
            Some(part) => Arc::clone(part),
            None => unreachable!("the result is stored"),
        }
    }

    /// Adds the sum of `u[c] v[c]^T` to a matrix, for the rows c of `u` and `v`. O(rank p^2) a
    /// level.
    ///
    /// # Errors
    /// `Value` if there is no such matrix, it was declared static, or the shapes do not fit;
    /// `Overflow` if a value could leave the range of doubles; what `poll` says. Nothing has
    /// changed then.
    pub fn update(&mut self, at: usize, u: Matrix, v: Matrix, poll: ChainPoll<'_>) -> Result<()> {
        let (rows, columns) = self.changing(at)?;
        if (u.columns(), v.columns()) != (rows, columns) || u.rows() != v.rows() {
            return Err(wrong(
                format!("an update of matrix {at} ({rows} x {columns})"),
                format!(
                    "u is {} x {} and v is {} x {}; they must be {rows} x r and {columns} x r",
                    u.columns(),
                    u.rows(),
                    v.columns(),
                    v.rows()
                ),
            ));
        }
        if u.rows() == 0 {
            return Ok(());
        }
        // A vector with one value that is not 0 is a row or column, which costs less.
        let one = u.rows() == 1;
        let (left, right) = match (unit(&u), unit(&v)) {
            (Some((row, by)), _) if one => (
                MatrixFactor::units(vec![row]),
                MatrixFactor::dense(scaled(v, by)?),
            ),
            (_, Some((column, by))) if one => (
                MatrixFactor::dense(scaled(u, by)?),
                MatrixFactor::units(vec![column]),
            ),
            _ => (MatrixFactor::dense(u), MatrixFactor::dense(v)),
        };
        self.add(at, left, right, poll)
    }

    /// Adds to one row of a matrix.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_row(
        &mut self,
        at: usize,
        row: usize,
        delta: Vec<f64>,
        poll: ChainPoll<'_>,
    ) -> Result<()> {
        let (rows, columns) = self.changing(at)?;
        let v = one_vector(at, ("row", row, rows), delta, columns)?;
        self.add(
            at,
            MatrixFactor::units(vec![row]),
            MatrixFactor::dense(v),
            poll,
        )
    }

    /// Adds to one column of a matrix.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_column(
        &mut self,
        at: usize,
        column: usize,
        delta: Vec<f64>,
        poll: ChainPoll<'_>,
    ) -> Result<()> {
        let (rows, columns) = self.changing(at)?;
        let u = one_vector(at, ("column", column, columns), delta, rows)?;
        self.add(
            at,
            MatrixFactor::dense(u),
            MatrixFactor::units(vec![column]),
            poll,
        )
    }

    /// Adds a matrix of the same shape, as the factors that are found in it: O(p^2) a level for
    /// rank 1 or a few rows or columns, else a product of matrices a level.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_dense(&mut self, at: usize, delta: Matrix, poll: ChainPoll<'_>) -> Result<()> {
        let (rows, columns) = self.changing(at)?;
        if (delta.rows(), delta.columns()) != (rows, columns) {
            return Err(wrong(
                format!("an update of matrix {at} ({rows} x {columns})"),
                format!("the delta is {} x {}", delta.rows(), delta.columns()),
            ));
        }
        let delta = Arc::new(delta);
        if let Some(factors) = decompose::decompose(&delta)? {
            let exactly = Some(MatrixFactor::Dense(delta));
            self.steps += update::update(&mut self.views, at, exactly, factors, poll)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        at: usize,
        left: MatrixFactor,
        right: MatrixFactor,
        poll: ChainPoll<'_>,
    ) -> Result<()> {
        self.steps += update::update(&mut self.views, at, None, (left, right), poll)?;
        Ok(())
    }

    /// The shape of a matrix that may change.
    fn changing(&self, at: usize) -> Result<(usize, usize)> {
        if at >= self.matrices {
            return Err(self.no_matrix(at));
        }
        if !self.views.nodes[at].changes {
            return Err(wrong(
                format!("matrix {at} of the chain"),
                "it is not among those that `changing` named; name it when the chain is made",
            ));
        }
        Ok(shape(&self.views, at))
    }

    /// Recomputes every view, without the rounding of earlier updates.
    ///
    /// # Errors
    /// `Overflow` if a product leaves the range of doubles; what `poll` says. Nothing has changed
    /// then.
    pub fn refresh(&mut self, poll: ChainPoll<'_>) -> Result<()> {
        self.steps += self.views.compute(poll)?;
        Ok(())
    }

    /// The bracketing, such as `((A1 A2) A3)`.
    #[must_use]
    pub fn order(&self) -> String {
        fn text(order: &Order) -> String {
            match order {
                Order::Matrix(at) => name(*at, *at),
                Order::Product(left, right) => format!("({} {})", text(left), text(right)),
            }
        }
        text(&self.order)
    }

    /// Bytes that the matrices and views take.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let parts = self
            .views
            .nodes
            .iter()
            .filter_map(|view| view.part.as_ref());
        parts.map(|part| part.memory_usage()).sum()
    }

    /// Multiply-adds so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// The only value that is not 0, and its place.
fn unit(vector: &Matrix) -> Option<(usize, f64)> {
    let mut values = (0..)
        .zip(vector.values())
        .filter(|(_, value)| **value != 0.0);
    let (at, &value) = values.next()?;
    values.next().is_none().then_some((at, value))
}

/// A vector times a number.
fn scaled(vector: Matrix, by: f64) -> Result<Matrix> {
    let values = vector.values().iter().map(|value| value * by).collect();
    Matrix::new(vector.rows(), vector.columns(), values).map_err(|_| Error::Overflow {
        place: "the product of u and v".to_owned(),
    })
}

/// The delta of one row or column, checked.
fn one_vector(
    at: usize,
    (kind, index, limit): (&str, usize, usize),
    delta: Vec<f64>,
    length: usize,
) -> Result<Matrix> {
    let place = || format!("an update of {kind} {index} of matrix {at}");
    if index >= limit {
        return Err(wrong(place(), format!("the matrix has {limit} {kind}s")));
    }
    if delta.len() != length {
        let problem = format!("the delta has {} values, not {length}", delta.len());
        return Err(wrong(place(), problem));
    }
    Matrix::new(1, length, delta).map_err(|error| match error {
        Error::Value { problem, .. } => wrong(place(), problem),
        other => other,
    })
}
