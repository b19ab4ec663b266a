//! Samples of parts to a sample of the whole.
//!
//! Each result of a join is in one of some parts; each part has an exact number of results, and k of them drawn without
//! replacement, or all. Invariant: every set of k results of the whole is drawn with equal chances. The shares of the parts are
//! multivariate hypergeometric: those of positions that are drawn from all results, part behind part. Within a part all results
//! have equal chances, because a uniform part of a uniform sample is one. Integers alone: nothing is rounded, up to 2^127
//! results. Cost: O(k log parts).

use ringview_core::{Error, Result};

use crate::Random;
use crate::sample::Walk;

/// A part of a join, sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledPart {
    /// Number of its results.
    pub results: u128,
    /// Number of them that were drawn.
    pub drawn: u64,
}

/// Chooses k results of the whole among those that were drawn from each part: their places there, ascending.
///
/// # Errors
/// `Value` where a part has fewer drawn than `k` and than it has; `Overflow` for more than 2^127 results.
pub fn merge_samples(parts: &[SampledPart], k: u64, seed: u64) -> Result<Vec<Vec<u64>>> {
    let mut ends = Vec::with_capacity(parts.len());
    let mut all = 0u128;
    for (at, part) in parts.iter().enumerate() {
        if u128::from(part.drawn) != part.results.min(u128::from(k)) {
            return Err(Error::Value {
                place: format!("part {at} of a sample of {k}"),
                problem: format!(
                    "{} of its {} results were drawn; draw {k} from each part, or all it has",
                    part.drawn, part.results
                ),
            });
        }
        let end = all.checked_add(part.results).filter(|end| end >> 127 == 0);
        all = end.ok_or_else(|| Error::Overflow {
            place: "the number of results of a join in parts".to_owned(),
        })?;
        ends.push(all);
    }
    let mut random = Random::new(seed);
    let mut shares = vec![0u64; parts.len()];
    let mut walk = Walk::new(all);
    for _ in 0..u128::from(k).min(all) {
        let place = walk.take(random.below(walk.left));
        shares[ends.partition_point(|&end| end <= place)] += 1;
    }
    let given = shares.iter().zip(parts).map(|(&share, part)| {
        let mut walk = Walk::new(u128::from(part.drawn));
        let given = (0..share).map(|_| walk.take(random.below(walk.left)) as u64);
        let mut given: Vec<u64> = given.collect();
        given.sort_unstable();
        given
    });
    Ok(given.collect())
}
