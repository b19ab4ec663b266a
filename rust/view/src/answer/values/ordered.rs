//! Slots of a part in the order of their values: the ordered multiset behind MIN and MAX.
//!
//! The part holds how often each value is there; this holds each value once, as its slot, for as long
//! as it is there at all. Invariant: blocks are never empty, hold at most [`BLOCK`] slots each, and
//! are in order, within and one after the other; two neighbours hold more than [`BLOCK`] / 4 together
//! and a block has room for no more than four times its slots, so that room follows what is there. So
//! the ends are read in O(1); a slot is found in O(log n) comparisons and moves at most a block; a
//! block splits or is joined to its neighbour in O(n / BLOCK), once in BLOCK / 4 changes at the least.

use std::cmp::Ordering;

/// Slots in a block.
const BLOCK: usize = 512;

/// Slots in order. Who calls says what the order is: each call gets the slots' ordering against the
/// one that is meant.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderedSlots {
    /// Most groups have one block: it needs no list of blocks.
    first: Vec<u32>,
    rest: Vec<Vec<u32>>,
}

impl OrderedSlots {
    pub(super) fn first(&self) -> Option<u32> {
        self.first.first().copied()
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.rest.last().unwrap_or(&self.first).last().copied()
    }

    /// All slots, in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.first.iter().chain(self.rest.iter().flatten()).copied()
    }

    /// Adds a slot, before the first one that is greater.
    pub(super) fn insert(&mut self, slot: u32, order: impl Fn(u32) -> Ordering) {
        let at = self.block(&order);
        let block = self.block_mut(at);
        let place = block.partition_point(|&other| order(other) == Ordering::Less);
        if block.len() < BLOCK {
            block.insert(place, slot);
            return;
        }
        let mut upper = block.split_off(BLOCK / 2);
        match place.checked_sub(BLOCK / 2) {
            Some(place) => upper.insert(place, slot),
            None => block.insert(place, slot),
        }
        self.rest.insert(at, upper);
    }

    /// Removes the slot of this order.
    pub(super) fn remove(&mut self, slot: u32, order: impl Fn(u32) -> Ordering) {
        let at = self.block(&order);
        let block = self.block_mut(at);
        let place = block.partition_point(|&other| order(other) == Ordering::Less);
        debug_assert_eq!(
            block.get(place),
            Some(&slot),
            "a value that leaves was there"
        );
        if block.get(place) == Some(&slot) {
            block.remove(place);
        }
        let left = block.len();
        if left == 0 {
            match at.checked_sub(1) {
                Some(at) => drop(self.rest.remove(at)),
                None if self.rest.is_empty() => self.first = Vec::new(),
                None => self.first = self.rest.remove(0),
            }
            return self.trim();
        }
        if left * 4 < block.capacity() {
            block.shrink_to(left * 2);
        }
        let joins = |other: Option<usize>| other.is_some_and(|other| left + other <= BLOCK / 4);
        if joins(self.rest.get(at).map(Vec::len)) {
            self.join(at);
        } else if joins(at.checked_sub(1).map(|before| self.block_mut(before).len())) {
            self.join(at - 1);
        }
    }

    /// Joins a block with the one behind it.
    fn join(&mut self, at: usize) {
        let behind = self.rest.remove(at);
        self.block_mut(at).extend(behind);
        self.trim();
    }

    fn trim(&mut self) {
        if self.rest.len() * 4 < self.rest.capacity() {
            self.rest.shrink_to(self.rest.len() * 2);
        }
    }

    /// Every slot has gone to where `to` says, and their order with them.
    pub(super) fn follow(&mut self, to: impl Fn(u32) -> u32) {
        let slots = self.first.iter_mut().chain(self.rest.iter_mut().flatten());
        slots.for_each(|slot| *slot = to(*slot));
    }

    /// The block in which something of this order is, or belongs.
    fn block(&self, order: &impl Fn(u32) -> Ordering) -> usize {
        // The last block whose first slot is not greater.
        self.rest
            .partition_point(|block| order(block[0]) != Ordering::Greater)
    }

    fn block_mut(&mut self, at: usize) -> &mut Vec<u32> {
        match at.checked_sub(1) {
            None => &mut self.first,
            Some(at) => &mut self.rest[at],
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        let slots = self.rest.iter().map(Vec::capacity).sum::<usize>() + self.first.capacity();
        slots * size_of::<u32>() + self.rest.capacity() * size_of::<Vec<u32>>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a sorted vector; the value of a slot is its number, mixed up.
        #[test]
        fn a_sorted_vector_agrees(steps in prop::collection::vec(0u32..1_500, 0..4_000)) {
            let value = |slot: u32| slot.wrapping_mul(0x9E37_79B1);
            let (mut ours, mut model) = (OrderedSlots::default(), Vec::new());
            for slot in steps {
                let order = |other: u32| value(other).cmp(&value(slot));
                match model.binary_search(&value(slot)) {
                    Ok(at) => {
                        model.remove(at);
                        ours.remove(slot, order);
                    }
                    Err(at) => {
                        model.insert(at, value(slot));
                        ours.insert(slot, order);
                    }
                }
                prop_assert_eq!(ours.first().map(value), model.first().copied());
                prop_assert_eq!(ours.last().map(value), model.last().copied());
            }
            let all: Vec<u32> = ours.iter().map(value).collect();
            prop_assert_eq!(all, model);
            prop_assert!(ours.rest.iter().all(|block| !block.is_empty()));
        }

        /// Most of many leave, from wherever: few blocks are left, and little room.
        #[test]
        fn room_follows_what_is_there(keep in 0u32..40, stride in 1u32..400) {
            const MANY: u32 = 12_007;
            let order = |slot: u32| move |other: u32| other.cmp(&slot);
            let mut ours = OrderedSlots::default();
            (0..MANY).for_each(|slot| ours.insert(slot, order(slot)));
            // Coprime to their number: each leaves once.
            let mut left: Vec<u32> = (1..=MANY).map(|at| at * stride % MANY).collect();
            while left.len() > keep as usize {
                let slot = left.swap_remove(left.len() / 2);
                ours.remove(slot, order(slot));
            }
            left.sort_unstable();
            prop_assert!(ours.iter().eq(left));
            prop_assert!(ours.memory_usage() < 4 * BLOCK, "{}", ours.memory_usage());
        }
    }
}
