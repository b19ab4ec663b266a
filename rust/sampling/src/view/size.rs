//! The number of results of a join: exact where that is cheap, else between bounds.
//!
//! Invariant: the bounds are certain. Without a condition the count is exact, and so it is where all results that pass the
//! condition are held, or all positions can be looked at. Else the largest key `w` held estimates it: it is the k-th least of as
//! many uniform numbers (see `state`), so `(k - 1) / w` has the right mean and an error of one in the square root of k. Cost:
//! O(N), or O(positions) up to [`FEW`].

use std::fmt;

use ringview_core::Result;

use super::SampleView;
use super::condition::ResultFilter;
use crate::Predicate;

/// So many positions are looked at one by one.
const FEW: u128 = 1 << 16;

/// Number of results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JoinSize {
    /// So many.
    Exact(u128),
    /// Not fewer than the first, not more than the second; the third is the largest of k uniform keys.
    Between(u128, u128, f64),
}

impl fmt::Display for JoinSize {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinSize::Exact(size) => write!(to, "{size}"),
            JoinSize::Between(least, most, _) => write!(to, "{least} to {most}"),
        }
    }
}

impl SampleView {
    /// Number of results.
    #[must_use]
    pub fn join_size(&self) -> JoinSize {
        let sample = self.sample.sample();
        let all = sample.index().results();
        let held = sample.len() as u128;
        match self.filter {
            ResultFilter::All => JoinSize::Exact(all),
            // A reservoir that is not full holds all.
            ResultFilter::Matching(_) if sample.state().items() < sample.state().k() => {
                JoinSize::Exact(held)
            }
            ResultFilter::Matching(_) => match self.counted() {
                Ok(Some(count)) => JoinSize::Exact(count),
                _ => JoinSize::Between(held, all, sample.state().w()),
            },
        }
    }

    /// Number of results that pass the filter, if all positions can be read.
    fn counted(&self) -> Result<Option<u128>> {
        let sample = self.sample.sample();
        let Some(positions) = sample.positions().filter(|&positions| positions <= FEW) else {
            return Ok(None);
        };
        let mut result = vec![0; sample.index().atoms()];
        let mut count = 0;
        for position in 0..positions {
            if sample.index().get(position, &mut result)
                && self.filter.holds(sample.index(), &result)?
            {
                count += 1;
            }
        }
        Ok(Some(count))
    }
}
