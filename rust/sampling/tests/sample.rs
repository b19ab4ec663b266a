//! Samples of joins: all subsets equally likely at every moment, under inserts and deletes, and undone whole.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{bound, chi_square, join, shape, shapes};
use proptest::prelude::*;
use ringview_core::{Error, Meter, Result};
use ringview_sampling::{All, Atom, Index, JoinSample, Predicate, Random};

/// A result by its rows.
type Rows = Vec<Vec<u64>>;

/// A change: relation, words, whether it is a delete.
type Change = (usize, Vec<u64>, bool);

/// Relations as multisets of rows.
#[derive(Clone, Default)]
struct Tables(Vec<Vec<Vec<u64>>>);

impl Tables {
    fn apply(&mut self, (atom, row, delete): &Change) {
        let table = &mut self.0[*atom];
        if *delete {
            let at = table.iter().position(|other| other == row).unwrap();
            table.remove(at);
        } else {
            table.push(row.clone());
        }
    }

    /// All results, as often as they are there.
    fn join(&self, atoms: &[Atom]) -> Vec<Rows> {
        let number = |table: &Vec<Vec<u64>>| -> BTreeMap<u32, Vec<u64>> {
            (0..).zip(table.iter().cloned()).collect()
        };
        let tuples: Vec<_> = self.0.iter().map(number).collect();
        let rows = |result: Vec<u32>| -> Rows {
            let pairs = result.iter().zip(&tuples);
            pairs.map(|(tuple, table)| table[tuple].clone()).collect()
        };
        let mut all: Vec<Rows> = join(atoms, &tuples).into_iter().map(rows).collect();
        all.sort_unstable();
        all
    }
}

fn apply<P: Predicate>(sample: &mut JoinSample<P>, (atom, row, delete): &Change) -> Result<()> {
    if *delete {
        assert!(sample.delete(*atom, row), "{row:?} is not there");
        Ok(())
    } else {
        sample.insert(*atom, row)
    }
}

/// All that comes comes together, relation by relation; then what leaves leaves.
fn apply_together<P: Predicate>(
    sample: &mut JoinSample<P>,
    atoms: &[Atom],
    changes: &[Change],
) -> Result<()> {
    for (atom, _) in atoms.iter().enumerate() {
        let come = |change: &&Change| change.0 == atom && !change.2;
        let rows: Vec<&Vec<u64>> = changes
            .iter()
            .filter(come)
            .map(|change| &change.1)
            .collect();
        let words: Vec<u64> = rows.iter().copied().flatten().copied().collect();
        sample.insert_all(atom, &words, rows.len())?;
    }
    let mut leave = changes.iter().filter(|change| change.2);
    leave.try_for_each(|change| apply(sample, change))
}

fn end<P: Predicate>(sample: &mut JoinSample<P>) {
    sample.settle(&Meter::free()).unwrap();
    sample.commit();
}

fn held<P: Predicate>(sample: &JoinSample<P>) -> Vec<Rows> {
    let row = |(atom, &tuple): (usize, &u32)| sample.index().row(atom, tuple).to_vec();
    let rows = |result: &[u32]| result.iter().enumerate().map(row).collect();
    let mut all: Vec<Rows> = sample.results().map(rows).collect();
    all.sort_unstable();
    all
}

/// Rows of small joins: no row twice, so that a result is known by its rows.
fn phases(atoms: &[Atom]) -> [Vec<Change>; 3] {
    let mut random = Random::new(42);
    let mut come = Vec::new();
    let mut left = BTreeSet::new();
    while come.len() < 4 * atoms.len() {
        let atom = come.len() % atoms.len();
        let row: Vec<u64> = (0..atoms[atom].columns)
            .map(|column| {
                let own = column >= atoms[atom].variables.len();
                random.below(if own { 50 } else { 2 }) as u64
            })
            .collect();
        if left.insert((atom, row.clone())) {
            come.push((atom, row, false));
        } else if atoms[atom].columns == 1 {
            come.push((atom, vec![come.len() as u64], false));
        }
    }
    let leave = |change: &Change| (change.0, change.1.clone(), true);
    let gone: Vec<Change> = come.iter().step_by(5).map(leave).collect();
    let again: Vec<Change> = come.iter().step_by(10).cloned().collect();
    [come, gone, again]
}

