//! Several sums of products that share one tree: the product of number rings.
//!
//! A payload is a row of numbers, each an element of its own ring: integers, decimals or reals. Sums are computed
//! component by component. In a product each component of the result is one component of the left payload times one of
//! the right: sub-aggregates that several aggregates need are kept once in a view and used by all. Component 0 is the
//! count.
//!
//! Cost: one multiplication a component and row (`exact`; `factors` where there are reals), one addition (`add`), in
//! tight loops over a component.

mod add;
mod exact;
mod factors;
mod lift;
mod shape;
mod widening;

use arrow_buffer::i256;

use crate::algebra::CommutativeMonoid;
use crate::number::Number;
use crate::payload::{Groups, JoinedPayloads, Overflow, PayloadRing, Rows, Slab, Widened};
use add::{add_elements, add_integers};
use exact::ExactFactors;
use factors::Factors;
pub use lift::LiftedReals;
use shape::refuse;
pub use shape::{Element, NumberKind, SumProductShape, Term, TermProduct};
pub use widening::{Common, Wide};

/// The ring of sums of products. A type only: shapes and products carry the data.
#[derive(Clone, Copy, Debug)]
pub struct SumProduct;

impl PayloadRing for SumProduct {
    type Shape = SumProductShape;
    type Product = TermProduct;
    type Scratch = ();

    const LEAST_GROUP: usize = 1;

    fn stride(shape: &SumProductShape) -> usize {
        shape.stride
    }

    fn left_stride(product: &TermProduct) -> usize {
        product.left
    }

    fn is_wide(_: &SumProductShape) -> bool {
        false
    }

    fn add(
        shape: &SumProductShape,
        target: &mut [u64],
        slots: &[u32],
        delta: Slab<'_>,
        emptied: &mut Vec<u32>,
    ) -> Result<(), Overflow> {
        let delta = delta.words();
        match shape {
            SumProductShape {
                all_integer: true,
                stride: 1,
                ..
            } => add_integers::<1>(target, slots, delta, emptied),
            SumProductShape {
                all_integer: true,
                stride: 2,
                ..
            } => add_integers::<2>(target, slots, delta, emptied),
            SumProductShape {
                all_integer: true,
                stride: 3,
                ..
            } => add_integers::<3>(target, slots, delta, emptied),
            _ => add_elements(shape, target, slots, delta, emptied),
        }
    }

    fn multiply(
        product: &TermProduct,
        (left, left_rows): (Slab<'_>, Rows<'_>),
        (right, slots): (Slab<'_>, &[u32]),
        groups: Groups<'_>,
        (): &mut (),
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow> {
        out.clear();
        if let ([slot], true) = (slots, product.all_integer) {
            let row = left_rows.row(0) * product.left;
            let slot = *slot as usize * product.right;
            multiply_row(product, &left.words()[row..], &right.words()[slot..], out)?;
            return Ok(product.out);
        }
        let joined = JoinedPayloads {
            payloads: Slab::view(right.words(), product.right),
            slots,
        };
        let rows = (Slab::delta(left.words(), product.left), left_rows);
        Self::multiply_all(product, rows, &[joined], groups, &mut (), out)?;
        let others = product.terms.iter().enumerate();
        for (component, term) in others.filter(|(_, term)| !term.is_exact()) {
            let factors = Factors {
                product,
                term,
                left: left.words(),
                left_rows,
                right: right.words(),
                slots,
                groups,
            };
            refuse(factors.multiply(out), component)?;
        }
        Ok(product.out)
    }

    fn then(first: &TermProduct, next: &TermProduct) -> Option<TermProduct> {
        first.then(next)
    }

    fn multiply_all(
        product: &TermProduct,
        (left, left_rows): (Slab<'_>, Rows<'_>),
        right: &[JoinedPayloads<'_>],
        groups: Groups<'_>,
        (): &mut (),
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow> {
        out.clear();
        out.resize(groups.len() * product.out, 0);
        let factors = ExactFactors {
            left,
            left_rows,
            right,
            groups,
        };
        factors.multiply(product, out)?;
        Ok(product.out)
    }

    fn is_zero(shape: &SumProductShape, payload: &[u64]) -> bool {
        shape.elements.iter().all(|element| match element.kind {
            NumberKind::Integer => i64::load(payload, element.word).is_zero(),
            NumberKind::Decimal => i128::load(payload, element.word).is_zero(),
            NumberKind::Real => true,
            NumberKind::Wide => i256::load(payload, element.word).is_zero(),
        })
    }

    fn widened(shape: &SumProductShape) -> Option<SumProductShape> {
        shape.widened()
    }

    fn grown(shape: &SumProductShape) -> Option<SumProductShape> {
        shape.grown()
    }

    fn widen(shape: &SumProductShape, wide: &SumProductShape, payloads: &[u64]) -> Vec<u64> {
        shape.widen(wide, payloads)
    }

    fn narrow(
        shape: &SumProductShape,
        wide: &SumProductShape,
        payloads: &[u64],
        out: &mut Vec<u64>,
    ) -> bool {
        shape.narrow(wide, payloads, out)
    }

    fn widened_product(product: &TermProduct) -> Option<Widened<SumProductShape, TermProduct>> {
        let [left, right, out] = &*product.shapes;
        // Only a result of counts alone has nothing to widen.
        let wide_out = out.widened()?;
        let wide = |shape: &SumProductShape| shape.widened().unwrap_or_else(|| shape.clone());
        Some(Widened {
            product: TermProduct::new(&wide(left), &wide(right), &wide_out, &product.pairs),
            left: left.clone(),
            right: right.clone(),
            out: out.clone(),
        })
    }
}

/// One row of integers times another: what the loops over many rows take to begin costs more.
fn multiply_row(
    product: &TermProduct,
    left: &[u64],
    right: &[u64],
    out: &mut Vec<u64>,
) -> Result<(), Overflow> {
    for (component, term) in product.terms.iter().enumerate() {
        let (l, r) = (left[term.left.word] as i64, right[term.right.word] as i64);
        let (number, overflow) = l.overflowing_mul(r);
        refuse(overflow, component)?;
        out.push(number as u64);
    }
    Ok(())
}
