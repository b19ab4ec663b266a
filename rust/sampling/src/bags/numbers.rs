//! Dense numbers for short rows of ids, given out and taken back.
//!
//! Invariant: the rows that are linked are distinct, and found by what they are; a number keeps its ids until
//! it is forgotten, linked or not. Cost: O(1) expected, whatever the ids: the hash is seeded at random, and
//! shows nowhere.

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

use crate::index::keys;

/// Numbers for rows of one width.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    width: usize,
    ids: Vec<u32>,
    /// One more than the largest number.
    len: u32,
    table: HashTable<u32>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

fn hash(hasher: &SeedableRandomState, row: &[u32]) -> u64 {
    // Two ids fill a word.
    let words = row.chunks(2).map(|pair| {
        let second = pair.get(1).copied().unwrap_or_default();
        u64::from(pair[0]) | u64::from(second) << 32
    });
    keys::hash(hasher, words)
}

impl Numbers {
    pub(super) fn new(width: usize) -> Numbers {
        Numbers {
            width,
            ids: Vec::new(),
            len: 0,
            table: HashTable::new(),
            free: Vec::new(),
            hasher: random_hasher(),
        }
    }

    /// One more than the largest number.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// The row of a number.
    #[inline]
    pub(super) fn row(&self, number: u32) -> &[u32] {
        &self.ids[number as usize * self.width..][..self.width]
    }

    /// The number of a linked row.
    #[inline]
    pub(super) fn find(&self, row: &[u32]) -> Option<u32> {
        // Rows are too short for a call of memcmp.
        let equal = |&number: &u32| self.row(number).iter().eq(row);
        self.table.find(hash(&self.hasher, row), equal).copied()
    }

    /// A number for a row that is not linked, which is not linked either.
    pub(super) fn add(&mut self, row: &[u32]) -> u32 {
        if let Some(number) = self.free.pop() {
            self.ids[number as usize * self.width..][..self.width].copy_from_slice(row);
            return number;
        }
        self.ids.extend_from_slice(row);
        self.len += 1;
        self.len - 1
    }

    /// Links a number, so that its row is found.
    pub(super) fn link(&mut self, number: u32) {
        let found = hash(&self.hasher, self.row(number));
        let Numbers {
            width,
            ids,
            hasher,
            table,
            ..
        } = self;
        let of = |&other: &u32| hash(hasher, &ids[other as usize * *width..][..*width]);
        table.insert_unique(found, number, of);
    }

    /// Unlinks a number.
    pub(super) fn unlink(&mut self, number: u32) {
        let found = hash(&self.hasher, self.row(number));
        if let Ok(entry) = self.table.find_entry(found, |&other| other == number) {
            entry.remove();
        }
    }

    /// Takes the number of a row that is not linked back.
    pub(super) fn forget(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The rows that are linked.
    pub(super) fn linked(&self) -> impl Iterator<Item = u32> {
        self.table.iter().copied()
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.table.allocation_size()
            + self.ids.capacity() * size_of::<u32>()
            + self.free.capacity() * size_of::<u32>()
    }
}
