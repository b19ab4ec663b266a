//! Degree-m payloads of rows that are counted from another origin.
//!
//! Of rows x + d the payload is (c, s + c d, Q + d s^T + s d^T + c d d^T). Invariant: every number
//! is rounded once, from more digits than it keeps; so whole numbers below 2^53 stay exact, and
//! what cancels does so before it is rounded. Cost: O(m) for each variable that moves.

use super::shape::CofactorShape;
use crate::expansion::Expansion;
use crate::reals::reals_mut;

impl CofactorShape {
    /// Makes a payload of rows x that of the rows x + `by`, in place; `scratch` is room.
    pub fn shift(self, payload: &mut [u64], by: &[Expansion], scratch: &mut Vec<Expansion>) {
        let count = Expansion::from(payload[0] as i64);
        let (sums, products) = reals_mut(&mut payload[1..]).split_at_mut(self.variables);
        let still = Expansion::default();
        let moved = |sum: &f64, by: Expansion| Expansion::from(*sum).sum(by.product(count));
        scratch.clear();
        scratch.extend(sums.iter().zip(by).map(|(sum, &by)| moved(sum, by)));
        let mut rows = products;
        for i in 0..self.variables {
            let (row, rest) = rows.split_at_mut(self.variables - i);
            for (product, j) in row.iter_mut().zip(i..) {
                if by[i] == still && by[j] == still {
                    continue;
                }
                // Q + d_i s_j + d_j (s_i + c d_i)
                let (one, other) = (by[i].scaled(sums[j]), by[j].product(scratch[i]));
                let exact = Expansion::from(*product).sum(one).sum(other);
                let plain = *product + by[i].value() * sums[j] + by[j].value() * scratch[i].value();
                *product = finite(exact, plain);
            }
            rows = rest;
        }
        for ((sum, exact), by) in sums.iter_mut().zip(scratch.iter()).zip(by) {
            if *by != still {
                *sum = finite(*exact, *sum + by.value() * count.value());
            }
        }
    }

    /// As `shift`, for a payload of a view over bags: the payload of one row becomes exactly the
    /// lifting of that row.
    pub fn recentre(self, payload: &mut [u64], by: &[Expansion], scratch: &mut Vec<Expansion>) {
        self.shift(payload, by, scratch);
        if payload[0] != 1 {
            return;
        }
        let (sums, mut products) = reals_mut(&mut payload[1..]).split_at_mut(self.variables);
        for i in 0..self.variables {
            let (row, rest) = products.split_at_mut(self.variables - i);
            for (product, x) in row.iter_mut().zip(&sums[i..]) {
                *product = sums[i] * x;
            }
            products = rest;
        }
    }
}

/// A number to be shown: where the way to it leaves the range of doubles, the way of plain doubles
/// says to which end.
fn finite(exact: Expansion, plain: f64) -> f64 {
    let value = exact.value();
    if value.is_finite() { value } else { plain }
}
