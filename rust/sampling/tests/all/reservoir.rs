//! The reservoir: exact while it fills, uniform after, whatever the batches and however many dummies.

use std::collections::BTreeMap;
use std::ops::Range;

use proptest::prelude::*;
use ringview_core::{Error, Result};
use ringview_sampling::{Items, Random, Reservoir, ReservoirState};

/// Numbers of which the multiples of a step are real.
struct Numbers {
    range: Range<u128>,
    step: u128,
    looked: u64,
    broken: u128,
}

fn numbers(range: Range<u128>, step: u128) -> Numbers {
    Numbers {
        range,
        step,
        looked: 0,
        broken: u128::MAX,
    }
}

impl Items for Numbers {
    type Item = u128;

    fn remain(&self) -> u128 {
        self.range.end - self.range.start
    }

    fn skip(&mut self, items: u128) -> Result<Option<u128>> {
        self.looked += 1;
        let number = self.range.start + items;
        assert!(number < self.range.end, "an item that is not there");
        self.range.start = number + 1;
        if number >= self.broken {
            return Err(Error::Interrupted);
        }
        Ok(number.is_multiple_of(self.step).then_some(number))
    }
}

/// Chi-square of counts that should be equal.
fn chi_square(counts: impl Iterator<Item = u64> + Clone, cells: usize, runs: u64) -> f64 {
    let expected = runs as f64 / cells as f64;
    let sum: f64 = counts.map(|count| (count as f64 - expected).powi(2)).sum();
    sum / expected
}

/// A bound that a chi-square of so many degrees passes with a chance of about 10^-5.
fn bound(degrees: usize) -> f64 {
    let n = degrees as f64;
    n + 4.3 * (2.0 * n).sqrt() + 10.0
}

fn subsets(k: u64, parts: &[Range<u128>], step: u128, runs: u64) -> BTreeMap<Vec<u128>, u64> {
    let mut counts = BTreeMap::new();
    for seed in 0..runs {
        let mut reservoir = Reservoir::new(k, seed).unwrap();
        for part in parts {
            reservoir.offer(&mut numbers(part.clone(), step)).unwrap();
        }
        let mut items = reservoir.items().to_vec();
        items.sort_unstable();
        *counts.entry(items).or_insert(0) += 1;
    }
    counts
}

#[test]
fn all_subsets_are_equally_likely() {
    // 3 of the 7 real ones among 20, in three batches: 35 subsets.
    let counts = subsets(3, &[0..9, 9..9, 9..20], 3, 20_000);
    assert_eq!(counts.len(), 35);
    let statistic = chi_square(counts.values().copied(), 35, 20_000);
    assert!(statistic < bound(34), "{statistic}");
}

#[test]
fn a_reservoir_that_never_redraws_w_is_found_out() {
    // The power of the test above: the same, but with the w of the first filling for good.
    let mut counts = BTreeMap::<Vec<u128>, u64>::new();
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let w = random.unit().powf(1.0 / 3.0);
        let mut held = vec![0, 1, 2];
        for number in 3..7 {
            if random.unit() < w {
                held[random.below(3) as usize] = number;
            }
        }
        held.sort_unstable();
        *counts.entry(held).or_insert(0) += 1;
    }
    let statistic = chi_square(counts.values().copied(), 35, 20_000);
    assert!(statistic > bound(34), "{statistic}");
}

#[test]
fn w_is_an_order_statistic() {
    let runs = 4000;
    let sum: f64 = (0..runs)
        .map(|seed| {
            let mut reservoir = Reservoir::new(5, seed).unwrap();
            reservoir.offer(&mut numbers(0..99, 1)).unwrap();
            reservoir.state().w()
        })
        .sum();
    // Beta(5, 95): mean 0.05, deviation 0.0217.
    assert!((sum / runs as f64 - 0.05).abs() < 4.0 * 0.0217 / (runs as f64).sqrt());
}

#[test]
fn few_items_are_looked_at() {
    let mut reservoir = Reservoir::new(100, 1).unwrap();
    let mut all = numbers(0..1_000_000, 1);
    reservoir.offer(&mut all).unwrap();
    // k + k ln(N / k), and three deviations more.
    assert!(all.looked < 100 + 100 * 10 + 100, "{}", all.looked);
}

#[test]
fn streams_beyond_64_bits_are_sampled_in_both_halves() {
    let (mut low, mut odd) = (0u64, 0u64);
    for seed in 0..2000 {
        let mut reservoir = Reservoir::new(4, seed).unwrap();
        reservoir.offer(&mut numbers(0..1 << 126, 1)).unwrap();
        low += reservoir.items().iter().filter(|&&x| x < 1 << 125).count() as u64;
        odd += reservoir.items().iter().filter(|&&x| x % 2 == 1).count() as u64;
    }
    assert!(low.abs_diff(4000) < 180, "{low}");
    assert!(odd.abs_diff(4000) < 180, "{odd}");
}

#[test]
fn what_cannot_be_is_refused_and_a_batch_that_breaks_leaves_no_trace() {
    assert!(matches!(
        ReservoirState::new(0, 1),
        Err(Error::Value { .. })
    ));
    assert!(matches!(
        ReservoirState::new(u64::MAX, 1),
        Err(Error::Value { .. })
    ));
    let mut reservoir = Reservoir::new(10, 1).unwrap();
    reservoir.offer(&mut numbers(0..1000, 2)).unwrap();
    let before = reservoir.clone();
    let mut bad = numbers(1000..100_000, 2);
    bad.broken = 5000;
    assert_eq!(reservoir.offer(&mut bad), Err(Error::Interrupted));
    assert_eq!(reservoir.state(), before.state());
    assert_eq!(reservoir.items(), before.items());
}

proptest! {
    #[test]
    fn batches_do_not_matter(
        k in 1u64..20, seed: u64, step in 1u128..4, mut cuts in prop::collection::vec(0u128..500, 0..6),
    ) {
        cuts.extend([0, 500]);
        cuts.sort_unstable();
        let mut whole = Reservoir::new(k, seed).unwrap();
        whole.offer(&mut numbers(0..500, step)).unwrap();
        let mut parts = Reservoir::new(k, seed).unwrap();
        for pair in cuts.windows(2) {
            parts.offer(&mut numbers(pair[0]..pair[1], step)).unwrap();
        }
        prop_assert_eq!(whole.items(), parts.items());
        prop_assert_eq!(whole.state(), parts.state());
        prop_assert!(whole.items().iter().all(|x| x.is_multiple_of(step)));
    }

    #[test]
    fn fewer_than_k_are_all_there(k in 1u64..100, seed: u64, step in 1u128..4) {
        let mut reservoir = Reservoir::new(k, seed).unwrap();
        for at in 0..60 {
            reservoir.offer(&mut numbers(at..at + 1, step)).unwrap();
            let real: Vec<u128> = (0..=at).filter(|x| x.is_multiple_of(step)).collect();
            if real.len() as u64 <= k {
                prop_assert_eq!(reservoir.items(), real);
            } else {
                prop_assert_eq!(reservoir.items().len() as u64, k);
            }
        }
    }
}
