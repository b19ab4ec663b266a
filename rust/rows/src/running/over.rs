//! Input of a pass: the rows of one region, for one function.
//!
//! Invariant: rows are those of one time. Cost: O(1) a row.

use super::plan::{Function, Plan};
use super::region::{Region, Regions};

/// A function over one region.
pub(super) struct Pass<'p> {
    pub(super) plan: &'p Plan,
    pub(super) function: &'p Function,
    pub(super) regions: &'p Regions<'p>,
    pub(super) region: &'p Region<'p>,
    pub(super) time: usize,
}

impl Pass<'_> {
    pub(super) fn copies(&self, row: usize) -> i64 {
        self.regions.rows[row].copies[self.time]
    }

    pub(super) fn weight(&self, row: usize, at: usize) -> i128 {
        self.regions.weights[row * self.plan.weights.len() + at]
    }
}
