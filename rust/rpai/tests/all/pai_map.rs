//! The PAI map beside the tree: the same entries after the same changes.

use crate::common::{Op, op};
use proptest::prelude::*;
use ringview_core::Error;
use ringview_rpai::{Cut, PaiMap, Real, RpaiTree};

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_tree(ops in prop::collection::vec(op(20), 1..150)) {
        let (mut map, mut tree) = (PaiMap::<i64, i64>::new(), RpaiTree::<i64, i64>::new());
        map.begin();
        tree.begin();
        for op in ops {
            match op {
                Op::Add(key, _, payload) => {
                    map.add(key, payload).expect("in range");
                    tree.add(key, (), payload).expect("in range");
                }
                Op::Put(key, _, payload) => {
                    let before = map.put(key, payload).expect("in range");
                    prop_assert_eq!(before, tree.put(key, (), payload).expect("in range"));
                }
                Op::Remove(key, _) => prop_assert_eq!(map.remove(key), tree.remove(key, ())),
                Op::Shift { at, by, .. } => {
                    map.shift_keys(&Cut::after(at), by).expect("in range");
                    tree.shift_keys(&Cut::after(at), by).expect("in range");
                }
                Op::Squeeze { at, past } => {
                    map.shift(at, past, 2).expect("in range");
                    if past != 0 {
                        tree.add(at, (), -2).expect("in range");
                        tree.add(at + past, (), 2).expect("in range");
                    }
                }
                Op::Commit => {
                    map.commit();
 map.begin();
                    tree.commit();
 tree.begin();
                }
                Op::Rollback => {
                    map.rollback();
 map.begin();
                    tree.rollback();
 tree.begin();
                }
            }
            let entries: Vec<_> = tree.iter().map(|(key, (), payload)| (key, payload)).collect();
            prop_assert_eq!(map.iter(), entries);
            prop_assert_eq!(map.total(), tree.total());
            prop_assert_eq!(map.prefix_sum(&Cut::before(3)), tree.prefix_sum(&Cut::before(3)));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_moved() {
    let mut map = PaiMap::<i64, i64>::new();
    map.add(i64::MAX, 1).expect("in range");
    map.add(3, i64::MAX - 1).expect("in range");
    let before = map.iter();
    let overflows =
        |result: ringview_core::Result<()>| matches!(result, Err(Error::Overflow { .. }));
    assert!(overflows(map.shift(i64::MAX, 1, 1)));
    assert!(overflows(map.shift_keys(&Cut::after(3), 1)));
    assert!(overflows(map.add(0, 1)));
    assert!(overflows(map.add(i64::MAX, i64::MAX)));
    assert!(overflows(map.shift(3, 1, -9)));
    assert_eq!(map.iter(), before);
}

#[test]
fn equal_reals_are_one_key_however_they_came_about() {
    let real = |value: f64| Real::new(value).expect("finite");
    let mut map = PaiMap::<Real, i64>::new();
    map.add(real(0.5), 1).expect("in range");
    map.shift_keys(&Cut::before(real(0.0)), real(1e300))
        .expect("finite");
    map.shift_keys(&Cut::before(real(0.0)), real(-1e300))
        .expect("finite");
    map.add(real(0.25), 1).expect("in range");
    map.shift(real(0.25), real(0.25), 1).expect("finite");
    assert_eq!(map.iter(), [(real(0.5), 2)]);
    assert_eq!(map.get(real(-0.0)), None);
}
