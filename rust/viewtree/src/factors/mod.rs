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
//! Cost: the rows of the factors times their matches in a sibling, not the rows of the product; and
//! the rows of the product for each view on the path that is kept.
//!
//! | file | holds |
//! |---|---|
//! | `factor` | one factor: grouping, multiplying two, picking components |
//! | `leaf` | the factors of a leaf |
//! | `propagate` | the way from the leaf to the root |

mod factor;
mod leaf;
mod propagate;

use ringview_core::{Budget, Result};
use ringview_view::ProductDelta;

use crate::tree::Payloads;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// Payloads that may be products of what the factors of a change have.
pub(crate) trait Factored: Payloads {
    /// Applies a change in factors to a tree, if its payloads are such products; else says so and
    /// does nothing.
    fn apply_factors(
        _tree: &mut Tree<Self>,
        _product: ProductDelta<'_>,
        _meter: &Budget<'_>,
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
        product: ProductDelta<'_>,
        budget: &Budget<'_>,
    ) -> Result<bool> {
        for path in tree.paths(product.atom) {
            let rows = (product.factors, product.sign);
            let mut factors = leaf::read(tree, &path, rows, product.dictionary, budget)?;
            propagate::store(tree, path.from, &path.keys, &mut factors, budget)?;
            propagate::propagate(tree, &path, factors, budget)?;
        }
        Ok(true)
    }
}
