//! The string dictionary: every distinct string of a database is stored once and known by a 32-bit
//! id.
//!
//! Invariant: an id means one string from the moment it is given until that string is taken out, so
//! equal ids mean equal strings. Strings are removed in two ways. Those added since the last
//! `commit` are removed by a `rollback`. The rest are removed by a `sweep`: now and then, between
//! transactions, all holders of words ([`HoldsStrings`]) mark the ids that they hold ([`LiveIds`]),
//! and `sweep` removes unmarked strings. Freed ids are given again, the lowest first, after all
//! holders have received them ([`FreedIds`]). No order and no result depends on them, nor on how
//! strings are hashed, which is random.
//!
//! Cost: O(length) to intern or look up, O(1) to read back; a string takes its bytes plus about 15.
//! A sweep costs O(ids, and the bytes that stay).

use std::hash::BuildHasher;

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::random::random_hasher;
use crate::{Error, Result};

/// Start of a string that is not there.
const NOWHERE: usize = usize::MAX;

/// Strings to small ids and back.
///
/// ```
/// let mut dict = ringview_core::Dictionary::new();
/// let id = dict.intern("BUILDING")?;
/// assert_eq!(dict.intern("BUILDING")?, id);
/// assert_eq!(dict.text(id), "BUILDING");
/// dict.rollback();
/// assert!(dict.is_empty());
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Dictionary {
    /// All strings, one after the other, each behind its length.
    arena: String,
    /// By id.
    starts: Vec<usize>,
    /// Ids that were given back, in descending order; from `left` on they were given again since
    /// the last commit.
    free: Vec<u32>,
    left: usize,
    ids: HashTable<u32>,
    hasher: SeedableRandomState,
    /// Lengths of `arena` and `starts` at the last commit.
    mark: (usize, usize),
}

/// Holder of ids of strings between transactions.
pub trait HoldsStrings {
    /// Marks the ids that it keeps: unmarked ones are removed.
    fn mark_strings(&self, held: &mut LiveIds);
    /// Number of words that `mark_strings` looks at.
    fn string_words(&self) -> usize;
    /// Drops cached data of freed ids, which are given to other strings.
    fn forget_strings(&mut self, gone: &FreedIds);
}

/// The ids that somebody keeps.
#[derive(Clone, Debug)]
pub struct LiveIds {
    bits: Vec<u64>,
}

impl LiveIds {
    /// Marks the id in a word. That of a NULL is 0, which may be nobody's id.
    #[inline]
    pub fn mark(&mut self, word: u64) {
        if let Some(bits) = self.bits.get_mut(word as usize / 64) {
            *bits |= 1 << (word % 64);
        }
    }

    fn has(&self, id: u32) -> bool {
        self.bits[id as usize / 64] >> (id % 64) & 1 == 1
    }
}

/// Ids whose strings were taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreedIds {
    /// The ids.
    pub ids: Vec<u32>,
    /// All ids that mean something are below it.
    pub limit: usize,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self {
            arena: String::new(),
            starts: Vec::new(),
            free: Vec::new(),
            left: 0,
            ids: HashTable::new(),
            hasher: random_hasher(),
            mark: (0, 0),
        }
    }
}

impl Dictionary {
    /// An empty dictionary.
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of `text`, a new one if it is not there. O(length).
    ///
    /// # Errors
    /// `Overflow` when the ids are used up.
    pub fn intern(&mut self, text: &str) -> Result<u32> {
        self.intern_bytes(text.as_bytes())
    }

    /// The same of bytes that nobody has checked: what is there already is UTF-8, so that only new
    /// strings pay for a look at it.
    ///
    /// # Errors
    /// As `intern`; `Value` for bytes that are not UTF-8.
    pub(crate) fn intern_bytes(&mut self, bytes: &[u8]) -> Result<u32> {
        let Self {
            arena,
            starts,
            ids,
            hasher,
            ..
        } = self;
        let hash = hasher.hash_one(bytes);
        let entry = ids.entry(
            hash,
            |&id| read(arena, starts[id as usize]).as_bytes() == bytes,
            |&id| hasher.hash_one(read(arena, starts[id as usize]).as_bytes()),
        );
        match entry {
            Entry::Occupied(found) => Ok(*found.get()),
            Entry::Vacant(place) => {
                let text = std::str::from_utf8(bytes).map_err(|_| Error::Value {
                    place: "a string".to_owned(),
                    problem: "is not valid UTF-8".to_owned(),
                })?;
                let start = arena.len();
                let id = match self.left.checked_sub(1) {
                    Some(left) => {
                        self.left = left;
                        starts[self.free[left] as usize] = start;
                        self.free[left]
                    }
                    None => {
                        let next = u32::try_from(starts.len()).ok();
                        let id = next.ok_or_else(|| Error::Overflow {
                            place: "the string dictionary (2^32 distinct strings)".to_owned(),
                        })?;
                        starts.push(start);
                        id
                    }
                };
                place.insert(id);
                write(arena, text);
                Ok(id)
            }
        }
    }

    /// The id of `text`, if it is there. O(length).
    pub fn id(&self, text: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(text.as_bytes());
        self.ids.find(hash, |&id| self.text(id) == text).copied()
    }

    /// The string behind an id. O(1).
    ///
    /// # Panics
    /// If the id means no string.
    pub fn text(&self, id: u32) -> &str {
        read(&self.arena, self.starts[id as usize])
    }

