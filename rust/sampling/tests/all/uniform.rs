//! Every set of results is held as often as any other, for any join, moment, and way to insert its tuples.

use std::collections::BTreeMap;

use crate::common::naive::{Flaw, Naive};
use crate::common::sampled::{
    Change, Even, Rows, Tables, apply, apply_together, end, even, held, phases,
};
use crate::common::statistics::{Seen, choose, distance_from_uniform, p_value, pairs};
use crate::common::{chi_square, shape, shapes};
use ringview_sampling::{All, Atom, JoinSample};

/// Way to insert tuples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpdateMode {
    OneByOne,
    Together,
}

/// Below this chance something is wrong.
const NEVER: f64 = 1e-6;

/// A pair of results after so many phases.
fn sampled(atoms: &[Atom], phases: &[Vec<Change>], mode: UpdateMode, seed: u64) -> Vec<Rows> {
    let mut sample = JoinSample::new(atoms, 2, seed, All).unwrap();
    for part in phases.iter().flat_map(|changes| changes.chunks(11)) {
        match mode {
            UpdateMode::OneByOne => part
                .iter()
                .for_each(|change| apply(&mut sample, change).unwrap()),
            UpdateMode::Together => apply_together(&mut sample, atoms, part).unwrap(),
        }
        end(&mut sample);
    }
    held(&sample)
}

fn naive(atoms: &[Atom], phases: &[Vec<Change>], flaw: Flaw, seed: u64) -> Vec<Rows> {
    let mut sample = Naive::new(atoms, seed, flaw);
    let changes = phases.iter().flatten();
    changes.for_each(|change| sample.apply(change));
    sample.rows()
}

/// Statistics of the moments after each phase: after inserts, deletes, and inserts again.
fn moments(
    (atoms, series): (&[Atom], usize),
    runs: u64,
    sampler: impl Fn(&[Vec<Change>], u64) -> Vec<Rows>,
) -> Vec<Seen> {
    let phases = phases(atoms);
    let mut tables = Tables(vec![Vec::new(); atoms.len()]);
    let seen = (0..phases.len()).filter_map(|moment| {
        phases[moment]
            .iter()
            .for_each(|change| tables.apply(change));
        let results = tables.join(atoms).len();
        let phases = &phases[..=moment];
        let series = 3 * series + moment;
        (results > 2).then(|| pairs(runs, series, results, |seed| sampler(phases, seed)))
    });
    seen.collect()
}

/// All shapes: none deviates much, and their p-values are uniform.
fn all_are_uniform(runs: u64, mode: UpdateMode) {
    let mut values = Vec::new();
    for (nth, (name, atoms)) in shapes().into_iter().enumerate() {
        let series = 2 * nth + usize::from(mode == UpdateMode::Together);
        let seen = moments((&atoms, series), runs, |phases, seed| {
            sampled(&atoms, phases, mode, seed)
        });
        for seen in seen {
            println!("{name}, {mode:?}: {seen:?}");
            assert!(seen.single.min(seen.p()) > NEVER, "{name}: {seen:?}");
            values.push(seen.p());
        }
    }
    assert!(values.len() > 24, "{} moments show anything", values.len());
    let distance = distance_from_uniform(values);
    println!("{mode:?}: {distance} from uniform");
    assert!(distance < 1.95, "{distance}");
}

#[test]
fn all_pairs_are_equally_likely_at_every_moment() {
    all_are_uniform(800, UpdateMode::OneByOne);
    all_are_uniform(800, UpdateMode::Together);
}

#[test]
#[ignore = "minutes"]
fn all_pairs_are_equally_likely_at_every_moment_in_many_runs() {
    all_are_uniform(20_000, UpdateMode::OneByOne);
    all_are_uniform(20_000, UpdateMode::Together);
}

/// The least p-value of a sampler over the moments of a join that has dummies.
fn least(flaw: Flaw, runs: u64) -> f64 {
    let atoms = shape("line 4");
    let seen = moments((&atoms, 0), runs, |phases, seed| {
        naive(&atoms, phases, flaw, seed)
    });
    assert_eq!(seen.len(), 3, "results at every moment");
    seen.iter()
        .map(|seen| seen.single.min(seen.p()))
        .fold(1.0, f64::min)
}