/// Counts of the subsets held at the end of each phase.
fn subsets(
    atoms: &[Atom],
    phases: &[Vec<Change>; 3],
    k: u64,
    runs: u64,
) -> [BTreeMap<Vec<Rows>, u64>; 3] {
    let mut counts = [const { BTreeMap::new() }; 3];
    for seed in 0..runs {
        let mut sample = JoinSample::new(atoms, k, seed, All).unwrap();
        for (changes, counts) in phases.iter().zip(&mut counts) {
            // One by one, or together: the law is the same.
            for part in changes.chunks(if seed % 2 == 0 { 3 } else { 11 }) {
                if seed % 2 == 0 {
                    part.iter()
                        .for_each(|change| apply(&mut sample, change).unwrap());
                } else {
                    apply_together(&mut sample, atoms, part).unwrap();
                }
                end(&mut sample);
            }
            *counts.entry(held(&sample)).or_insert(0) += 1;
        }
    }
    counts
}

fn choose(n: usize, k: usize) -> usize {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

#[test]
fn all_pairs_are_equally_likely_at_every_moment() {
    let runs = 20_000;
    for name in [
        "two",
        "line 3",
        "star 3",
        "grouped middle",
        "product",
        "hub",
        "line 4",
    ] {
        let atoms = shape(name);
        let phases = phases(&atoms);
        let counts = subsets(&atoms, &phases, 2, runs);
        let mut tables = Tables(vec![Vec::new(); atoms.len()]);
        for (changes, counts) in phases.iter().zip(&counts) {
            changes.iter().for_each(|change| tables.apply(change));
            let results = tables.join(&atoms).len();
            assert!(results > 2, "{name} shows nothing with {results} results");
            let cells = choose(results, 2);
            assert!(counts.len() <= cells);
            if cells < runs as usize / 5 {
                let statistic = chi_square(counts.values().copied(), cells, runs);
                assert!(
                    statistic < bound(cells - 1),
                    "{name}: {statistic} of {cells} cells"
                );
            }
            // Whatever the cells are, each result is held as often as others.
            let mut single = BTreeMap::<&Rows, u64>::new();
            for (pair, count) in counts {
                pair.iter()
                    .for_each(|result| *single.entry(result).or_default() += count);
            }
            let statistic = chi_square(single.values().copied(), results, 2 * runs);
            assert!(
                statistic < bound(results - 1),
                "{name}: {statistic} of {results} results"
            );
        }
    }
}

#[test]
fn a_sample_that_keeps_dummies_is_found_out() {
    // Whoever stops at a dummy takes the first result of the delta instead.
    let atoms = shape("line 4");
    let changes = &phases(&atoms)[0];
    let runs = 20_000;
    let mut counts = BTreeMap::<Vec<Rows>, u64>::new();
    let mut results = 0;
    for seed in 0..runs {
        let mut index = Index::new(&atoms).unwrap();
        let mut law = ringview_sampling::Law::new(1, seed).unwrap();
        let mut chosen = vec![0; 4];
        let mut tables = Tables(vec![Vec::new(); 4]);
        for change in changes {
            tables.apply(change);
            let tuple = index.insert(change.0, &change.1).unwrap();
            let mut left = index.delta_len(change.0, tuple).unwrap();
            let length = left;
            let mut out = [0; 4];
            let real = |p: &u128, out: &mut [u32]| index.delta_get(change.0, tuple, *p, out);
            let first = (0..length).find(|p| real(p, &mut out));
            while let (Some(first), Some(passed)) = (first, law.advance(left)) {
                left -= passed + 1;
                if !real(&(length - left - 1), &mut out) {
                    real(&first, &mut out);
                }
                if law.stop(true).is_some() {
                    chosen = out.to_vec();
                }
            }
        }
        results = tables.join(&atoms).len();
        let rows = chosen
            .iter()
            .enumerate()
            .map(|(a, &t)| index.row(a, t).to_vec());
        *counts.entry(vec![rows.collect()]).or_insert(0) += 1;
    }
    let statistic = chi_square(counts.values().copied(), results, runs);
    assert!(
        statistic > bound(results - 1),
        "{statistic} of {results} results"
    );
}

/// Three of some numbered items by the law in plain doubles: 8 come, 3 leave, 4 come. `moves` says
/// whether w moves when others take the places of those that left.
fn by_hand(seed: u64, moves: bool) -> Vec<u32> {
    let mut random = Random::new(seed);
    let root = |random: &mut Random| random.unit().powf(1.0 / 3.0);
    let mut sample: Vec<u32> = vec![0, 1, 2];
    let mut w = root(&mut random);
    let come = |item: u32, sample: &mut Vec<u32>, w: &mut f64, random: &mut Random| {
        if random.unit() < *w {
            sample[random.below(3) as usize] = item;
            *w *= root(random);
        }
    };
    (3..8).for_each(|item| come(item, &mut sample, &mut w, &mut random));
    sample.retain(|&item| item > 2);
    let mut outside: Vec<u32> = (3..8).filter(|item| !sample.contains(item)).collect();
    while sample.len() < 3 {
        let left = outside.len() as f64;
        if moves {
            w += (1.0 - w) * (1.0 - random.unit().powf(1.0 / left));
        }
        let at = random.below(outside.len() as u128) as usize;
        sample.push(outside.swap_remove(at));
    }
    (8..12).for_each(|item| come(item, &mut sample, &mut w, &mut random));
    sample.sort_unstable();
    sample
}

#[test]
fn w_must_move_when_results_are_replaced() {
    let runs = 40_000;
    let statistic = |moves| {
        let mut counts = BTreeMap::<Vec<u32>, u64>::new();
        (0..runs).for_each(|seed| *counts.entry(by_hand(seed, moves)).or_insert(0) += 1);
        chi_square(counts.values().copied(), choose(9, 3), runs)
    };
    let (right, wrong) = (statistic(true), statistic(false));
    assert!(right < bound(83), "{right}");
    assert!(wrong > bound(83), "{wrong}");
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
            for change in changes {
                apply(&mut sample, change).unwrap();
                end(&mut sample);
            }
            *sum += sample.law().w();
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

/// Results whose first columns add up to an even number; breaks at a row of its own.
#[derive(Clone, Debug)]
struct Even {
    broken: u64,
}

impl Predicate for Even {
    fn holds(&self, index: &Index, result: &[u32]) -> Result<bool> {
        let words = result
            .iter()
            .enumerate()
            .map(|(atom, &t)| *index.row(atom, t).last().unwrap());
        if words.clone().any(|word| word == self.broken) {
            return Err(Error::Interrupted);
        }
        Ok(words.sum::<u64>() % 2 == 0)
    }
}

fn even(result: &Rows) -> bool {
    result.iter().map(|row| row.last().unwrap()).sum::<u64>() % 2 == 0
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
    let statistic = chi_square(counts.values().copied(), cells, runs);
    assert!(statistic < bound(cells - 1), "{statistic} of {cells} cells");
}

#[test]
fn counts_pass_32_and_64_bits_and_are_sampled_in_both_halves() {
    for (relations, log) in [(3, 11), (5, 13)] {
        let atoms = vec![Atom::new(vec![0], 2); relations];
        let mut sample = JoinSample::new(&atoms, 500, 3, All).unwrap();
        for value in 0..1u64 << log {
            (0..relations).for_each(|atom| sample.insert(atom, &[7, value]).unwrap());
        }
        end(&mut sample);
        for atom in 0..relations {
            let upper = |result: &&[u32]| result[atom] >= 1 << (log - 1);
            let count = sample.results().filter(upper).count();
            assert!(count.abs_diff(250) < 50, "{count} of relation {atom}");
        }
        // What was sampled dies with half of the first relation.
        (0..1u64 << (log - 1)).for_each(|value| assert!(sample.delete(0, &[7, value])));
        end(&mut sample);
        assert_eq!(sample.len(), 500);
        assert!(sample.results().all(|result| result[0] >= 1 << (log - 1)));
    }
}

#[test]
fn what_is_too_large_is_refused_and_undone() {
    let atoms = vec![Atom::new(vec![0], 2); 13];
    let mut sample = JoinSample::new(&atoms, 5, 3, All).unwrap();
    for value in 0..1u64 << 9 {
        (0..13).for_each(|atom| sample.insert(atom, &[7, value]).unwrap());
    }
    end(&mut sample);
    let before = sample.clone();
    let mut grow = || {
        for value in 0..1u64 << 11 {
            (0..13).try_for_each(|atom| sample.insert(atom, &[7, value]))?;
        }
        Ok(())
    };
    let refused: Result<()> = grow();
    assert!(
        matches!(refused, Err(Error::Overflow { .. })),
        "{refused:?}"
    );
    sample.rollback();
    same(&sample, &before);
    assert!(matches!(
        JoinSample::new(&atoms, 0, 1, All),
        Err(Error::Value { .. })
    ));
    assert!(matches!(
        JoinSample::new(&atoms, 1 << 50, 1, All),
        Err(Error::Memory { .. })
    ));
}

/// Both hold the same in the same places, and will go on alike.
fn same<P: Predicate>(a: &JoinSample<P>, b: &JoinSample<P>) {
    a.check();
    assert_eq!(a.law(), b.law());
    assert_eq!(a.met(), b.met());
    assert!(a.results().eq(b.results()));
}

#[test]
fn a_predicate_that_breaks_leaves_no_trace() {
    let atoms = shape("two");
    let mut sample = JoinSample::new(&atoms, 3, 1, Even { broken: 77 }).unwrap();
    for value in 0..20 {
        sample.insert(0, &[value % 3, value]).unwrap();
        sample.insert(1, &[value % 3, value]).unwrap();
    }
    end(&mut sample);
    let before = sample.clone();
    sample.delete(0, &[0, 0]);
    let broken = (0..50).try_for_each(|_| sample.insert(1, &[1, 77]));
    assert_eq!(broken, Err(Error::Interrupted));
    sample.rollback();
    same(&sample, &before);
}

fn changes(most: usize) -> impl Strategy<Value = Vec<(usize, bool, u64)>> {
    let change = (0usize..5, prop::bool::weighted(0.45), 0u64..81);
    prop::collection::vec(change, 0..most)
}

/// Words of three values a column.
fn row(columns: usize, number: u64) -> Vec<u64> {
    (0..columns as u32)
        .map(|column| number / 3u64.pow(column) % 3)
        .collect()
}

fn change(atoms: &[Atom], tables: &Tables, (atom, delete, number): (usize, bool, u64)) -> Change {
    let atom = atom % atoms.len();
    let table = &tables.0[atom];
    if delete && !table.is_empty() {
        return (atom, table[number as usize % table.len()].clone(), true);
    }
    (atom, row(atoms[atom].columns, number), false)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_held_is_of_the_join_and_all_of_it_while_it_is_small(
        which in 0..shapes().len(), changes in changes(60), k in 1u64..12, seed: u64, undo: u32,
        together: bool,
    ) {
        let atoms = &shapes()[which].1;
        let mut sample = JoinSample::new(atoms, k, seed, All).unwrap();
        let mut tables = Tables(vec![Vec::new(); atoms.len()]);
        for (at, part) in changes.chunks(if together { 12 } else { 4 }).enumerate() {
            let (before, tables_before) = (sample.clone(), tables.clone());
            let mut changed = Vec::new();
            for &step in part {
                let change = change(atoms, &tables, step);
                tables.apply(&change);
                changed.push(change);
            }
            if together {
                apply_together(&mut sample, atoms, &changed).unwrap();
            } else {
                changed.iter().for_each(|change| apply(&mut sample, change).unwrap());
            }
            sample.settle(&Meter::free()).unwrap();
            sample.check();
            let (old, new) = sample.moved();
            let as_held = |sample: &JoinSample| -> Vec<Vec<u32>> {
                let mut all: Vec<Vec<u32>> = sample.results().map(<[u32]>::to_vec).collect();
                all.sort_unstable();
                all
            };
            let mut expected = as_held(&before);
            expected.extend(new);
            for gone in old {
                let at = expected.iter().position(|result| *result == gone);
                expected.remove(at.expect("what left was there"));
            }
            expected.sort_unstable();
            prop_assert_eq!(as_held(&sample), expected);
            if undo >> (at % 32) & 1 == 1 {
                sample.rollback();
                same(&sample, &before);
                tables = tables_before;
            } else {
                sample.commit();
            }
            let results = tables.join(atoms);
            let held = held(&sample);
            prop_assert_eq!(held.len() as u64, k.min(results.len() as u64));
            // A result comes as often as it is there, at most.
            let mut left = results.into_iter();
            prop_assert!(held.iter().all(|result| left.any(|other| other == *result)));
        }
    }

    #[test]
    fn draws_without_replacement_take_everything_once(
        which in 0..shapes().len(), changes in changes(40), seed: u64,
    ) {
        let atoms = &shapes()[which].1;
        let mut sample = JoinSample::new(atoms, 1, seed, All).unwrap();
        let mut tables = Tables(vec![Vec::new(); atoms.len()]);
        for step in changes {
            let change = change(atoms, &tables, step);
            tables.apply(&change);
            apply(&mut sample, &change).unwrap();
        }
        end(&mut sample);
        let results = tables.join(atoms);
        let mut drawn = Vec::new();
        let mut take = |index: &Index, result: &[u32]| {
            let row = |(atom, &tuple): (usize, &u32)| index.row(atom, tuple).to_vec();
            drawn.push(result.iter().enumerate().map(row).collect::<Rows>());
        };
        sample.draw(u64::MAX, false, seed, &Meter::free(), &mut take).unwrap();
        drawn.sort_unstable();
        prop_assert_eq!(&drawn, &results);
        let mut count = 0;
        let done = sample.draw(5, true, seed, &Meter::free(), |_, _| count += 1);
        prop_assert_eq!((done.is_ok(), count), if results.is_empty() { (false, 0) } else { (true, 5) });
    }
}

#[test]
fn draws_are_uniform() {
    let atoms = shape("line 3");
    let mut sample = JoinSample::new(&atoms, 1, 1, All).unwrap();
    let mut tables = Tables(vec![Vec::new(); 3]);
    for change in &phases(&atoms)[0] {
        apply(&mut sample, change).unwrap();
        tables.apply(change);
    }
    end(&mut sample);
    let mut counts = BTreeMap::<Vec<u32>, u64>::new();
    let mut take = |_: &Index, result: &[u32]| *counts.entry(result.to_vec()).or_insert(0) += 1;
    sample
        .draw(20_000, true, 9, &Meter::free(), &mut take)
        .unwrap();
    let results = tables.join(&atoms).len();
    let statistic = chi_square(counts.values().copied(), results, 20_000);
    assert!(statistic < bound(results - 1), "{statistic} of {results}");
}
