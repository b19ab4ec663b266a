//! A relation of the join: its tuples, in groups of those that agree on all join keys.
//!
//! Invariant: a tuple has a number that stays while it lives; linked tuples know their place in the list of
//! their group. What a group is follows from the keys: where all edges have the same key, the key itself,
//! and nothing need be looked up; where a tuple is no more than its keys, the tuple; else a group of its own (paper,
//! 4.4, "Grouping"). Cost: O(1) a tuple.

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

use super::keys::hash;
use super::lists::{List, NONE};
use super::record::ZERO;

/// What the groups of a node are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Keys: all edges have the same.
    Keys,
    /// Tuples: each is a group.
    Tuples,
    /// Tuples that agree on all keys.
    Groups,
}

/// A relation.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The directed edges that leave it.
    pub(super) edges: Vec<usize>,
    /// Of each of these, which of the node's keys it has.
    pub(super) key_of: Vec<usize>,
    /// The different keys of its edges: whose numbers they have, and the columns that they are of.
    pub(super) keys: Vec<(usize, Vec<usize>)>,
    pub(super) tuples: Tuples,
    pub(super) groups: Groups,
}

/// The tuples of a relation.
#[derive(Clone, Debug)]
pub(super) struct Tuples {
    /// Words a row.
    pub(super) columns: usize,
    pub(super) words: Vec<u64>,
    /// The numbers of the node's keys.
    pub(super) keys: Vec<u32>,
    /// The place in the list of its group; NONE while it is not linked.
    pub(super) place: Vec<u32>,
    /// Its group, where that is not told by its keys.
    pub(super) group: Vec<u32>,
    pub(super) free: Vec<u32>,
}

/// The groups of a relation.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Their tuples.
    pub(super) lists: Vec<List>,
    /// The rounded number of tuples.
    pub(super) size: Vec<u8>,
    /// By group and edge, the place in a bucket.
    pub(super) place: Vec<u32>,
    /// By group and edge, the bucket.
    pub(super) exponent: Vec<u8>,
    /// The numbers of the node's keys, where they do not tell the group.
    keys: Vec<u32>,
    table: HashTable<u32>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

impl Node {
    pub(super) fn new(kind: Kind, columns: usize) -> Node {
        Node {
            kind,
            edges: Vec::new(),
            key_of: Vec::new(),
            keys: Vec::new(),
            tuples: Tuples {
                columns,
                words: Vec::new(),
                keys: Vec::new(),
                place: Vec::new(),
                group: Vec::new(),
                free: Vec::new(),
            },
            groups: Groups {
                lists: Vec::new(),
                size: Vec::new(),
                place: Vec::new(),
                exponent: Vec::new(),
                keys: Vec::new(),
                table: HashTable::new(),
                free: Vec::new(),
                hasher: random_hasher(),
            },
        }
    }

    /// The number of a key of a tuple.
    #[inline]
    pub(super) fn key(&self, tuple: u32, key: usize) -> u32 {
        self.tuples.keys[tuple as usize * self.keys.len() + key]
    }

    /// The number of the key of a group for an edge.
    #[inline]
    pub(super) fn group_key(&self, group: u32, edge: usize) -> u32 {
        let place = group as usize * self.keys.len() + self.key_of[edge];
        match self.kind {
            Kind::Keys => group,
            Kind::Tuples => self.tuples.keys[place],
            Kind::Groups => self.groups.keys[place],
        }
    }

    /// The rounded number of tuples of a group, as an exponent.
    #[inline]
    pub(super) fn size(&self, group: u32) -> u8 {
        match self.kind {
            Kind::Tuples => 0,
            _ => self
                .groups
                .size
                .get(group as usize)
                .copied()
                .unwrap_or(ZERO),
        }
    }

    /// A number for a new tuple with these words; its keys are to be pushed or written.
    pub(super) fn add(&mut self, row: &[u64], keys: &[u32]) -> u32 {
        let tuples = &mut self.tuples;
        if let Some(tuple) = tuples.free.pop() {
            let at = tuple as usize;
            tuples.words[at * row.len()..][..row.len()].copy_from_slice(row);
            tuples.keys[at * keys.len()..][..keys.len()].copy_from_slice(keys);
            return tuple;
        }
        tuples.words.extend_from_slice(row);
        tuples.keys.extend_from_slice(keys);
        tuples.place.push(NONE);
        if self.kind == Kind::Groups {
            tuples.group.push(NONE);
        }
        (tuples.place.len() - 1) as u32
    }

    /// The group of the keys of a tuple, and whether it is new.
    pub(super) fn enter_group(&mut self, tuple: u32) -> (u32, bool) {
        let width = self.keys.len();
        let keys = &self.tuples.keys[tuple as usize * width..][..width];
        let groups = &mut self.groups;
        let found = hash(&groups.hasher, keys.iter().map(|&key| u64::from(key)));
        let equal = |&group: &u32| groups.keys[group as usize * width..].starts_with(keys);
        if let Some(&group) = groups.table.find(found, equal) {
            return (group, false);
        }
        let group = groups.free.pop().unwrap_or_else(|| {
            groups.lists.push(List::EMPTY);
            groups.size.push(ZERO);
            groups.keys.resize(groups.keys.len() + width, 0);
            (groups.lists.len() - 1) as u32
        });
        groups.keys[group as usize * width..][..width].copy_from_slice(keys);
        let (all, hasher) = (&groups.keys, &groups.hasher);
        let rehash = |&group: &u32| {
            let keys = &all[group as usize * width..][..width];
            hash(hasher, keys.iter().map(|&key| u64::from(key)))
        };
        groups.table.insert_unique(found, group, rehash);
        (group, true)
    }

    /// Forgets a group without tuples.
    pub(super) fn leave_group(&mut self, group: u32) {
        let width = self.keys.len();
        let groups = &mut self.groups;
        let keys = &groups.keys[group as usize * width..][..width];
        let found = hash(&groups.hasher, keys.iter().map(|&key| u64::from(key)));
        if let Ok(entry) = groups.table.find_entry(found, |&other| other == group) {
            entry.remove();
            groups.free.push(group);
        }
    }

    /// Room for a group's places and buckets.
    pub(super) fn make_room(&mut self, group: u32) {
        let needed = (group as usize + 1) * self.edges.len();
        if self.groups.place.len() < needed {
            self.groups.place.resize(needed, NONE);
            self.groups.exponent.resize(needed, ZERO);
        }
    }

    /// Forgets all groups; the tuples stay.
    pub(super) fn clear_groups(&mut self) {
        let groups = &mut self.groups;
        groups.lists.clear();
        groups.size.clear();
        groups.place.clear();
        groups.exponent.clear();
        groups.keys.clear();
        groups.table.clear();
        groups.free.clear();
    }

    pub(super) fn memory_usage(&self) -> usize {
        let (tuples, groups) = (&self.tuples, &self.groups);
        let words = tuples.words.capacity() * 8;
        let fours = tuples.keys.capacity()
            + tuples.place.capacity()
            + tuples.group.capacity()
            + tuples.free.capacity()
            + groups.place.capacity()
            + groups.keys.capacity()
            + groups.free.capacity();
        let lists = groups.lists.capacity() * size_of::<List>();
        let bytes = groups.size.capacity() + groups.exponent.capacity();
        words + fours * 4 + lists + bytes + groups.table.allocation_size()
    }
}
