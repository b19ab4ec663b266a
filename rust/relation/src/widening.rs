//! Products with sums that do not fit, in passing: multiplied with 256 bits an exact number.
//!
//! Invariant: the result is the exact product; it has the ring's own shape if it fits that. Cost: a
//! copy of both factors; only after a sum has not fit.

use ringview_ring::{Groups, Overflow, PayloadRing, Rows, Slab};

use crate::delta::Delta;
use crate::relation::Relation;

/// A delta and a relation, a partner a row.
pub(crate) struct WideFactors<'a, R: PayloadRing> {
    pub(crate) left: (&'a Delta, Rows<'a>),
    pub(crate) right: (&'a Relation<R>, &'a [u32]),
}

impl<R: PayloadRing> WideFactors<'_, R> {
    /// The words of a payload of the product, in `out`, and whether they are of the widened shape.
    ///
    /// # Errors
    /// The fault of the narrow product where the ring has no wider numbers; `Overflow` where the
    /// result does not fit those either.
    #[cold]
    pub(crate) fn multiply(
        self,
        product: &R::Product,
        groups: Groups<'_>,
        scratch: &mut R::Scratch,
        out: &mut Vec<u64>,
        fault: Overflow,
    ) -> Result<(usize, bool), Overflow> {
        let widened = R::widened_product(product).ok_or(fault)?;
        let ((delta, rows), (relation, slots)) = (self.left, self.right);
        let wide = |shape: &R::Shape| R::widened(shape);
        let left = match wide(&widened.left) {
            Some(shape) if !delta.wide => R::widen(&widened.left, &shape, &delta.payload),
            _ => delta.payload.clone(),
        };
        let (right, width) = match wide(&widened.right) {
            Some(shape) => (relation.widened(&shape, slots), R::stride(&shape)),
            None => {
                let all = relation.payloads();
                let picked = slots.iter().flat_map(|&slot| all.row(slot as usize));
                (picked.copied().collect(), all.width())
            }
        };
        let in_order: Vec<u32> = (0..slots.len() as u32).collect();
        let left = (Slab::delta(&left, R::left_stride(&widened.product)), rows);
        let right = (Slab::view(&right, width), &in_order[..]);
        let width = R::multiply(&widened.product, left, right, groups, scratch, out)?;
        let mut narrow = Vec::new();
        match wide(&widened.out) {
            Some(shape) if R::narrow(&widened.out, &shape, out, &mut narrow) => {
                *out = narrow;
                Ok((R::stride(&widened.out), false))
            }
            shape => Ok((width, shape.is_some())),
        }
    }
}
