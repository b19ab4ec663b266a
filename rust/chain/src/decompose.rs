//! A given delta as a product of factors: rank 1 where it is, its few rows or columns else.
//!
//! Any delta is a sum of rank-1 terms (paper, section 5); fewer terms climb for less. A delta is
//! taken for u v^T if every value is what the row and the column of its largest value say, up to
//! the rounding of one multiplication and one division. Else each row that is not 0 is a term, or
//! each column, whichever are fewer.
//!
//! Cost: two walks over the delta.

use std::sync::Arc;

use crate::matrix::{Matrix, MatrixFactor};
use ringview_core::Result;

/// Relative difference that a product of two doubles may have from one that was rounded elsewhere.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A delta as factors; `None` if it is 0 everywhere.
pub(crate) fn decompose(delta: &Arc<Matrix>) -> Result<Option<(MatrixFactor, MatrixFactor)>> {
    let (mut rows, mut columns) = (vec![], vec![false; delta.columns()]);
    let mut pivot = (0, 0, 0.0f64);
    for row in 0..delta.rows() {
        let mut any = false;
        for (column, &value) in delta.row(row).iter().enumerate() {
            if value != 0.0 {
                any = true;
                columns[column] = true;
                if value.abs() > pivot.2 {
                    pivot = (row, column, value.abs());
                }
            }
        }
        if any {
            rows.push(row);
        }
    }
    let columns: Vec<usize> = (0..delta.columns())
        .filter(|&column| columns[column])
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    if rows.len() > 1
        && columns.len() > 1
        && let Some(factors) = rank_one(delta, (pivot.0, pivot.1))?
    {
        return Ok(Some(factors));
    }
    if rows.len() == delta.rows() && rows.len() <= columns.len() {
        return Ok(Some((
            MatrixFactor::units(rows),
            MatrixFactor::Dense(Arc::clone(delta)),
        )));
    }
    let factors = if rows.len() <= columns.len() {
        let values = rows
            .iter()
            .flat_map(|&row| delta.row(row))
            .copied()
            .collect();
        let right = Matrix::new(rows.len(), delta.columns(), values)?;
        (MatrixFactor::units(rows), MatrixFactor::dense(right))
    } else {
        let column = |&at: &usize| (0..delta.rows()).map(move |row| (row, at));
        let values = columns
            .iter()
            .flat_map(column)
            .map(|(row, column)| delta.row(row)[column])
            .collect();
        let left = Matrix::new(columns.len(), delta.rows(), values)?;
        (MatrixFactor::dense(left), MatrixFactor::units(columns))
    };
    Ok(Some(factors))
}

/// The factors of a delta of rank 1, from the row and the column of its largest value.
fn rank_one(
    delta: &Matrix,
    (row, column): (usize, usize),
) -> Result<Option<(MatrixFactor, MatrixFactor)>> {
    let v = delta.row(row);
    let most = v[column];
    let u: Vec<f64> = (0..delta.rows())
        .map(|at| delta.row(at)[column] / most)
        .collect();
    for (at, &u) in u.iter().enumerate() {
        let close = |(&value, &v): (&f64, &f64)| (value - u * v).abs() <= ROUNDING * (u * v).abs();
        if !delta.row(at).iter().zip(v).all(close) {
            return Ok(None);
        }
    }
    let left = Matrix::new(1, u.len(), u)?;
    let right = Matrix::new(1, v.len(), v.to_vec())?;
    Ok(Some((
        MatrixFactor::dense(left),
        MatrixFactor::dense(right),
    )))
}
