//! The containers of the hand-written programs: a hash directory, a slab of rows, chains of slots, maps from one key.
//!
//! Invariant: a directory entry holds the upper half of a key's hash (its home is the top bits of that, so growing is
//! one sequential pass) and the slot of the row; entries fill at most three quarters. All operations are O(1), chains
//! are walked with constant delay. `warm` reads what a later look-up of the same hashes will read: the processor
//! overlaps those misses, where one look-up after the other would wait for each.

use std::hint::black_box;

const EMPTY: u32 = u32::MAX;

/// The hash of two words: one folded multiplication.
pub(crate) fn hash(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(b ^ 0x8bb8_4b93_962e_acc9);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Two int32 keys as one word.
pub(crate) fn pair(a: i32, b: i32) -> u64 {
    (u64::from(a as u32) << 32) | u64::from(b as u32)
}

/// A row of a slab holds its key.
pub(crate) trait Row {
    type Key: Copy + Eq;
    fn key(&self) -> Self::Key;
    fn hash(key: Self::Key) -> u64;
}

#[derive(Clone, Copy)]
struct Entry {
    tag: u32,
    slot: u32,
}

/// Rows in slots that stay where they are while the row lives, found by key.
pub(crate) struct Slab<R> {
    pub(crate) rows: Vec<R>,
    free: Vec<u32>,
    entries: Vec<Entry>,
    shift: u32,
}

impl<R: Row> Slab<R> {
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            free: Vec::new(),
            entries: vec![
                Entry {
                    tag: 0,
                    slot: EMPTY
                };
                16
            ],
            shift: 28,
        }
    }

    /// Reads the entries that look-ups of `hashes` begin with, then the rows that they will find.
    pub(crate) fn warm(&self, hashes: &[u64]) {
        for &hash in hashes {
            black_box(self.entries[((hash >> 32) as u32 >> self.shift) as usize]);
        }
        for &hash in hashes {
            if let Some(slot) = self.probe(hash, |_| true) {
                black_box(self.rows[slot as usize].key());
            }
        }
    }

    pub(crate) fn find(&self, hash: u64, key: R::Key) -> Option<u32> {
        self.probe(hash, |slot| self.rows[slot as usize].key() == key)
    }

    /// The first slot under the hash's tag that is the wanted one.
    fn probe(&self, hash: u64, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let tag = (hash >> 32) as u32;
        let mut at = (tag >> self.shift) as usize;
        loop {
            let entry = self.entries[at];
            if entry.slot == EMPTY {
                return None;
            }
            if entry.tag == tag && wanted(entry.slot) {
                return Some(entry.slot);
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
    }

    /// The slot of the key, and whether `fresh` was put there just now.
    pub(crate) fn find_or_insert(
        &mut self,
        hash: u64,
        key: R::Key,
        fresh: impl FnOnce() -> R,
    ) -> (u32, bool) {
        match self.find(hash, key) {
            Some(slot) => (slot, false),
            None => (self.insert(hash, fresh()), true),
        }
    }

    fn insert(&mut self, hash: u64, row: R) -> u32 {
        if (self.rows.len() - self.free.len() + 1) * 4 > self.entries.len() * 3 {
            self.grow();
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.rows[slot as usize] = row;
                slot
            }
            None => {
                self.rows.push(row);
                self.rows.len() as u32 - 1
            }
        };
        self.place(Entry {
            tag: (hash >> 32) as u32,
            slot,
        });
        slot
    }

    fn place(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut at = (entry.tag >> self.shift) as usize;
        while self.entries[at].slot != EMPTY {
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
    }

    fn grow(&mut self) {
        let entries = vec![
            Entry {
                tag: 0,
                slot: EMPTY
            };
            self.entries.len() * 2
        ];
        let old = std::mem::replace(&mut self.entries, entries);
        self.shift -= 1;
        old.into_iter()
            .filter(|entry| entry.slot != EMPTY)
            .for_each(|entry| self.place(entry));
    }

    /// Takes the slot out of the directory, shifting back what had been pushed past it.
    pub(crate) fn remove(&mut self, hash: u64, slot: u32) {
        let mask = self.entries.len() - 1;
        let mut hole = ((hash >> 32) as u32 >> self.shift) as usize;
        while self.entries[hole].slot != slot {
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.slot == EMPTY {
                break;
            }
            let home = (entry.tag >> self.shift) as usize;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole].slot = EMPTY;
        self.free.push(slot);
    }

    pub(crate) fn memory(&self) -> usize {
        self.rows.len() * size_of::<R>()
            + self.free.len() * 4
            + self.entries.len() * size_of::<Entry>()
    }
}

/// Number of rows that are hashed and warmed together.
pub(crate) const BLOCK: usize = 256;

/// Doubly linked lists of slots, one a key; the key's head lives with whoever owns the chain.
#[derive(Default)]
pub(crate) struct Chains {
    links: Vec<[u32; 2]>,
}

/// The first slot of a chain.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Head(u32);

impl Default for Head {
    fn default() -> Self {
        Self(EMPTY)
    }
}

impl Chains {
    pub(crate) fn link(&mut self, head: &mut Head, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, [EMPTY; 2]);
        }
        self.links[slot as usize] = [EMPTY, head.0];
        if head.0 != EMPTY {
            self.links[head.0 as usize][0] = slot;
        }
        head.0 = slot;
    }

    pub(crate) fn unlink(&mut self, head: &mut Head, slot: u32) {
        let [before, after] = self.links[slot as usize];
        match before {
            EMPTY => head.0 = after,
            _ => self.links[before as usize][1] = after,
        }
        if after != EMPTY {
            self.links[after as usize][0] = before;
        }
    }

    pub(crate) fn walk(&self, head: Head) -> impl Iterator<Item = u32> + '_ {
        let some = |slot: u32| (slot != EMPTY).then_some(slot);
        std::iter::successors(some(head.0), move |&slot| {
            some(self.links[slot as usize][1])
        })
    }

    pub(crate) fn memory(&self) -> usize {
        self.links.len() * size_of::<[u32; 2]>()
    }
}

