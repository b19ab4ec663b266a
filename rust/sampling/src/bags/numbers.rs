//! Dense numbers for short rows of words, given out and taken back.
//!
//! Invariant: the rows that are linked are distinct, and found by what they are; a number keeps its words until
//! it is forgotten, linked or not. Cost: O(1) expected, whatever the words: the hash is seeded at random, and
//! shows nowhere.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

/// A word of a row.
pub(super) trait Word: Copy + Eq + Default {
    fn code(self) -> u64;
}

impl Word for u32 {
    fn code(self) -> u64 {
        u64::from(self)
    }
}

impl Word for u64 {
    fn code(self) -> u64 {
        self
    }
}

/// Numbers for rows of one width.
#[derive(Clone, Debug)]
pub(super) struct Numbers<W> {
    width: usize,
    words: Vec<W>,
    /// One more than the largest number.
    len: u32,
    table: HashTable<u32>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

fn hash<W: Word>(hasher: &SeedableRandomState, row: &[W]) -> u64 {
    let mut state = hasher.build_hasher();
    // Two ids fill a word.
    for pair in row.chunks(2) {
        let second = pair.get(1).map_or(0, |word| word.code());
        state.write_u64(pair[0].code() ^ second.rotate_left(32));
    }
    state.finish()
}

impl<W: Word> Numbers<W> {
    pub(super) fn new(width: usize) -> Numbers<W> {
        Numbers {
            width,
            words: Vec::new(),
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

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The row of a number.
    #[inline]
    pub(super) fn row(&self, number: u32) -> &[W] {
        &self.words[number as usize * self.width..][..self.width]
    }

    /// The number of a linked row.
    #[inline]
    pub(super) fn find(&self, row: &[W]) -> Option<u32> {
        let equal = |&number: &u32| self.row(number) == row;
        self.table.find(hash(&self.hasher, row), equal).copied()
    }

    /// A number for a row that is not linked, which is not linked either.
    pub(super) fn add(&mut self, row: &[W]) -> u32 {
        if let Some(number) = self.free.pop() {
            self.words[number as usize * self.width..][..self.width].copy_from_slice(row);
            return number;
        }
        self.words.extend_from_slice(row);
        self.len += 1;
        self.len - 1
    }

    /// Lets the row of a number be found.
    pub(super) fn link(&mut self, number: u32) {
        let found = hash(&self.hasher, self.row(number));
        let Numbers {
            width,
            words,
            hasher,
            table,
            ..
        } = self;
        let of = |&other: &u32| hash(hasher, &words[other as usize * *width..][..*width]);
        table.insert_unique(found, number, of);
    }

    /// Lets it be found no more.
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
            + self.words.capacity() * size_of::<W>()
            + self.free.capacity() * size_of::<u32>()
    }
}

/// Dense ids for the values of a variable, each as long as a row has it.
#[derive(Clone, Debug)]
pub(super) struct Values {
    numbers: Numbers<u64>,
    /// How many rows have each.
    rows: Vec<u32>,
}

impl Values {
    pub(super) fn new() -> Values {
        Values {
            numbers: Numbers::new(1),
            rows: Vec::new(),
        }
    }

    pub(super) fn word(&self, id: u32) -> u64 {
        self.numbers.row(id)[0]
    }

    pub(super) fn find(&self, word: u64) -> Option<u32> {
        self.numbers.find(&[word])
    }

    /// The id of a value that one more row has.
    pub(super) fn enter(&mut self, word: u64) -> u32 {
        let id = self.numbers.find(&[word]).unwrap_or_else(|| {
            let id = self.numbers.add(&[word]);
            self.numbers.link(id);
            id
        });
        if self.rows.len() <= id as usize {
            self.rows.resize(self.numbers.len(), 0);
        }
        self.rows[id as usize] += 1;
        id
    }

    /// One row fewer has it.
    pub(super) fn leave(&mut self, id: u32) {
        self.rows[id as usize] -= 1;
        if self.rows[id as usize] == 0 {
            self.numbers.unlink(id);
            self.numbers.forget(id);
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.numbers.memory_usage() + self.rows.capacity() * size_of::<u32>()
    }
}
