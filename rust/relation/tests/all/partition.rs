//! A partition against counted degrees, its bounds, and what a transaction that is undone leaves.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_relation::{KeyField, KeyLayout, KeyScratch, Keys, Partition, Threshold};

const WORD: KeyField = KeyField {
    bits: 64,
    signed: true,
};

/// Inserts or deletes a tuple for each value.
fn count(partition: &mut Partition, values: &[u64], comes: bool) -> usize {
    let columns = [values.to_vec()];
    let keys = Keys {
        columns: &columns,
        fields: &[0],
        rows: values.len(),
    };
    let (mut found, mut born) = (Vec::new(), 0);
    partition.locate(keys, &mut KeyScratch::default(), &mut found);
    partition.count(&found, &vec![comes; found.len()], |_| born += 1);
    born
}

/// Degree and part of every value.
fn state(partition: &Partition) -> BTreeMap<u64, (u64, bool)> {
    let of = |value| (partition.degree(value), partition.is_heavy(value));
    let values = partition.iter();
    values
        .map(|value| (partition.field(value, 0), of(value)))
        .collect()
}

fn restore(partition: &mut Partition) {
    for value in partition.loose_violations() {
        partition.migrate(value);
    }
}

#[test]
fn thresholds_are_the_least_degrees_with_a_meaning() {
    let of = |base, epsilon| {
        let Threshold {
            loose,
            strict,
            full,
        } = Threshold::new(base, epsilon);
        [loose, strict, full]
    };
    assert_eq!(of(64, 0.5), [4, 8, 12]);
    assert_eq!(of(50, 0.5), [4, 8, 11]);
    assert_eq!(of(1_000_000, 0.0), [1, 1, 2]);
    assert_eq!(of(9, 1.0), [5, 9, 14]);
    assert_eq!(of(1, 0.5), [1, 1, 2]);
}

#[test]
fn at_a_threshold_of_one_every_value_is_heavy_from_its_first_tuple() {
    let mut partition = Partition::new(KeyLayout::new(&[WORD]), Threshold::new(100, 0.0));
    assert_eq!(count(&mut partition, &[3, 3, 4], true), 2);
    restore(&mut partition);
    partition.commit();
    partition.check();
    assert_eq!((partition.heavy(), partition.values()), (2, 2));
    count(&mut partition, &[4], false);
    restore(&mut partition);
    partition.commit();
    partition.check();
    assert_eq!(state(&partition), BTreeMap::from([(3, (2, true))]));
}

proptest! {
    #[test]
    fn bounds_hold_after_every_change(
        changes in prop::collection::vec(
            (prop::collection::vec(0..5u64, 1..12), any::<bool>(), 0..4u64),
            1..40,
        ),
    ) {
        let mut partition = Partition::new(KeyLayout::new(&[WORD]), Threshold::new(36, 0.5));
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        for (values, comes, how) in changes {
            let mut left = model.clone();
            let values: Vec<u64> = values
                .into_iter()
                .filter(|value| {
                    let have = left.entry(*value).or_default();
                    let fits = comes || *have > 0;
                    *have = have.saturating_sub(u64::from(!comes));
                    fits
                })
                .collect();
            let before = (state(&partition), partition.threshold());
            for undone in [true, false] {
                count(&mut partition, &values, comes);
                match how {
                    // Major: another threshold, and all where it wants them.
                    0 => {
                        partition.set_threshold(Threshold::new(16 + 9 * values.len() as u64, 0.5));
                        for value in partition.strict_violations() {
                            partition.migrate(value);
                        }
                    }
                    _ => restore(&mut partition),
                }
                if undone {
                    partition.rollback();
                    prop_assert_eq!(&(state(&partition), partition.threshold()), &before);
                    partition.check();
                }
            }
            partition.commit();
            partition.check();
            for value in values {
                let degree = model.entry(value).or_default();
                *degree = if comes { *degree + 1 } else { *degree - 1 };
            }
            model.retain(|_, degree| *degree > 0);
            let now = state(&partition);
            let degrees: BTreeMap<u64, u64> =
                now.iter().map(|(&value, &(degree, _))| (value, degree)).collect();
            prop_assert_eq!(&degrees, &model);
            let strict = partition.threshold().strict;
            if how == 0 {
                prop_assert!(now.values().all(|&(degree, heavy)| heavy == (degree >= strict)));
            }
        }
    }
}
