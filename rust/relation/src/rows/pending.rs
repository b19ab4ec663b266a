//! Rows that are not in the directory.
//!
//! Nothing has to be looked up to add a row to a bag: it takes a slot and waits. A look-up of a row enters all that
//! wait. From then on, or once rows are seen to repeat (`repeats`), an insert that leaves more than a few waiting
//! enters them too: equal rows then meet in one slot. Invariant: all slots from `known` on hold rows that wait, and so
//! do those in `refilled`, which lie below; free slots lie below `known`. Cost: O(1) amortised a row; the first look-up
//! pays for all rows inserted before it, some 20 ns each, and no insert or delete after it for more than its own rows
//! and a few. Rows that are many compared with those in the directory are sorted by hash and enter in one pass over the
//! directory, which misses no cache.

use ringview_core::{Batch, in_large_pages};

use super::repeats::Repeats;
use super::{MOST, Pending, RowStore, Scratch};
use crate::hash::HashDirectory;
use crate::sort::sort;

/// So few rows may always wait.
const FEW: usize = 1 << 10;
/// Known rows that a pass over the directory takes in the time in which it looks for one.
pub(super) const PASS: usize = 8;

/// Behind all slots.
const NEVER: u32 = crate::ABSENT;

impl Pending {
    /// Rows are looked for: from now on few of them wait.
    pub(super) fn expect_looks(&mut self) {
        self.is_bounded = true;
        self.repeats = Repeats::default();
    }

    /// The slots below `end` have entered the directory.
    #[inline(always)]
    pub(super) fn enter_below(&mut self, end: u32) {
        self.known = end;
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.refilled.capacity() * size_of::<u32>() + self.repeats.memory_usage()
    }
}

impl RowStore {
    /// Number of slots that wait.
    pub(super) fn waiting(&self) -> usize {
        self.counts.len() - self.pending.known as usize + self.pending.refilled.len()
    }

    /// Adds the rows of a batch to those that wait; false, and nothing done, where rows must be
    /// looked for.
    pub(super) fn append(&mut self, batch: &Batch, sign: i64) -> bool {
        let come = match &batch.multiplicity {
            None => sign > 0,
            Some(all) => all.iter().all(|&one| one.signum() == sign),
        };
        if !come || self.unique.is_some() {
            return false;
        }
        let amount = |row: usize| batch.multiplicity(row).unsigned_abs();
        let sum = (0..batch.rows).try_fold(self.len, |sum, row| sum.checked_add(amount(row)));
        let slots = self.counts.len() + batch.rows;
        let Some(len) = sum.filter(|&len| len <= MOST && slots < crate::ABSENT as usize) else {
            return false;
        };
        self.len = len;
        let mut scratch = std::mem::take(&mut self.scratch);
        self.widen_for(batch, &mut scratch.packed.spreads);
        let free = self.free.len() + self.journal.reusable();
        let reused = free.min(batch.rows);
        self.words.pack(batch, 0..reused, &mut scratch.packed);
        for row in 0..reused {
            let words = self.words_of(&scratch.packed, row);
            if let Some(slot) = self.fill_slot(words) {
                self.counts.set(slot, amount(row));
                self.pending.refilled.push(slot);
            }
        }
        let first = self.counts.len() as u32;
        self.store_rows(batch, reused);
        self.counts.push_ones(batch.rows - reused);
        if batch.multiplicity.is_some() {
            for (slot, row) in (first..).zip(reused..batch.rows) {
                self.counts.set(slot, amount(row));
            }
        }
        self.watch_for_repeats(batch, &mut scratch);
        self.scratch = scratch;
        if self.pending.is_bounded && self.waiting() > FEW {
            self.enter_pending();
        }
        true
    }

    /// Makes the rows wide enough for a batch.
    fn widen_for(&mut self, batch: &Batch, spreads: &mut Vec<u64>) {
        spreads.clear();
        spreads.resize(self.words.len(), 0);
        self.words.spread(batch, 0..batch.rows, spreads);
        self.rows.widen(spreads);
    }

    /// Stores the rows of a batch from one on in fresh slots, word by word.
    fn store_rows(&mut self, batch: &Batch, first: usize) {
        let words = &self.words;
        let count = batch.rows - first;
        self.rows.extend(count, |layout, rows, bytes| {
            let rows = first + rows.start..first + rows.end;
            words.each_word(batch, rows, |word, values| {
                layout.store_word(word, values, bytes);
            });
        });
    }

