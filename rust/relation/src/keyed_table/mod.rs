//! A relation's keyed table: a finite map from keys to payloads, by slot.
//!
//! Invariant: the key of slot s is `keys[s * words ..]`, its payload `payloads[s * stride ..]`;
//! the directory holds exactly the live slots, but for those that are their own (`order`); a slot keeps its key until it is
//! removed, then it is reused. Payloads are plain words; only the ring interprets them.
//!
//! Look-up, insert, removal: O(1) expected, whatever the keys: keys chosen to collide are
//! rehashed under a secret seed, on which nothing else depends (`lookup`). Room
//! follows the keys (`shrink`). A batch is looked up column by column.

mod append;
pub(crate) mod bloom_filter;
pub(crate) mod index;
mod leave;
mod lookup;
mod order;
mod runs;
mod shrink;

use ringview_core::Slab;

use crate::directory::{Directory, Hashing, KeyScratch};
use crate::journal::{Journal, SlotChange};
use crate::layout::KeyLayout;

use runs::Runs;
pub use shrink::Relocated;

/// A relation's keyed table. See the module for its invariant.
#[derive(Clone, Debug)]
pub struct KeyedTable {
    layout: KeyLayout,
    stride: usize,
    keys: Slab<u64>,
    payloads: Slab<u64>,
    /// One bit a slot.
    live: Slab<u64>,
    free: Vec<u32>,
    slots: u32,
    len: usize,
    directory: Directory,
    /// Slots whose keys ascend and are not in the directory: those below it.
    ordered: u32,
    /// Whether keys inserted in ascending order stay out of the directory.
    keeps_order: bool,
    hashing: Hashing,
    /// Number of times that the keys were rehashed.
    reseeds: u32,
    /// Keys that were entered anew, all at once.
    reentered: u64,
    indexes: Vec<Index>,
    journal: Journal,
}

impl KeyedTable {
    /// An empty table whose payloads take `stride` words.
    #[must_use]
    pub fn new(layout: KeyLayout, stride: usize) -> Self {
        let directory = Directory::new(&layout);
        Self {
            layout,
            stride,
            keys: Slab::new(),
            payloads: Slab::new(),
            live: Slab::new(),
            free: Vec::new(),
            slots: 0,
            len: 0,
            directory,
            ordered: 0,
            keeps_order: false,
            hashing: Hashing::default(),
            reseeds: 0,
            reentered: 0,
            indexes: Vec::new(),
            journal: Journal::default(),
        }
    }

