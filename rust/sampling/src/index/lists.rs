//! Many lists of small numbers in one array.
//!
//! Invariant: a list lies in a block of 2^class words of its own; blocks that were given back wait by
//! class. A value is taken out by putting the last one in its place, so whoever holds places is told of
//! that one move. Cost: O(1) amortised; at most four words a value, after growth two.

/// No block, no value.
pub(super) const NONE: u32 = u32::MAX;
/// A list holds this share of its block, or it moves to a smaller one.
const SHRINK: u32 = 4;

/// A list: where it lies, and how long it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    start: u32,
    pub(super) len: u32,
    /// Log of the words of its block; no block before the first value.
    class: u8,
}

impl List {
    pub(super) const EMPTY: List = List {
        start: NONE,
        len: 0,
        class: 0,
    };
}

/// The blocks of all lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    words: Vec<u32>,
    /// Blocks that nobody uses, by class.
    free: Vec<Vec<u32>>,
}

impl Lists {
    #[inline]
    pub(super) fn get(&self, list: List, at: u32) -> u32 {
        debug_assert!(at < list.len, "a place behind a list's end");
        self.words[list.start as usize + at as usize]
    }

    /// Appends a value; tells its place.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, value: u32) -> u32 {
        if list.start == NONE || list.len == 1 << list.class {
            let class = if list.start == NONE {
                0
            } else {
                list.class + 1
            };
            self.move_to(list, class);
        }
        let place = list.len;
        self.words[(list.start + place) as usize] = value;
        list.len += 1;
        place
    }

    /// Takes the value at a place out. Tells the value that now stands there.
    #[inline]
    pub(super) fn take(&mut self, list: &mut List, place: u32) -> Option<u32> {
        let last = self.get(*list, list.len - 1);
        self.words[(list.start + place) as usize] = last;
        list.len -= 1;
        let moved = (place < list.len).then_some(last);
        if list.len == 0 {
            self.give_back(list.start, list.class);
            *list = List::EMPTY;
        } else if list.len < (1 << list.class) / SHRINK {
            self.move_to(list, list.class - 1);
        }
        moved
    }

    #[cold]
    fn move_to(&mut self, list: &mut List, class: u8) {
        let start = self.block(class);
        if list.start != NONE {
            let from = list.start as usize;
            let held = from..from + list.len as usize;
            self.words.copy_within(held, start as usize);
            self.give_back(list.start, list.class);
        }
        (list.start, list.class) = (start, class);
    }

    fn block(&mut self, class: u8) -> u32 {
        if let Some(start) = self.free.get_mut(class as usize).and_then(Vec::pop) {
            return start;
        }
        let start = self.words.len();
        self.words.resize(start + (1 << class), NONE);
        // Whoever adds a tuple has seen to it that there is room; see `Index::check_room`.
        u32::try_from(start).expect("lists of fewer than 2^32 words")
    }

    fn give_back(&mut self, start: u32, class: u8) {
        let class = class as usize;
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        self.free[class].push(start);
    }

    /// Whether every list could double.
    pub(super) fn has_room(&self) -> bool {
        self.words.len() < 1 << 31
    }

    pub(super) fn memory_usage(&self) -> usize {
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
        let mut ours = [List::EMPTY; 5];
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
            let held = (0..ours[at].len).map(|place| lists.get(ours[at], place));
            assert!(held.eq(theirs[at].iter().copied()));
        }
        let held: usize = theirs.iter().map(Vec::len).sum();
        assert!(lists.words.len() < 20_000 && held > 0);
    }
}
