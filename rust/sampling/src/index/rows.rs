//! From the words of a row to a tuple that has them, for deletes.
//!
//! Invariant: the tuples of equal rows are a chain, the youngest first; the table holds the first of each chain. The
//! choice among equal tuples for a delete is independent of the sample. Cost: O(1) expected; nothing at all until the
//! first delete.

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

use super::keys::hash;
use super::lists::NONE;
use super::node::Node;

/// The rows of a relation.
#[derive(Clone, Debug)]
pub(super) struct TupleWords {
    table: HashTable<u32>,
    /// The neighbours in the chain.
    next: Vec<u32>,
    before: Vec<u32>,
    hasher: SeedableRandomState,
}

impl TupleWords {
    pub(super) fn new() -> TupleWords {
        TupleWords {
            table: HashTable::new(),
            next: Vec::new(),
            before: Vec::new(),
            hasher: random_hasher(),
        }
    }

    /// Reserves places for so many tuples.
    pub(super) fn fit(&mut self, tuples: usize) {
        if self.next.len() < tuples {
            self.next.resize(tuples, NONE);
            self.before.resize(tuples, NONE);
        }
    }

    /// The youngest tuple with these words.
    pub(super) fn find(&self, node: &Node, row: &[u64]) -> Option<u32> {
        let found = hash(&self.hasher, row.iter().copied());
        let equal = |&tuple: &u32| node.row(tuple) == row;
        self.table.find(found, equal).copied()
    }

    /// The tuple of an equal row that was inserted before this one.
    pub(super) fn after(&self, tuple: u32) -> Option<u32> {
        Some(self.next[tuple as usize]).filter(|&next| next != NONE)
    }

    pub(super) fn add(&mut self, node: &Node, tuple: u32) {
        let row = node.row(tuple);
        self.fit(tuple as usize + 1);
        let found = hash(&self.hasher, row.iter().copied());
        (self.next[tuple as usize], self.before[tuple as usize]) = (NONE, NONE);
        if let Some(first) = self.table.find_mut(found, |&other| node.row(other) == row) {
            self.next[tuple as usize] = *first;
            self.before[*first as usize] = tuple;
            *first = tuple;
            return;
        }
        let hasher = &self.hasher;
        let rehash = |&tuple: &u32| hash(hasher, node.row(tuple).iter().copied());
        self.table.insert_unique(found, tuple, rehash);
    }

    pub(super) fn remove(&mut self, node: &Node, tuple: u32) {
        let (next, before) = (self.next[tuple as usize], self.before[tuple as usize]);
        if next != NONE {
            self.before[next as usize] = before;
        }
        if before != NONE {
            self.next[before as usize] = next;
            return;
        }
        let found = hash(&self.hasher, node.row(tuple).iter().copied());
        if let Ok(mut entry) = self.table.find_entry(found, |&other| other == tuple) {
            if next == NONE {
                entry.remove();
            } else {
                *entry.get_mut() = next;
            }
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.table.allocation_size() + (self.next.capacity() + self.before.capacity()) * 4
    }
}