    /// Makes room for `keys` more keys at once.
    pub fn reserve(&mut self, keys: usize) {
        if let Directory::Hash(hash) = &mut self.directory {
            hash.reserve(self.len + keys);
        }
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One more than the greatest slot ever used: the length of an array beside the table.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Packing of the keys.
    #[must_use]
    pub fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    /// Words of a payload.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The packed key of a live slot.
    #[must_use]
    #[inline(always)]
    pub fn key(&self, slot: u32) -> &[u64] {
        let words = self.layout.words();
        &self.keys[slot as usize * words..][..words]
    }

    /// One field of the key of a live slot.
    #[must_use]
    #[inline(always)]
    pub fn field(&self, slot: u32, field: usize) -> u64 {
        self.layout.get(self.key(slot), field)
    }

    /// One field of the keys of some slots.
    #[must_use]
    pub fn column(&self, slots: &[u32], field: usize) -> Vec<u64> {
        let mut out = Vec::with_capacity(slots.len());
        self.append_column(slots, field, &mut out);
        out
    }

    /// The same, appended to what there is.
    pub(crate) fn append_column(&self, slots: &[u32], field: usize, out: &mut Vec<u64>) {
        self.layout.append_column(&self.keys, slots, field, out);
    }

    /// The payload of a slot.
    #[must_use]
    #[inline(always)]
    pub fn payload(&self, slot: u32) -> &[u64] {
        &self.payloads[slot as usize * self.stride..][..self.stride]
    }

    /// The payloads of all slots, `stride()` words each.
    #[must_use]
    pub fn payloads(&self) -> &[u64] {
        &self.payloads
    }

    /// The payload of a slot, to be changed; the old one is journalled.
    pub fn payload_mut(&mut self, slot: u32) -> &mut [u64] {
        let (at, stride) = (slot as usize * self.stride, self.stride);
        &mut self.write(&[slot])[at..][..stride]
    }

    /// The payloads of all slots, of which those of `slots` may be changed; they are journalled.
    pub fn write(&mut self, slots: &[u32]) -> &mut [u64] {
        self.journal.written(slots, &self.payloads, self.stride);
        &mut self.payloads
    }

    /// Changes the payload of every key in place, between transactions: nothing is journalled.
    pub fn rewrite(&mut self, mut change: impl FnMut(&mut [u64])) {
        let (stride, live) = (self.stride, &self.live);
        let is_live = |slot: usize| live[slot / 64] >> (slot % 64) & 1 == 1;
        let payloads = self.payloads.chunks_exact_mut(stride).enumerate();
        payloads
            .filter(|(slot, _)| is_live(*slot))
            .for_each(|(_, payload)| change(payload));
    }

    /// Gives payloads another length, those that the running transaction replaced too: `convert`
    /// appends the new form of a payload, `stride` words. O(slots).
    pub fn restride(&mut self, stride: usize, mut convert: impl FnMut(&[u64], &mut Vec<u64>)) {
        let (mut payloads, mut converted) = (Slab::new(), Vec::with_capacity(stride));
        payloads.reserve_exact(self.slots() * stride);
        for payload in self.payloads.chunks_exact(self.stride) {
            converted.clear();
            convert(payload, &mut converted);
            payloads.extend_from_slice(&converted);
        }
        debug_assert_eq!(payloads.len(), self.slots() * stride);
        self.payloads = payloads;
        self.journal.restride(self.stride, &mut convert);
        self.stride = stride;
    }

    /// Whether the slot holds a key.
    #[must_use]
    #[inline]
    pub fn is_live(&self, slot: u32) -> bool {
        self.live
            .get(slot as usize / 64)
            .is_some_and(|bits| bits >> (slot % 64) & 1 == 1)
    }

    /// The live slots, in the order of their making (a reused slot keeps its place).
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        slots_of(&self.live)
    }