    /// If rows repeat, those that wait take more memory than a directory would.
    fn watch_for_repeats(&mut self, batch: &Batch, scratch: &mut Scratch) {
        if self.pending.is_bounded {
            return;
        }
        let mut repeats = std::mem::take(&mut self.pending.repeats);
        let Scratch { packed, hashes } = scratch;
        repeats.watch(batch.rows, hashes, |rows, hashes| {
            self.words.pack(batch, rows.clone(), packed);
            self.hash_all(packed, rows.len(), hashes);
        });
        self.pending.is_bounded = repeats.are_many();
        if !self.pending.is_bounded {
            self.pending.repeats = repeats;
        }
    }

    /// Enters the rows that wait in the directory and merges equal rows in one slot. Those that
    /// waited before the transaction are entered first: a rollback need not undo their merging.
    pub(super) fn enter_pending(&mut self) {
        if self.waiting() == 0 {
            return;
        }
        let mut refilled = std::mem::take(&mut self.pending.refilled);
        let (first, end) = (self.pending.known, self.counts.len() as u32);
        self.pending.known = end;
        let mark = self.journal.mark();
        let (before, since) = refilled.split_at(self.journal.take_waiting());
        if since.is_empty() {
            self.enter_all(self.entries(before, first..end), mark);
        } else {
            // The running transaction filled slots again, so the order of slots is not that of
            // insertion.
            self.enter_all(self.entries(before, first..mark.max(first)), NEVER);
            self.enter_all(self.entries(since, mark.max(first)..end), 0);
        }
        if refilled.capacity() <= FEW {
            refilled.clear();
            self.pending.refilled = refilled;
        }
    }

    /// Enters rows; the running transaction brought those in slots from `undoable` on. Equal rows
    /// meet in the order of their slots.
    fn enter_all(&mut self, entries: Vec<u64>, undoable: u32) {
        let free = self.free.len();
        let released = self.journal.released();
        if entries.len() < self.directory.len() / PASS {
            self.enter_each(entries, undoable);
        } else {
            self.enter_together(entries, undoable);
        }
        // Rows may merge in the order of their hashes; sorting hides that.
        self.free[free..].sort_unstable();
        self.journal.sort_released(released);
    }

    fn enter_each(&mut self, mut entries: Vec<u64>, undoable: u32) {
        let mut coming = self.coming(&entries);
        for row in 0..entries.len() {
            coming.next(&self.directory, &entries, row, |slot| self.ask(slot));
            self.enter(entries[row], undoable);
            if self.directory.is_degraded() {
                self.reseed();
                entries = self.hashed_anew(&entries);
            }
        }
    }

    fn enter_together(&mut self, mut entries: Vec<u64>, undoable: u32) {
        while !entries.is_empty() {
            sort(&mut entries);
            let mut directory = std::mem::take(&mut self.directory);
            let entered =
                directory.merge(&entries, |known, slot| self.absorb(known, slot, undoable));
            self.directory = directory;
            if self.directory.is_degraded() {
                self.reseed();
            }
            entries = self.hashed_anew(&entries[entered..]);
        }
    }

    fn hashed_anew(&self, entries: &[u64]) -> Vec<u64> {
        let slots: Vec<u32> = entries.iter().map(|&entry| entry as u32).collect();
        self.entries(&slots, 0..0)
    }

    /// Entries of slots, first of some and then of a range.
    fn entries(&self, some: &[u32], range: std::ops::Range<u32>) -> Vec<u64> {
        let entry = |slot: u32| HashDirectory::entry(self.hash_slot(slot), slot);
        let mut entries = Vec::with_capacity(some.len() + range.len());
        in_large_pages(&entries);
        entries.extend(some.iter().copied().chain(range).map(entry));
        entries
    }

    /// Enters a row; the directory reads of a hash what an entry keeps of it.
    #[inline(always)]
    fn enter(&mut self, entry: u64, undoable: u32) {
        if self.directory.is_due() {
            self.directory.grow();
        }
        let slot = entry as u32;
        let same = |known| self.rows.are_equal(known, slot);
        match self.directory.find_entry(entry, same) {
            Err(at) => self.directory.insert_at(at, entry, slot),
            Ok(at) => self.unite(self.directory.slot_at(at), slot, undoable),
        }
    }

    /// Unites two slots if they hold the same row; whether they do.
    fn absorb(&mut self, known: u32, slot: u32, undoable: u32) -> bool {
        let same = self.rows.are_equal(known, slot);
        if same {
            self.unite(known, slot, undoable);
        }
        same
    }

    fn unite(&mut self, known: u32, slot: u32, undoable: u32) {
        let present = self.counts.get(known);
        let both = present + self.counts.get(slot);
        if slot >= undoable {
            // That `slot` was filled has been noted already.
            self.note(known, present);
            self.journal.release(slot);
        } else {
            self.free.push(slot);
        }
        self.counts.set(known, both);
        self.counts.set(slot, 0);
    }
}
