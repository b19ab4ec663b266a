//! From keys to slots: the directory of a part, and the batch of keys that is looked up in it.
//!
//! A batch is looked up as a whole: pack and hash every row, then probe with the lines of later
//! rows already on their way. A batch of one row takes the same path and pays for one row.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

use crate::dense::DenseDirectory;
use crate::hash::HashDirectory;
use crate::layout::KeyLayout;

/// Rows between asking for a line and using it.
pub(crate) const AHEAD: usize = 16;

/// One seed for all: the same input gives the same layout of memory on every machine.
const SEED: u64 = 0x5269_6e67_5669_6577;

/// Where the slot of a key is found.
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
    /// Which column holds each field of the key.
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
    pub(crate) fn hash(&mut self, words: usize) {
        self.hashes.clear();
        let packed = &self.packed;
        match words {
            1 => self.hashes.extend(packed.iter().map(|&w| hash_key(&[w]))),
            2 => self
                .hashes
                .extend(packed.as_chunks::<2>().0.iter().map(|k| hash_key(k))),
            3 => self
                .hashes
                .extend(packed.as_chunks::<3>().0.iter().map(|k| hash_key(k))),
            _ => self.hashes.extend(packed.chunks_exact(words).map(hash_key)),
        }
    }
}

/// The hash of a packed key.
#[inline(always)]
pub(crate) fn hash_key(words: &[u64]) -> u64 {
    let mut hasher = FixedState::with_seed(SEED).build_hasher();
    for &word in words {
        hasher.write_u64(word);
    }
    hasher.finish()
}
