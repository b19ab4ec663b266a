//! A relation of the join: its tuples, in groups of those that agree on all join keys.
//!
//! Invariant: the number of a tuple is the same while it lives. The keys decide its groups: a relation with one key node is
//! a leaf, whose tuples lie in the key node's lists; where the columns of a tuple are its keys, each tuple is a group; else
//! tuples that agree on all keys have a group of their own, with a list (paper, 4.4, "Grouping"). A slot is the list of
//! a tuple or group, and its place there. Cost: O(1) a tuple.

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

use super::keys::hash;
use super::lists::{List, NONE};
use super::record::ZERO;
use crate::capacity::reserve;

/// The kind of a relation's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No groups: the relation has one key node, and its tuples lie there.
    Leaf,
    /// Tuples: each is a group.
    Tuples,
    /// Tuples that agree on all keys.
    Groups,
}

/// Whose list a tuple or group is in, and its place there; NONE while it is in none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) of: u32,
    pub(super) place: u32,
}

/// A key node of a relation.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) key_node: usize,
    /// Number of the relation among the key node's members, and among its leaves or branches.
    pub(super) member: usize,
    pub(super) nth: usize,
    /// The columns that hold the key.
    pub(super) columns: Vec<usize>,
}

/// A relation.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) edges: Vec<Edge>,
    /// Words a row.
    pub(super) columns: usize,
    pub(super) words: Vec<u64>,
    /// Of each tuple of a leaf, in the key node's list of its key; of a grouped one, in the list of its group.
    pub(super) own: Vec<Slot>,
    /// By group and edge, in the record of the key.
    pub(super) slots: Vec<Slot>,
    pub(super) groups: Groups,
    pub(super) free: Vec<u32>,
}

/// The groups of a relation, where they are more than tuples.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Their linked tuples.
    pub(super) lists: Vec<List>,
    /// Number of linked tuples of each group, as an exponent.
    pub(super) sizes: Vec<u8>,
    /// Number of tuples of each group, linked or not.
    tuples: Vec<u32>,
    table: HashTable<u32>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

