//! Slots of a table in the order of their values: the ordered multiset behind MIN and MAX.
//!
//! The table holds the multiplicity of each value; this holds each value once, as its slot, while its multiplicity is
//! not zero. If only the ends are read, only the first and the last block are in order, and they are small: their
//! surplus moves to the blocks between, and moves back when they are empty. Invariant: blocks are in order one after
//! the other, are never empty, hold a bounded number of slots each, and have capacity for no more than four times their
//! slots; the least slot of each is first. So the ends are read in O(1). Cost: O(log n) comparisons to find a block of
//! n / [`LOOSE`]; O(1) to add to it, O([`LOOSE`]) moves of slots without a comparison to remove; a block splits, joins
//! its neighbour or fills an end in O([`LOOSE`]) comparisons, once in as many changes but for a constant. No step costs
//! more than a block.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

/// Slots in a block that is in order.
const BLOCK: usize = 512;

/// Slots in a block that is not, but for its least one.
const LOOSE: usize = 2_048;

/// Slots in the first and the last block, where only those are in order.
const END: usize = 256;

/// Slots of values, with fast access to the least and the greatest. The caller compares the values of two slots.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderedSlots {
    /// Most groups have one block: it needs no list of blocks. In order.
    first: Vec<u32>,
    /// The least slot of each is first; the last is in order.
    rest: Vec<Vec<u32>>,
}

/// Order of the slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<F> {
    /// Compares the values of two slots.
    pub(super) compare: F,
    /// Whether all are to be read in their order, and not the ends alone.
    pub(super) whole: bool,
}

impl<F: Fn(u32, u32) -> Ordering + Copy> Order<F> {
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

    /// Whether a block is one of two that alone are in order.
    fn is_end<F>(&self, at: usize, order: Order<F>) -> bool {
        !order.whole && (at == 0 || at == self.rest.len())
    }

    /// Whether a block is in order.
    fn is_sorted<F>(&self, at: usize, order: Order<F>) -> bool {
        order.whole || at == 0 || at == self.rest.len()
    }

    /// Largest number of slots in a block.
    fn most<F>(&self, at: usize, order: Order<F>) -> usize {
        match (order.whole, self.is_end(at, order)) {
            (true, _) => BLOCK,
            (false, true) => END,
            (false, false) => LOOSE,
        }
    }

    /// Adds a slot.
    pub(super) fn insert<F: Fn(u32, u32) -> Ordering + Copy>(
        &mut self,
        slot: u32,
        order: Order<F>,
    ) {
        let at = self.block(slot, order);
        let (sorted, most) = (self.is_sorted(at, order), self.most(at, order));
        let block = self.block_mut(at);
        let place = match sorted {
            true => block.partition_point(|&other| (order.compare)(other, slot).is_lt()),
            false => block.len(),
        };
        block.insert(place, slot);
        if block.len() <= most {
            return;
        }
        match self.is_end(at, order) {
            true => self.spill(at),
            false => self.split(at, order),
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

    /// Moves the inner half of an end to the block beside it, or makes it one.
    fn spill(&mut self, at: usize) {
        let last = self.rest.len();
        let block = self.block_mut(at);
        let half = block.len() / 2;
        if at == 0 {
            let upper = block.split_off(half);
            match self.rest.first_mut() {
                Some(beside) if last > 1 && beside.len() + upper.len() <= LOOSE => {
                    let least = beside.len();
                    beside.extend(upper);
                    beside.swap(0, least);
                }
                _ => self.rest.insert(0, upper),
            }
            return;
        }
        let lower: Vec<u32> = block.drain(..half).collect();
        match at.checked_sub(2) {
            Some(beside) if self.rest[beside].len() + half <= LOOSE => {
                self.rest[beside].extend(lower);
            }
            _ => self.rest.insert(at - 1, lower),
        }
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
                Some(inner) => drop(self.rest.remove(inner)),
                None if self.rest.is_empty() => self.first = Vec::new(),
                None => self.fill_first(order),
            }
            self.fill_last(at, order);
            return self.trim();
        }
        if left * 4 < block.capacity() {
            block.shrink_to(left * 2);
        }
        if self.joins(at, order) {
            self.join(at);
        } else if at > 0 && self.joins(at - 1, order) {
            self.join(at - 1);
        }
    }

    /// Refills the removed first block with the least slots of the next one.
    fn fill_first<F: Fn(u32, u32) -> Ordering + Copy>(&mut self, order: Order<F>) {
        let is_sorted = self.is_sorted(1, order);
        let next = &mut self.rest[0];
        if is_sorted || next.len() <= END {
            order.sort(next);
            self.first = self.rest.remove(0);
            return;
        }
        next.select_nth_unstable_by(END / 2, |&one, &other| (order.compare)(one, other));
        self.first = next.drain(..END / 2).collect();
        order.sort(&mut self.first);
        order.lead(next);
    }

    /// If the last block was removed, makes a new one of the greatest slots of the block before.
    fn fill_last<F: Fn(u32, u32) -> Ordering + Copy>(&mut self, at: usize, order: Order<F>) {
        let Some(last) = self.rest.last_mut().filter(|_| !order.whole && at > 0) else {
            return;
        };
        if last.len() <= END {
            return order.sort(last);
        }
        let from = last.len() - END / 2;
        last.select_nth_unstable_by(from, |&one, &other| (order.compare)(one, other));
        let mut upper = last.split_off(from);
        order.lead(last);
        order.sort(&mut upper);
        self.rest.push(upper);
    }

    /// Whether a block and the one behind it are few enough to be one, and in order as much.
    fn joins<F: Copy>(&self, at: usize, order: Order<F>) -> bool {
        let Some(behind) = self.rest.get(at) else {
            return false;
        };
        let alike = self.is_end(at, order) == self.is_end(at + 1, order);
        alike && self.length(at) + behind.len() <= self.most(at, order) / 4
    }

    /// Joins a block with the one behind it.
    fn join(&mut self, at: usize) {
        let behind = self.rest.remove(at);
        self.block_mut(at).extend(behind);
        self.trim();
    }

    fn length(&self, at: usize) -> usize {
        match at.checked_sub(1) {
            None => self.first.len(),
            Some(at) => self.rest[at].len(),
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

    /// Renumbers every slot by `to`, without a change of their order.
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
            assert!(block.len() <= self.most(at, order));
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
