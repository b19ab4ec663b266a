//! The trait of every measured system: it takes batches with a sign and has its result ready after each.

use std::ops::{AddAssign, Mul};

use arrow_array::RecordBatch;
use serde::Serialize;

/// Numbers by which results are compared: the count of the join's rows, which says whether there are any at all, and a
/// number that depends on all the rest. That is the sum itself, the digest of a degree-m matrix, or of rows the sum of
/// their last column.
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

/// The weights with which the sums and then the products of a degree-m matrix are added up, by whether a feature is a
/// key of joins: each number's place, so that no two may change places. Products of two keys weigh nothing, since they
/// pass 2^53 and their last digits depend on the order of additions.
pub(crate) fn digest(keys: &[bool]) -> Vec<i64> {
    let products =
        (0..keys.len()).flat_map(|left| (left..keys.len()).map(move |right| (left, right)));
    let exact = products.map(|(left, right)| !(keys[left] && keys[right]));
    let counted = keys.iter().map(|_| true).chain(exact).zip(1..);
    counted
        .map(|(exact, place)| if exact { place } else { 0 })
        .collect()
}

/// The numbers of a degree-m matrix, the count first, under the weights of their digest.
pub(crate) fn totals_of_matrix(numbers: impl IntoIterator<Item = i64>, weights: &[i64]) -> Totals {
    let mut numbers = numbers.into_iter();
    let count = numbers.next().unwrap_or_default();
    let weighted = numbers
        .zip(weights)
        .map(|(number, weight)| number.wrapping_mul(*weight));
    Totals {
        count,
        sum: weighted.fold(0, i64::wrapping_add),
    }
}

/// All rows of a result, read once.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Reading {
    #[serde(skip)]
    pub(crate) totals: Totals,
    pub(crate) rows: usize,
    /// Time of the row count.
    pub(crate) len_seconds: f64,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    /// Growth of the process meanwhile.
    pub(crate) resident_bytes: i64,
}

/// One way of keeping a query's result fresh.
pub(crate) trait System {
    /// Adds the rows of the batch to the relation `sign` times (1 inserts, -1 deletes).
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64);

    /// The result after the last batch.
    fn totals(&self) -> Totals;

    /// Reads the result if it is rows.
    fn read(&self) -> Option<Reading> {
        None
    }

    /// Bytes of what the system keeps, without the slack of growing arrays.
    fn memory(&self) -> usize;
}
