//! Appends keys in ascending order to a table without slots: nothing is looked up.
//!
//! Invariant: the table is afterwards as if the keys had been inserted one by one, but for the places of their entries
//! in the directory, which is made at once, of the size that it needs. Cost: O(keys), in passes that miss no cache.

use super::KeyedTable;
use crate::directory::{Directory, KeyScratch, Keys};
use crate::hash::HashDirectory;
use crate::sort::sort;

/// Keys that are packed and hashed at a time: what stays in the nearest cache.
const BLOCK: usize = 1 << 10;

impl KeyedTable {
    /// Takes keys of which no two are equal, with zero payloads: they get the slots from 0 on, in order.
    pub(crate) fn append(&mut self, keys: Keys<'_>, scratch: &mut KeyScratch) {
        debug_assert!(
            self.slots == 0 && self.free.is_empty(),
            "keys are appended to a part without slots"
        );
        self.keys.reserve_exact(keys.rows * self.layout.words());
        self.payloads.reserve_exact(keys.rows * self.stride);
        self.extend(keys, 0, scratch);
        self.enter_appended();
    }

    /// Enters all keys, which no directory has yet, at once.
    pub(super) fn enter_appended(&mut self) {
        match self.dense_ranges() {
            Some(ranges) => self.rebuild_dense(&ranges),
            None => self.enter_all(),
        }
    }

    /// Gives the keys of a batch from one row on slots behind all others, with zero payloads.
    pub(super) fn extend(&mut self, keys: Keys<'_>, first: usize, scratch: &mut KeyScratch) {
        for start in (first..keys.rows).step_by(BLOCK) {
            let rows = BLOCK.min(keys.rows - start);
            let column = |field| &keys.column(field)[start..];
            self.layout.pack(rows, column, &mut scratch.packed);
            self.keys.extend_from_slice(&scratch.packed);
        }
        let rows = keys.rows - first;
        let (before, slots) = (self.slots(), self.slots() + rows);
        self.payloads.extend_zeroed(slots * self.stride);
        let (from, bits) = (before % 64, self.live.len());
        self.live.resize(slots.div_ceil(64), u64::MAX);
        if rows > 0 && from > 0 {
            self.live[bits - 1] |= u64::MAX << from;
        }
        if let Some(last) = self.live.last_mut().filter(|_| rows > 0) {
            *last &= u64::MAX >> ((64 - slots % 64) % 64);
        }
        (self.slots, self.len) = (slots as u32, self.len + rows);
    }

    /// Enters the keys of all slots in a hash table.
    fn enter_all(&mut self) {
        let hash = |slot| self.hashing.hash(self.key(slot));
        let entries = (0..self.slots).map(|slot| HashDirectory::entry(hash(slot), slot));
        let mut entries: Vec<u64> = entries.collect();
        sort(&mut entries);
        let mut hash = match &self.directory {
            Directory::Hash(before) => before.successor(),
            Directory::Dense(_) => HashDirectory::new(),
        };
        hash.merge(&entries, |_, _| false);
        match hash.is_degraded() {
            true => self.reseed(&hash),
            false => {
                self.directory = Directory::Hash(hash);
                self.ordered = 0;
            }
        }
    }
}
