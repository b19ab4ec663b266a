//! The slots of a batch of keys: found, or made where there are none.
//!
//! A directory is an array where the keys span narrow ranges, else a hash table, and changes its
//! kind as the keys do. Invariant: it holds the live slots, whichever it is. Cost: O(1) expected a
//! key; a change of kind is paid for by the growth that brought it.

use super::KeyedTable;
use crate::ABSENT;
use crate::dense::{self, DenseDirectory, Ranges};
use crate::directory::{AHEAD, Directory, Hashing, KeyScratch, Keys};
use crate::hash::{Ahead, HashDirectory};
use ringview_core::prefetch;

/// Slots looked at before all are, evenly spread: a sample's ranges can only be narrower.
const SAMPLE: usize = 64;

/// Rows of a batch on their way.
type Coming = Ahead<AHEAD, { 2 * AHEAD }>;

impl KeyedTable {
    /// The slot of each key of a batch, `ABSENT` where there is none; whether each is there. `out` is overwritten.
    pub fn find(&self, keys: Keys<'_>, scratch: &mut KeyScratch, out: &mut Vec<u32>) -> bool {
        out.clear();
        match &self.directory {
            Directory::Dense(dense) => {
                let column = |field| keys.column(field);
                dense.find(0..keys.rows, column, &mut scratch.codes, out)
            }
            Directory::Hash(hash) => {
                let words = self.layout.words();
                scratch.pack(&self.layout, keys);
                scratch.hash(words, &self.hashing);
                let all = match words {
                    1 => self.probe::<1>(hash, scratch, out),
                    2 => self.probe::<2>(hash, scratch, out),
                    3 => self.probe::<3>(hash, scratch, out),
                    _ => self.probe::<0>(hash, scratch, out),
                };
                all || (self.ordered > 0 && self.search_missed(keys, out))
            }
        }
    }

    /// Looks for the keys that are not in the directory among those that are in order; whether each is there.
    #[cold]
    fn search_missed(&self, keys: Keys<'_>, out: &mut [u32]) -> bool {
        let missed = out
            .iter_mut()
            .enumerate()
            .filter(|(_, slot)| **slot == ABSENT);
        let mut all = true;
        for (row, slot) in missed {
            *slot = self.search(|field| keys.column(field)[row]);
            all &= *slot != ABSENT;
        }
        all
    }

    /// The slot of one key, given field by field; `ABSENT` if there is none.
    #[inline(always)]
    pub(super) fn find_one(&self, field: impl Fn(usize) -> u64, packed: &mut Vec<u64>) -> u32 {
        match &self.directory {
            Directory::Dense(dense) => dense
                .code(field)
                .map_or(ABSENT, |code| dense.slot(code as u32)),
            Directory::Hash(hash) => {
                self.layout.pack_one(&field, packed);
                let found = hash.find(self.hashing.hash(packed), |slot| self.key(slot) == packed);
                match found {
                    Some(slot) => slot,
                    None if self.ordered > 0 => self.search(field),
                    None => ABSENT,
                }
            }
        }
    }

    /// The slot of the first key of a batch; `ABSENT` if there is none.
    #[inline]
    pub(crate) fn find_first(&self, keys: Keys<'_>, scratch: &mut KeyScratch) -> u32 {
        self.find_one(|field| keys.column(field)[0], &mut scratch.packed)
    }

    /// The slot of one key, given by its fields; `ABSENT` if there is none.
    #[must_use]
    pub fn find_key(&self, key: &[u64], scratch: &mut KeyScratch) -> u32 {
        self.find_one(|field| key[field], &mut scratch.packed)
    }

    /// The slot of one key, given by its fields, made with a zero payload where there is none.
    pub fn locate_key(&mut self, key: &[u64], scratch: &mut KeyScratch) -> u32 {
        let slot = self.find_key(key, scratch);
        if slot != ABSENT {
            return slot;
        }
        let columns: Vec<Vec<u64>> = key.iter().map(|&field| vec![field]).collect();
        let fields: Vec<usize> = (0..key.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows: 1,
        };
        let mut made = Vec::with_capacity(1);
        self.locate(keys, scratch, &mut made);
        made[0]
    }

    /// Compares the key of `slot` with row `row` of a packed batch; K words, or any number for 0.
    #[inline(always)]
    fn same<const K: usize>(
        keys: &[u64],
        packed: &[u64],
        words: usize,
        slot: u32,
        row: usize,
    ) -> bool {
        let (slot, words) = (slot as usize, if K == 0 { words } else { K });
        keys[slot * words..][..words] == packed[row * words..][..words]
    }