/// A map from one int32 key; absent keys read as the default.
pub(crate) trait OneKey<P> {
    fn get(&self, key: i32) -> P;
    fn at(&mut self, key: i32) -> &mut P;
    fn memory(&self) -> usize;
}

/// For keys known to be small and not negative: an array.
#[derive(Default)]
pub(crate) struct Dense<P>(Vec<P>);

impl<P: Copy + Default> OneKey<P> for Dense<P> {
    fn get(&self, key: i32) -> P {
        self.0.get(key as usize).copied().unwrap_or_default()
    }

    fn at(&mut self, key: i32) -> &mut P {
        let key = key as usize;
        if self.0.len() <= key {
            self.0.resize((key + 1).next_power_of_two(), P::default());
        }
        &mut self.0[key]
    }

    fn memory(&self) -> usize {
        self.0.len() * size_of::<P>()
    }
}

/// For any keys: a hash table. A payload back at its default keeps its slot, as the keys of a stream are repeated.
pub(crate) struct Hashed<P>(Slab<(i32, P)>);

impl<P: Copy> Default for Hashed<P> {
    fn default() -> Self {
        Self(Slab::new())
    }
}

impl<P: Copy> Row for (i32, P) {
    type Key = i32;

    fn key(&self) -> i32 {
        self.0
    }

    fn hash(key: i32) -> u64 {
        hash(u64::from(key as u32), 0)
    }
}

impl<P: Copy + Default> OneKey<P> for Hashed<P> {
    fn get(&self, key: i32) -> P {
        let slot = self.0.find(<(i32, P)>::hash(key), key);
        slot.map_or_else(P::default, |slot| self.0.rows[slot as usize].1)
    }

    fn at(&mut self, key: i32) -> &mut P {
        let fresh = || (key, P::default());
        let (slot, _) = self.0.find_or_insert(<(i32, P)>::hash(key), key, fresh);
        &mut self.0.rows[slot as usize].1
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// Kind of the maps from one key that a program is built with.
pub(crate) trait Maps {
    type Of<P: Copy + Default>: OneKey<P> + Default;
}

/// Arrays, as a careful engineer writes if the ids are dense.
pub(crate) struct Arrays;

/// Hash tables, as a code generator writes, which has the types and no more.
pub(crate) struct Tables;

impl Maps for Arrays {
    type Of<P: Copy + Default> = Dense<P>;
}

impl Maps for Tables {
    type Of<P: Copy + Default> = Hashed<P>;
}
