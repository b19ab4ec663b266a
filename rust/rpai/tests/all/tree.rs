//! The RPAI tree beside a sorted vector, under random and adversarial changes.

use crate::common::{Naive, Op, Pair, cut, op};
use proptest::prelude::*;
use ringview_core::Error;
use ringview_ring::{CommutativeMonoid, Expansion};
use ringview_rpai::{Cut, Key, Payload, Real, RpaiTree, Sums, Tie};

/// A start of many entries, so that nodes are split and merged.
fn start<K: Key, P: Payload, T: Tie>(
    entries: i64,
    key: impl Fn(i64) -> K,
    payload: impl Fn(i64) -> P,
) -> Pair<K, P, T> {
    let sorted = (0..entries).map(|at| (key(2 * at - entries), T::default(), payload(at % 5 - 1)));
    Pair::new(RpaiTree::from_sorted(sorted).expect("sorted"))
}

fn run<K: Key, P: Payload, T: Tie>(
    mut pair: Pair<K, P, T>,
    ops: Vec<Op>,
    key: impl Fn(i64) -> K + Copy,
    tie: impl Fn(u8) -> T + Copy,
    payload: impl Fn(i64) -> P + Copy,
) {
    pair.compare();
    for (at, op) in ops.into_iter().enumerate() {
        pair.apply(op, key, tie, payload);
        pair.compare();
        let near = at as i64 * 7 % 60 - 30;
        for side in 0..4 {
            pair.compare_at(&cut(key(near), tie(1), side));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn integers_that_merge(ops in prop::collection::vec(op(40), 1..150), entries in 0..200i64) {
        run(start(entries, |k| k, |p| p), ops, |k| k, |_| (), |p| p);
    }

    #[test]
    fn integers_with_ties(ops in prop::collection::vec(op(12), 1..150), entries in 0..200i64) {
        run(start(entries, |k| k, |p| p), ops, |k| k, |t| t, |p| p);
    }

    #[test]
    fn decimals_with_several_sums(ops in prop::collection::vec(op(30), 1..100), entries in 0..100i64) {
        let far = 1i128 << 90;
        let key = |k: i64| i128::from(k) * far;
        let payload = |p: i64| Sums([i128::from(p), i128::from(p) * far]);
        run(start(entries, key, payload), ops, key, |t| t, payload);
    }

    #[test]
    fn reals(ops in prop::collection::vec(op(30), 1..100), entries in 0..100i64) {
        let key = |k: i64| Real::new(k as f64 * 0.1).expect("finite");
        let payload = |p: i64| Expansion::from(p as f64 * 0.3);
        run(start(entries, key, payload), ops, key, |t| t, payload);
    }

    #[test]
    fn selects_by_sum(payloads in prop::collection::vec((0..300i64, 0..4i64), 0..200), bound in 0..300i64) {
        let mut tree = RpaiTree::<i64, i64>::new();
        let mut naive = Naive(Vec::new());
        for (key, payload) in payloads {
            tree.add(key, (), payload).expect("in range");
            naive.add(key, (), payload);
        }
        let mut before = 0;
        let expected = naive.0.iter().find_map(|&(key, tie, payload)| {
            before += payload;
            (before > bound).then_some((key, tie, before - payload))
        });
        prop_assert_eq!(tree.select(|sum| sum > bound), expected);
    }

    #[test]
    fn built_at_once(entries in prop::collection::vec((-50..50i64, 0..4u8, -2..3i64), 0..3000)) {
        let mut naive = Naive(Vec::new());
        let mut sorted = entries.clone();
        sorted.sort_unstable();
        for (key, tie, payload) in entries {
            naive.0.push((key, tie, payload));
        }
        naive.settle();
        let tree = RpaiTree::from_sorted(sorted).expect("sorted");
        tree.check();
        prop_assert_eq!(tree.iter().collect::<Vec<_>>(), naive.0);
    }
}

/// Random numbers without a crate.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Keys far apart or near, shifts near or far: a long run of one kind after the other, of some
/// `most` entries.
fn long_run(seed: u64, rounds: u64, every: u64, most: u64) {
    let mut state = seed;
    let mut pair = start::<i64, i64, u8>(most as i64 / 2, |k| k, |p| p);
    for round in 0..rounds {
        let spread = [30, 1_000, 1_000_000][(round / 500 % 3) as usize];
        let mut key = || (random(&mut state) % (2 * spread)) as i64 - spread as i64;
        let (k, by) = (key(), key());
        let draw = random(&mut state);
        let (t, p, small) = (
            (draw % 3) as u8,
            (draw >> 8) as i64 % 7 - 3,
            (draw >> 20) as i64 % 5 - 2,
        );
        let side = (draw >> 40) as u8 % 4;
        let op = match (draw >> 32) % 16 {
            0..7 if pair.naive.0.len() < 2 * most as usize => Op::Add(k, t, p),
            7 => Op::Put(k, t, p),
            0..10 => pair
                .tree
                .successor(&Cut::after(k))
                .map_or(Op::Commit, |e| Op::Remove(e.0, e.1)),
            10..13 => Op::Shift {
                at: k,
                tie: t,
                side,
                by: small,
            },
            13 => Op::Shift {
                at: k,
                tie: t,
                side,
                by,
            },
            14 => Op::Squeeze { at: k, past: small },
            _ if draw >> 50 & 3 == 0 => Op::Rollback,
            _ => Op::Commit,
        };
        // Keys stay where numbers are.
        let furthest = pair.tree.first().into_iter().chain(pair.tree.last());
        if furthest.into_iter().any(|entry| entry.0.abs() > 1 << 40) {
            pair = start(most as i64 / 2, |k| k, |p| p);
        }
        pair.apply(op, |k| k, |t| t, |p| p);
        if round % every == 0 {
            pair.compare();
        }
        pair.compare_at(&cut(k, t, side));
    }
    pair.compare();
}

#[test]
fn a_long_run() {
    long_run(0x9e37_79b9_7f4a_7c15, 6_000, 1, 400);
}

#[test]
#[ignore = "minutes: millions of operations"]
fn millions_of_operations() {
    // All is audited after each of them, of a large tree after some.
    for (rounds, every, most, seeds) in [(250_000, 1, 300, 1..=8u64), (50_000, 50, 20_000, 9..=10)]
    {
        for seed in seeds {
            let seed = seed.wrapping_mul(0x2545_f491_4f6c_dd1d);
            long_run(seed, rounds, every, most);
        }
    }
}

#[test]
fn all_keys_collapse_to_one() {
    let sorted = (0..500i64).map(|key| (key * 10, (), 1));
    let mut pair = Pair::<i64, i64, ()>::new(RpaiTree::from_sorted(sorted).expect("sorted"));
    for key in (0..499).rev() {
        // Everything above the key falls onto it.
        pair.apply(
            Op::Shift {
                at: key * 10,
                tie: 0,
                side: 1,
                by: -10,
            },
            |k| k,
            |_| (),
            |p| p,
        );
        pair.compare();
    }
    assert_eq!(pair.tree.iter().collect::<Vec<_>>(), [(0, (), 500)]);
    pair.tree.rollback();
    assert_eq!(pair.tree.len(), 500);
    pair.tree.check();
}

#[test]
fn everything_and_nothing_shift() {
    let sorted = || (0..1000i64).map(|key| (key, (), key + 1));
    let mut pair = Pair::<i64, i64, ()>::new(RpaiTree::from_sorted(sorted()).expect("sorted"));
    for (at, by) in [
        (-1, 7),
        (-1, -7),
        (999, 5),
        (5000, -5),
        (500, 0),
        (500, -10_000),
        (-9_500, 2),
    ] {
        pair.apply(
            Op::Shift {
                at,
                tie: 0,
                side: 1,
                by,
            },
            |k| k,
            |_| (),
            |p| p,
        );
        pair.compare();
    }
    pair.tree.rollback();
    assert!(pair.tree.iter().eq(sorted()));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_moved() {
    let mut tree = RpaiTree::<i64, i64>::new();
    for key in [i64::MIN, -5, 0, 5, i64::MAX] {
        tree.add(key, (), 1).expect("in range");
    }
    tree.begin();
    let before: Vec<_> = tree.iter().collect();
    let overflows =
        |result: ringview_core::Result<()>| matches!(result, Err(Error::Overflow { .. }));
    assert!(overflows(tree.shift_keys(&Cut::after(0), 1)));
    assert!(overflows(tree.shift_keys(&Cut::before(i64::MIN), -1)));
    assert!(overflows(tree.add(0, (), i64::MAX)));
    assert!(overflows(tree.add(7, (), i64::MAX)));
    assert!(overflows(tree.add(7, (), i64::MIN)));
    assert!(overflows(tree.put(7, (), i64::MAX).map(|_| ())));
    assert!(tree.iter().eq(before));
    tree.check();
    // The ends of the range are keys like others.
    assert_eq!(tree.prefix_sum(&Cut::after(i64::MAX)), 5);
    assert_eq!(tree.prefix_sum(&Cut::before(i64::MIN)), 0);
    tree.shift_keys(&Cut::after(5), i64::MIN).expect("in range");
    assert_eq!(tree.get(-1, ()), Some(1));
    tree.check();
    let reals =
        RpaiTree::<Real, Expansion>::from_sorted([(Real::ZERO, (), Expansion::from(1e308))]);
    let mut reals = reals.expect("sorted");
    assert!(overflows(reals.add(Real::ZERO, (), Expansion::from(1e308))));
    assert!(overflows(reals.add(
        Real::new(1.0).expect("finite"),
        (),
        Expansion::from(-1e308)
    )));
    assert!(Real::new(f64::NAN).is_err() && Real::new(f64::INFINITY).is_err());
    let unsorted = RpaiTree::<i64, i64>::from_sorted([(1, (), 1), (0, (), 1)]);
    assert!(matches!(unsorted, Err(Error::Value { .. })));
}

#[test]
fn long_float_runs_leave_nothing_behind() {
    let mut tree = RpaiTree::<Real, Expansion>::new();
    let real = |value: f64| Real::new(value).expect("finite");
    for key in 0..200 {
        tree.add(real(f64::from(key)), (), Expansion::from(0.1))
            .expect("finite");
    }
    let mut state = 1;
    let mut shifts = Vec::new();
    for _ in 0..20_000 {
        let at = real((random(&mut state) % 200) as f64 + 0.5);
        // Nothing meets: keys that move up stay above.
        let by = real((random(&mut state) % 1000) as f64 * 1e-7);
        shifts.push((tree.successor(&Cut::after(at)), by));
        tree.shift_keys(&Cut::after(at), by).expect("finite");
    }
    let moved = tree.last().expect("entries").0.value();
    assert!(moved > 199.5, "keys moved: {moved}");
    for (first, by) in shifts.into_iter().rev() {
        let Some((key, ..)) = first else { continue };
        let cut = Cut::before(key.offset_by(by));
        tree.shift_keys(&cut, Key::relative_to(Real::ZERO, by))
            .expect("finite");
    }
    for (at, (key, (), payload)) in tree.iter().enumerate() {
        assert_eq!((key.value(), payload.value()), (at as f64, 0.1));
        assert!(
            key.expansion()
                .difference(Expansion::from(at as f64))
                .is_zero()
        );
    }
    tree.check();
}

/// The most steps of any of many calls.
fn most_steps(
    tree: &mut RpaiTree<i64, i64>,
    mut call: impl FnMut(&mut RpaiTree<i64, i64>, i64),
) -> u64 {
    let mut state = 7;
    (0..500)
        .map(|_| {
            let key = (random(&mut state) % tree.len() as u64) as i64 * 4;
            let before = tree.steps();
            call(tree, key);
            tree.steps() - before
        })
        .max()
        .unwrap_or(0)
}

#[test]
fn steps_grow_as_the_logarithm() {
    for (entries, height) in [(1_000i64, 3), (10_000, 3), (100_000, 4), (1_000_000, 5)] {
        let sorted = (0..entries).map(|key| (key * 4, (), 1));
        let mut tree = RpaiTree::<i64, i64>::from_sorted(sorted).expect("sorted");
        assert_eq!(
            most_steps(&mut tree, |tree, key| {
                std::hint::black_box(tree.prefix_sum(&Cut::after(key)));
            }),
            height
        );
        assert_eq!(
            most_steps(&mut tree, |tree, key| tree.add(key, (), 1).expect("fits")),
            height
        );
        // A look at the first that moves, at the last, and the way.
        let up = most_steps(&mut tree, |tree, key| {
            tree.shift_keys(&Cut::after(key), 3).expect("fits")
        });
        assert!(up <= 3 * height, "{up} steps of {entries}");
        // One pair meets, as when a row is deleted: taken out, and brought back.
        let down = most_steps(&mut tree, |tree, key| {
            let cut = Cut::after(key);
            if let Some((next, stays)) = tree.successor(&cut).zip(tree.predecessor(&cut)) {
                tree.shift_keys(&cut, stays.0 - next.0).expect("fits");
            }
        });
        assert!(down <= 16 * height + 16, "{down} steps of {entries}");
        tree.check();
    }
}

#[test]
fn steps_of_a_shift_grow_with_what_meets() {
    for met in [1i64, 10, 100, 1_000] {
        let sorted = (0..200_000i64).map(|key| (key * 4, (), 1));
        let mut tree = RpaiTree::<i64, i64>::from_sorted(sorted).expect("sorted");
        let before = tree.steps();
        tree.shift_keys(&Cut::after(400_000), -4 * met)
            .expect("fits");
        let steps = tree.steps() - before;
        assert!(
            steps <= 30 * (met as u64 + 2),
            "{steps} steps where {met} meet"
        );
        assert_eq!(tree.len(), 200_000 - met as usize);
        tree.check();
    }
}
