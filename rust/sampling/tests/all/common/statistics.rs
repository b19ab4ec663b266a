//! Whether a sampler draws every set of results as often as any other, as p-values.
//!
//! A sampler is a function of a seed and a moment of a stream, so any join and any way to sample it can be tested.
//! Every moment of every join has seeds of its own, a series: p-values are then independent, and are uniform if the
//! sampler is right. (With the same seeds two joins of as many results show the same.) That is tested too, so that many
//! small deviations are found out as well as a large one.

use std::collections::BTreeMap;

/// The p-value of a chi-square (Wilson and Hilferty): about 1 if all is too regular, about 0 if it is not as it should be.
pub fn p_value(statistic: f64, degrees: usize) -> f64 {
    let n = degrees as f64;
    let spread = 2.0 / (9.0 * n);
    let z = ((statistic / n).cbrt() - (1.0 - spread)) / spread.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// Number of sets of `k` out of `n`.
pub fn choose(n: usize, k: usize) -> usize {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

/// Statistics of runs at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// That each result is held as often as others.
    pub single: f64,
    /// That each pair of results is held together as often as others, if there were enough runs to decide.
    pub pair: Option<f64>,
}

impl Seen {
    /// One p-value for the moment.
    pub fn p(self) -> f64 {
        self.pair.unwrap_or(self.single)
    }
}

/// Runs a sampler of pairs, with the seeds of a series; `results` is the number of results.
pub fn pairs<R: Ord + Clone>(
    runs: u64,
    series: usize,
    results: usize,
    mut held: impl FnMut(u64) -> Vec<R>,
) -> Seen {
    let mut singles = BTreeMap::<R, u64>::new();
    let mut sets = BTreeMap::<Vec<R>, u64>::new();
    for run in 0..runs {
        let mut pair = held(series as u64 * runs + run);
        pair.sort_unstable();
        assert_eq!(pair.len(), 2.min(results), "a sampler of pairs");
        for result in &pair {
            *singles.entry(result.clone()).or_insert(0) += 1;
        }
        *sets.entry(pair).or_insert(0) += 1;
    }
    assert!(singles.len() <= results, "results that are none");
    // Without replacement counts vary less than those of draws with it.
    let n = results as f64;
    let single =
        super::chi_square(singles.into_values(), results, 2 * runs) * (n - 1.0) / (n - 2.0);
    let cells = choose(results, 2);
    let pair = (cells as u64 * 5 <= runs).then(|| {
        let statistic = super::chi_square(sets.into_values(), cells, runs);
        p_value(statistic, cells - 1)
    });
    Seen {
        single: p_value(single, results - 1),
        pair,
    }
}

/// The largest distance between the share of p-values below a number and the number, in units in which 1.95 is
/// passed with a chance of 10^-3 (Kolmogorov).
pub fn distance_from_uniform(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let gap = |(at, &p): (usize, &f64)| (p - at as f64 / n).max((at + 1) as f64 / n - p);
    let largest = values.iter().enumerate().map(gap).fold(0.0, f64::max);
    largest * n.sqrt()
}
