//! Slots of a part in the order of their values: the ordered multiset behind MIN and MAX.
//!
//! The part holds how often each value is there; this holds each value once, as its slot, for as long as it is there at
//! all. Where the ends alone are asked for, blocks between the first and the last are not kept in order: a value goes
//! into its block as it comes, and a block is put in order when it becomes an end. Invariant: blocks are in order one
//! after the other, are never empty, hold a bounded number of slots each, and have room for no more than four times
//! their slots; the least slot of each stands first; the first and the last are in order, or all of them. So the ends are
//! read in O(1). Cost: O(log n) comparisons to find a block of n / [`LOOSE`], O(1) to add to it, and O([`LOOSE`]) moves of
//! slots without a comparison to remove; a block splits, joins its neighbour or is put in order in O([`LOOSE`]) comparisons
//! a constant number of times in as many changes. No step costs more than a block.

use std::cmp::Ordering;

/// Slots in a block that is in order.
const BLOCK: usize = 512;

/// Slots in a block that is not, but for its least one.
const LOOSE: usize = 2_048;

/// Slots of values, the least and the greatest at hand. Who calls says how the values of two slots compare.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderedSlots {
    /// Most groups have one block: it needs no list of blocks. In order.
    first: Vec<u32>,
    /// The least slot of each stands first; the last is in order.
    rest: Vec<Vec<u32>>,
}

/// How slots are kept in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<F> {
    /// Compares the values of two slots.
    pub(super) compare: F,
    /// Whether all are to be read in their order, and not the ends alone.
    pub(super) whole: bool,
}

impl<F: Fn(u32, u32) -> Ordering + Copy> Order<F> {
    fn most(&self) -> usize {
        match self.whole {
            true => BLOCK,
            false => LOOSE,
        }
    }

    fn sort(&self, block: &mut [u32]) {
        block.sort_unstable_by(|&one, &other| (self.compare)(one, other));
    }

    /// Puts the least slot of a block first.
    fn lead(&self, block: &mut [u32]) {
        let least =
            (0..block.len()).min_by(|&one, &other| (self.compare)(block[one], block[other]));
        if let Some(least) = least {
            block.swap(0, least);
        }
    }
}

impl OrderedSlots {
    pub(super) fn first(&self) -> Option<u32> {
        self.first.first().copied()
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.rest.last().unwrap_or(&self.first).last().copied()
    }

