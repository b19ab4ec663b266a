//! From keys to slots: the directory of a table, and the batch of keys that is looked up in it.
//!
//! A batch is looked up as a whole: pack and hash every row, then probe with the lines of later
//! rows already on their way. A batch of one row takes the same path and pays for one row.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::{FixedState, SeedableRandomState};
use ringview_core::random_hasher;

use crate::dense::DenseDirectory;
use crate::hash::HashDirectory;
use crate::layout::KeyLayout;

/// Rows between the prefetch of a cache line and its use.
pub(crate) const AHEAD: usize = 16;

/// One seed for all, until keys collide as they do not by chance.
const SEED: u64 = 0x5269_6e67_5669_6577;

/// Directory of a table: finds the slot of a key.
#[derive(Clone, Debug)]
pub(crate) enum Directory {
    Hash(HashDirectory),
    Dense(DenseDirectory),
}

impl Directory {
    /// A key of no fields fills its range, which is one cell.
    pub(crate) fn new(layout: &KeyLayout) -> Self {
        if layout.fields() == 0 {
            Self::Dense(DenseDirectory::new(&Vec::new()))
        } else {
            Self::Hash(HashDirectory::new())
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            Self::Hash(hash) => hash.memory_usage(),
            Self::Dense(dense) => dense.memory_usage(),
        }
    }
}

/// A batch of keys, column by column: field f of the key is `columns[fields[f]]`.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// The columns, one value a row; words of fields, not packed.
    pub columns: &'a [Vec<u64>],
    /// Column of each field of the key.
    pub fields: &'a [usize],
    /// The number of rows.
    pub rows: usize,
}

impl<'a> Keys<'a> {
    #[inline(always)]
    pub(crate) fn column(&self, field: usize) -> &'a [u64] {
        &self.columns[self.fields[field]]
    }
}

/// Room for the packed and hashed keys of a batch, kept between batches.
#[derive(Clone, Debug, Default)]
pub struct KeyScratch {
    pub(crate) packed: Vec<u64>,
    pub(crate) hashes: Vec<u64>,
    pub(crate) codes: Vec<u32>,
}

impl KeyScratch {
    /// Packs the keys of a batch.
    pub(crate) fn pack(&mut self, layout: &KeyLayout, keys: Keys<'_>) {
        layout.pack(keys.rows, |f| keys.column(f), &mut self.packed);
    }

    /// Hashes the packed keys.
    pub(crate) fn hash(&mut self, words: usize, hashing: &Hashing) {
        match hashing {
            Hashing::Fixed => self.hash_with(words, |key| hash(&FixedState::with_seed(SEED), key)),
            Hashing::Secret(state) => self.hash_with(words, |key| hash(state, key)),
        }
    }

    #[inline(always)]
    fn hash_with(&mut self, words: usize, hash: impl Fn(&[u64]) -> u64) {
        let Self { packed, hashes, .. } = self;
        hashes.clear();
        match words {
            1 => hashes.extend(packed.iter().map(|&word| hash(&[word]))),
            2 => hashes.extend(packed.as_chunks::<2>().0.iter().map(|key| hash(key))),
            3 => hashes.extend(packed.as_chunks::<3>().0.iter().map(|key| hash(key))),
            _ => hashes.extend(packed.chunks_exact(words).map(hash)),
        }
    }
}

/// Hash function for the keys of a table. Only the places of entries depend on it: slots are
/// numbered in the order in which keys are inserted.
#[derive(Clone, Debug, Default)]
pub(crate) enum Hashing {
    /// Under the seed that all tables begin with.
    #[default]
    Fixed,
    /// Under a random seed, which nobody can predict.
    Secret(SeedableRandomState),
}

impl Hashing {
    /// Under a new seed.
    pub(crate) fn secret() -> Self {
        Self::Secret(random_hasher())
    }

    /// The hash of a packed key.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &[u64]) -> u64 {
        match self {
            Self::Fixed => hash(&FixedState::with_seed(SEED), key),
            Self::Secret(state) => hash(state, key),
        }
    }
}

#[inline(always)]
fn hash(state: &impl BuildHasher, key: &[u64]) -> u64 {
    let mut hasher = state.build_hasher();
    for &word in key {
        hasher.write_u64(word);
    }
    hasher.finish()
}
