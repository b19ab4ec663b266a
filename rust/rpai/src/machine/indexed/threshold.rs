//! Comparison of a running sum with a threshold.
//!
//! Invariant: once it does, it does so further along an index where no sum is negative. Sums are
//! clamped to the rows that passed the inner comparison. Narrow sums are compared in narrow words.
//! A sum of doubles is compared as the nearest double, which grows with it for it is rounded once.
//! Cost: O(1), of doubles O(digits).

use std::ops::Sub;

use crate::machine::indexed::digits::Reals;
use crate::payload::Sums;

/// The comparison, its sums, and the threshold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threshold<W> {
    /// The lane of its count; the sum is next.
    pub(crate) at: usize,
    /// Its count and sum where the passing rows begin, and where they end.
    pub(crate) low: (W, W),
    pub(crate) high: (W, W),
    /// Whether the aggregate is the count.
    pub(crate) counts: bool,
    pub(crate) bound: W,
}

impl<W: Copy + Ord + Sub<Output = W> + Default> Threshold<W> {
    #[inline(always)]
    pub(crate) fn count<const N: usize>(&self, sums: &Sums<N, W>) -> W {
        sums.0[self.at].clamp(self.low.0, self.high.0) - self.low.0
    }

    #[inline(always)]
    pub(crate) fn sum<const N: usize>(&self, sums: &Sums<N, W>) -> W {
        sums.0[self.at + 1].clamp(self.low.1, self.high.1) - self.low.1
    }

    #[inline(always)]
    pub(crate) fn is_met<const N: usize>(&self, sums: &Sums<N, W>) -> bool {
        match self.counts {
            true => self.count(sums) >= self.bound,
            // The aggregate is NULL where nothing is counted.
            false => self.sum(sums) >= self.bound && self.count(sums) > W::default(),
        }
    }
}

impl Threshold<i128> {
    /// The same of sums that fit 64 bits; `None` if they cannot reach it.
    pub(crate) fn narrow(&self) -> Option<Threshold<i64>> {
        let word = |wide: i128| i64::try_from(wide).ok();
        Some(Threshold {
            at: self.at,
            low: (word(self.low.0)?, word(self.low.1)?),
            high: (word(self.high.0)?, word(self.high.1)?),
            counts: self.counts,
            // A value less than all of them passes at once.
            bound: word(self.bound.max(i128::from(i64::MIN)))?,
        })
    }
}

/// A comparison with the running sum of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reached<'r, const N: usize> {
    /// Of exact sums, which are the units of the threshold.
    Exact(Threshold<i128>),
    /// Of a sum of doubles, whose units are the key of the nearest one; with the sums where the passing rows begin, and
    /// where they end.
    Real(Threshold<i128>, &'r Reals, [Sums<N>; 2]),
}

impl<const N: usize> Reached<'_, N> {
    pub(crate) fn threshold(&mut self) -> &mut Threshold<i128> {
        match self {
            Self::Exact(threshold) | Self::Real(threshold, ..) => threshold,
        }
    }

    /// The units of the aggregate.
    pub(crate) fn units(&self, sums: &Sums<N>) -> i128 {
        match self {
            Self::Exact(threshold) if threshold.counts => threshold.count(sums),
            Self::Exact(threshold) => threshold.sum(sums),
            // Each lane grows along the index, so each is clamped by itself.
            Self::Real(_, real, [low, high]) => real.key(|lane| {
                let [sum, low, high] = [sums, low, high].map(|sums| sums.0[lane]);
                sum.clamp(low, high) - low
            }),
        }
    }

    pub(crate) fn is_met(&self, sums: &Sums<N>) -> bool {
        match self {
            Self::Exact(threshold) => threshold.is_met(sums),
            Self::Real(threshold, ..) => {
                threshold.count(sums) > 0 && self.units(sums) >= threshold.bound
            }
        }
    }
}
