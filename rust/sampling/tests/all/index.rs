//! The index against joins by brute force: each result once, dense, after any inserts and deletes.

use std::collections::BTreeMap;

use crate::common::{Tuples, delta, join, shape, shapes, whole};
use proptest::prelude::*;
use ringview_core::Error;
use ringview_sampling::{Atom, Index, Random};

/// A step: the relation, and a number that makes a row or chooses one to delete.
type Step = (usize, bool, u64);

fn row(columns: usize, mut number: u64) -> Vec<u64> {
    (0..columns)
        .map(|_| {
            let word = number % 3;
            number /= 3;
            word
        })
        .collect()
}

/// Runs steps; checks deltas, the whole, and density where nothing leaves.
fn run(atoms: &[Atom], steps: &[Step], deletes: bool) {
    let mut index = Index::new(atoms).unwrap();
    let mut tuples: Tuples = vec![BTreeMap::new(); atoms.len()];
    for (at, &(atom, delete, number)) in steps.iter().enumerate() {
        let atom = atom % atoms.len();
        let before = join(atoms, &tuples);
        if deletes && delete && !tuples[atom].is_empty() {
            let nth = number as usize % tuples[atom].len();
            let words = tuples[atom].values().nth(nth).unwrap().clone();
            let tuple = index.find(atom, &words).unwrap();
            assert_eq!(tuples[atom].remove(&tuple), Some(words));
            let gone = delta(&index, atom, tuple);
            index.unlink(atom, &[tuple]);
            index.forget(atom, tuple);
            assert_eq!(gone.len(), before.len() - join(atoms, &tuples).len());
        } else {
            let words = row(atoms[atom].columns, number);
            let tuple = index.insert(atom, &words).unwrap();
            assert_eq!(index.row(atom, tuple), words);
            assert_eq!(tuples[atom].insert(tuple, words), None);
            let mut expected = join(atoms, &tuples);
            expected.retain(|result| result[atom] == tuple);
            assert_eq!(delta(&index, atom, tuple), expected);
            if !deletes {
                let positions = index.delta_len(atom, tuple).unwrap();
                dense(atoms.len(), expected.len(), positions);
            }
        }
        // Built in the middle, and kept from then on.
        if at >= steps.len() / 3 {
            let all = join(atoms, &tuples);
            assert_eq!(whole(&mut index), all);
            assert_eq!(index.results(), all.len() as u128);
            if !deletes {
                dense(atoms.len() + 1, all.len(), index.len_upper().unwrap());
            }
        }
        index.check();
    }
}