    /// Prefetches the key and the payload of a slot.
    #[inline(always)]
    fn ask(&self, slot: u32) {
        prefetch(&self.keys, slot as usize * self.layout.words());
        prefetch(&self.payloads, slot as usize * self.stride);
    }

    #[inline(always)]
    fn probe<const K: usize>(
        &self,
        hash: &HashDirectory,
        scratch: &KeyScratch,
        out: &mut Vec<u32>,
    ) -> bool {
        let words = self.layout.words();
        let KeyScratch { packed, hashes, .. } = scratch;
        let ask = |slot| self.ask(slot);
        let mut coming = Coming::begin(hash, hashes, 0, ask);
        let mut is_missed = false;
        out.extend(hashes.iter().enumerate().map(|(row, &value)| {
            let from = coming.next(hash, hashes, row, ask);
            let same = |slot| Self::same::<K>(&self.keys, packed, words, slot, row);
            let found = hash.find_entry_from(from, value, same);
            is_missed |= found.is_err();
            found.map_or(ABSENT, |at| hash.slot_at(at))
        }));
        !is_missed
    }

    /// The slot of each key of a batch, made with a zero payload where there is none.
    /// `out` is overwritten.
    pub fn locate(&mut self, keys: Keys<'_>, scratch: &mut KeyScratch, out: &mut Vec<u32>) {
        out.clear();
        if self.append_in_order(keys, scratch, out) || self.find_in_order(keys, out) {
            return;
        }
        if self.ordered > 0 {
            self.enter_some(keys.rows);
        }
        // A directory that changes its kind mid-way hands the remaining rows to the other kind.
        while out.len() < keys.rows {
            match &self.directory {
                Directory::Dense(dense) => {
                    if keys.rows == 1
                        && let Some(code) = dense.code(|f| keys.column(f)[0])
                        && let slot = dense.slot(code as u32)
                        && slot != ABSENT
                    {
                        return out.push(slot);
                    }
                    let (column, rows) = (|field| keys.column(field), out.len()..keys.rows);
                    let first = rows.start;
                    if !dense.find(rows, column, &mut scratch.codes, out) {
                        self.make_dense(keys, first, scratch, out);
                    }
                }
                Directory::Hash(_) => {
                    let words = self.layout.words();
                    scratch.pack(&self.layout, keys);
                    scratch.hash(words, &self.hashing);
                    match words {
                        1 => self.locate_hash::<1>(scratch, out),
                        2 => self.locate_hash::<2>(scratch, out),
                        3 => self.locate_hash::<3>(scratch, out),
                        _ => self.locate_hash::<0>(scratch, out),
                    }
                }
            }
        }
    }

    /// Makes slots for the keys that were not found, from one row on.
    fn make_dense(
        &mut self,
        keys: Keys<'_>,
        first: usize,
        scratch: &mut KeyScratch,
        out: &mut Vec<u32>,
    ) {
        let Directory::Dense(dense) = &self.directory else {
            return;
        };
        let KeyScratch { codes, packed, .. } = scratch;
        dense.codes(keys.rows, |field| keys.column(field), codes);
        let room = dense.cells();
        for row in first..codes.len() {
            if out[row] != ABSENT {
                continue;
            }
            let code = codes[row] as usize;
            self.layout
                .pack_one(|field| keys.column(field)[row], packed);
            if code >= room {
                out.truncate(row);
                self.widen(packed);
                return;
            }
            out[row] = self.take_dense(code, packed);
        }
    }

    /// The slot of a key within the box, made if no row before has made it.
    fn take_dense(&mut self, code: usize, key: &[u64]) -> u32 {
        let known = match &self.directory {
            Directory::Dense(dense) => dense.slot(code as u32),
            Directory::Hash(_) => ABSENT,
        };
        if known != ABSENT {
            return known;
        }
        let slot = self.take_slot(key);
        if let Directory::Dense(dense) = &mut self.directory {
            dense.put(code, slot);
        }
        slot
    }

