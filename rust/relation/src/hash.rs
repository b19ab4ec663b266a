//! A hash table from keys to slots that holds no keys: linear probing kept sorted by hash.
//!
//! Invariant: the entries, read from left to right, are ordered by the upper 32 bits of their
//! hash (the tag), each lies at or after its home `tag * capacity / 2^32`, and no gap lies
//! between a home and its entry. So
//! - a probe stops at the first greater tag: a miss costs no more than a hit;
//! - growing is one sequential pass in place that rehashes nothing, because homes are monotone
//!   in the tag; capacity needs no power of two and grows by 40% at a time, so the table takes 10 to
//!   14 bytes a key;
//! - a removal shifts its run back; there are no tombstones.
//!
//! Expected O(1) a look-up, insert and removal at a load of at most 0.8.
//!
//! Keys that were chosen to collide make it slow, so it watches itself. An insertion or a removal
//! passes 13 places on average at the highest load; what one passes beyond `FAIR` is put on an
//! account from which one that passes fewer takes. Chance keeps the account near nothing and an entry
//! within some 60 places of its home, for the wait in such a queue has a tail of `e^(-0.43 x)`: that
//! one of 2^32 entries waits for `FAR` places has a chance of 2^-40. A table beyond either bound
//! `is_strained`, and whoever holds the keys hashes them anew under a seed that nobody can know. The
//! account must hold as many places as there are entries by then, so that pays for it: O(1) amortised,
//! whatever the keys.

use ringview_core::prefetch;

/// No entry: greater than every entry, since no tag is `u32::MAX`.
const EMPTY: u64 = u64::MAX;
/// Entries behind the last home, so that the last runs need no wrap-around.
const TAIL: usize = 32;
/// Places that an insertion or a removal may pass, on average.
const FAIR: u64 = 32;
/// Places from its home at which no entry stands by chance.
const FAR: usize = 128;
/// Places that an insertion shifts before it looks how far that took each entry.
const LONG: usize = 4 * FAR;
/// Places on the account that a short table may have too many.
const PATIENCE: u64 = 1 << 13;

/// The table: tags and slots in one word each. Keys are compared by the caller, who holds them.
#[derive(Clone, Debug, Default)]
pub struct HashDirectory {
    entries: Vec<u64>,
    capacity: usize,
    len: usize,
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