/// The bound of Theorem 4.2: positions are at most 2^(2 relations - 2) times the results.
fn dense(atoms: usize, results: usize, positions: u128) {
    assert!(
        positions <= (results as u128) << (2 * atoms - 2),
        "{positions} for {results}"
    );
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (0usize..5, prop::bool::weighted(0.4), 0u64..81);
    prop::collection::vec(step, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn each_result_stands_at_one_position(which in 0..shapes().len(), steps in steps(40)) {
        run(&shapes()[which].1, &steps, false);
    }

    #[test]
    fn so_it_does_when_tuples_leave(which in 0..shapes().len(), steps in steps(60)) {
        run(&shapes()[which].1, &steps, true);
    }

    #[test]
    fn rebuilt_it_is_the_same(which in 0..shapes().len(), steps in steps(40)) {
        let atoms = &shapes()[which].1;
        let mut index = Index::new(atoms).unwrap();
        for &(atom, _, number) in &steps {
            let atom = atom % atoms.len();
            index.insert(atom, &row(atoms[atom].columns, number)).unwrap();
        }
        let before = whole(&mut index);
        index.rebuild().unwrap();
        index.check();
        prop_assert_eq!(whole(&mut index), before);
    }
}

#[test]
fn groups_and_tuples_alone_hold_the_same_join() {
    // Repeated rows, in a relation that is no more than its keys.
    let mut atoms = shape("line 3");
    for grouped in [false, true] {
        atoms[1].grouped = grouped;
        let steps: Vec<Step> = (0..60u64)
            .map(|n| (n as usize, n % 5 == 4, n * n % 7))
            .collect();
        run(&atoms, &steps, true);
    }
}

#[test]
fn cyclic_joins_are_refused() {
    let triangle = [vec![0, 1], vec![1, 2], vec![2, 0]].map(|v| Atom::new(v, 2));
    let refused = Index::new(&triangle).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
    assert!(matches!(Index::new(&[]), Err(Error::Value { .. })));
    let strange = [Atom::new(vec![0], 0), Atom::new(vec![0], 1)];
    assert!(matches!(Index::new(&strange), Err(Error::Value { .. })));
}

#[test]
fn steps_are_amortised_on_adversarial_streams() {
    let n = 4000u64;
    let log = 12;
    // A hub that all tuples of the middle share, doubled again and again from its left.
    let hub = |index: &mut Index| {
        for value in 0..n {
            index.insert(1, &[0, value]).unwrap();
        }
        for value in 0..n {
            index.insert(0, &[0, value]).unwrap();
        }
    };
    // All at one key, relation by relation in turn.
    let one = |index: &mut Index| {
        for value in 0..2 * n {
            let atom = value as usize % index.atoms();
            index.insert(atom, &[0, 0]).unwrap();
        }
    };
    // Counts that rise and fall again around a border.
    let waves = |index: &mut Index| {
        for value in 0..n / 2 {
            index.insert(1, &[0, value]).unwrap();
        }
        let mut left = Vec::new();
        for value in 0..1 << 11 {
            left.push(index.insert(0, &[0, value]).unwrap());
        }
        for value in 0..n {
            let tuple = left.pop().unwrap();
            index.unlink(0, &[tuple]);
            index.forget(0, tuple);
            left.push(index.insert(0, &[0, value]).unwrap());
        }
    };
    for name in ["line 3", "line 5", "star 4"] {
        for (at, stream) in [&hub as &dyn Fn(&mut Index), &one, &waves]
            .into_iter()
            .enumerate()
        {
            let atoms = shape(name);
            let mut index = Index::new(&atoms).unwrap();
            let _ = index.len_upper().unwrap();
            stream(&mut index);
            let bound = 4 * 2 * n * log;
            assert!(
                index.steps() < bound,
                "{name} {at}: {} steps",
                index.steps()
            );
        }
    }
}

#[test]
fn keys_that_nobody_has_go() {
    let mut index = Index::new(&shape("line 3")).unwrap();
    let mut held = 0;
    // Beyond what an array by word would hold.
    for round in 1 << 40..(1 << 40) + 200u64 {
        let rows = [[round, 1], [round, round], [round, 2]];
        for (atom, words) in rows.iter().enumerate() {
            index.insert(atom, words).unwrap();
        }
        for (atom, words) in rows.iter().enumerate() {
            let tuple = index.find(atom, words).unwrap();
            index.unlink(atom, &[tuple]);
            index.forget(atom, tuple);
            assert_eq!(index.find(atom, words), None);
        }
        index.check();
        if round == (1 << 40) + 20 {
            held = index.memory_usage();
        }
    }
    assert_eq!(index.memory_usage(), held);
}

#[test]
fn counts_pass_64_bits_and_are_uniform_over_all() {
    let atoms = shape("star 4");
    let mut index = Index::new(&[atoms.clone(), atoms[..1].to_vec()].concat()).unwrap();
    for value in 0..1u64 << 14 {
        for atom in 0..5 {
            index.insert(atom, &[7, value]).unwrap();
        }
    }
    let positions = index.len_upper().unwrap();
    assert_eq!(positions, 1 << 70);
    let mut random = Random::new(1);
    let mut upper = [0u32; 5];
    for _ in 0..4000 {
        let mut out = [0; 5];
        assert!(index.get(random.below(positions), &mut out));
        for (count, tuple) in upper.iter_mut().zip(out) {
            *count += u32::from(tuple >= 1 << 13);
        }
    }
    assert!(
        upper.iter().all(|count| count.abs_diff(2000) < 130),
        "{upper:?}"
    );
}

#[test]
fn joins_that_are_too_large_say_so_and_recover() {
    let mut index = Index::new(&vec![Atom::new(vec![0], 2); 13]).unwrap();
    index.len_upper().unwrap();
    let mut last = Vec::new();
    let mut fill = || {
        for value in 0..1u64 << 11 {
            for atom in 0..13 {
                let tuple = index.add(atom, &[7, value]);
                last.push((atom, tuple));
                index.link(atom, &[tuple])?;
            }
        }
        Ok(())
    };
    let refused: Result<(), Error> = fill();
    assert!(
        matches!(refused, Err(Error::Overflow { .. })),
        "{refused:?}"
    );
    assert!(index.is_broken());
    for (atom, tuple) in last.drain(last.len() - 13..) {
        index.unlink(atom, &[tuple]);
        index.forget(atom, tuple);
    }
    index.rebuild().unwrap();
    index.check();
}
