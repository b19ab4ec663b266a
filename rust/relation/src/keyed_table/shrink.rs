//! Releases the memory of a table that lost most of its keys.
//!
//! Slots are stable while a table has many of them; only here they move, together, to the front and
//! in the order that they had, so that output in the order of the slots stays the same. An owner
//! that keeps slots outside the table calls this between transactions and follows them
//! ([`Relocated`]). A change that is undone leaves no slots behind, and moves none. Cost: O(slots),
//! once five sixths of them at the least have been given up: O(1) amortised a removed key.

use ringview_core::Slab;

use super::KeyedTable;
use crate::ABSENT;
use crate::directory::Directory;
use crate::journal::Journal;

/// Words that a table may always take.
const FEW: usize = 1 << 12;
/// Slots for each key that is left where a table shrinks.
const SPARSE: usize = 6;

/// New slot of each slot of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocated {
    /// By old slot; `ABSENT` for those that were free.
    to: Vec<u32>,
}

impl Relocated {
    /// The new slot of what was at this one; `ABSENT` if that was free.
    #[must_use]
    pub fn to(&self, slot: u32) -> u32 {
        self.to.get(slot as usize).copied().unwrap_or(ABSENT)
    }

    /// Brings an array beside the table in order, of which the entries of live slots are kept.
    pub fn follow<T>(&self, beside: &mut Vec<T>) {
        let mut slots = self.to.iter();
        beside.retain(|_| slots.next().is_some_and(|&to| to != ABSENT));
        beside.shrink_to_fit();
    }
}

impl KeyedTable {
    /// Forgets the slots from `slots` on, which are free, and the room that they took.
    pub(super) fn cut_off(&mut self, slots: u32) {
        self.slots = slots;
        self.ordered = self.ordered.min(slots);
        let keys = slots as usize * self.layout.words();
        let payloads = slots as usize * self.stride;
        for (slab, words) in [(&mut self.keys, keys), (&mut self.payloads, payloads)] {
            slab.truncate(words);
            if slab.capacity() / 4 > slab.len().max(FEW) {
                slab.shrink_to_fit();
            }
        }
        self.live.truncate(slots.div_ceil(64) as usize);
        self.live.shrink_to_fit();
        for index in &mut self.indexes {
            index.cut_off(slots);
        }
        if let Directory::Hash(hash) = &mut self.directory
            && hash.is_sparse()
        {
            hash.relocate(|slot| slot);
        }
    }

    /// Releases the memory of removed keys, if it is most of the memory; `None` if nothing moved.
    /// Between transactions only.
    pub fn shrink(&mut self) -> Option<Relocated> {
        let words = self.layout.words();
        let room = self.slots() * (words + self.stride + 1);
        if room < FEW || self.slots() < SPARSE * self.len || self.layout.fields() == 0 {
            return None;
        }
        let to = self.move_up();
        self.ordered = to[..self.ordered as usize]
            .iter()
            .filter(|&&to| to != ABSENT)
            .count() as u32;
        self.slots = self.len as u32;
        self.keys.truncate(self.len * words);
        self.keys.shrink_to_fit();
        self.payloads.truncate(self.len * self.stride);
        self.payloads.shrink_to_fit();
        self.live = Slab::new();
        self.live.resize(self.len.div_ceil(64), u64::MAX);
        if let Some(last) = self.live.last_mut() {
            *last >>= (64 - self.len % 64) % 64;
        }
        self.free = Vec::new();
        match &mut self.directory {
            Directory::Hash(hash) => hash.relocate(|slot| to[slot as usize]),
            Directory::Dense(_) => self.choose_directory(),
        }
        self.indexes.iter_mut().for_each(|index| index.forget());
        self.journal = Journal::default();
        self.journal.clear(self.slots);
        Some(Relocated { to })
    }

    /// Moves all keys and payloads to the front; returns the new slot of each. Those already in
    /// place are not copied: often the last keys inserted are the first removed.
    fn move_up(&mut self) -> Vec<u32> {
        let (words, stride) = (self.layout.words(), self.stride);
        let mut to = vec![ABSENT; self.slots()];
        for (at, slot) in super::slots_of(&self.live).enumerate() {
            let from = slot as usize;
            to[from] = at as u32;
            if from != at {
                self.keys
                    .copy_within(from * words..(from + 1) * words, at * words);
                self.payloads
                    .copy_within(from * stride..(from + 1) * stride, at * stride);
            }
        }
        to
    }
}
