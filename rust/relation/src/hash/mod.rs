//! A hash table from keys to slots that holds no keys: linear probing kept sorted by hash.
//!
//! Invariant: the entries, read from left to right, are ordered by the upper 32 bits of their
//! hash (the tag), each lies at or after its home `tag * capacity / 2^32`, and no gap lies
//! between a home and its entry. So
//! - a probe stops at the first greater tag: a miss costs no more than a hit;
//! - growing rehashes nothing and moves entries in place from one end to the other, a piece at a
//!   time (`growth`), because homes are monotone in the tag; capacity needs no power of two and
//!   grows by a third at a time, so the table takes 10 to 14 bytes a key;
//! - a removal shifts its run back; there are no tombstones.
//!
//! Expected O(1) a look-up, insert and removal at a load of at most 0.8.
//!
//! Measured against `hashbrown::HashTable<u32>` with the same hash, keys of three words in batches
//! of 1,000: with three million keys an insertion takes 0.21 µs instead of 0.31, a hit 0.23 instead
//! of 0.43 (a batch prefetches its homes, which `hashbrown` cannot), and no insertion waits for the
//! table to grow. Below 100,000 keys `hashbrown` is
//! faster by 20% and more, and it needs 6 to 11 bytes a key: it serves where tables are small or
//! probed one key at a time, the dictionary of strings and the indexes of samples.
//!
//! Keys that were chosen to collide make it slow, so it watches itself. An insertion or a removal
//! passes 13 places on average at the highest load; what one passes beyond `FAIR` is put on an
//! account from which one that passes fewer takes. Chance keeps the account near nothing and an
//! entry within some 60 places of its home, for the wait in such a queue has a tail of
//! `e^(-0.43 x)`: that one of 2^32 entries waits for `FAR` places has a chance of 2^-40. A table
//! beyond either bound `is_degraded`, and the owner of the keys rehashes them under a random seed.
//! The account must hold as many places as there are entries by then, so that pays for it: O(1)
//! amortised, whatever the keys.

mod ahead;
mod growth;
mod passes;

use ringview_core::{Slab, prefetch};

pub(crate) use ahead::Ahead;

/// No entry: greater than every entry, since no tag is `u32::MAX`.
const EMPTY: u64 = u64::MAX;
/// Entries behind the last home, so that the last runs need no wrap-around.
const TAIL: usize = 32;
/// Places that an insertion or a removal may pass, on average.
const FAIR: u64 = 32;
/// Distance from its home that no entry reaches by chance.
const FAR: usize = 128;
/// Places that an insertion shifts before it looks how far that took each entry.
const LONG: usize = 4 * FAR;
/// Places on the account that a short table may have too many.
const PATIENCE: u64 = 1 << 13;

/// The table: tags and slots in one word each. Keys are compared by the caller, who holds them.
#[derive(Clone, Debug, Default)]
pub struct HashDirectory {
    entries: Slab<u64>,
    capacity: usize,
    len: usize,
    /// The length from which an insertion has to see to the room first.
    due: usize,
    /// While entries move: the capacity before, and the tag below which homes are by that.
    before: usize,
    bound: u64,
    /// While room is taken: the capacity to be. Else 0.
    target: usize,
    /// Places that growing has looked at.
    moved: u64,
    /// Places passed by insertions and removals beyond what is fair.
    account: u64,
    /// All places that they passed: what the bound is tested by.
    passed: u64,
}

#[inline(always)]
fn tag_of(hash: u64) -> u64 {
    (hash >> 32).min(u32::MAX as u64 - 1)
}

impl HashDirectory {
    /// An empty table; it allocates with its first entry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether its keys collide as they do not by chance; see the module.
    #[inline(always)]
    pub(crate) fn is_degraded(&self) -> bool {
        self.account > PATIENCE && self.account > self.len as u64
    }

    /// All places that insertions and removals have passed.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// All places that growing has looked at: what bounds a single insertion is tested by.
    pub fn entries_rehashed(&self) -> u64 {
        self.moved
    }

    /// An empty table that continues the counters of this one.
    pub(crate) fn successor(&self) -> Self {
        Self {
            passed: self.passed,
            moved: self.moved,
            ..Self::default()
        }
    }

    /// Greatest distance of the entries at these places from their homes.
    #[cold]
    fn furthest(&self, places: std::ops::Range<usize>) -> usize {
        let entries = places.map(|at| (at, self.entries[at]));
        let live = entries.filter(|&(_, entry)| entry != EMPTY);
        live.map(|(at, entry)| at - self.home(entry >> 32))
            .max()
            .unwrap_or(0)
    }

    /// An insertion or a removal has passed so many places and put an entry so far from its home.
    #[inline(always)]
    fn note(&mut self, places: usize, distance: usize) {
        self.passed += places as u64;
        self.account = (self.account + places as u64).saturating_sub(FAIR);
        if distance > FAR {
            self.account = u64::MAX >> 1;
        }
    }

    #[inline(always)]
    fn home(&self, tag: u64) -> usize {
        let capacity = match tag < self.bound {
            true => self.before,
            false => self.capacity,
        };
        ((tag * capacity as u64) >> 32) as usize
    }

