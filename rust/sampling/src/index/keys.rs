//! Dense numbers for the values of join keys, shared by all relations with the same variables.
//!
//! Invariant: equal keys have equal numbers, numbers are given in the order of inserts, and a number is taken back with its
//! last tuple. Keys of one word that is small beside the number of keys, as ids mostly are, are in an array by that word; all
//! others in a hash table. Cost: O(1) expected a key, whatever the keys: the hash is seeded at random, and shows nowhere; the
//! array has at most `SPARSE` places a key, and a few more.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::{prefetch, random_hasher};

/// No number.
const NONE: u32 = u32::MAX;
/// So many places a key the array has at most, beside a first few.
const SPARSE: usize = 4;
const FEW: usize = 1024;

/// The numbers of the keys over some variables.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// Words a key.
    width: usize,
    /// By the word of a key, its number; NONE where there is none, or it is in the table.
    direct: Vec<u32>,
    table: HashTable<u32>,
    words: Vec<u64>,
    /// Number of tuples of each key.
    tuples: Vec<u32>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

/// The hash of some words.
#[inline]
pub(crate) fn hash(hasher: &SeedableRandomState, words: impl IntoIterator<Item = u64>) -> u64 {
    let mut state = hasher.build_hasher();
    for word in words {
        state.write_u64(word);
    }
    state.finish()
}

impl Keys {
    pub(crate) fn new(width: usize) -> Keys {
        let mut keys = Keys {
            width,
            direct: Vec::new(),
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
    pub(crate) fn len(&self) -> usize {
        self.tuples.len()
    }

    /// The number of the key whose words are those at `columns` of a row, for one more tuple.
    #[inline]
    pub(crate) fn acquire(&mut self, row: &[u64], columns: &[usize]) -> u32 {
        if self.width == 0 {
            return 0;
        }
        if let &[column] = columns
            && let Some(&id) = self.direct.get(row[column] as usize)
            && id != NONE
        {
            self.tuples[id as usize] += 1;
            return id;
        }
        self.acquire_hashed(row, columns)
    }

    fn acquire_hashed(&mut self, row: &[u64], columns: &[usize]) -> u32 {
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
        if let &[column] = columns
            && self.is_direct(row[column])
        {
            self.direct[row[column] as usize] = id;
            return id;
        }
        let (words, hasher) = (&self.words, &self.hasher);
        let rehash = |&id: &u32| {
            let held = &words[id as usize * width..][..width];
            hash(hasher, held.iter().copied())
        };
        self.table.insert_unique(found, id, rehash);
        id
    }

    /// The number of a key of one word, if some tuple has it.
    pub(crate) fn find(&self, word: u64) -> Option<u32> {
        let direct = self.direct.get(word as usize).copied();
        direct.filter(|&id| id != NONE).or_else(|| {
            let found = hash(&self.hasher, [word]);
            self.table.find(found, |&id| self.word(id) == word).copied()
        })
    }

    /// The word of a key of one word.
    #[inline]
    pub(crate) fn word(&self, id: u32) -> u64 {
        self.words[id as usize]
    }

    /// Whether a new key of one word has a place in the array, which grows for it.
    fn is_direct(&mut self, word: u64) -> bool {
        let most = FEW + SPARSE * self.tuples.len();
        let fits = word < most as u64;
        if fits && self.direct.len() <= word as usize {
            self.direct
                .resize((word as usize + 1).next_power_of_two().min(most), NONE);
        }
        fits
    }

    /// Prefetches the entry of a row's key.
    #[inline]
    pub(crate) fn prefetch(&self, row: &[u64], columns: &[usize]) {
        if let &[column] = columns {
            prefetch(&self.direct, row[column] as usize);
        }
    }

    /// One tuple fewer has the key.
    pub(crate) fn release(&mut self, id: u32) {
        if self.width == 0 {
            return;
        }
        self.tuples[id as usize] -= 1;
        if self.tuples[id as usize] > 0 {
            return;
        }
        let words = &self.words[id as usize * self.width..][..self.width];
        if let &[word] = words
            && self.direct.get(word as usize) == Some(&id)
        {
            self.direct[word as usize] = NONE;
            self.free.push(id);
            return;
        }
        let found = hash(&self.hasher, words.iter().copied());
        if let Ok(entry) = self.table.find_entry(found, |&other| other == id) {
            entry.remove();
            self.free.push(id);
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.table.allocation_size()
            + self.words.capacity() * 8
            + (self.direct.capacity() + self.tuples.capacity() + self.free.capacity()) * 4
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn keys_have_numbers_while_they_are_there() {
        let mut random = crate::Random::new(7);
        let mut keys = Keys::new(1);
        // By word, its number and how often it is there.
        let mut model = BTreeMap::<u64, (u32, u32)>::new();
        for step in 0..20_000u64 {
            // Small ones, ones that are small later, and large ones.
            let range = [100, 3000, 1 << 60][random.below(3) as usize];
            let word = random.below(range) as u64;
            let nth = random.below(model.len().max(1) as u128) as usize;
            let held = model.iter().nth(nth).map(|(&word, &(id, _))| (word, id));
            match held {
                Some((word, id)) if step / 4000 % 2 == 1 => {
                    keys.release(id);
                    let (_, times) = model.get_mut(&word).expect("it is there");
                    *times -= 1;
                    if *times == 0 {
                        model.remove(&word);
                    }
                }
                _ => {
                    let id = keys.acquire(&[7, word], &[1]);
                    let existing = model.entry(word).or_insert((id, 0));
                    assert_eq!(existing.0, id);
                    existing.1 += 1;
                }
            }
        }
        let mut ids: Vec<u32> = model.values().map(|&(id, _)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), model.len(), "a number for two keys");
    }
}