    /// Whether the next insert grows the table.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len * 5 >= self.capacity * 4
    }

    /// Whether its keys collide as they do not by chance; see the module.
    #[inline(always)]
    pub(crate) fn is_strained(&self) -> bool {
        self.account > PATIENCE && self.account > self.len as u64
    }

    /// All places that insertions and removals have passed.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// An empty table that goes on counting where this one stops.
    pub(crate) fn successor(&self) -> Self {
        Self {
            passed: self.passed,
            ..Self::default()
        }
    }

    /// How far the entries of these places stand from their homes, at most.
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
        ((tag * self.capacity as u64) >> 32) as usize
    }

    /// Asks for the cache line where a probe for `hash` starts.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.entries, self.home(tag_of(hash)));
    }

    /// The first slot with the tag of `hash`, its key not compared: what to prefetch next.
    #[inline(always)]
    pub(crate) fn candidate(&self, hash: u64) -> Option<u32> {
        self.candidate_at(self.first(hash), hash)
    }

    /// The place at which entries with the tag of `hash` begin, or would: a later insertion may put it
    /// further to the right, and none to the left.
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
    pub(crate) fn seek(&self, hash: u64, same: impl FnMut(u32) -> bool) -> Result<usize, usize> {
        self.seek_from(self.home(tag_of(hash)), hash, same)
    }

    /// The same from a place on that is not behind the first entry with the tag of `hash`.
    #[inline(always)]
    pub(crate) fn seek_from(
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
        self.seek(hash, same).ok().map(|at| self.slot_at(at))
    }

    /// The slot of a key, or the one that `fresh` makes for it; and whether it was made.
    #[inline(always)]
    pub fn find_or_insert(
        &mut self,
        hash: u64,
        same: impl FnMut(u32) -> bool,
        fresh: impl FnOnce() -> u32,
    ) -> (u32, bool) {
        if self.is_full() {
            self.grow();
        }
        match self.seek(hash, same) {
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

    /// The slot of the entry that `seek` found.
    #[inline(always)]
    pub(crate) fn slot_at(&self, at: usize) -> u32 {
        self.entries[at] as u32
    }

    /// Gives the entry that `seek` found another slot.
    #[inline(always)]
    pub(crate) fn set_slot(&mut self, at: usize, slot: u32) {
        self.entries[at] = (self.entries[at] >> 32 << 32) | u64::from(slot);
    }

    /// Puts an entry where `seek` missed it, shifting the rest of the run to the right. The
    /// table must not be full.
    #[inline(always)]
    pub(crate) fn insert_at(&mut self, at: usize, hash: u64, slot: u32) {
        let mut carried = Self::entry(hash, slot);
        let distance = at - self.home(carried >> 32);
        self.len += 1;
        for (shifted, place) in self.entries[at..].iter_mut().enumerate() {
            std::mem::swap(place, &mut carried);
            if carried == EMPTY {
                let furthest = match shifted {
                    ..=LONG => distance,
                    _ => self.furthest(at..at + shifted + 1),
                };
                return self.note(distance + shifted, furthest);
            }
        }
        // The run reached the end of the tail.
        self.entries.push(carried);
        self.entries.extend([EMPTY; TAIL]);
        let furthest = self.furthest(at..self.entries.len());
        self.note(distance + self.entries.len() - at, furthest);
    }

    /// Removes the entry of `slot`; false when there is none.
    pub fn remove(&mut self, hash: u64, slot: u32) -> bool {
        match self.seek(hash, |other| other == slot) {
            Ok(at) => self.remove_at(at),
            Err(_) => return false,
        }
        true
    }

    /// Removes the entries of the slots that `keep` does not hold for. One pass over all.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        let mut next = 0;
        for at in 0..self.entries.len() {
            let entry = std::mem::replace(&mut self.entries[at], EMPTY);
            if entry == EMPTY {
                continue;
            }
            if keep(entry as u32) {
                // What stays moves towards its home: never beyond where it was.
                next = self.settle(entry, next);
            } else {
                self.len -= 1;
            }
        }
    }

    /// Removes the entry that `seek` found.
    #[inline(always)]
    pub(crate) fn remove_at(&mut self, at: usize) {
        // Those behind it move up, as far as they stand behind their homes.
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

    /// Makes room for 40% more.
    #[cold]
    pub(crate) fn grow(&mut self) {
        self.resize((self.capacity + self.capacity * 2 / 5).max(16));
    }

    /// Makes room for `keys` entries in all.
    pub fn reserve(&mut self, keys: usize) {
        let capacity = keys * 5 / 4 + 1;
        if capacity > self.capacity {
            self.resize(capacity);
        }
    }

    /// Spreads the entries over more room, in place and block by block from the right.
    ///
    /// A block begins behind a gap. Homes only move to the right, and an entry's place grows by no
    /// more than the capacity does, so a block never reaches what stood behind the gap to its
    /// right, which has moved on. Within a block nothing branches on gaps.
    fn resize(&mut self, capacity: usize) {
        const BLOCK: usize = 1024;
        let mut end = self.entries.len();
        let room = end.max(capacity) + TAIL;
        self.entries.reserve_exact(room - end);
        self.entries.resize(room, EMPTY);
        self.capacity = capacity;
        let mut block = Vec::with_capacity(BLOCK);
        while end > 0 {
            let before = &self.entries[..end.saturating_sub(BLOCK)];
            let start = before
                .iter()
                .rposition(|&e| e == EMPTY)
                .map_or(0, |at| at + 1);
            block.clear();
            block.extend_from_slice(&self.entries[start..end]);
            self.entries[start..end].fill(EMPTY);
            let mut next = 0;
            for &entry in &block {
                next = self.settle(entry, next);
            }
            end = start;
        }
    }

    /// The entry of a key with this hash.
    #[inline(always)]
    pub(crate) fn entry(hash: u64, slot: u32) -> u64 {
        (tag_of(hash) << 32) | u64::from(slot)
    }

    /// Adds entries in the order of their tags, all in one pass from left to right into a table of its own.
    /// `absorb(known, slot)` says whether two slots of one tag have the same key; it has seen to both
    /// when they do, and `slot` is not entered. Returns how many it has taken in: all, unless that
    /// left it strained.
    pub(crate) fn merge(
        &mut self,
        entries: &[u64],
        mut absorb: impl FnMut(u32, u32) -> bool,
    ) -> usize {
        let mut merged = self.with_room_for(self.len + entries.len());
        (merged.len, merged.account) = (self.len, self.account);
        let (mut rest, mut next, mut taken) = (&self.entries[..], 0, 0);
        for &entry in entries {
            if merged.is_strained() {
                break;
            }
            let tag = entry >> 32;
            while let Some((&known, after)) = rest.split_first()
                && (known >> 32 <= tag || known == EMPTY)
            {
                next = merged.settle(known, next);
                rest = after;
            }
            // Entries of one tag stand side by side.
            let equal = merged.entries[..next].iter().rev();
            let equal = equal.take_while(|&&known| known >> 32 == tag);
            let (mut compared, mut same) = (0, false);
            for &known in equal {
                compared += 1;
                same = absorb(known as u32, entry as u32);
                if same {
                    break;
                }
            }
            let mut distance = 0;
            if !same {
                next = merged.settle(entry, next);
                merged.len += 1;
                distance = next - 1 - merged.home(tag);
            }
            merged.note(compared, distance);
            taken += 1;
        }
        for &known in rest {
            next = merged.settle(known, next);
        }
        *self = merged;
        taken
    }

    /// An empty table with room for so many keys that goes on counting where this one stops.
    fn with_room_for(&self, keys: usize) -> Self {
        let capacity = keys * 7 / 5 + 1;
        Self {
            entries: vec![EMPTY; capacity + TAIL],
            capacity,
            ..self.successor()
        }
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

    /// Lets every entry name the slot to which `to` sends its own, in as little room as they need. One
    /// pass over all.
    pub(crate) fn relocate(&mut self, to: impl Fn(u32) -> u32) {
        let mut all = self.with_room_for(self.len);
        (all.len, all.account) = (self.len, self.account);
        // First they come together: that needs no branch for a gap, and gaps come as they like.
        let mut live = 0;
        for at in 0..self.entries.len() {
            let entry = self.entries[at];
            self.entries[live] = entry;
            live += usize::from(entry != EMPTY);
        }
        let mut next = 0;
        for &entry in &self.entries[..live] {
            let moved = (entry >> 32) << 32 | u64::from(to(entry as u32));
            next = all.settle(moved, next);
        }
        *self = all;
    }

    /// Puts an entry at its home, or at `next` if that is further, and returns the place behind it; a
    /// gap, which has all bits set, changes nothing where it is masked in.
    #[inline(always)]
    fn settle(&mut self, entry: u64, next: usize) -> usize {
        let home = if entry == EMPTY {
            next
        } else {
            self.home(entry >> 32)
        };
        let at = next.max(home);
        if at + 1 >= self.entries.len() {
            self.entries.extend([EMPTY; TAIL]);
        }
        self.entries[at] &= entry;
        at + usize::from(entry != EMPTY)
    }

    /// Forgets every entry, keeping the room.
    pub fn clear(&mut self) {
        self.entries.fill(EMPTY);
        self.len = 0;
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
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
