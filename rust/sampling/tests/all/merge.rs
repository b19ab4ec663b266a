//! Samples of parts, merged, are samples of the whole: every set with equal chances.

use crate::common::statistics::{choose, pairs};
use ringview_sampling::{Random, SampledPart, merge_samples};

const RUNS: u64 = 20_000;

/// Sizes of parts: alike, far from alike, some without results, some smaller than what is drawn.
const SHAPES: [&[u64]; 5] = [
    &[4, 4],
    &[1, 7],
    &[0, 5, 0, 3, 1],
    &[1, 1, 1, 1, 1, 1],
    &[9],
];

/// `k` of the numbers `first ..`, as many as there are, drawn by themselves.
fn drawn(first: u64, results: u64, k: u64, random: &mut Random) -> Vec<u64> {
    let mut left: Vec<u64> = (first..first + results).collect();
    let places = (0..k.min(results)).map(|_| {
        let place = random.below(left.len() as u128) as usize;
        left.swap_remove(place)
    });
    places.collect()
}

/// Samples of parts whose results are numbered one behind the other.
fn parts(sizes: &[u64], k: u64, random: &mut Random) -> Vec<Vec<u64>> {
    let mut first = 0;
    let of = |&results: &u64| {
        let held = drawn(first, results, k, random);
        first += results;
        held
    };
    sizes.iter().map(of).collect()
}

fn told(sizes: &[u64], samples: &[Vec<u64>]) -> Vec<SampledPart> {
    let both = sizes.iter().zip(samples);
    let part = |(&results, held): (&u64, &Vec<u64>)| SampledPart {
        results: u128::from(results),
        drawn: held.len() as u64,
    };
    both.map(part).collect()
}

fn merged(sizes: &[u64], samples: &[Vec<u64>], k: u64, seed: u64) -> Vec<u64> {
    let chosen = merge_samples(&told(sizes, samples), k, seed).unwrap();
    let both = chosen.iter().zip(samples);
    both.flat_map(|(places, held)| places.iter().map(|&place| held[place as usize]))
        .collect()
}

#[test]
fn every_pair_has_equal_chances() {
    for (shape, sizes) in SHAPES.iter().enumerate() {
        let results: u64 = sizes.iter().sum();
        let seen = pairs(RUNS, shape, results as usize, |seed| {
            let samples = parts(sizes, 2, &mut Random::new(2 * seed));
            merged(sizes, &samples, 2, 2 * seed + 1)
        });
        assert!(seen.p() > 1e-3, "{sizes:?}: {seen:?}");
        assert!(
            seen.single > 1e-3 && seen.single < 0.9999,
            "{sizes:?}: {seen:?}"
        );
    }
}

#[test]
fn biased_merges_fail() {
    let sizes = [1, 7];
    // Parts count as what was drawn of them, not as what they have.
    let by_drawn = |seed: u64| {
        let samples = parts(&sizes, 2, &mut Random::new(2 * seed));
        let drawn: Vec<u64> = samples.iter().map(|held| held.len() as u64).collect();
        merged(&drawn, &samples, 2, 2 * seed + 1)
    };
    // A part gives its first results, in an order that is not random.
    let first = |seed: u64| {
        let mut samples = parts(&sizes, 2, &mut Random::new(2 * seed));
        samples.iter_mut().for_each(|held| held.sort_unstable());
        let chosen = merge_samples(&told(&sizes, &samples), 2, 2 * seed + 1).unwrap();
        let both = chosen.iter().zip(&samples);
        both.flat_map(|(places, held)| held[..places.len()].to_vec())
            .collect()
    };
    for (name, biased) in [
        ("by drawn", &by_drawn as &dyn Fn(u64) -> Vec<u64>),
        ("first", &first),
    ] {
        let seen = pairs(RUNS, 0, 8, biased);
        assert!(seen.p() < 1e-9, "{name}: {seen:?}");
    }
}

#[test]
fn sets_of_three_have_equal_chances() {
    let sizes = [2, 0, 3, 2];
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..RUNS {
        let samples = parts(&sizes, 3, &mut Random::new(2 * seed));
        let mut set = merged(&sizes, &samples, 3, 2 * seed + 1);
        set.sort_unstable();
        *counts.entry(set).or_insert(0u64) += 1;
    }
    let cells = choose(7, 3);
    assert_eq!(counts.len(), cells);
    let statistic = crate::common::chi_square(counts.into_values(), cells, RUNS);
    assert!(crate::common::statistics::p_value(statistic, cells - 1) > 1e-3);
}

/// Half of the results of parts of 2^64 and more, drawn from both with all bits.
#[test]
fn parts_beyond_every_word() {
    let parts = [(1u128 << 100, 1000u64), (1 << 100, 1000), (1 << 20, 1000)];
    let parts = parts.map(|(results, drawn)| SampledPart { results, drawn });
    let shares: Vec<usize> = merge_samples(&parts, 1000, 5)
        .unwrap()
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(shares[2], 0);
    // Six standard deviations.
    assert!(
        shares[0].abs_diff(500) < 95 && shares[0] + shares[1] == 1000,
        "{shares:?}"
    );
    let huge = SampledPart {
        results: 1 << 126,
        drawn: 1,
    };
    assert!(merge_samples(&[huge; 2], 1, 1).is_err());
    assert_eq!(merge_samples(&[huge], 1, 1).unwrap().concat(), [0]);
}

#[test]
fn what_was_not_drawn_is_missed() {
    let part = |results, drawn| SampledPart { results, drawn };
    assert!(merge_samples(&[part(5, 2), part(3, 1)], 2, 1).is_err());
    assert!(merge_samples(&[part(5, 3)], 2, 1).is_err());
    assert_eq!(merge_samples(&[], 2, 1), Ok(Vec::new()));
    assert_eq!(
        merge_samples(&[part(1, 1), part(2, 2)], 3, 9),
        Ok(vec![vec![0], vec![0, 1]])
    );
    let one = merge_samples(&[part(50, 9), part(60, 9)], 9, 3);
    assert_eq!(one, merge_samples(&[part(50, 9), part(60, 9)], 9, 3));
    assert_ne!(one, merge_samples(&[part(50, 9), part(60, 9)], 9, 4));
}
