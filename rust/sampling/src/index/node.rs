//! A relation of the join: its tuples, in groups of those that agree on all join keys.
//!
//! Invariant: a tuple has a number that stays while it lives. What a group is follows from the keys: a relation
//! with one hub is a leaf, whose tuples lie in the hub's lists; where a tuple is no more than its keys, the tuple is the
//! group; else tuples that agree on all keys have a group of their own, with a list (paper, 4.4,
//! "Grouping"). A spot says to whose list something belongs, and at what place it is in it. Cost: O(1) a tuple.

use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;
use ringview_core::random_hasher;

use super::keys::hash;
use super::lists::{List, NONE};
use super::record::ZERO;
use crate::room::make_room;

/// What the groups of a relation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// There are none: it has one hub, and its tuples lie there.
    Leaf,
    /// Tuples: each is a group.
    Tuples,
    /// Tuples that agree on all keys.
    Groups,
}

/// Where something lies: in whose list, and at what place; NONE while it lies in none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) of: u32,
    pub(super) place: u32,
}

/// A hub of a relation.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) hub: usize,
    /// Which of the hub's members the relation is, and of its leaves or branches.
    pub(super) member: usize,
    pub(super) nth: usize,
    /// The columns that hold the key.
    pub(super) columns: Vec<usize>,
}

/// A relation.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) slots: Vec<Slot>,
    /// Words a row.
    pub(super) columns: usize,
    pub(super) words: Vec<u64>,
    /// Of each tuple of a leaf, in the hub's list of its key; of a grouped one, in the list of its group.
    pub(super) own: Vec<Spot>,
    /// By group and slot, in the record of the key.
    pub(super) spots: Vec<Spot>,
    pub(super) groups: Groups,
    pub(super) free: Vec<u32>,
}

/// The groups of a relation, where they are more than tuples.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Their linked tuples.
    pub(super) lists: Vec<List>,
    /// How many there are, as an exponent.
    pub(super) sizes: Vec<u8>,
    /// How many there are, linked or not.
    tuples: Vec<u32>,
    table: HashTable<u32>,
    free: Vec<u32>,
    hasher: SeedableRandomState,
}

impl Node {
    pub(super) fn new(columns: usize) -> Node {
        Node {
            kind: Kind::Leaf,
            slots: Vec::new(),
            columns,
            words: Vec::new(),
            own: Vec::new(),
            spots: Vec::new(),
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
            Kind::Tuples => self.spots.len() / self.slots.len(),
            _ => self.own.len(),
        }
    }

    /// Whether a tuple is linked.
    pub(super) fn is_linked(&self, tuple: u32) -> bool {
        let place = match self.kind {
            Kind::Tuples => self.spot(tuple, 0).place,
            _ => self.own[tuple as usize].place,
        };
        place != NONE
    }

    /// Notes that a tuple is linked, where nothing else is known of it.
    pub(super) fn mark_linked(&mut self, tuple: u32) {
        self.set_place(tuple, 0);
    }

    /// Notes that a tuple is not linked.
    pub(super) fn mark_unlinked(&mut self, tuple: u32) {
        self.set_place(tuple, NONE);
    }

    fn set_place(&mut self, tuple: u32, place: u32) {
        let spot = match self.kind {
            Kind::Tuples => &mut self.spots[tuple as usize * self.slots.len()],
            _ => &mut self.own[tuple as usize],
        };
        spot.place = place;
    }

    /// Where a group lies at a slot.
    #[inline]
    pub(super) fn spot(&self, group: u32, at: usize) -> Spot {
        self.spots[group as usize * self.slots.len() + at]
    }

    /// The group of a tuple.
    #[inline]
    pub(super) fn group_of(&self, tuple: u32) -> u32 {
        match self.kind {
            Kind::Groups => self.own[tuple as usize].of,
            _ => tuple,
        }
    }

    /// The number of a tuple's key at a slot.
    #[inline]
    pub(super) fn key(&self, tuple: u32, at: usize) -> u32 {
        match self.kind {
            Kind::Leaf => self.own[tuple as usize].of,
            _ => self.spot(self.group_of(tuple), at).of,
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
                make_room(&mut self.words, row.len());
                self.words.extend_from_slice(row);
            }
        }
        let spot = |of| Spot { of, place: NONE };
        let own = match self.kind {
            Kind::Leaf => spot(keys[0]),
            Kind::Groups => spot(self.enter_group(keys)),
            Kind::Tuples => {
                self.set_spots(tuple, keys);
                return tuple;
            }
        };
        match free {
            Some(_) => self.own[tuple as usize] = own,
            None => {
                make_room(&mut self.own, 1);
                self.own.push(own);
            }
        }
        tuple
    }

    fn set_spots(&mut self, group: u32, keys: &[u32]) {
        let first = group as usize * keys.len();
        let spots = keys.iter().map(|&of| Spot { of, place: NONE });
        if first == self.spots.len() {
            make_room(&mut self.spots, keys.len());
            self.spots.extend(spots);
        } else {
            for (held, spot) in self.spots[first..].iter_mut().zip(spots) {
                *held = spot;
            }
        }
    }

    /// The group of these keys, for one more tuple.
    fn enter_group(&mut self, keys: &[u32]) -> u32 {
        let found = hash(&self.groups.hasher, keys.iter().map(|&key| u64::from(key)));
        let (spots, width) = (&self.spots, keys.len());
        let equal = |&group: &u32| {
            let held = &spots[group as usize * width..][..width];
            held.iter().map(|spot| spot.of).eq(keys.iter().copied())
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
        self.set_spots(group, keys);
        let (spots, hasher) = (&self.spots, &self.groups.hasher);
        let rehash = |&group: &u32| {
            let keys = &spots[group as usize * width..][..width];
            hash(hasher, keys.iter().map(|spot| u64::from(spot.of)))
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
        let width = self.slots.len();
        let keys = self.spots[group as usize * width..][..width].iter();
        let found = hash(&self.groups.hasher, keys.map(|spot| u64::from(spot.of)));
        if let Ok(entry) = self.groups.table.find_entry(found, |&other| other == group) {
            entry.remove();
            self.groups.free.push(group);
        }
    }

    /// Forgets all lists of groups; the tuples and what they belong to stay.
    pub(super) fn clear_lists(&mut self) {
        self.groups.lists.fill(List::default());
        self.groups.sizes.fill(ZERO);
        let spots = self.own.iter_mut().chain(&mut self.spots);
        spots.for_each(|spot| spot.place = NONE);
    }

    pub(super) fn memory_usage(&self) -> usize {
        let groups = &self.groups;
        let spots = self.own.capacity() + self.spots.capacity();
        let fours = groups.tuples.capacity() + groups.free.capacity() + self.free.capacity();
        self.words.capacity() * 8
            + spots * size_of::<Spot>()
            + groups.lists.capacity() * size_of::<List>()
            + groups.sizes.capacity()
            + fours * 4
            + groups.table.allocation_size()
    }
}