    #[inline(always)]
    fn locate_hash<const K: usize>(&mut self, scratch: &KeyScratch, out: &mut Vec<u32>) {
        let words = self.layout.words();
        let KeyScratch { packed, hashes, .. } = scratch;
        // Taken out so that the directory and the slabs can be borrowed side by side.
        let Directory::Hash(mut hash) =
            std::mem::replace(&mut self.directory, Directory::Hash(HashDirectory::new()))
        else {
            return;
        };
        let mut coming = Coming::begin(&hash, hashes, out.len(), |slot| self.ask(slot));
        for row in out.len()..hashes.len() {
            if hash.is_due() {
                if !hash.is_growing()
                    && let Some(ranges) = self.dense_ranges()
                {
                    self.rebuild_dense(&ranges);
                    return;
                }
                hash.grow();
                coming = Coming::begin(&hash, hashes, row, |slot| self.ask(slot));
            }
            let from = coming.next(&hash, hashes, row, |slot| self.ask(slot));
            let same = |slot| Self::same::<K>(&self.keys, packed, words, slot, row);
            out.push(match hash.find_entry_from(from, hashes[row], same) {
                Ok(at) => hash.slot_at(at),
                Err(at) => {
                    let key = &packed[row * words..][..words];
                    let known = match self.ordered {
                        0 => ABSENT,
                        _ => self.search(|field| self.layout.get(key, field)),
                    };
                    if known != ABSENT {
                        out.push(known);
                        continue;
                    }
                    let slot = self.take_slot(key);
                    hash.insert_at(at, hashes[row], slot);
                    if hash.is_degraded() {
                        out.push(slot);
                        self.reseed(&hash);
                        return;
                    }
                    slot
                }
            });
        }
        self.directory = Directory::Hash(hash);
    }

    /// Rehashes all keys under a random seed, which nobody can predict; `strained` is the directory
    /// so far.
    #[cold]
    pub(super) fn reseed(&mut self, strained: &HashDirectory) {
        self.hashing = Hashing::secret();
        self.reseeds += 1;
        self.hash_all(strained);
    }

    /// Enters all keys in a hash table that continues the counters of `before`.
    fn hash_all(&mut self, before: &HashDirectory) {
        self.end_order();
        let mut hash = before.successor();
        self.reentered += self.len as u64;
        hash.reserve(self.len + self.len / 3 + 8);
        let mut slots = self.iter();
        let strained = slots.any(|slot| {
            hash.insert_absent(self.hashing.hash(self.key(slot)), slot);
            hash.is_degraded()
        });
        drop(slots);
        if strained {
            return self.reseed(&hash);
        }
        self.directory = Directory::Hash(hash);
    }

    /// An array if the keys fill their range, else a hash table.
    pub(super) fn choose_directory(&mut self) {
        match self.dense_ranges() {
            Some(ranges) => self.rebuild_dense(&ranges),
            None => self.hash_all(&HashDirectory::new()),
        }
    }

    /// The ranges of all live keys, when they are narrow enough for an array.
    pub(super) fn dense_ranges(&self) -> Option<Ranges> {
        let affordable = dense::budget(self.len) * 3 / 4;
        let ranges = |slots: &mut dyn Iterator<Item = u32>| {
            let mut ranges = vec![(i64::MAX, i64::MIN); self.layout.fields()];
            for slot in slots {
                for (field, range) in ranges.iter_mut().enumerate() {
                    let value = self.field(slot, field) as i64;
                    *range = (range.0.min(value), range.1.max(value));
                }
            }
            (dense::cells(&ranges) <= affordable).then_some(ranges)
        };
        if self.len < 8 {
            return None;
        }
        let apart = (self.slots as usize).div_ceil(SAMPLE);
        ranges(
            &mut (0..self.slots)
                .step_by(apart)
                .filter(|&slot| self.is_live(slot)),
        )?;
        ranges(&mut self.iter())
    }

    /// Widens the box for a key outside it, or returns to hashing.
    #[cold]
    fn widen(&mut self, key: &[u64]) {
        let Directory::Dense(dense) = &mut self.directory else {
            return;
        };
        match dense.widened(&self.layout, key, self.len + 1) {
            Some(ranges) if dense.extend(&ranges) => {}
            Some(ranges) => self.rebuild_dense(&ranges),
            None => self.hash_all(&HashDirectory::new()),
        }
    }

    #[cold]
    pub(super) fn rebuild_dense(&mut self, ranges: &Ranges) {
        self.end_order();
        self.reentered += self.len as u64;
        let mut dense = DenseDirectory::new(ranges);
        for slot in self.iter() {
            if let Some(code) = dense.code(|f| self.field(slot, f)) {
                dense.put(code, slot);
            }
        }
        self.directory = Directory::Dense(dense);
    }
}
