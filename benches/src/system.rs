//! What every measured system offers: it takes batches with a sign and has its result ready after each.

use std::ops::{AddAssign, Mul};

use arrow_array::RecordBatch;
use serde::Serialize;

/// The result of every query here: a count, which says whether the group is there at all, and a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Totals {
    pub(crate) count: i64,
    pub(crate) sum: i64,
}

const OVERFLOW: &str = "the sum fits 64 bits";

impl Totals {
    pub(crate) fn is_zero(self) -> bool {
        self == Self::default()
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.count = self.count.checked_add(other.count).expect(OVERFLOW);
        self.sum = self.sum.checked_add(other.sum).expect(OVERFLOW);
    }
}

impl Mul<i64> for Totals {
    type Output = Self;

    fn mul(self, factor: i64) -> Self {
        Self {
            count: self.count.checked_mul(factor).expect(OVERFLOW),
            sum: self.sum.checked_mul(factor).expect(OVERFLOW),
        }
    }
}

/// One way of keeping a query's result fresh.
pub(crate) trait System {
    /// Adds the rows of the batch to the relation `sign` times (1 inserts, -1 deletes).
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64);

    /// The result after the last batch.
    fn totals(&self) -> Totals;

    /// Bytes of what the system keeps, without the slack of growing arrays.
    fn memory(&self) -> usize;
}
