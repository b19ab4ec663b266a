//! The degree-m matrix ring (paper, section 7.2): counts, sums and sums of products of m variables
//! as one payload (c, s, Q).
//!
//! Layout: the exact count, then s (m reals), then the upper triangle of the symmetric Q row by
//! row: 1 + m + m(m+1)/2 words. A payload covers only the variables below its view; a product of
//! payloads over m1 and m2 variables covers m1 + m2:
//!
//! c = c1 c2,  s = (c2 s1, c1 s2),  Q = (c2 Q1, s1 s2^T; ., c1 Q2)
//!
//! Every row of Q is made of slices of Q1, Q2, s1 or s2 times one number, so a product is a
//! sequence of multiply-adds over flat slices, straight into the sum that it belongs to; there
//! is no temporary. Sums are in the order of the input, without fused rounding: the same input gives
//! the same bits on every machine.

use ringview_core::prefetch;

use crate::algebra::CommutativeMonoid;
use crate::number::Number;
use crate::payload::{Groups, Overflow, PayloadRing, Rows};
use crate::reals::{reals, reals_mut};
use crate::wide;

/// The number of variables that a payload covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CofactorShape {
    /// m.
    pub variables: usize,
}

impl CofactorShape {
    /// Words of a payload: 1 + m + m(m+1)/2.
    #[must_use]
    pub fn words(self) -> usize {
        1 + self.variables + self.variables * (self.variables + 1) / 2
    }
}

/// Consecutive variables of one operand that stay together in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    /// Whether they are the left operand's.
    left: bool,
    /// Their positions in the operand.
    start: usize,
    end: usize,
}

/// How two payloads multiply: where the variables of each operand go in the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CofactorProduct {
    left: CofactorShape,
    right: CofactorShape,
    segments: Vec<Segment>,
}

impl CofactorProduct {
    /// A product whose variables are those of both operands in ascending order of `left` and
    /// `right`, which name them: each ascending, none in both.
    #[must_use]
    pub fn new(left: &[usize], right: &[usize]) -> Self {
        let mut segments: Vec<Segment> = Vec::new();
        let (mut l, mut r) = (0, 0);
        while l < left.len() || r < right.len() {
            let is_left = r == right.len() || (l < left.len() && left[l] < right[r]);
            let at = if is_left { &mut l } else { &mut r };
            match segments.last_mut() {
                Some(segment) if segment.left == is_left => segment.end += 1,
                _ => segments.push(Segment {
                    left: is_left,
                    start: *at,
                    end: *at + 1,
                }),
            }
            *at += 1;
        }
        let shape = |variables: &[usize]| CofactorShape {
            variables: variables.len(),
        };
        Self {
            left: shape(left),
            right: shape(right),
            segments,
        }
    }

    fn out(&self) -> CofactorShape {
        CofactorShape {
            variables: self.left.variables + self.right.variables,
        }
    }
}

/// One operand of a product.
#[derive(Clone, Copy)]
struct Operand<'a> {
    count: f64,
    sums: &'a [f64],
    products: &'a [f64],
}

impl<'a> Operand<'a> {
    #[inline(always)]
    fn new(words: &'a [u64], variables: usize) -> Self {
        let (sums, products) = reals(&words[1..]).split_at(variables);
        Self {
            count: words[0] as i64 as f64,
            sums,
            products,
        }
    }

    /// Row `i` of the upper triangle: Q[i][i..].
    #[inline(always)]
    fn row(&self, i: usize) -> &'a [f64] {
        let m = self.sums.len();
        let at = i * m - (i * i - i) / 2;
        &self.products[at..at + m - i]
    }
}

/// out = scale * from, or out += scale * from
#[inline(always)]
fn write_scaled<const ADD: bool>(out: &mut [f64], scale: f64, from: &[f64]) {
    for (out, from) in out.iter_mut().zip(from) {
        *out = if ADD {
            *out + scale * from
        } else {
            scale * from
        };
    }
}

impl CofactorProduct {
    /// out = left * right, or out += left * right; whether the count overflowed.
    #[inline(always)]
    fn write<const ADD: bool>(&self, left: &[u64], right: &[u64], out: &mut [u64]) -> bool {
        let (mut count, mut overflow) = (left[0] as i64).mul(right[0] as i64);
        if ADD {
            let (total, carried) = count.add(out[0] as i64);
            overflow |= carried;
            count = total;
        }
        out[0] = count as u64;
        let left = Operand::new(left, self.left.variables);
        let right = Operand::new(right, self.right.variables);
        let (mut sums, mut products) = reals_mut(&mut out[1..]).split_at_mut(self.out().variables);
        for (position, segment) in self.segments.iter().enumerate() {
            let (own, other) = if segment.left {
                (&left, &right)
            } else {
                (&right, &left)
            };
            let (here, rest) = sums.split_at_mut(segment.end - segment.start);
            write_scaled::<ADD>(here, other.count, &own.sums[segment.start..segment.end]);
            sums = rest;
            let further = &self.segments[position + 1..];
            if further.is_empty() {
                // The last rows are the rest of one operand's triangle, which is one slice.
                let from = own.sums.len() * (own.sums.len() + 1) / 2 - products.len();
                write_scaled::<ADD>(products, other.count, &own.products[from..]);
                return overflow;
            }
            for variable in segment.start..segment.end {
                let row = own.row(variable);
                // Within its own segment, the row starts at the diagonal.
                let (here, mut rest) = products.split_at_mut(segment.end - variable);
                write_scaled::<ADD>(here, other.count, &row[..segment.end - variable]);
                for further in further {
                    let (from, scale) = if further.left == segment.left {
                        (
                            &row[further.start - variable..further.end - variable],
                            other.count,
                        )
                    } else {
                        (&other.sums[further.start..further.end], own.sums[variable])
                    };
                    let (here, beyond) = rest.split_at_mut(from.len());
                    write_scaled::<ADD>(here, scale, from);
                    rest = beyond;
                }
                products = rest;
            }
        }
        overflow
    }
}

