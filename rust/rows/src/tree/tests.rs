//! The tree against a sorted map, after every change; and the nodes that it visits.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Change, Sums, Tree};

const WIDTH: usize = 2;

type Model = BTreeMap<i32, (i64, [i128; WIDTH])>;

fn sums<'m>(of: impl Iterator<Item = &'m (i64, [i128; WIDTH])>) -> Sums {
    let mut sums = Sums::none(WIDTH);
    of.for_each(|(copies, weights)| sums.add(*copies, weights));
    sums
}

/// Adds copies of a key whose weights follow from it; less than 0 takes as many as there are.
fn change(tree: &mut Tree<i32>, model: &mut Model, key: i32, copies: i64) {
    let there = model.get(&key).map_or(0, |(copies, _)| *copies);
    let copies = copies.max(-there);
    let weights = [i128::from(key), -1].map(|one| one * i128::from(copies));
    let changed = tree.add(&key, copies, &weights);
    let own = model.entry(key).or_default();
    own.0 += copies;
    own.1 = [0, 1].map(|at| own.1[at] + weights[at]);
    if own.0 == 0 {
        model.remove(&key);
    }
    let expected = match (there, there + copies) {
        (0, 0) => Change::Stayed,
        (0, _) => Change::Entered,
        (_, 0) => Change::Left,
        _ => Change::Stayed,
    };
    assert_eq!(changed, expected);
}

fn compare(tree: &Tree<i32>, model: &Model, key: i32) {
    tree.check();
    assert_eq!(tree.len(), model.len());
    assert_eq!(
        tree.get(&key),
        model.get(&key).map_or(0, |(copies, _)| *copies)
    );
    assert_eq!(tree.total(), sums(model.values()));
    assert_eq!(
        tree.before(&key),
        sums(model.range(..key).map(|(_, own)| own))
    );
    let own = |of: (&i32, &(i64, [i128; WIDTH]))| (*of.0, of.1.0);
    for from in [Unbounded, Included(&key), Excluded(&key)] {
        let found: Vec<(i32, i64)> = tree
            .forward(from)
            .map(|(key, copies)| (*key, copies))
            .collect();
        let expected: Vec<_> = model.range((from.cloned(), Unbounded)).map(own).collect();
        assert_eq!(found, expected);
        let found: Vec<(i32, i64)> = tree
            .backward(from)
            .map(|(key, copies)| (*key, copies))
            .collect();
        let expected: Vec<_> = model
            .range((Unbounded, from.cloned()))
            .rev()
            .map(own)
            .collect();
        assert_eq!(found, expected);
    }
    let all: Vec<i32> = model
        .iter()
        .flat_map(|(key, (copies, _))| std::iter::repeat_n(*key, *copies as usize))
        .collect();
    for number in 0..=all.len() {
        assert_eq!(tree.select(number as i64), all.get(number));
    }
}

proptest! {
    #[test]
    fn it_is_a_sorted_map_with_sums(
        many in vec((0..500i32, 1..3i64), 0..400),
        few in vec((0..500i32, -3..3i64), 0..40),
        gone in vec(0..500i32, 0..500),
    ) {
        let (mut tree, mut model) = (Tree::new(WIDTH), Model::new());
        for (key, copies) in many {
            change(&mut tree, &mut model, key, copies);
        }
        for (key, copies) in few {
            change(&mut tree, &mut model, key, copies);
            compare(&tree, &model, key);
        }
        for (at, key) in gone.into_iter().enumerate() {
            change(&mut tree, &mut model, key, i64::MIN / 2);
            if at % 50 == 0 {
                compare(&tree, &model, key);
            }
        }
        compare(&tree, &model, 250);
    }
}

#[test]
fn a_change_visits_a_logarithm_of_nodes() {
    for number in [1i32 << 10, 1 << 13, 1 << 16] {
        let mut tree = Tree::new(0);
        for key in 0..number {
            tree.add(&(7 * key % number), 1, &[]);
        }
        let before = tree.steps();
        tree.add(&-1, 1, &[]);
        tree.add(&-1, -1, &[]);
        let most = 4 * u64::from(number.unsigned_abs().ilog2());
        assert!(
            tree.steps() - before <= most,
            "{} steps",
            tree.steps() - before
        );
    }
}
