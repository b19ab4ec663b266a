//! Sums by key.
//!
//! Invariant: a key whose sums became zero leaves with the commit. Cost: O(1) expected a change.

use ringview_relation::{ABSENT, KeyField, KeyLayout, KeyScratch, Part as Table};
use ringview_ring::CommutativeMonoid;

use crate::machine::store::slotted::Slotted;
use crate::payload::{Payload, Sums};

/// Sums side by side of each key, which is numbers of two words.
#[derive(Clone, Debug)]
pub(crate) struct KeyedSums<const N: usize> {
    sums: Slotted<Stored<N>>,
    /// What was added to slots since the last commit.
    undo: Vec<(u32, Sums<N>)>,
    fields: Vec<u64>,
    scratch: KeyScratch,
}

#[derive(Clone, Copy, Debug)]
struct Stored<const N: usize>(Sums<N>);

impl<const N: usize> Default for Stored<N> {
    fn default() -> Self {
        Self(Sums::<N>::ZERO)
    }
}

impl<const N: usize> KeyedSums<N> {
    /// Without keys, each of so many numbers.
    pub(crate) fn new(width: usize) -> Self {
        let word = KeyField {
            bits: 64,
            signed: false,
        };
        Self {
            sums: Slotted::new(Table::new(KeyLayout::new(&vec![word; 2 * width]), 0)),
            undo: Vec::new(),
            fields: Vec::new(),
            scratch: KeyScratch::default(),
        }
    }

    /// The slot of a key, made where there is none.
    pub(crate) fn locate(&mut self, key: &[i128]) -> u32 {
        self.fields.clear();
        self.fields.extend(words(key));
        self.sums.locate_key(&self.fields, &mut self.scratch)
    }

    /// The sums of a key.
    pub(crate) fn find(&self, key: &[i128]) -> Option<Sums<N>> {
        let fields: Vec<u64> = words(key).collect();
        let slot = (self.sums.keys).find_key(&fields, &mut KeyScratch::default());
        (slot != ABSENT).then(|| self.get(slot))
    }

    pub(crate) fn get(&self, slot: u32) -> Sums<N> {
        self.sums[slot].0
    }

    /// Adds to the sums of a slot, which are known to fit.
    pub(crate) fn add(&mut self, slot: u32, delta: Sums<N>) {
        self.sums[slot].0 = self.sums[slot].0.with(delta);
        self.undo.push((slot, delta));
    }

    /// Takes back what was added last: the sums with it, and what it was.
    pub(crate) fn undo(&mut self) -> Option<(Sums<N>, Sums<N>)> {
        let (slot, delta) = self.undo.pop()?;
        let was = self.get(slot);
        self.sums[slot].0 = was.without(delta);
        Some((was, delta))
    }

    /// The same with more sums, which are 0.
    pub(crate) fn widened<const M: usize>(&self) -> KeyedSums<M> {
        KeyedSums {
            sums: self.sums.map(|sums| Stored(sums.0.widened())),
            undo: (self.undo.iter())
                .map(|(slot, delta)| (*slot, delta.widened()))
                .collect(),
            fields: Vec::new(),
            scratch: KeyScratch::default(),
        }
    }

    pub(crate) fn commit(&mut self) {
        let slots = self.undo.iter().map(|(slot, _)| *slot);
        let leaving: Vec<u32> = slots.filter(|&slot| self.get(slot).is_zero()).collect();
        self.sums.commit(&leaving);
        self.undo.clear();
    }

    /// The keys that came since the last commit leave, once all is undone.
    pub(crate) fn rollback(&mut self) {
        while self.undo().is_some() {}
        self.sums.rollback();
    }

    /// The keys with their sums.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Vec<i128>, Sums<N>)> {
        let keys = &self.sums.keys;
        let number = |slot, at: usize| {
            let (low, high) = (keys.field(slot, 2 * at), keys.field(slot, 2 * at + 1));
            (u128::from(low) | u128::from(high) << 64) as i128
        };
        let width = keys.layout().fields() / 2;
        keys.iter().map(move |slot| {
            let key = (0..width).map(|at| number(slot, at)).collect();
            (key, self.get(slot))
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sums.keys.is_empty()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.sums.memory_usage() + self.undo.capacity() * size_of::<(u32, Sums<N>)>()
    }
}

/// The two words of each number.
fn words(key: &[i128]) -> impl Iterator<Item = u64> {
    key.iter()
        .flat_map(|&units| [units as u64, (units >> 64) as u64])
}
