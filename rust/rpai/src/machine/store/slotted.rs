//! Values beside the slots of a relation's keys.
//!
//! Invariant: there is a value for each slot; that of a slot without a key is empty. A rollback
//! deletes the keys inserted since the last commit. Cost: O(1) expected a key.

use std::ops::{Index, IndexMut};

use ringview_relation::{KeyScratch, KeyedTable as Table, Relocated};

/// Values by key.
#[derive(Clone, Debug)]
pub(crate) struct Slotted<T> {
    pub(crate) keys: Table,
    values: Vec<T>,
}

impl<T: Default> Slotted<T> {
    pub(crate) fn new(keys: Table) -> Self {
        let values = Vec::new();
        Self { keys, values }
    }

    /// The slot of one key, given by its fields, made where there is none.
    pub(crate) fn locate_key(&mut self, key: &[u64], scratch: &mut KeyScratch) -> u32 {
        let slot = self.keys.locate_key(key, scratch);
        self.extend();
        slot
    }

    /// Gives new slots values, with little room to spare.
    fn extend(&mut self) {
        let more = self.keys.slots() - self.values.len();
        if self.values.capacity() - self.values.len() < more {
            self.values
                .reserve_exact(more.max(self.values.len() / 8 + 16));
        }
        self.values.resize_with(self.keys.slots(), T::default);
    }

    /// The same keys with other values.
    pub(crate) fn map<U>(&self, value: impl Fn(&T) -> U) -> Slotted<U> {
        Slotted {
            keys: self.keys.clone(),
            values: self.values.iter().map(value).collect(),
        }
    }

    /// The values of all slots; those without a key have nothing.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// Ends a transaction, which deletes some keys; returns the new places of slots, if they moved.
    pub(crate) fn commit(&mut self, leaving: &[u32]) -> Option<Relocated> {
        for &slot in leaving {
            self[slot] = T::default();
        }
        self.keys.commit(leaving, |_| true);
        let moved = self.keys.shrink();
        if let Some(moved) = &moved {
            moved.follow(&mut self.values);
        }
        moved
    }

    /// Deletes the keys inserted since the last commit; their values have been emptied, and the
    /// others changed back.
    pub(crate) fn rollback(&mut self) {
        self.keys.rollback();
        self.values.truncate(self.keys.slots());
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.keys.memory_usage() + self.values.capacity() * size_of::<T>()
    }
}

impl<T> Index<u32> for Slotted<T> {
    type Output = T;

    fn index(&self, slot: u32) -> &T {
        &self.values[slot as usize]
    }
}

impl<T> IndexMut<u32> for Slotted<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize]
    }
}
