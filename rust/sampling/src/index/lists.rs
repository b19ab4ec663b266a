//! Many lists of small numbers in one array.
//!
//! Invariant: a list lies in a block of 2^class words of its own, values in front, further words of its owner at the block's
//! end; free blocks are kept by class. `take` fills the gap with the last value and returns it, so that its owner can
//! follow. Cost: O(1) amortised; at most four words a value, after growth two.

use ringview_core::prefetch;

use crate::capacity::reserve;

/// No block, no value.
pub(crate) const NONE: u32 = u32::MAX;
/// A list fills this share of its block, or it moves to a smaller one.
const SHRINK: usize = 4;

/// The block and the length of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    start: u32,
    pub(crate) len: u32,
    /// Log of the words of its block; no block before the first value.
    class: u8,
}

impl Default for List {
    fn default() -> List {
        List {
            start: NONE,
            len: 0,
            class: 0,
        }
    }
}

/// The blocks of all lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    words: Vec<u32>,
    /// Free blocks, by class.
    free: Vec<Vec<u32>>,
}

impl Lists {
    #[inline]
    pub(crate) fn get(&self, list: List, at: u32) -> u32 {
        debug_assert!(at < list.len, "a place below a list's end");
        self.words[list.start as usize + at as usize]
    }

    /// The values of a list.
    #[inline]
    pub(crate) fn values(&self, list: List) -> &[u32] {
        match list.len {
            0 => &[],
            len => &self.words[list.start as usize..][..len as usize],
        }
    }

    /// The block of a list.
    #[inline]
    pub(crate) fn block(&self, list: List) -> &[u32] {
        &self.words[list.start as usize..][..1 << list.class]
    }

    #[inline]
    pub(crate) fn block_mut(&mut self, list: List) -> &mut [u32] {
        &mut self.words[list.start as usize..][..1 << list.class]
    }

    /// Prefetches the lines where a list begins and ends.
    #[inline]
    pub(crate) fn prefetch(&self, list: List) {
        if list.start != NONE {
            prefetch(&self.words, list.start as usize);
            prefetch(&self.words, list.start as usize + list.len as usize);
        }
    }

    /// Prefetches the line of a place, and that of the block's end.
    #[inline]
    pub(crate) fn prefetch_position(&self, list: List, place: u32) {
        if list.start != NONE {
            let start = list.start as usize;
            prefetch(&self.words, start + place as usize);
            prefetch(&self.words, start + (1 << list.class) - 1);
        }
    }

    /// Appends a value; returns its place.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, value: u32) -> u32 {
        self.reserve(list, 0, 1);
        let place = list.len;
        self.words[(list.start + place) as usize] = value;
        list.len += 1;
        place
    }

    /// Removes the value at a place. Returns the value that is there now.
    #[inline]
    pub(crate) fn take(&mut self, list: &mut List, place: u32) -> Option<u32> {
        let last = self.get(*list, list.len - 1);
        self.words[(list.start + place) as usize] = last;
        list.len -= 1;
        let moved = (place < list.len).then_some(last);
        self.fit(list, 0);
        moved
    }

    /// Reserves `more` words beside the values and the `tail` words at the end.
    #[inline]
    pub(crate) fn reserve(&mut self, list: &mut List, tail: usize, more: usize) {
        if list.start == NONE || list.len as usize + tail + more > 1 << list.class {
            let mut class = if list.start == NONE {
                0
            } else {
                list.class + 1
            };
            while list.len as usize + tail + more > 1 << class {
                class += 1;
            }
            self.move_to(list, tail, class);
        }
    }

    /// Moves a list out of a block that is far too large.
    #[inline]
    pub(crate) fn fit(&mut self, list: &mut List, tail: usize) {
        if list.len == 0 {
            self.release(list.start, list.class);
            *list = List::default();
        } else if list.len as usize + tail < (1 << list.class) / SHRINK {
            self.move_to(list, tail, list.class - 1);
        }
    }

    #[cold]
    fn move_to(&mut self, list: &mut List, tail: usize, class: u8) {
        let start = self.new_block(class);
        if list.start != NONE {
            let from = list.start as usize;
            let held = from..from + list.len as usize;
            self.words.copy_within(held, start as usize);
            let end = from + (1 << list.class);
            let to = start as usize + (1 << class) - tail;
            self.words.copy_within(end - tail..end, to);
            self.release(list.start, list.class);
        }
        (list.start, list.class) = (start, class);
    }

    fn new_block(&mut self, class: u8) -> u32 {
        if let Some(start) = self.free.get_mut(class as usize).and_then(Vec::pop) {
            return start;
        }
        let start = self.words.len();
        reserve(&mut self.words, 1 << class);
        self.words.resize(start + (1 << class), NONE);
        // Every insert checks `has_capacity`.
        u32::try_from(start).expect("lists of fewer than 2^32 words")
    }

    fn release(&mut self, start: u32, class: u8) {
        let class = class as usize;
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        self.free[class].push(start);
    }

    /// Whether every list could double.
    pub(crate) fn has_capacity(&self) -> bool {
        self.words.len() < 1 << 31
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        (self.words.capacity() + free) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_vectors() {
        let mut random = crate::Random::new(1);
        let mut lists = Lists::default();
        let mut ours = [List::default(); 5];
        let mut theirs: [Vec<u32>; 5] = Default::default();
        for step in 0..20_000u32 {
            let at = random.below(5) as usize;
            // Long stretches of growth and of decline.
            if random.below(100) < if step / 2000 % 2 == 0 { 70 } else { 30 } {
                assert_eq!(lists.push(&mut ours[at], step), theirs[at].len() as u32);
                theirs[at].push(step);
            } else if !theirs[at].is_empty() {
                let place = random.below(theirs[at].len() as u128) as usize;
                theirs[at].swap_remove(place);
                let moved = lists.take(&mut ours[at], place as u32);
                assert_eq!(moved, theirs[at].get(place).copied());
            }
            assert_eq!(lists.values(ours[at]), theirs[at]);
        }
        let held: usize = theirs.iter().map(Vec::len).sum();
        assert!(lists.words.len() < 20_000 && held > 0);
    }
}
