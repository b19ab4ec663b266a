//! Growing a piece at a time.
//!
//! Homes are monotone in the tag whatever the capacity, so a table may have two: tags below `bound`
//! have theirs by the capacity `before`, the others by the new one. Those homes are monotone too,
//! and the table is sound whatever the bound. A table that is `due` first takes the room, then
//! moves its entries a block at a time from the right to the left, down to a bound of 0. Invariant:
//! an entry is moved once for each time that the table grows by a third, and an insertion moves one
//! block at the most, unless the table is short. Cost: a block is looked at every `APART`
//! insertions, so that all have moved before the load, which is ten in thirteen when that begins,
//! has grown by a twentieth. Nothing is hashed anew.

use super::{EMPTY, HashDirectory, TAIL};

/// Places that are taken, or looked at, at a time: what stays in the nearest cache.
const BLOCK: usize = 1024;
/// Insertions from one to the next.
const APART: usize = 36;
/// Capacity below which a table grows at once.
const SHORT: usize = 1 << 12;
/// Above all tags.
const ALL: u64 = u32::MAX as u64;

impl HashDirectory {
    /// Whether the next insertion is to call `grow` before it seeks its place.
    #[inline(always)]
    pub(crate) fn is_due(&self) -> bool {
        self.len >= self.due
    }

    /// Whether entries are on the move.
    pub(crate) fn is_growing(&self) -> bool {
        self.target > 0 || self.bound > 0
    }

    /// Begins to grow by a third, or continues to. Places found earlier in the table are no longer valid.
    #[cold]
    pub(crate) fn grow(&mut self) {
        if !self.is_growing() {
            self.begin((self.capacity + self.capacity / 3).max(16));
            if self.capacity < SHORT {
                self.finish();
            }
        } else {
            self.advance();
        }
        self.schedule();
    }

    /// Makes room for `keys` entries in all, at once.
    pub fn reserve(&mut self, keys: usize) {
        self.finish();
        let capacity = keys * 5 / 4 + 1;
        if capacity > self.capacity {
            self.begin(capacity);
            self.finish();
        }
        self.schedule();
    }

    /// Ends what has begun.
    pub(super) fn finish(&mut self) {
        while self.is_growing() {
            self.advance();
        }
    }

    /// Sets the number of entries at which growth begins or continues.
    pub(super) fn schedule(&mut self) {
        self.due = match self.is_growing() {
            true => self.len + APART,
            false if self.capacity < SHORT => self.capacity * 4 / 5,
            false => self.capacity * 10 / 13,
        };
    }

    fn begin(&mut self, capacity: usize) {
        let room = capacity + TAIL;
        self.entries
            .reserve_exact(room.saturating_sub(self.entries.len()));
        self.target = capacity;
    }

    fn advance(&mut self) {
        match self.target {
            0 => self.move_block(),
            _ => self.allocate_block(),
        }
    }

    /// Takes a piece of the room; once it is all there entries can move.
    fn allocate_block(&mut self) {
        let (room, len) = (self.target + TAIL, self.entries.len());
        if len < room {
            self.entries.resize(room.min(len + BLOCK), EMPTY);
        }
        if self.entries.len() >= room {
            (self.before, self.capacity) = (self.capacity, self.target);
            (self.bound, self.target) = (ALL, 0);
        }
    }

    /// Moves the last entries that have their homes by the former capacity.
    ///
    /// These entries, and those in one run with them, are lifted out from behind a gap on, and put back from left to
    /// right. Entries to the right of them may have to make way, because of insertions in between.
    fn move_block(&mut self) {
        let last = ((self.bound * self.before as u64) >> 32) as usize;
        let is_gap = |&entry: &u64| entry == EMPTY;
        let end = self.entries[last..].iter().position(is_gap);
        let end = end.map_or(self.entries.len(), |places| last + places);
        let left = &self.entries[..last.saturating_sub(BLOCK)];
        let start = left.iter().rposition(is_gap).map_or(0, |gap| gap + 1);
        let lifted = self.entries[start..end].to_vec();
        self.entries[start..end].fill(EMPTY);
        self.bound = match start {
            0 => 0,
            // The least tag whose home was at `start`.
            _ => ((start as u128) << 32).div_ceil(self.before as u128) as u64,
        };
        self.moved += lifted.len() as u64;
        let mut next = start;
        for entry in lifted.into_iter().filter(|entry| !is_gap(entry)) {
            let at = next.max(self.home(entry >> 32));
            self.shift_in(at, entry);
            next = at + 1;
        }
    }

    /// Puts an entry at a place and shifts the entries there to the right. Returns the number of
    /// places.
    #[inline(always)]
    pub(super) fn shift_in(&mut self, at: usize, entry: u64) -> usize {
        let (mut carried, last) = (entry, self.entries.len() - 1);
        for (shifted, place) in self.entries[at..last].iter_mut().enumerate() {
            std::mem::swap(place, &mut carried);
            if carried == EMPTY {
                return shifted;
            }
        }
        // The run reached the end of the tail.
        self.entries[last] = carried;
        self.entries.resize(last + 1 + TAIL, EMPTY);
        last - at
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, HashDirectory, SHORT};

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*seed ^ *seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Entries are inserted and removed while others move, many of them at the current bound.
    #[test]
    fn a_growing_table_is_sound_and_no_insertion_moves_more_than_a_block() {
        let (mut directory, mut live, mut seed) = (HashDirectory::new(), Vec::new(), 1);
        let (mut growing, mut most) = (0, 0);
        for slot in 0..60_000_u32 {
            let hash = match directory.bound {
                0 => random(&mut seed),
                bound if slot % 8 == 0 => (bound << 32).wrapping_add(random(&mut seed) >> 14),
                bound if slot % 8 == 1 => (bound << 32).wrapping_sub(random(&mut seed) >> 14),
                _ => random(&mut seed),
            };
            let before = directory.entries_rehashed();
            directory.insert_absent(hash, slot);
            most = most.max(directory.entries_rehashed() - before);
            live.push((hash, slot));
            if slot % 3 == 0 {
                let at = random(&mut seed) as usize % live.len();
                let (hash, slot) = live.swap_remove(at);
                assert!(directory.remove(hash, slot));
            }
            growing += u32::from(directory.is_growing());
            if slot % 499 == 0 {
                directory.check();
                for &(hash, slot) in live.iter().step_by(7) {
                    assert_eq!(directory.find(hash, |other| other == slot), Some(slot));
                }
            }
        }
        assert!(most <= (2 * BLOCK + SHORT) as u64, "{most} places at once");
        assert!(growing > 3_000, "{growing} insertions while it grew");
        assert!(
            directory.entries_rehashed() < 12 * 60_000,
            "{}",
            directory.entries_rehashed()
        );
        directory.finish();
        directory.check();
        for (hash, slot) in live {
            assert!(directory.remove(hash, slot));
        }
        assert!(directory.is_empty());
    }
}
