//! A delta that is a product of relations over disjoint columns, on its way up as it is.
//!
//! `dR[A, B] = u[A] * v[B]` (paper, section 5). At each view a sibling joins only the factors that share
//! its variables; those are multiplied with each other first, if there are several. A bound
//! variable is summed away inside the factor that has it, and so is what the leaf's expressions
//! read. The product is multiplied out only where a view is kept, and added a block at a time.
//!
//! Invariant: the product of the factors is the delta that the climb of the multiplied-out rows would
//! have at the same place; the views end up the same.
//!
//! Cost: the rows of the factors times their partners in a sibling, not the rows of the product; and
//! the rows of the product for each view on the path that is kept.
//!
//! | file | holds |
//! |---|---|
//! | `factor` | one factor: grouping, multiplying two, picking components |
//! | `leaf` | the factors of a leaf |
//! | `climb` | the way from the leaf to the root |

mod climb;
mod factor;
mod leaf;

use std::borrow::Borrow;

use ringview_core::{Batch, Dictionary, Meter, Result};

use crate::overflow;
use crate::tree::Tree;
use crate::tree::payloads::{Payloads, SumProductPayloads};

/// One factor of a change: rows over some of the columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactorRows {
    /// The columns of the table that it holds, ascending.
    pub columns: Vec<usize>,
    /// The rows; a column that it does not hold, or that nobody needs, is absent.
    pub batch: Batch,
}

/// Payloads that may be products of what the factors of a change have.
pub(crate) trait Factored: Payloads {
    /// Applies a change in factors to a tree, if its payloads are such products; else says so and
    /// does nothing.
    fn apply_factors(
        _tree: &mut Tree<Self>,
        _atom: usize,
        _factors: (&[FactorRows], i64),
        _dictionary: &Dictionary,
        _meter: &Meter<'_>,
    ) -> Result<bool>
    where
        Self: Sized,
    {
        Ok(false)
    }
}

impl Factored for SumProductPayloads {
    /// At the leaf of the atom, then up.
    fn apply_factors(
        tree: &mut Tree<Self>,
        atom: usize,
        factors: (&[FactorRows], i64),
        dictionary: &Dictionary,
        meter: &Meter<'_>,
    ) -> Result<bool> {
        let path = tree.path(atom);
        let mut factors = leaf::read(tree, &path, factors, dictionary, meter)?;
        climb::store(tree, path.from, &path.keys, &mut factors, meter)?;
        climb::climb(tree, &path, factors, meter)?;
        Ok(true)
    }
}

impl FactorRows {
    /// How many rows the product of some factors has.
    ///
    /// # Errors
    /// `Overflow` if no number holds it.
    pub fn product_rows<F: Borrow<FactorRows>>(factors: &[F]) -> Result<usize> {
        let rows = factors.iter().try_fold(1usize, |rows, factor| {
            rows.checked_mul(factor.borrow().batch.rows)
        });
        rows.ok_or_else(|| overflow("the number of rows of a product of factors".to_owned()))
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
                        overflow("the multiplicity of a row of a product of factors".to_owned())
                    })?;
                }
            }
            period = period.saturating_mul(own);
        }
        Ok(out)
    }
}