    /// A slot for a new key, with a zero payload; the caller enters it in the directory.
    fn take_slot(&mut self, key: &[u64]) -> u32 {
        let words = self.layout.words();
        self.len += 1;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.keys[slot as usize * words..][..words].copy_from_slice(key);
                self.payloads[slot as usize * self.stride..][..self.stride].fill(0);
                // A new slot lies behind those that journal and indexes hold.
                self.journal.inserted(slot);
                let indexes = self.indexes.iter_mut();
                indexes.for_each(|index| index.added(slot));
                slot
            }
            None => {
                let slot = self.slots;
                self.slots += 1;
                match *key {
                    [only] => self.keys.push(only),
                    _ => self.keys.extend_from_slice(key),
                }
                match self.stride {
                    1 => self.payloads.push(0),
                    stride => self.payloads.resize(self.payloads.len() + stride, 0),
                }
                if slot.is_multiple_of(64) {
                    self.live.push(0);
                }
                slot
            }
        };
        self.live[slot as usize / 64] |= 1 << (slot % 64);
        slot
    }

    /// Changes of the running transaction, in order.
    pub fn changes(&self) -> impl Iterator<Item = SlotChange<'_>> {
        self.journal.changes(self.slots, self.stride)
    }

    /// Adds a secondary index on some fields of the key (or finds the one there is).
    pub fn add_index(&mut self, fields: &[usize]) -> usize {
        if let Some(at) = self
            .indexes
            .iter()
            .position(|index| index.fields() == fields)
        {
            return at;
        }
        self.indexes.push(Index::new(&self.layout, fields));
        self.indexes.len() - 1
    }

    /// From now on the groups of an index can be sifted: they are intersected with others.
    pub(crate) fn filter_index(&mut self, index: usize) {
        self.indexes[index].filter();
    }

    /// Brings an index up to date; before it is read.
    pub fn refresh_index(&mut self, index: usize) {
        let mut taken = std::mem::take(&mut self.indexes);
        taken[index].refresh(self);
        self.indexes = taken;
    }

    /// An index, as of its last refresh.
    #[must_use]
    pub fn index_at(&self, index: usize) -> &Index {
        &self.indexes[index]
    }

    /// Number of times that the keys were rehashed because they collided more than by chance, and
    /// number of places that insertions and removals have passed in the current hash table.
    #[must_use]
    pub fn degradation(&self) -> (u32, u64) {
        match &self.directory {
            Directory::Hash(hash) => (self.reseeds, hash.passed()),
            Directory::Dense(_) => (self.reseeds, 0),
        }
    }

    /// Number of entries moved as the directory grew, plus keys entered again when it became
    /// another kind. Tests use it to check the bound of a single insertion.
    #[must_use]
    pub fn entries_rehashed(&self) -> u64 {
        match &self.directory {
            Directory::Hash(hash) => self.reentered + hash.entries_rehashed(),
            Directory::Dense(_) => self.reentered,
        }
    }

    /// Bytes allocated.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.keys.memory_usage()
            + self.payloads.memory_usage()
            + self.live.memory_usage()
            + self.free.capacity() * size_of::<u32>()
            + self.directory.memory_usage()
            + self.journal.memory_usage()
            + self.indexes.iter().map(Index::memory_usage).sum::<usize>()
    }

    /// Checks the invariants; for tests.
    ///
    /// # Panics
    /// When the directory, the live bits or an index disagree with the slabs.
    pub fn check(&self) {
        assert_eq!(self.iter().count(), self.len);
        for slot in self.iter() {
            let found = match &self.directory {
                Directory::Hash(hash) => {
                    let same = |other| self.key(other) == self.key(slot);
                    let found = hash.find(self.hashing.hash(self.key(slot)), same);
                    found.or_else(|| Some(self.search(|field| self.field(slot, field))))
                }
                Directory::Dense(dense) => dense
                    .code(|f| self.field(slot, f))
                    .map(|code| dense.slot(code as u32)),
            };
            assert_eq!(found, Some(slot));
        }
        match &self.directory {
            Directory::Hash(hash) => {
                hash.check();
                let ordered = (0..self.ordered).filter(|&slot| self.is_live(slot));
                assert_eq!(hash.len() + ordered.count(), self.len);
            }
            Directory::Dense(dense) => {
                assert_eq!((dense.filled(), self.ordered), (self.len, 0));
            }
        }
        let ordered = (0..self.ordered).filter(|&slot| !self.is_live(slot));
        assert_eq!(self.len + self.free.len() + ordered.count(), self.slots());
        for index in &self.indexes {
            index.check(self);
        }
    }
}

/// An index on some fields of the keys of a table.
#[derive(Clone, Debug)]
pub struct Index {
    fields: Vec<usize>,
    /// The other fields of the key.
    rest: Vec<usize>,
    /// Whether the only other field has a sign; `None` where there are others, or a value of it
    /// that 32 bits do not hold.
    whole_fingerprints: Option<bool>,
    /// Group key -> where its run starts and its size class; its length and, in the upper half, how
    /// many slots have left since its filter was made.
    groups: Box<KeyedTable>,
    runs: Runs,
    /// By slot: the place in its run; `ABSENT` or `NAMED` while it waits.
    position: Slab<u32>,
    /// Reused slots that wait, each once. Slots from `place.len()` on wait without being named.
    waiting: Vec<u32>,
    scratch: KeyScratch,
    /// Number of times that all was forgotten.
    rebuilds: u64,
}

/// The slots whose bit is set.
fn slots_of(live: &[u64]) -> impl Iterator<Item = u32> {
    live.iter().enumerate().flat_map(|(at, &bits)| {
        let mut bits = bits;
        std::iter::from_fn(move || {
            (bits != 0).then(|| {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                at as u32 * 64 + bit
            })
        })
    })
}
