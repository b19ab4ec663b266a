//! The places of a sample that hold a tuple, or a result.
//!
//! Invariant: the places whose result has a tuple are a chain, by relation; the table holds every place by its result. Cost:
//! O(relations) a change; nothing at all until the first delete.

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

use crate::index::keys;

const NONE: u32 = u32::MAX;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Occurrences {
    /// By relation and tuple, the first place.
    first: Vec<Vec<u32>>,
    /// By place and relation, the neighbours in the chain.
    next: Vec<u32>,
    before: Vec<u32>,
    table: HashTable<u32>,
    hasher: SeedableRandomState,
}

fn hash(hasher: &SeedableRandomState, result: &[u32]) -> u64 {
    keys::hash(hasher, result.iter().map(|&tuple| u64::from(tuple)))
}

impl Occurrences {
    /// The places of the results of a sample, one after the other.
    pub(crate) fn new(results: &[u32], atoms: usize) -> Occurrences {
        let mut all = Occurrences {
            first: vec![Vec::new(); atoms],
            next: Vec::new(),
            before: Vec::new(),
            table: HashTable::new(),
            hasher: random_hasher(),
        };
        for place in 0..results.len() / atoms {
            all.add(place as u32, results);
        }
        all
    }

    /// A place that holds the result.
    pub(crate) fn find(&self, result: &[u32], results: &[u32]) -> Option<u32> {
        let found = hash(&self.hasher, result);
        let equal = |&place: &u32| results[place as usize * result.len()..].starts_with(result);
        self.table.find(found, equal).copied()
    }

    /// A place that holds a tuple.
    pub(crate) fn with(&self, atom: usize, tuple: u32) -> Option<u32> {
        let first = self.first[atom].get(tuple as usize).copied();
        first.filter(|&place| place != NONE)
    }

    /// Adds the result at a place.
    pub(crate) fn add(&mut self, place: u32, results: &[u32]) {
        let atoms = self.first.len();
        let start = place as usize * atoms;
        if self.next.len() < start + atoms {
            self.next.resize(start + atoms, NONE);
            self.before.resize(start + atoms, NONE);
        }
        let result = &results[start..][..atoms];
        for (atom, &tuple) in result.iter().enumerate() {
            let firsts = &mut self.first[atom];
            if firsts.len() <= tuple as usize {
                firsts.resize(tuple as usize + 1, NONE);
            }
            let first = std::mem::replace(&mut firsts[tuple as usize], place);
            self.next[start + atom] = first;
            self.before[start + atom] = NONE;
            if first != NONE {
                self.before[first as usize * atoms + atom] = place;
            }
        }
        let found = hash(&self.hasher, result);
        let hasher = &self.hasher;
        let rehash = |&other: &u32| hash(hasher, &results[other as usize * atoms..][..atoms]);
        self.table.insert_unique(found, place, rehash);
    }

    /// Removes the result at a place.
    pub(crate) fn remove(&mut self, place: u32, results: &[u32]) {
        let atoms = self.first.len();
        let start = place as usize * atoms;
        let result = &results[start..][..atoms];
        for (atom, &tuple) in result.iter().enumerate() {
            let (next, before) = (self.next[start + atom], self.before[start + atom]);
            if next != NONE {
                self.before[next as usize * atoms + atom] = before;
            }
            match before {
                NONE => self.first[atom][tuple as usize] = next,
                _ => self.next[before as usize * atoms + atom] = next,
            }
        }
        let found = hash(&self.hasher, result);
        if let Ok(entry) = self.table.find_entry(found, |&other| other == place) {
            entry.remove();
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let first: usize = self.first.iter().map(Vec::capacity).sum();
        let fours = first + self.next.capacity() + self.before.capacity();
        fours * 4 + self.table.allocation_size()
    }
}