wide::dispatch! {
    /// The sums of products of a batch, by group; whether a count overflowed.
    fn multiply_all(
        product: &CofactorProduct,
        left: &[u64],
        left_rows: Rows<'_>,
        right: &[u64],
        slots: &[u32],
        groups: Groups<'_>,
        out: &mut [u64],
    ) -> bool {
        let words = (product.left.words(), product.right.words(), product.out().words());
        let mut overflow = false;
        let mut cursor = groups.cursor();
        for row in 0..slots.len() {
            let group = cursor.at(row);
            let from = match left_rows {
                Rows::All(_) => row,
                Rows::Picked(rows) => rows[row] as usize,
            };
            if let Some(&next) = slots.get(row + 1) {
                for line in (0..words.1).step_by(LINE) {
                    prefetch(right, next as usize * words.1 + line);
                }
            }
            let left = &left[from * words.0..][..words.0];
            let right = &right[slots[row] as usize * words.1..][..words.1];
            let target = &mut out[group * words.2..][..words.2];
            overflow |= if matches!(groups, Groups::Each(_)) {
                product.write::<false>(left, right, target)
            } else {
                product.write::<true>(left, right, target)
            };
        }
        overflow
    }
}

wide::dispatch! {
    /// Adds whole payloads; whether a count overflowed, and whether a real left its range.
    fn add_all(
        shape: CofactorShape,
        target: &mut [u64],
        slots: &[u32],
        delta: &[u64],
        emptied: &mut Vec<u32>
    ) -> (bool, bool) {
        let words = shape.words();
        let (mut wrapped, mut unbounded) = (false, 0);
        for (&slot, delta) in slots.iter().zip(delta.chunks_exact(words)) {
            let target = &mut target[slot as usize * words..][..words];
            let (count, overflow) = Number::add(target[0] as i64, delta[0] as i64);
            wrapped |= overflow;
            for (sum, delta) in reals_mut(&mut target[1..]).iter_mut().zip(reals(&delta[1..])) {
                *sum += delta;
                unbounded |= u64::from(!sum.is_finite());
            }
            target[0] = count as u64;
            if count == 0 {
                emptied.push(slot);
            }
        }
        (wrapped, unbounded != 0)
    }
}

wide::dispatch! {
    /// target += times * (1, x, x x^T) for each row x of `values`, a group being one payload.
    ///
    /// This is the lifting of rows (paper, section 7.2): X^T X, group by group.
    pub fn lift_rows(
        shape: CofactorShape,
        values: &[f64],
        times: &[i64],
        groups: Groups<'_>,
        out: &mut [u64]
    ) -> bool {
        let (m, words) = (shape.variables, shape.words());
        let mut overflow = false;
        let mut cursor = groups.cursor();
        for row in 0..times.len() {
            let target = &mut out[cursor.at(row) * words..][..words];
            let (count, wrapped) = Number::add(target[0] as i64, times[row]);
            target[0] = count as u64;
            overflow |= wrapped;
            let (sums, mut products) = reals_mut(&mut target[1..]).split_at_mut(m);
            let x = &values[row * m..][..m];
            let weight = times[row] as f64;
            write_scaled::<true>(sums, weight, x);
            for i in 0..m {
                let (here, rest) = products.split_at_mut(m - i);
                write_scaled::<true>(here, weight * x[i], &x[i..]);
                products = rest;
            }
        }
        overflow
    }
}

/// The degree-m matrix ring. A type only: shapes and products carry the degrees.
#[derive(Clone, Copy, Debug)]
pub struct Cofactor;

/// Words of a cache line.
const LINE: usize = 8;

/// A payload from this many words on is worth hashing a key for.
const WIDE: usize = 24;

impl PayloadRing for Cofactor {
    type Shape = CofactorShape;
    type Product = CofactorProduct;

    fn stride(shape: &CofactorShape) -> usize {
        shape.words()
    }

    fn is_wide(shape: &CofactorShape) -> bool {
        shape.words() >= WIDE
    }

    fn add(
        shape: &CofactorShape,
        target: &mut [u64],
        slots: &[u32],
        delta: &[u64],
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
        left: &[u64],
        left_rows: Rows<'_>,
        right: &[u64],
        slots: &[u32],
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> Result<(), Overflow> {
        if !matches!(groups, Groups::Each(_)) {
            out.clear();
        }
        out.resize(groups.len() * product.out().words(), 0);
        let overflow = multiply_all(product, left, left_rows, right, slots, groups, out);
        if overflow {
            Err(Overflow { component: 0 })
        } else {
            Ok(())
        }
    }

    /// In a view over bags a count of 0 means that no row is left; what floats hold is residue.
    fn is_zero(_: &CofactorShape, payload: &[u64]) -> bool {
        (payload[0] as i64).is_zero()
    }
}
