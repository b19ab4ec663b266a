//! Rows of tables, as a view receives them: as they are, or as the product of factors.
//!
//! Invariant: a product represents the rows that it multiplies out to, multiplicities multiplied. Cost: nothing is
//! copied on the way; multiplying out costs its rows.

use std::borrow::Borrow;

use ringview_core::{Batch, Dictionary, Error, Result};

/// Rows of the relation at an atom that are inserted (`sign` 1) or deleted (-1), as they are in its table; the sign
/// multiplies the batch's multiplicities.
#[derive(Clone, Copy, Debug)]
pub struct RowDelta<'a> {
    /// The atom, by its place in the query.
    pub atom: usize,
    /// The rows, in the columns of the table that the query reads, at least.
    pub batch: &'a Batch,
    /// 1 or -1.
    pub sign: i64,
    /// Holds the strings of the rows.
    pub dictionary: &'a Dictionary,
}

/// The same for rows that are the product of factors; every column of the table belongs to one.
#[derive(Clone, Copy, Debug)]
pub struct ProductDelta<'a> {
    /// The atom, by its place in the query.
    pub atom: usize,
    /// The factors, over disjoint columns.
    pub factors: &'a [FactorRows],
    /// 1 or -1.
    pub sign: i64,
    /// Holds the strings of the factors.
    pub dictionary: &'a Dictionary,
}

impl<'a> ProductDelta<'a> {
    /// Some of its rows, multiplied out.
    #[must_use]
    pub fn rows(&self, batch: &'a Batch) -> RowDelta<'a> {
        RowDelta {
            atom: self.atom,
            batch,
            sign: self.sign,
            dictionary: self.dictionary,
        }
    }
}

/// One factor of a change: rows over some of the columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactorRows {
    /// The columns of the table that it holds, ascending.
    pub columns: Vec<usize>,
    /// The rows; a column that it does not hold, or that nobody needs, is absent.
    pub batch: Batch,
}

impl FactorRows {
    /// Number of rows of the product of some factors.
    ///
    /// # Errors
    /// `Overflow` if no number holds it.
    pub fn product_rows<F: Borrow<FactorRows>>(factors: &[F]) -> Result<usize> {
        let rows = factors.iter().try_fold(1usize, |rows, factor| {
            rows.checked_mul(factor.borrow().batch.rows)
        });
        rows.ok_or_else(|| overflow("the number of rows of a product of factors"))
    }

    /// Some rows of the product of factors over disjoint columns, the last factor varying fastest:
    /// multiplicities are multiplied.
    ///
    /// # Errors
    /// `Overflow` if a multiplicity does not fit.
    pub fn multiplied_out<F: Borrow<FactorRows>>(
        factors: &[F],
        start: usize,
        rows: usize,
    ) -> Result<Batch> {
        let width = |factor: &F| factor.borrow().batch.columns.len();
        let width = factors.iter().map(width).max().unwrap_or(0);
        let mut out = Batch {
            rows,
            columns: vec![None; width],
            multiplicity: None,
        };
        let mut period = 1;
        for factor in factors.iter().rev().map(F::borrow) {
            let own = factor.batch.rows.max(1);
            let of = |row: usize| (row / period % own) as u32;
            let picked: Vec<u32> = (start..start + rows).map(of).collect();
            for &column in &factor.columns {
                if let Some(from) = &factor.batch.columns[column] {
                    from.gather_into(&picked, out.columns[column].get_or_insert_default());
                }
            }
            if let Some(all) = &factor.batch.multiplicity {
                let so_far = out.multiplicity.get_or_insert_with(|| vec![1; rows]);
                for (product, &row) in so_far.iter_mut().zip(&picked) {
                    let next = product.checked_mul(all[row as usize]);
                    // The one multiplicity whose inverse is none.
                    let next = next.filter(|&product| product != i64::MIN);
                    *product = next.ok_or_else(|| {
                        overflow("the multiplicity of a row of a product of factors")
                    })?;
                }
            }
            period = period.saturating_mul(own);
        }
        Ok(out)
    }
}

fn overflow(place: &str) -> Error {
    Error::Overflow {
        place: place.to_owned(),
    }
}