    /// The string behind an id, if there is one. O(1).
    pub fn get(&self, id: u64) -> Option<&str> {
        let start = self.starts.get(usize::try_from(id).ok()?).copied();
        start
            .filter(|&start| start != NOWHERE)
            .map(|start| read(&self.arena, start))
    }

    /// Number of distinct strings.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// One more than the greatest id that may mean something: the length of an array by id.
    pub fn limit(&self) -> usize {
        self.starts.len()
    }

    /// Number of strings added since the last commit.
    pub fn fresh(&self) -> usize {
        self.free.len() - self.left + self.starts.len() - self.mark.1
    }

    /// Keeps the strings added since the last commit.
    pub fn commit(&mut self) {
        self.free.truncate(self.left);
        self.mark = (self.arena.len(), self.starts.len());
    }

    /// Removes the strings added since the last commit, and releases their memory. O(what was
    /// added).
    pub fn rollback(&mut self) -> FreedIds {
        let again = self.free[self.left..].iter().copied();
        let gone: Vec<u32> = again
            .chain(self.mark.1 as u32..self.limit() as u32)
            .collect();
        for &id in &gone {
            let start = std::mem::replace(&mut self.starts[id as usize], NOWHERE);
            let hash = self.hasher.hash_one(read(&self.arena, start).as_bytes());
            if let Ok(entry) = self.ids.find_entry(hash, |&other| other == id) {
                entry.remove();
            }
        }
        self.left = self.free.len();
        self.starts.truncate(self.mark.1);
        self.arena.truncate(self.mark.0);
        self.shrink();
        FreedIds {
            ids: gone,
            limit: self.limit(),
        }
    }

    /// Nothing is held yet: to be marked by all who hold strings, for `sweep`.
    pub fn unmarked(&self) -> LiveIds {
        LiveIds {
            bits: vec![0; self.limit().div_ceil(64)],
        }
    }

    /// Takes out what nobody holds. Between transactions only.
    pub fn sweep(&mut self, held: &LiveIds) -> FreedIds {
        let gone = |&id: &u32| self.starts[id as usize] != NOWHERE && !held.has(id);
        let ids: Vec<u32> = (0..self.limit() as u32).filter(gone).collect();
        if !ids.is_empty() {
            self.ids.retain(|&mut id| held.has(id));
            ids.iter()
                .for_each(|&id| self.starts[id as usize] = NOWHERE);
            let live = |&start: &usize| start != NOWHERE;
            let used = self
                .starts
                .iter()
                .rposition(live)
                .map_or(0, |last| last + 1);
            self.starts.truncate(used);
            let free = (0..used as u32).rev();
            self.free = free
                .filter(|&id| self.starts[id as usize] == NOWHERE)
                .collect();
            self.close_up();
            self.shrink();
            self.left = self.free.len();
            self.commit();
        }
        FreedIds {
            ids,
            limit: self.limit(),
        }
    }

    /// Copies the strings that are left together, if they are less than half of all.
    fn close_up(&mut self) {
        let starts = self.starts.iter().filter(|&&start| start != NOWHERE);
        let texts = starts.map(|&start| read(&self.arena, start));
        let bytes: usize = texts.map(|text| text.len() + prefix(text.len())).sum();
        if bytes > self.arena.len() / 2 {
            return;
        }
        let old = std::mem::replace(&mut self.arena, String::with_capacity(bytes));
        for start in self.starts.iter_mut().filter(|start| **start != NOWHERE) {
            let text = read(&old, *start);
            *start = self.arena.len();
            write(&mut self.arena, text);
        }
    }

    /// Gives back room that is mostly empty.
    fn shrink(&mut self) {
        const FEW: usize = 1 << 10;
        if self.arena.capacity() / 4 > self.arena.len() + FEW {
            self.arena.shrink_to(self.arena.len() * 2);
        }
        if self.starts.capacity() / 4 > self.starts.len() + FEW {
            self.starts.shrink_to(self.starts.len() * 2);
        }
        if self.ids.capacity() / 4 > self.ids.len() + FEW {
            let Self {
                arena,
                starts,
                ids,
                hasher,
                ..
            } = self;
            ids.shrink_to(ids.len() * 2, |&id| {
                hasher.hash_one(read(arena, starts[id as usize]).as_bytes())
            });
        }
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        self.arena.capacity()
            + self.starts.capacity() * size_of::<usize>()
            + self.free.capacity() * size_of::<u32>()
            + self.ids.allocation_size()
    }
}

/// Appends a string behind its length, six bits a character, the lowest first: all of it is text.
fn write(arena: &mut String, text: &str) {
    let mut length = text.len();
    while length >= 64 {
        arena.push(char::from(64 | (length % 64) as u8));
        length /= 64;
    }
    arena.push(char::from(length as u8));
    arena.push_str(text);
}

/// Characters in front of a string of this length.
fn prefix(length: usize) -> usize {
    1 + length.checked_ilog2().unwrap_or(0) as usize / 6
}

/// The string that was written at `start`.
#[inline]
fn read(arena: &str, start: usize) -> &str {
    let bytes = arena.as_bytes();
    let (mut at, mut length, mut shift) = (start, 0, 0);
    loop {
        let digit = bytes[at];
        length |= usize::from(digit & 63) << shift;
        at += 1;
        if digit < 64 {
            return &arena[at..at + length];
        }
        shift += 6;
    }
}