    /// Prefetches the cache line where a probe for `hash` starts.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.entries, self.home(tag_of(hash)));
    }

    /// The place at which entries with the tag of `hash` begin, or would: a later insertion may put
    /// it further to the right, and none to the left.
    #[inline(always)]
    pub(crate) fn first(&self, hash: u64) -> usize {
        let tag = tag_of(hash);
        let mut at = self.home(tag);
        // The tail guarantees an empty entry before the end; an unallocated table has none.
        while self.entries.get(at).is_some_and(|&entry| entry >> 32 < tag) {
            at += 1;
        }
        at
    }

    /// The slot of the entry at a place, if it has the tag of `hash`.
    #[inline(always)]
    pub(crate) fn candidate_at(&self, at: usize, hash: u64) -> Option<u32> {
        let entry = *self.entries.get(at)?;
        (entry >> 32 == tag_of(hash)).then_some(entry as u32)
    }

    /// The position of the entry of a key (`Ok`), or where it would be inserted (`Err`).
    #[inline(always)]
    pub(crate) fn find_entry(
        &self,
        hash: u64,
        same: impl FnMut(u32) -> bool,
    ) -> Result<usize, usize> {
        self.find_entry_from(self.home(tag_of(hash)), hash, same)
    }

    /// The same from a place on that is not behind the first entry with the tag of `hash`.
    #[inline(always)]
    pub(crate) fn find_entry_from(
        &self,
        from: usize,
        hash: u64,
        mut same: impl FnMut(u32) -> bool,
    ) -> Result<usize, usize> {
        let tag = tag_of(hash);
        let mut at = from;
        while let Some(&entry) = self.entries.get(at) {
            let found = entry >> 32;
            if found >= tag {
                if found > tag {
                    break;
                }
                if same(entry as u32) {
                    return Ok(at);
                }
            }
            at += 1;
        }
        Err(at)
    }

    /// The slot of a key with this hash for which `same` holds.
    #[inline(always)]
    pub fn find(&self, hash: u64, same: impl FnMut(u32) -> bool) -> Option<u32> {
        self.find_entry(hash, same).ok().map(|at| self.slot_at(at))
    }

    /// The slot of a key, or the one that `fresh` makes for it; and whether it was made.
    #[inline(always)]
    pub fn find_or_insert(
        &mut self,
        hash: u64,
        same: impl FnMut(u32) -> bool,
        fresh: impl FnOnce() -> u32,
    ) -> (u32, bool) {
        if self.is_due() {
            self.grow();
        }
        match self.find_entry(hash, same) {
            Ok(at) => (self.slot_at(at), false),
            Err(at) => {
                let slot = fresh();
                self.insert_at(at, hash, slot);
                (slot, true)
            }
        }
    }

    /// Adds an entry for a key that is known to be absent.
    pub(crate) fn insert_absent(&mut self, hash: u64, slot: u32) {
        self.find_or_insert(hash, |_| false, || slot);
    }

    /// The slot of the entry that `find_entry` found.
    #[inline(always)]
    pub(crate) fn slot_at(&self, at: usize) -> u32 {
        self.entries[at] as u32
    }

    /// Gives the entry that `find_entry` found another slot.
    #[inline(always)]
    pub(crate) fn set_slot(&mut self, at: usize, slot: u32) {
        self.entries[at] = (self.entries[at] >> 32 << 32) | u64::from(slot);
    }

    /// Puts an entry where `find_entry` missed it, shifting the rest of the run to the right. The
    /// table must not be due.
    #[inline(always)]
    pub(crate) fn insert_at(&mut self, at: usize, hash: u64, slot: u32) {
        let entry = Self::entry(hash, slot);
        let distance = at - self.home(entry >> 32);
        self.len += 1;
        let shifted = self.shift_in(at, entry);
        let furthest = match shifted {
            ..=LONG => distance,
            _ => self.furthest(at..at + shifted + 1),
        };
        self.note(distance + shifted, furthest);
    }

    /// Removes the entry of `slot`; false when there is none.
    pub fn remove(&mut self, hash: u64, slot: u32) -> bool {
        match self.find_entry(hash, |other| other == slot) {
            Ok(at) => self.remove_at(at),
            Err(_) => return false,
        }
        true
    }

    /// Removes the entry that `find_entry` found.
    #[inline(always)]
    pub(crate) fn remove_at(&mut self, at: usize) {
        // Those behind it move up, at most to their homes.
        let mut gap = at;
        while let Some(&next) = self.entries.get(gap + 1)
            && next != EMPTY
            && self.home(next >> 32) <= gap
        {
            self.entries[gap] = next;
            gap += 1;
        }
        self.entries[gap] = EMPTY;
        self.len -= 1;
        self.note(gap + 1 - at, 0);
    }

    /// The entry of a key with this hash.
    #[inline(always)]
    pub(crate) fn entry(hash: u64, slot: u32) -> u64 {
        (tag_of(hash) << 32) | u64::from(slot)
    }

    /// All slots, in the order of their tags.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        let entries = self.entries.iter().filter(|&&entry| entry != EMPTY);
        entries.map(|&entry| entry as u32)
    }

    /// Whether far fewer entries are left than there is room for.
    pub(crate) fn is_sparse(&self) -> bool {
        const FEW: usize = 1 << 10;
        self.capacity > FEW + 4 * self.len
    }

    /// Forgets every entry, keeping the room.
    pub fn clear(&mut self) {
        self.finish();
        self.entries.fill(EMPTY);
        self.len = 0;
        self.schedule();
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.entries.memory_usage()
    }

    /// Checks the invariant above; for tests.
    ///
    /// # Panics
    /// When the entries are out of order, before their home, or behind a gap.
    pub fn check(&self) {
        let mut last = 0;
        for (at, &entry) in self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, e)| **e != EMPTY)
        {
            let home = self.home(entry >> 32);
            assert!(entry >> 32 >= last, "tags out of order");
            assert!(home <= at, "an entry before its home");
            assert!(at - home <= FAR + LONG, "an entry that is lost");
            assert!(self.entries[home..at].iter().all(|&e| e != EMPTY), "a gap");
            last = entry >> 32;
        }
        let live = self.entries.iter().filter(|&&e| e != EMPTY).count();
        assert_eq!(live, self.len);
        assert!(self.entries.is_empty() || self.entries.last() == Some(&EMPTY));
    }
}
