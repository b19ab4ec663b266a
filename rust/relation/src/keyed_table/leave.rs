//! Removal of keys: at a commit those whose payload is zero, at a rollback those that the
//! transaction inserted.
//!
//! Invariant: a slot that is not live is in neither directory nor index, once a block of them has
//! been removed; its key stays until the slot is used again. Cost: O(1) expected a key; the memory
//! that a block touches is prefetched before its first key is removed.

use super::KeyedTable;
use super::index::BLOCK;
use crate::ABSENT;
use crate::directory::Directory;
use crate::journal::Undo;
use crate::keyed_table::Index;

/// Words of keys and payloads whose room is kept where all are undone.
const FEW: usize = 1 << 14;

impl KeyedTable {
    /// Removes the key of a live slot. Not journalled: see `commit`.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.unmark(slot);
        self.take_out(&[slot]);
    }

    /// The slot holds no key any more; `take_out` does the rest.
    #[inline(always)]
    fn unmark(&mut self, slot: u32) {
        self.live[slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// Takes slots that are not live any more, a block of them at the most, out of the indexes and
    /// the directory. Their places are prefetched before the first is removed.
    fn take_out(&mut self, slots: &[u32]) {
        let mut hashes = [0; BLOCK];
        if let Directory::Hash(directory) = &self.directory {
            for (hash, &slot) in hashes.iter_mut().zip(slots) {
                *hash = self.hashing.hash(self.key(slot));
                directory.prefetch(*hash);
            }
        }
        let (layout, words) = (&self.layout, self.layout.words());
        let key = |slot: u32| &self.keys[slot as usize * words..][..words];
        for index in &mut self.indexes {
            index.removed(slots, |slot, field| layout.get(key(slot), field));
        }
        self.len -= slots.len();
        let ordered = self.ordered;
        self.free
            .extend(slots.iter().filter(|&&slot| slot >= ordered));
        match &mut self.directory {
            Directory::Hash(directory) => {
                let entered = slots
                    .iter()
                    .zip(&hashes)
                    .filter(|(slot, _)| **slot >= ordered);
                for (&slot, &hash) in entered {
                    directory.remove(hash, slot);
                    if directory.is_degraded() {
                        // The new one is made of live slots: none of these is in it.
                        let strained = std::mem::take(directory);
                        return self.reseed(&strained);
                    }
                }
            }
            Directory::Dense(dense) => {
                for &slot in slots {
                    if let Some(code) = dense.code(|f| layout.get(key(slot), f)) {
                        dense.put(code, ABSENT);
                    }
                }
            }
        }
    }

    /// Ends a transaction: its changes stay, and those of `candidates` whose payload `is_zero` are
    /// removed. A key with a zero payload is not in the relation; while the transaction runs it may
    /// be stored there, since it multiplies to zero.
    pub fn commit(&mut self, candidates: &[u32], is_zero: impl Fn(&[u64]) -> bool) {
        for slots in candidates.chunks(BLOCK) {
            self.remove_zero(slots, &is_zero);
        }
        self.journal.clear(self.slots);
    }

    /// Removes some keys if their payloads are zero.
    fn remove_zero(&mut self, slots: &[u32], is_zero: impl Fn(&[u64]) -> bool) {
        let (mut going, mut number) = ([0; BLOCK], 0);
        for &slot in slots {
            // One may be named twice.
            if self.is_live(slot) && is_zero(self.payload(slot)) {
                self.unmark(slot);
                let indexes = self.indexes.iter();
                indexes.for_each(|index| index.prefetch_position(slot));
                going[number] = slot;
                number += 1;
            }
        }
        if number > 0 {
            self.take_out(&going[..number]);
        }
    }

    /// Undoes everything since the last commit.
    pub fn rollback(&mut self) {
        if self.journal.mark == 0 {
            let words = self.slots() * (self.layout.words() + self.stride);
            return match words > FEW {
                true => self.empty(),
                false => self.clear(),
            };
        }
        let mut journal = std::mem::take(&mut self.journal);
        journal.undo(self.stride, |step| match step {
            Undo::Remove(slot) => self.remove(slot),
            Undo::Restore(slot, payload) => {
                self.payloads[slot as usize * self.stride..][..self.stride]
                    .copy_from_slice(payload);
            }
        });
        let free = self.free.len();
        for slot in journal.mark..self.slots {
            if self.is_live(slot) {
                self.remove(slot);
            }
        }
        // Those that were made since then are no slots any more.
        let freed = self.free.split_off(free);
        self.free
            .extend(freed.iter().filter(|&&slot| slot < journal.mark));
        self.cut_off(journal.mark);
        journal.clear(self.slots);
        self.journal = journal;
    }

    /// All slots are new, and are removed together; their memory is used again.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.payloads.clear();
        self.live.clear();
        self.free.clear();
        (self.slots, self.len) = (0, 0);
        match &mut self.directory {
            Directory::Hash(hash) => hash.clear(),
            Directory::Dense(_) => self.directory = Directory::new(&self.layout),
        }
        self.ordered = 0;
        self.indexes.iter_mut().for_each(Index::clear);
        self.journal.clear(0);
    }

    /// All slots are new, and are removed together with their memory.
    fn empty(&mut self) {
        let directory = Directory::new(&self.layout);
        let mut indexes = std::mem::take(&mut self.indexes);
        indexes.iter_mut().for_each(Index::forget);
        *self = Self {
            directory,
            indexes,
            hashing: std::mem::take(&mut self.hashing),
            reseeds: self.reseeds,
            keeps_order: self.keeps_order,
            ..Self::new(self.layout.clone(), self.stride)
        };
    }
}