#[test]
fn samplers_that_are_wrong_are_found_out() {
    let runs = 2000;
    let right = least(Flaw::Nothing, runs);
    assert!(right > 1e-3, "{right}");
    for flaw in [Flaw::KeepsDummies, Flaw::KeepsW] {
        let wrong = least(flaw, runs);
        assert!(wrong < NEVER, "{flaw:?}: {wrong}");
    }
}

/// Inserts, a delete of half of what is held, and many inserts: what a w that did not move would spoil.
fn w_that_matters() -> [Vec<Change>; 3] {
    let rows = |range: std::ops::Range<u64>| range.map(|value| (0, vec![value], false));
    let come: Vec<Change> = rows(0..8).collect();
    let gone = (0..5).map(|value| (0, vec![value], true));
    [come, gone.collect(), rows(8..11).collect()]
}

#[test]
fn w_must_move_when_results_are_replaced() {
    let atoms = shape("single");
    let phases = w_that_matters();
    let seen = |flaw| pairs(20_000, 2, 6, |seed| naive(&atoms, &phases, flaw, seed)).p();
    let (right, wrong) = (seen(Flaw::Nothing), seen(Flaw::KeepsWInWalks));
    assert!(right > 1e-3, "{right}");
    assert!(wrong < NEVER, "{wrong}");
    let ours = |seed| sampled(&atoms, &phases, UpdateMode::OneByOne, seed);
    let ours = pairs(20_000, 2, 6, ours).p();
    assert!(ours > 1e-3, "{ours}");
}

#[test]
fn w_has_its_law_after_every_phase() {
    let atoms = shape("line 3");
    let phases = phases(&atoms);
    let (runs, k) = (4000, 3);
    let mut sums = [0.0; 3];
    let mut expected = [0.0; 3];
    let mut tables = Tables(vec![Vec::new(); atoms.len()]);
    for (changes, expected) in phases.iter().zip(&mut expected) {
        changes.iter().for_each(|change| tables.apply(change));
        *expected = k as f64 / (tables.join(&atoms).len() as f64 + 1.0);
    }
    for seed in 0..runs {
        let mut sample = JoinSample::new(&atoms, k, seed, All).unwrap();
        for (changes, sum) in phases.iter().zip(&mut sums) {
            for part in changes.chunks(if seed % 2 == 0 { 1 } else { 11 }) {
                apply_together(&mut sample, &atoms, part).unwrap();
                end(&mut sample);
            }
            *sum += sample.state().w();
        }
    }
    for (sum, expected) in sums.iter().zip(expected) {
        // A Beta's deviation is below its mean here.
        let error = (sum / runs as f64 - expected).abs();
        assert!(
            error < 4.0 * expected / (runs as f64).sqrt(),
            "{sum} for {expected}"
        );
    }
}

#[test]
fn results_that_pass_a_predicate_are_equally_likely() {
    let atoms = shape("two");
    let runs = 20_000;
    let rows = |atom| (0..6).map(move |value| (atom, vec![value % 2, value / 2], false));
    let come: Vec<Change> = rows(0).chain(rows(1)).collect();
    let gone = [(0, vec![0, 0], true), (1, vec![1, 1], true)];
    let mut tables = Tables(vec![Vec::new(); 2]);
    come.iter()
        .chain(&gone)
        .for_each(|change| tables.apply(change));
    let results: Vec<Rows> = tables.join(&atoms).into_iter().filter(even).collect();
    let mut counts = BTreeMap::<Vec<Rows>, u64>::new();
    for seed in 0..runs {
        let mut sample = JoinSample::new(&atoms, 2, seed, Even { broken: 99 }).unwrap();
        come.iter().chain(&gone).for_each(|change| {
            apply(&mut sample, change).unwrap();
            end(&mut sample);
        });
        *counts.entry(held(&sample)).or_insert(0) += 1;
    }
    assert!(results.len() > 2);
    let cells = choose(results.len(), 2);
    let p = p_value(chi_square(counts.into_values(), cells, runs), cells - 1);
    assert!(p > NEVER, "{p}");
}
