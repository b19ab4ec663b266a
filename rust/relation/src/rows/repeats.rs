//! Whether the rows of a bag repeat, by a sample of their hashes.
//!
//! Rows that wait for the directory take a slot each, equal ones too. So some blocks of rows are watched: of their
//! hashes the lowest `MOST` are kept, each with its number of occurrences. Invariant: every watched row whose hash is
//! at most `limit` is counted. Far apart or side by side, copies that are a fifth of all rows show as one repeat in
//! `FEW_OF` rows at the least. Cost: a hash for one row in `APART`, and some 16 KB a table.

use std::ops::Range;

use crate::hash::HashDirectory;

/// Rows of a block.
const BLOCK: u64 = 1 << 10;
/// Blocks of which one is watched.
const APART: u64 = 8;
/// Hashes that are kept.
const MOST: usize = 1 << 9;
/// Rows that are counted before anything is concluded.
const ENOUGH: u64 = 1 << 9;
/// Rows of which one is a repeat where they are many.
const FEW_OF: u64 = 32;

/// The sample.
#[derive(Clone, Debug)]
pub(super) struct Repeats {
    /// Number of rows inserted.
    came: u64,
    /// Greater hashes are not counted.
    limit: u64,
    hashes: Vec<u64>,
    /// Number of occurrences of each of them.
    counts: Vec<u64>,
    /// Position of each kept hash.
    directory: HashDirectory,
    /// Number of rows that are counted.
    rows: u64,
}

impl Default for Repeats {
    fn default() -> Self {
        Repeats {
            came: 0,
            limit: u64::MAX,
            hashes: Vec::new(),
            counts: Vec::new(),
            directory: HashDirectory::new(),
            rows: 0,
        }
    }
}

impl Repeats {
    /// Takes so many rows into account; `hash` refills a list with the hashes of some of them.
    pub(super) fn watch(
        &mut self,
        rows: usize,
        hashes: &mut Vec<u64>,
        mut hash: impl FnMut(Range<usize>, &mut Vec<u64>),
    ) {
        let mut row = 0;
        while row < rows {
            let block = self.came / BLOCK;
            let rest = ((block + 1) * BLOCK - self.came) as usize;
            let end = rows.min(row + rest);
            if is_watched(block) {
                hash(row..end, hashes);
                hashes.iter().for_each(|&hash| self.count(hash));
            }
            self.came += (end - row) as u64;
            row = end;
        }
    }

    /// Whether a directory is worth its room.
    pub(super) fn are_many(&self) -> bool {
        self.rows >= ENOUGH && (self.rows - self.hashes.len() as u64) * FEW_OF > self.rows
    }

    #[inline(always)]
    fn count(&mut self, hash: u64) {
        if hash <= self.limit {
            self.add(hash, 1);
            if self.hashes.len() > MOST {
                self.halve();
            }
        }
    }

    fn add(&mut self, hash: u64, times: u64) {
        let fresh = self.hashes.len() as u32;
        let same = |at: u32| self.hashes[at as usize] == hash;
        // The kept hashes share their upper bits, and entries are distinguished by upper bits: swap
        // the bytes.
        let (at, made) = (self.directory).find_or_insert(hash.swap_bytes(), same, || fresh);
        if made {
            self.hashes.push(hash);
            self.counts.push(0);
        }
        self.counts[at as usize] += times;
        self.rows += times;
    }

    /// Forgets the greater half of the hashes.
    fn halve(&mut self) {
        let before = std::mem::take(self);
        (self.came, self.limit) = (before.came, before.limit / 2);
        for (hash, times) in before.hashes.into_iter().zip(before.counts) {
            if hash <= self.limit {
                self.add(hash, times);
            }
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        (self.hashes.capacity() + self.counts.capacity()) * size_of::<u64>()
            + self.directory.memory_usage()
    }
}

/// Blocks are chosen without a pattern that rows could have too.
fn is_watched(block: u64) -> bool {
    let mixed = (block ^ block >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 32).is_multiple_of(APART)
}
