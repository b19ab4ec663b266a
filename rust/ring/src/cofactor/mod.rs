//! The degree-m matrix ring (paper, section 7.2): counts, sums and sums of products of m variables
//! as one payload (c, s, Q).
//!
//! Layout: the exact count, then s (m reals), then the upper triangle of the symmetric Q row by
//! row: 1 + m + m(m+1)/2 words. A payload covers only the variables below its view; a product of
//! payloads over m1 and m2 variables covers m1 + m2 (`product`). Sums are without fused rounding:
//! the same input gives the same bits on every machine.

mod blocks;
mod origin;
mod outer;
mod product;
mod shape;
mod tile;

use blocks::LANES;
pub use product::CofactorProduct;
pub use shape::CofactorShape;

use multiversion::multiversion;
pub use product::Scratch as CofactorScratch;
use product::{Factors, Scratch, ask, join_all, multiply_all};
use shape::add_count;
use tile::LiftScratch;

use crate::algebra::CommutativeMonoid;
use crate::payload::{Groups, JoinedPayloads, Overflow, PayloadRing, Rows, Slab};
use crate::reals::{reals, reals_mut};

/// Number of payloads that are prefetched.
const AHEAD: usize = 4;

/// Adds payloads; whether a count overflowed, and whether a real left its range.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
fn add_all(
    shape: CofactorShape,
    target: &mut [u64],
    slots: &[u32],
    delta: Slab<'_>,
    emptied: &mut Vec<u32>,
) -> (bool, bool) {
    let words = shape.words();
    let single = delta.width() == shape.row_words();
    let (mut wrapped, mut unbounded) = (false, 0);
    let rows = delta.words().chunks_exact(delta.width());
    for (row, (&slot, delta)) in slots.iter().zip(rows).enumerate() {
        if let Some(&ahead) = slots.get(row + AHEAD) {
            ask(target, ahead as usize * words, words);
        }
        let target = &mut target[slot as usize * words..][..words];
        wrapped |= add_count(&mut target[0], (delta[0] as i64, false));
        let values = reals(&delta[1..]);
        if single {
            add_row(shape, target, delta[0] as i64 as f64, values);
        } else {
            for (sum, delta) in reals_mut(&mut target[1..]).iter_mut().zip(values) {
                *sum += delta;
            }
        }
        for sum in reals(&target[1..]) {
            unbounded |= u64::from(!sum.is_finite());
        }
        if target[0] == 0 {
            emptied.push(slot);
        }
    }
    (wrapped, unbounded != 0)
}

/// target += weight * (., x, x x^T), the count aside.
#[inline(always)]
fn add_row(shape: CofactorShape, target: &mut [u64], weight: f64, x: &[f64]) {
    let (sums, mut products) = reals_mut(&mut target[1..]).split_at_mut(shape.variables);
    add_scaled(sums, weight, x);
    for i in 0..shape.variables {
        let (here, rest) = products.split_at_mut(shape.variables - i);
        add_scaled(here, weight * x[i], &x[i..]);
        products = rest;
    }
}

/// out += scale * from
#[inline(always)]
fn add_scaled(out: &mut [f64], scale: f64, from: &[f64]) {
    for (out, from) in out.iter_mut().zip(from) {
        *out += scale * from;
    }
}

/// Lifts rows; its buffers are reused between batches.
#[derive(Clone, Debug, Default)]
pub struct Lift {
    scratch: LiftScratch,
}

impl Lift {
    /// Arbitrary numbers that must follow the values of the last row.
    pub const BEHIND: usize = LANES;