    /// All slots; in order if they are kept so as a whole.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.first.iter().chain(self.rest.iter().flatten()).copied()
    }

    /// Whether a block is in order.
    fn is_sorted<F: Fn(u32, u32) -> Ordering + Copy>(&self, at: usize, order: Order<F>) -> bool {
        order.whole || at == 0 || at == self.rest.len()
    }

    /// Adds a slot.
    pub(super) fn insert<F: Fn(u32, u32) -> Ordering + Copy>(
        &mut self,
        slot: u32,
        order: Order<F>,
    ) {
        let at = self.block(slot, order);
        let sorted = self.is_sorted(at, order);
        let block = self.block_mut(at);
        let place = match sorted {
            true => block.partition_point(|&other| (order.compare)(other, slot).is_lt()),
            false => block.len(),
        };
        block.insert(place, slot);
        if self.block_mut(at).len() > order.most() {
            self.split(at, order);
        }
    }

    /// Halves a block.
    fn split<F: Fn(u32, u32) -> Ordering + Copy>(&mut self, at: usize, order: Order<F>) {
        let sorted = self.is_sorted(at, order);
        let block = self.block_mut(at);
        let half = block.len() / 2;
        if !sorted {
            block.select_nth_unstable_by(half, |&one, &other| (order.compare)(one, other));
            order.lead(&mut block[..half]);
        }
        let upper = block[half..].to_vec();
        block.truncate(half);
        self.rest.insert(at, upper);
    }

    /// Removes a slot.
    pub(super) fn remove<F: Fn(u32, u32) -> Ordering + Copy>(
        &mut self,
        slot: u32,
        order: Order<F>,
    ) {
        let at = self.block(slot, order);
        let sorted = self.is_sorted(at, order);
        let block = self.block_mut(at);
        let place = match sorted {
            true => block.partition_point(|&other| (order.compare)(other, slot).is_lt()),
            false => block
                .iter()
                .position(|&other| other == slot)
                .unwrap_or(block.len()),
        };
        debug_assert_eq!(
            block.get(place),
            Some(&slot),
            "a value that leaves was there"
        );
        if block.get(place) != Some(&slot) {
            return;
        }
        if sorted {
            block.remove(place);
        } else {
            block.swap_remove(place);
            if place == 0 {
                order.lead(block);
            }
        }
        let left = block.len();
        if left == 0 {
            match at.checked_sub(1) {
                Some(at) => drop(self.rest.remove(at)),
                None if self.rest.is_empty() => self.first = Vec::new(),
                None => self.first = self.rest.remove(0),
            }
            self.sort_ends(order);
            return self.trim();
        }
        if left * 4 < block.capacity() {
            block.shrink_to(left * 2);
        }
        let most = order.most() / 4;
        let joins = |other: Option<usize>| other.is_some_and(|other| left + other <= most);
        if joins(self.rest.get(at).map(Vec::len)) {
            self.join(at, order);
        } else if joins(at.checked_sub(1).map(|before| self.block_mut(before).len())) {
            self.join(at - 1, order);
        }
    }

    /// Joins a block with the one behind it.
    fn join<F: Fn(u32, u32) -> Ordering + Copy>(&mut self, at: usize, order: Order<F>) {
        let behind = self.rest.remove(at);
        self.block_mut(at).extend(behind);
        if !order.whole && self.is_sorted(at, order) {
            order.sort(self.block_mut(at));
        }
        self.trim();
    }

    /// Puts the blocks in order that are the first and the last now.
    fn sort_ends<F: Fn(u32, u32) -> Ordering + Copy>(&mut self, order: Order<F>) {
        if !order.whole {
            order.sort(&mut self.first);
            if let Some(last) = self.rest.last_mut() {
                order.sort(last);
            }
        }
    }

    /// The least of the slots that are to be kept.
    pub(super) fn least_of<F: Fn(u32, u32) -> Ordering + Copy>(
        &self,
        order: Order<F>,
        keep: impl Fn(&u32) -> bool,
    ) -> Option<u32> {
        let least = |(at, block): (usize, &Vec<u32>)| {
            let mut kept = block.iter().copied().filter(&keep);
            match self.is_sorted(at, order) {
                true => kept.next(),
                false => kept.min_by(|&one, &other| (order.compare)(one, other)),
            }
        };
        self.blocks().enumerate().find_map(least)
    }

    /// The greatest of the slots that are to be kept.
    pub(super) fn greatest_of<F: Fn(u32, u32) -> Ordering + Copy>(
        &self,
        order: Order<F>,
        keep: impl Fn(&u32) -> bool,
    ) -> Option<u32> {
        let greatest = |(at, block): (usize, &Vec<u32>)| {
            let mut kept = block.iter().copied().filter(&keep);
            match self.is_sorted(at, order) {
                true => kept.next_back(),
                false => kept.max_by(|&one, &other| (order.compare)(one, other)),
            }
        };
        let blocks: Vec<(usize, &Vec<u32>)> = self.blocks().enumerate().collect();
        blocks.into_iter().rev().find_map(greatest)
    }

    fn blocks(&self) -> impl Iterator<Item = &Vec<u32>> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Every slot has gone to where `to` says, and their order with them.
    pub(super) fn follow(&mut self, to: impl Fn(u32) -> u32) {
        let slots = self.first.iter_mut().chain(self.rest.iter_mut().flatten());
        slots.for_each(|slot| *slot = to(*slot));
    }

    fn trim(&mut self) {
        if self.rest.len() * 4 < self.rest.capacity() {
            self.rest.shrink_to(self.rest.len() * 2);
        }
    }

    /// The block in which a slot is, or belongs.
    fn block<F: Fn(u32, u32) -> Ordering + Copy>(&self, slot: u32, order: Order<F>) -> usize {
        // The last block whose least slot is not greater.
        self.rest
            .partition_point(|block| (order.compare)(block[0], slot).is_le())
    }

    fn block_mut(&mut self, at: usize) -> &mut Vec<u32> {
        match at.checked_sub(1) {
            None => &mut self.first,
            Some(at) => &mut self.rest[at],
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        let slots = self.blocks().map(Vec::capacity).sum::<usize>();
        slots * size_of::<u32>() + self.rest.capacity() * size_of::<Vec<u32>>()
    }

    /// Checks the invariants; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    #[cfg(test)]
    pub(super) fn check<F: Fn(u32, u32) -> Ordering + Copy>(&self, order: Order<F>) {
        let is_less = |one: u32, other: u32| (order.compare)(one, other).is_lt();
        let mut before: Option<u32> = None;
        for (at, block) in self.blocks().enumerate() {
            assert!(block.len() <= order.most());
            assert!(!block.is_empty() || self.rest.is_empty());
            assert!(block.iter().skip(1).all(|&slot| is_less(block[0], slot)));
            assert!(!self.is_sorted(at, order) || block.is_sorted_by(|&a, &b| is_less(a, b)));
            let greatest = block.iter().copied();
            let greatest = greatest.max_by(|&one, &other| (order.compare)(one, other));
            if let (Some(before), Some(&least)) = (before, block.first()) {
                assert!(is_less(before, least));
            }
            before = greatest.or(before);
        }
    }
}

#[cfg(test)]
mod tests {
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

        /// A window slides over values that come in order: an end leaves, the other comes.
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
            prop_assert!(ours.memory_usage() < 4 * order.most(), "{}", ours.memory_usage());
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
}
