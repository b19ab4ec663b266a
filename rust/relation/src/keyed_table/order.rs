//! A table whose keys arrive in ascending order, and are not looked up by others: its slots are the directory.
//!
//! Invariant: the keys of the first `ordered` slots ascend, field by field as signed words, also those of slots that are
//! not live any more; these slots are neither in the directory, which is a hash table, nor among the free ones. All others
//! are in either. Cost: of a batch that ascends behind the last key, copying it; of one that ascends among them, all of it
//! known, walking them from its first to its last; of any other key a search in O(log keys), and [`PER_ROW`] slots that enter
//! the directory with it, the last ones first: no batch waits for all.

use std::cmp::Ordering;

use super::KeyedTable;
use crate::ABSENT;
use crate::directory::{Directory, KeyScratch, Keys};
use crate::hash::HashDirectory;
use crate::sort::ascends;

/// Slots that a row out of order brings into the directory.
const PER_ROW: usize = 8;
/// Rows for which nothing is looked up in order.
const FEW: usize = if cfg!(debug_assertions) { 2 } else { 64 };
/// Slots whose places in the directory are prefetched before the first is entered.
const BLOCK: usize = 64;

impl KeyedTable {
    /// From now on keys inserted in ascending order are not entered in the directory. For a table with few look-ups by
    /// key: walks of its groups, or of all of it, do not become slower.
    pub fn keep_order(&mut self) {
        self.keeps_order = self.layout.fields() > 0;
    }

    /// Whether it does so.
    #[must_use]
    pub(crate) fn keeps_order(&self) -> bool {
        self.keeps_order
    }

    /// Enters all keys in the directory at once, if they were inserted in order and none was removed: keys in any order
    /// follow. O(keys).
    pub fn enter_ordered(&mut self) {
        if self.ordered > 0 && self.ordered == self.slots && self.len == self.slots() {
            self.enter_appended();
        }
    }

    /// Takes a batch that ascends behind all keys so far; whether it does. `out` becomes its slots. The first row may have the
    /// last key.
    pub(super) fn append_in_order(
        &mut self,
        keys: Keys<'_>,
        scratch: &mut KeyScratch,
        out: &mut Vec<u32>,
    ) -> bool {
        let is_own = matches!(self.directory, Directory::Hash(_)) && self.ordered == self.slots;
        if !self.keeps_order || !is_own || keys.rows == 0 || !ascends(keys) {
            return false;
        }
        let last = self.slots.checked_sub(1);
        let order = last.map_or(Ordering::Less, |last| {
            self.compare(last, |field| keys.column(field)[0])
        });
        let known = last.filter(|&last| order.is_eq() && self.is_live(last));
        if order.is_gt() || (order.is_eq() && known.is_none()) {
            return false;
        }
        let first = usize::from(known.is_some());
        out.extend(known);
        out.extend(self.slots..self.slots + (keys.rows - first) as u32);
        self.extend(keys, first, scratch);
        self.ordered = self.slots;
        true
    }

    /// Finds a batch that ascends among the keys so far, of which all are in order; whether it does, and lies so close there
    /// that no more slots are looked at than it would bring into the directory. `out` becomes its slots.
    pub(super) fn find_in_order(&self, keys: Keys<'_>, out: &mut Vec<u32>) -> bool {
        let slots = self.slots();
        // Slots that are not live are used again where they are in the directory.
        let is_own = self.ordered == self.slots && 2 * self.len > slots;
        if !self.keeps_order || !is_own || keys.rows < FEW || !ascends(keys) {
            return false;
        }
        let at = |row: usize| move |field: usize| keys.column(field)[row];
        let (mut slot, last) = (self.search(at(0)), self.search(at(keys.rows - 1)));
        if slot == ABSENT || last == ABSENT || (last - slot) as usize > PER_ROW * keys.rows {
            return false;
        }
        let slots = (0..keys.rows).map_while(|row| {
            // The last key is there, so this ends.
            let mut order = self.compare(slot, at(row));
            while order.is_lt() {
                slot += 1;
                order = self.compare(slot, at(row));
            }
            (order.is_eq() && self.is_live(slot)).then_some(slot)
        });
        out.extend(slots);
        let all = out.len() == keys.rows;
        if !all {
            out.clear();
        }
        all
    }

    /// Compares the key of a slot with another, given field by field.
    fn compare(&self, slot: u32, field: impl Fn(usize) -> u64) -> Ordering {
        let key = self.key(slot);
        let fields = 0..self.layout.fields();
        let mut compared = fields.map(|at| {
            let own = self.layout.get(key, at).cast_signed();
            own.cmp(&field(at).cast_signed())
        });
        compared
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// The slot of a key that is in order and not in the directory; `ABSENT` if there is none.
    #[cold]
    pub(super) fn search(&self, field: impl Fn(usize) -> u64) -> u32 {
        let (mut low, mut high) = (0, self.ordered);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare(middle, &field) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal if self.is_live(middle) => return middle,
                Ordering::Equal => return ABSENT,
            }
        }
        ABSENT
    }

    /// Enters the last ordered slots in the directory: a bounded number for each row of a batch of
    /// `rows` rows that is not in order.
    #[cold]
    pub(super) fn enter_some(&mut self, rows: usize) {
        let first = self.ordered.saturating_sub((PER_ROW * rows) as u32);
        let empty = Directory::Hash(HashDirectory::new());
        let Directory::Hash(mut hash) = std::mem::replace(&mut self.directory, empty) else {
            unreachable!("keys in order stand beside a hash table")
        };
        while self.ordered > first {
            let from = first.max(self.ordered.saturating_sub(BLOCK as u32));
            let mut hashes = [0; BLOCK];
            for (ahead, slot) in hashes.iter_mut().zip(from..self.ordered) {
                *ahead = self.hashing.hash(self.key(slot));
                hash.prefetch(*ahead);
            }
            for slot in (from..self.ordered).rev() {
                self.ordered = slot;
                match self.is_live(slot) {
                    true => hash.insert_absent(hashes[(slot - from) as usize], slot),
                    false => self.free.push(slot),
                }
                if hash.is_degraded() {
                    return self.reseed(&hash);
                }
            }
        }
        self.directory = Directory::Hash(hash);
    }

    /// All live slots are about to be entered in a directory; those that are not become free.
    pub(super) fn end_order(&mut self) {
        let ordered = std::mem::take(&mut self.ordered);
        for slot in 0..ordered {
            if !self.is_live(slot) {
                self.free.push(slot);
            }
        }
    }
}
