//! The ring of the payloads, with the few constants that moving tuples needs.
//!
//! Invariant: every relation and view of a machine has payloads of one shape, and they multiply
//! component by component; so a product is right in any order of its factors, as in any commutative
//! ring. Cost: a component that a relation has no factor for holds its count.

use ringview_relation::Delta;
use ringview_ring::{
    Expansion, Groups, Number, NumberKind, Overflow, PayloadRing, Rows, Slab, SumProduct,
    SumProductShape, TermProduct,
};

/// A commutative ring as payloads.
#[derive(Clone, Debug)]
pub struct Algebra<R: PayloadRing> {
    /// Shape of each payload.
    pub shape: R::Shape,
    /// Product of two payloads.
    pub product: R::Product,
    /// 1.
    pub one: Vec<u64>,
    /// -1.
    pub minus_one: Vec<u64>,
    /// 3: a relation at all three places of a triangle closes each triangle three times.
    pub three: Vec<u64>,
}

impl Algebra<SumProduct> {
    /// Numbers of these kinds, the first of which is the count.
    #[must_use]
    pub fn pointwise(kinds: &[NumberKind]) -> Self {
        let shape = SumProductShape::new(kinds);
        let pairs: Vec<(usize, usize)> = (0..kinds.len()).map(|at| (at, at)).collect();
        let all = |number: i64| {
            let mut words = vec![0; SumProduct::stride(&shape)];
            for element in shape.elements() {
                match element.kind {
                    NumberKind::Integer => number.store(&mut words, element.word),
                    NumberKind::Decimal => i128::from(number).store(&mut words, element.word),
                    NumberKind::Real => {
                        Expansion::from(number as f64).store(&mut words, element.word);
                    }
                    NumberKind::Wide => {
                        ringview_ring::Wide::from(number).store(&mut words, element.word);
                    }
                }
            }
            words
        };
        Self {
            product: TermProduct::new(&shape, &shape, &shape, &pairs),
            one: all(1),
            minus_one: all(-1),
            three: all(3),
            shape,
        }
    }
}

impl<R: PayloadRing> Algebra<R> {
    /// Every payload of a delta times a constant.
    ///
    /// # Errors
    /// `Overflow` where a product fits no widened payload either.
    pub(crate) fn scale(
        &self,
        delta: &mut Delta,
        constant: &[u64],
        scratch: &mut R::Scratch,
    ) -> Result<(), Overflow> {
        let slots = vec![0; delta.rows];
        let all = (Rows::All(delta.rows), Groups::Each(delta.rows));
        let mut out = Vec::new();
        let mut fault = Overflow { component: 0 };
        if !delta.wide {
            let right = (Slab::delta(constant, R::stride(&self.shape)), &slots[..]);
            let left = (delta.slab(), all.0);
            match R::multiply(&self.product, left, right, all.1, scratch, &mut out) {
                Ok(width) => {
                    (delta.payload, delta.width) = (out, width);
                    return Ok(());
                }
                Err(found) => fault = found,
            }
        }
        let wide = R::widened(&self.shape).ok_or(fault)?;
        let product = R::widened_product(&self.product).ok_or(fault)?.product;
        if !delta.wide {
            delta.payload = R::widen(&self.shape, &wide, &delta.payload);
            (delta.width, delta.wide) = (R::stride(&wide), true);
        }
        let constant = R::widen(&self.shape, &wide, constant);
        let right = (Slab::delta(&constant, R::stride(&wide)), &slots[..]);
        let left = (delta.slab(), all.0);
        delta.width = R::multiply(&product, left, right, all.1, scratch, &mut out)?;
        delta.payload = out;
        delta.narrow::<R>(&self.shape);
        Ok(())
    }
}