    /// The sums of times * (1, x, x x^T) over the rows x of each group, m values each; whether a count
    /// overflowed.
    ///
    /// This is the lifting of rows (paper, section 7.2): X^T X, group by group.
    #[must_use]
    pub fn rows(
        &mut self,
        shape: CofactorShape,
        values: &[f64],
        times: &[i64],
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> bool {
        debug_assert!(values.len() >= times.len() * shape.variables + Self::BEHIND);
        let words = groups.len() * shape.words();
        out.resize(words + LANES, 0);
        let overflow = lift_rows(shape, (values, times), groups, &mut self.scratch, out);
        out.truncate(words);
        overflow
    }
}

/// See [`Lift::rows`]; `out` has room of a vector behind.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
fn lift_rows(
    shape: CofactorShape,
    (values, times): (&[f64], &[i64]),
    groups: Groups<'_>,
    scratch: &mut LiftScratch,
    out: &mut [u64],
) -> bool {
    let (m, words) = (shape.variables, shape.words());
    let (mut overflow, mut row, mut begun) = (false, 0, 0);
    while row < times.len() {
        let (group, end) = groups.run(row, begun);
        let (own, times) = (&values[row * m..], &times[row..end]);
        let target = &mut out[group * words..];
        row = end;
        // Groups are numbered in the order of their first row.
        if group == begun {
            begun += 1;
            overflow |= scratch.lift((own, times), m, target);
            continue;
        }
        for (at, &times) in times.iter().enumerate() {
            overflow |= add_count(&mut target[0], (times, false));
            add_row(
                shape,
                &mut target[..words],
                times as f64,
                &own[at * m..][..m],
            );
        }
    }
    overflow
}

/// The degree-m matrix ring. A type only: shapes and products carry the degrees.
#[derive(Clone, Copy, Debug)]
pub struct Cofactor;

/// A payload from this many words on is worth hashing a key for.
const WIDE: usize = 24;

impl PayloadRing for Cofactor {
    type Shape = CofactorShape;
    type Product = CofactorProduct;
    type Scratch = Scratch;

    const LEAST_GROUP: usize = 2;

    fn stride(shape: &CofactorShape) -> usize {
        shape.words()
    }

    fn left_stride(product: &CofactorProduct) -> usize {
        product.left().words()
    }

    fn is_wide(shape: &CofactorShape) -> bool {
        shape.words() >= WIDE
    }

    fn add(
        shape: &CofactorShape,
        target: &mut [u64],
        slots: &[u32],
        delta: Slab<'_>,
        emptied: &mut Vec<u32>,
    ) -> Result<(), Overflow> {
        match add_all(*shape, target, slots, delta, emptied) {
            (false, false) => Ok(()),
            (true, _) => Err(Overflow { component: 0 }),
            (false, true) => Err(Overflow { component: 1 }),
        }
    }

    fn multiply(
        product: &CofactorProduct,
        left: (Slab<'_>, Rows<'_>),
        (payloads, slots): (Slab<'_>, &[u32]),
        groups: Groups<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow> {
        let right = [JoinedPayloads { payloads, slots }];
        Self::multiply_all(product, left, &right, groups, scratch, out)
    }

    fn then(first: &CofactorProduct, next: &CofactorProduct) -> Option<CofactorProduct> {
        first.then(next)
    }

    fn multiply_all(
        product: &CofactorProduct,
        (left, left_rows): (Slab<'_>, Rows<'_>),
        right: &[JoinedPayloads<'_>],
        groups: Groups<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow> {
        let factors = Factors {
            left,
            left_rows,
            right,
        };
        let each = matches!(groups, Groups::Each(_));
        let (width, overflow) = if each && factors.single(product) {
            (product.out().row_words(), join_all(product, factors, out))
        } else {
            let width = product.out().words();
            let words = groups.len() * width;
            out.resize(words + LANES, 0);
            let overflow = multiply_all(product, factors, groups, scratch, out);
            out.truncate(words);
            (width, overflow)
        };
        if overflow {
            Err(Overflow { component: 0 })
        } else {
            Ok(width)
        }
    }

    /// In a view over bags a count of 0 means that no row is left; what floats hold is residue.
    fn is_zero(_: &CofactorShape, payload: &[u64]) -> bool {
        (payload[0] as i64).is_zero()
    }
}
