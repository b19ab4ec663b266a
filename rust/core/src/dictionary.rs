//! The string dictionary: every distinct string of a database is stored once and known by a 32-bit id.
//!
//! Invariant: ids are dense, given in order of first sight and never taken back, so equal ids mean
//! equal strings and a word that holds an id stays valid while the database lives.
//! Cost: O(length) to intern or look up, O(1) to read back; a string takes its bytes plus about 14.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::{Error, Result};

/// Strings to dense ids and back; append-only.
///
/// ```
/// let mut dict = ringview_core::Dictionary::new();
/// let id = dict.intern("BUILDING")?;
/// assert_eq!(dict.intern("BUILDING")?, id);
/// assert_eq!(dict.text(id), "BUILDING");
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Dictionary {
    /// All strings, one after the other.
    arena: String,
    /// `ends[id]` is where string `id` ends; it starts where its predecessor ends.
    ends: Vec<usize>,
    ids: HashTable<u32>,
    hasher: FixedState,
}

impl Dictionary {
    /// An empty dictionary.
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of `text`, a new one if it was never seen. O(length).
    ///
    /// # Errors
    /// `Overflow` when the ids are used up; `Value` for bytes that are not UTF-8, which unchecked
    /// Arrow data can hold.
    pub fn intern(&mut self, text: &str) -> Result<u32> {
        let Self {
            arena,
            ends,
            ids,
            hasher,
        } = self;
        let hash = hasher.hash_one(text.as_bytes());
        let entry = ids.entry(
            hash,
            |&id| slice(arena, ends, id) == text,
            |&id| hasher.hash_one(slice(arena, ends, id).as_bytes()),
        );
        match entry {
            Entry::Occupied(found) => Ok(*found.get()),
            Entry::Vacant(place) => {
                // Whoever handed in Arrow data may not have looked, and invalid text would make
                // slices of the arena panic. Only new strings pay for this.
                if std::str::from_utf8(text.as_bytes()).is_err() {
                    return Err(Error::Value {
                        place: "a string".to_owned(),
                        problem: "is not valid UTF-8".to_owned(),
                    });
                }
                let id = u32::try_from(ends.len()).map_err(|_| Error::Overflow {
                    place: "the string dictionary (2^32 distinct strings)".to_owned(),
                })?;
                place.insert(id);
                arena.push_str(text);
                ends.push(arena.len());
                Ok(id)
            }
        }
    }

    /// The id of `text`, if it was ever interned. O(length).
    pub fn id(&self, text: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(text.as_bytes());
        self.ids.find(hash, |&id| self.text(id) == text).copied()
    }

    /// The string behind an id that this dictionary gave out. O(1).
    ///
    /// # Panics
    /// If the id is not from this dictionary.
    pub fn text(&self, id: u32) -> &str {
        slice(&self.arena, &self.ends, id)
    }

    /// How many distinct strings there are; ids are `0..len`.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing was interned yet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        self.arena.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.ids.allocation_size()
    }
}

fn slice<'a>(arena: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &arena[start..ends[id]]
}
