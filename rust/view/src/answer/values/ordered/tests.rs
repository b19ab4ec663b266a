//! Ordered slots against sorted vectors, and how many comparisons they take.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;

fn mixed(slot: u32) -> u32 {
    slot.wrapping_mul(0x9E37_79B1)
}

fn by_value(one: u32, other: u32) -> Ordering {
    mixed(one).cmp(&mixed(other))
}

proptest! {
    /// Against a sorted vector; the value of a slot is its number, mixed up.
    #[test]
    fn a_sorted_vector_agrees(
        steps in prop::collection::vec(0u32..9_000, 0..12_000),
        whole in any::<bool>(),
        modulus in 2u32..9,
    ) {
        let order = Order { compare: by_value, whole };
        let (mut ours, mut model) = (OrderedSlots::default(), Vec::new());
        for slot in steps {
            match model.binary_search(&mixed(slot)) {
                Ok(at) => {
                    model.remove(at);
                    ours.remove(slot, order);
                }
                Err(at) => {
                    model.insert(at, mixed(slot));
                    ours.insert(slot, order);
                }
            }
            prop_assert_eq!(ours.first().map(mixed), model.first().copied());
            prop_assert_eq!(ours.last().map(mixed), model.last().copied());
        }
        ours.check(order);
        let mut all: Vec<u32> = ours.iter().map(mixed).collect();
        if !whole {
            all.sort_unstable();
        }
        prop_assert_eq!(&all, &model);
        let keep = |value: &u32| value.is_multiple_of(modulus);
        let kept = |slot: &u32| keep(&mixed(*slot));
        let least = ours.least_of(order, kept).map(mixed);
        prop_assert_eq!(least, model.iter().copied().find(keep));
        let greatest = ours.greatest_of(order, kept).map(mixed);
        prop_assert_eq!(greatest, model.iter().copied().rev().find(keep));
    }

    /// A window slides over values in order: one end is deleted, the other inserted.
    #[test]
    fn a_window_slides(length in 1u32..9_000, steps in 1u32..9_000, down in any::<bool>()) {
        let compare = |one: u32, other: u32| match down {
            true => other.cmp(&one),
            false => one.cmp(&other),
        };
        let order = Order { compare, whole: false };
        let mut ours = OrderedSlots::default();
        (0..length).for_each(|slot| ours.insert(slot, order));
        for step in 0..steps {
            ours.insert(length + step, order);
            ours.remove(step, order);
            let ends = [ours.first(), ours.last()];
            let expected = [Some(step + 1), Some(length + step)];
            prop_assert_eq!(ends, if down { [expected[1], expected[0]] } else { expected });
        }
        ours.check(order);
    }

    /// Most of many leave, from wherever: few blocks are left, and little room.
    #[test]
    fn room_follows_what_is_there(
        keep in 0u32..40,
        stride in 1u32..400,
        whole in any::<bool>(),
    ) {
        const MANY: u32 = 12_007;
        let order = Order { compare: |one: u32, other: u32| one.cmp(&other), whole };
        let mut ours = OrderedSlots::default();
        (0..MANY).for_each(|slot| ours.insert(slot, order));
        // Coprime to their number: each leaves once.
        let mut left: Vec<u32> = (1..=MANY).map(|at| at * stride % MANY).collect();
        while left.len() > keep as usize {
            let slot = left.swap_remove(left.len() / 2);
            ours.remove(slot, order);
        }
        ours.check(order);
        left.sort_unstable();
        let mut found: Vec<u32> = ours.iter().collect();
        found.sort_unstable();
        prop_assert_eq!(found, left);
        prop_assert!(ours.memory_usage() < 4 * LOOSE, "{}", ours.memory_usage());
    }
}

#[test]
fn a_value_among_many_is_compared_with_few() {
    let compared = std::cell::Cell::new(0u64);
    let counting = |one: u32, other: u32| {
        compared.set(compared.get() + 1);
        by_value(one, other)
    };
    let order = Order {
        compare: counting,
        whole: false,
    };
    let mut ours = OrderedSlots::default();
    let mut of = |slots: std::ops::Range<u32>| {
        let before = compared.get();
        let number = u64::from(slots.end - slots.start);
        slots.for_each(|slot| ours.insert(slot, order));
        (compared.get() - before) / number
    };
    let few = of(0..20_000);
    let many = of(20_000..400_000);
    // The blocks are found by halving; all else does not grow.
    assert!(many <= few + 8, "{few} comparisons a value, then {many}");
}
