//! Samples of joins hold what the join has, under inserts and deletes, however large it is, and are undone whole.

use std::collections::BTreeMap;

use crate::common::sampled::{
    Change, Even, Rows, Tables, apply, apply_together, end, held, phases,
};
use crate::common::{bound, chi_square, shape, shapes};
use proptest::prelude::*;
use ringview_core::{Budget, Error, Result};
use ringview_sampling::{All, Atom, Index, JoinSample, Predicate};

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
        // The sampled results are deleted with half of the first relation.
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

/// Both hold the same in the same places, and continue alike.
fn same<P: Predicate>(a: &JoinSample<P>, b: &JoinSample<P>) {
    a.check();
    assert_eq!(a.state(), b.state());
    assert_eq!(a.counters(), b.counters());
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
            sample.prepare(&Budget::free()).unwrap();
            sample.check();
            let (old, new) = sample.delta();
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
            // A result is held at most as often as it is there.
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
        sample.draw(u64::MAX, false, seed, &Budget::free(), &mut take).unwrap();
        drawn.sort_unstable();
        prop_assert_eq!(&drawn, &results);
        let mut count = 0;
        let done = sample.draw(5, true, seed, &Budget::free(), |_, _| count += 1);
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
        .draw(20_000, true, 9, &Budget::free(), &mut take)
        .unwrap();
    let results = tables.join(&atoms).len();
    let statistic = chi_square(counts.values().copied(), results, 20_000);
    assert!(statistic < bound(results - 1), "{statistic} of {results}");
}