impl Node {
    pub(super) fn new(columns: usize) -> Node {
        Node {
            kind: Kind::Leaf,
            edges: Vec::new(),
            columns,
            words: Vec::new(),
            own: Vec::new(),
            slots: Vec::new(),
            groups: Groups {
                lists: Vec::new(),
                sizes: Vec::new(),
                tuples: Vec::new(),
                table: HashTable::new(),
                free: Vec::new(),
                hasher: random_hasher(),
            },
            free: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn row(&self, tuple: u32) -> &[u64] {
        &self.words[tuple as usize * self.columns..][..self.columns]
    }

    /// One more than the largest number of a tuple.
    pub(super) fn numbers(&self) -> usize {
        match self.kind {
            Kind::Tuples => self.slots.len() / self.edges.len(),
            _ => self.own.len(),
        }
    }

    /// The tuples that are linked.
    pub(super) fn linked(&self) -> impl Iterator<Item = u32> {
        (0..self.numbers() as u32).filter(|&tuple| self.is_linked(tuple))
    }

    /// Whether a tuple is linked.
    fn is_linked(&self, tuple: u32) -> bool {
        let place = match self.kind {
            Kind::Tuples => self.slot(tuple, 0).place,
            _ => self.own[tuple as usize].place,
        };
        place != NONE
    }

    /// Notes that a tuple is linked, in a broken index.
    pub(super) fn mark_linked(&mut self, tuple: u32) {
        self.set_position(tuple, 0);
    }

    /// Notes that a tuple is not linked.
    pub(super) fn mark_unlinked(&mut self, tuple: u32) {
        self.set_position(tuple, NONE);
    }

    fn set_position(&mut self, tuple: u32, place: u32) {
        let slot = match self.kind {
            Kind::Tuples => &mut self.slots[tuple as usize * self.edges.len()],
            _ => &mut self.own[tuple as usize],
        };
        slot.place = place;
    }

    /// Position of a group at an edge.
    #[inline]
    pub(super) fn slot(&self, group: u32, at: usize) -> Slot {
        self.slots[group as usize * self.edges.len() + at]
    }

    /// The group of a tuple.
    #[inline]
    pub(super) fn group_of(&self, tuple: u32) -> u32 {
        match self.kind {
            Kind::Groups => self.own[tuple as usize].of,
            _ => tuple,
        }
    }

    /// The number of a tuple's key at a edge.
    #[inline]
    pub(super) fn key(&self, tuple: u32, at: usize) -> u32 {
        match self.kind {
            Kind::Leaf => self.own[tuple as usize].of,
            _ => self.slot(self.group_of(tuple), at).of,
        }
    }

    /// The rounded number of tuples of a group, as an exponent.
    #[inline]
    pub(super) fn size(&self, group: u32) -> u8 {
        match self.kind {
            Kind::Groups => self.groups.sizes[group as usize],
            _ => 0,
        }
    }

    /// A number for a new tuple with these words and keys.
    pub(super) fn add(&mut self, row: &[u64], keys: &[u32]) -> u32 {
        let free = self.free.pop();
        let tuple = free.unwrap_or(self.numbers() as u32);
        match free {
            Some(_) => {
                let at = tuple as usize * self.columns;
                self.words[at..][..self.columns].copy_from_slice(row);
            }
            None => {
                reserve(&mut self.words, row.len());
                self.words.extend_from_slice(row);
            }
        }
        let slot = |of| Slot { of, place: NONE };
        let own = match self.kind {
            Kind::Leaf => slot(keys[0]),
            Kind::Groups => slot(self.enter_group(keys)),
            Kind::Tuples => {
                self.set_slots(tuple, keys);
                return tuple;
            }
        };
        match free {
            Some(_) => self.own[tuple as usize] = own,
            None => {
                reserve(&mut self.own, 1);
                self.own.push(own);
            }
        }
        tuple
    }

    fn set_slots(&mut self, group: u32, keys: &[u32]) {
        let first = group as usize * keys.len();
        let slots = keys.iter().map(|&of| Slot { of, place: NONE });
        if first == self.slots.len() {
            reserve(&mut self.slots, keys.len());
            self.slots.extend(slots);
        } else {
            for (held, slot) in self.slots[first..].iter_mut().zip(slots) {
                *held = slot;
            }
        }
    }

    /// The group of these keys, for one more tuple.
    fn enter_group(&mut self, keys: &[u32]) -> u32 {
        let found = hash(&self.groups.hasher, keys.iter().map(|&key| u64::from(key)));
        let (slots, width) = (&self.slots, keys.len());
        let equal = |&group: &u32| {
            let held = &slots[group as usize * width..][..width];
            held.iter().map(|slot| slot.of).eq(keys.iter().copied())
        };
        if let Some(&group) = self.groups.table.find(found, equal) {
            self.groups.tuples[group as usize] += 1;
            return group;
        }
        let group = self.groups.free.pop().unwrap_or_else(|| {
            self.groups.lists.push(List::default());
            self.groups.sizes.push(ZERO);
            self.groups.tuples.push(0);
            (self.groups.lists.len() - 1) as u32
        });
        self.groups.tuples[group as usize] = 1;
        self.set_slots(group, keys);
        let (slots, hasher) = (&self.slots, &self.groups.hasher);
        let rehash = |&group: &u32| {
            let keys = &slots[group as usize * width..][..width];
            hash(hasher, keys.iter().map(|slot| u64::from(slot.of)))
        };
        self.groups.table.insert_unique(found, group, rehash);
        group
    }

    /// Gives the number of a tuple that is not linked to another, and that of its group with its last tuple.
    pub(super) fn forget(&mut self, tuple: u32) {
        self.free.push(tuple);
        if self.kind != Kind::Groups {
            return;
        }
        let group = self.own[tuple as usize].of;
        let tuples = &mut self.groups.tuples[group as usize];
        *tuples -= 1;
        if *tuples > 0 {
            return;
        }
        let width = self.edges.len();
        let keys = self.slots[group as usize * width..][..width].iter();
        let found = hash(&self.groups.hasher, keys.map(|slot| u64::from(slot.of)));
        if let Ok(entry) = self.groups.table.find_entry(found, |&other| other == group) {
            entry.remove();
            self.groups.free.push(group);
        }
    }

    /// Clears all lists of groups; tuples and their groups stay.
    pub(super) fn clear_lists(&mut self) {
        self.groups.lists.fill(List::default());
        self.groups.sizes.fill(ZERO);
        let slots = self.own.iter_mut().chain(&mut self.slots);
        slots.for_each(|slot| slot.place = NONE);
    }

    pub(super) fn memory_usage(&self) -> usize {
        let groups = &self.groups;
        let slots = self.own.capacity() + self.slots.capacity();
        let fours = groups.tuples.capacity() + groups.free.capacity() + self.free.capacity();
        self.words.capacity() * 8
            + slots * size_of::<Slot>()
            + groups.lists.capacity() * size_of::<List>()
            + groups.sizes.capacity()
            + fours * 4
            + groups.table.allocation_size()
    }
}
