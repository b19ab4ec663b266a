//! Dense numbers for the values of join keys, shared by all relations and edges that speak of the same
//! variables.
//!
//! Invariant: equal keys have equal numbers, numbers are given in the order in which keys come, and a
//! number is taken back with its last tuple. Cost: O(1) expected
//! a key, whatever the keys: the hash is seeded at random, and shows nowhere.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

/// The numbers of the keys over some variables.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Words a key.
    width: usize,
    table: HashTable<u32>,
    words: Vec<u64>,
    /// How many tuples have each key.
    tuples: Vec<u32>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

/// The hash of some words.
#[inline]
pub(super) fn hash(hasher: &SeedableRandomState, words: impl IntoIterator<Item = u64>) -> u64 {
    let mut state = hasher.build_hasher();
    for word in words {
        state.write_u64(word);
    }
    state.finish()
}

impl Keys {
    pub(super) fn new(width: usize) -> Keys {
        let mut keys = Keys {
            width,
            table: HashTable::new(),
            words: Vec::new(),
            tuples: Vec::new(),
            free: Vec::new(),
            hasher: random_hasher(),
        };
        if width == 0 {
            // The one key of a Cartesian product.
            keys.tuples.push(1);
        }
        keys
    }

    /// One more than the largest number.
    pub(super) fn len(&self) -> usize {
        self.tuples.len()
    }

    /// The number of the key whose words are those at `columns` of a row, for one more tuple.
    #[inline]
    pub(super) fn enter(&mut self, row: &[u64], columns: &[usize]) -> u32 {
        if self.width == 0 {
            return 0;
        }
        let found = hash(&self.hasher, columns.iter().map(|&at| row[at]));
        let (width, words) = (self.width, &self.words);
        let equal = |&id: &u32| {
            let held = &words[id as usize * width..][..width];
            held.iter().zip(columns).all(|(&word, &at)| word == row[at])
        };
        if let Some(&id) = self.table.find(found, equal) {
            self.tuples[id as usize] += 1;
            return id;
        }
        self.add(found, row, columns)
    }

    fn add(&mut self, found: u64, row: &[u64], columns: &[usize]) -> u32 {
        let width = self.width;
        let id = self.free.pop().unwrap_or_else(|| {
            self.tuples.push(0);
            self.words.resize(self.words.len() + width, 0);
            (self.tuples.len() - 1) as u32
        });
        let place = &mut self.words[id as usize * width..][..width];
        for (word, &at) in place.iter_mut().zip(columns) {
            *word = row[at];
        }
        self.tuples[id as usize] = 1;
        let (words, hasher) = (&self.words, &self.hasher);
        let rehash = |&id: &u32| {
            let held = &words[id as usize * width..][..width];
            hash(hasher, held.iter().copied())
        };
        self.table.insert_unique(found, id, rehash);
        id
    }

    /// One tuple fewer has the key.
    pub(super) fn leave(&mut self, id: u32) {
        if self.width == 0 {
            return;
        }
        self.tuples[id as usize] -= 1;
        if self.tuples[id as usize] > 0 {
            return;
        }
        let words = &self.words[id as usize * self.width..][..self.width];
        let found = hash(&self.hasher, words.iter().copied());
        if let Ok(entry) = self.table.find_entry(found, |&other| other == id) {
            entry.remove();
            self.free.push(id);
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.table.allocation_size()
            + self.words.capacity() * 8
            + (self.tuples.capacity() + self.free.capacity()) * 4
    }
}
