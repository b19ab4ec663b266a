//! Slots of a part in the order of their values: the ordered multiset behind MIN and MAX.
//!
//! The part holds how often each value is there; this holds each value once, as its slot, for as long
//! as it is there at all. Invariant: blocks are never empty, hold at most [`BLOCK`] slots each, and
//! are in order, within and one after the other. So the ends are read in O(1); a slot is found in
//! O(log n) comparisons and moves at most a block; a block splits in O(n / BLOCK), once in BLOCK / 2
//! insertions at the least.

use std::cmp::Ordering;

/// Slots in a block.
const BLOCK: usize = 512;

/// Slots in order. Who calls says what the order is: each call gets the slots' ordering against the
/// one that is meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderedSlots {
    /// Most groups have one block: it needs no list of blocks.
    first: Vec<u32>,
    rest: Vec<Vec<u32>>,
}

impl OrderedSlots {
    pub(crate) fn first(&self) -> Option<u32> {
        self.first.first().copied()
    }

    pub(crate) fn last(&self) -> Option<u32> {
        self.rest.last().unwrap_or(&self.first).last().copied()
    }

    /// All slots, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.first.iter().chain(self.rest.iter().flatten()).copied()
    }

    /// Adds a slot, before the first one that is greater.
    pub(crate) fn insert(&mut self, slot: u32, order: impl Fn(u32) -> Ordering) {
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
    pub(crate) fn remove(&mut self, slot: u32, order: impl Fn(u32) -> Ordering) {
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
        if !self.block_mut(at).is_empty() {
            return;
        }
        match at.checked_sub(1) {
            Some(at) => drop(self.rest.remove(at)),
            None if self.rest.is_empty() => self.first = Vec::new(),
            None => self.first = self.rest.remove(0),
        }
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

    pub(crate) fn memory_usage(&self) -> usize {
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
    }
}
