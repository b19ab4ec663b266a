//! Sums by key.
//!
//! Invariant: a key whose sums became zero leaves with the commit. Sums are 64 bits wide where they
//! fit. Cost: O(1) expected a change.

use std::collections::BTreeMap;

use ringview_core::empty;
use ringview_relation::{ABSENT, KeyField, KeyLayout, KeyScratch, KeyedTable as Table};
use ringview_ring::CommutativeMonoid;

use crate::machine::store::slotted::Slotted;
use crate::payload::{Payload, Sums};

/// Sums side by side of each key, which is numbers of two words.
#[derive(Clone, Debug)]
pub(crate) struct KeyedSums<const N: usize> {
    sums: Slotted<Narrow<N>>,
    /// By slot, those that do not fit.
    wide: BTreeMap<u32, Sums<N>>,
    /// The deltas of slots since the last commit.
    undo: Vec<(u32, Sums<N>)>,
    fields: Vec<u64>,
    scratch: KeyScratch,
}

/// Sums of 64 bits; the first is the least one where they do not fit, and are stored apart.
#[derive(Clone, Copy, Debug)]
struct Narrow<const N: usize>([i64; N]);

impl<const N: usize> Default for Narrow<N> {
    fn default() -> Self {
        Self([0; N])
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
            wide: BTreeMap::new(),
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
        let narrow = self.sums[slot].0;
        if narrow[0] == i64::MIN {
            return self.wide.get(&slot).copied().unwrap_or(Sums::<N>::ZERO);
        }
        Sums(narrow.map(i128::from))
    }

    fn put(&mut self, slot: u32, sums: Sums<N>) {
        let mut narrow = [i64::MIN; N];
        let fits = narrow.iter_mut().zip(sums.0).all(|(narrow, sum)| {
            *narrow = i64::try_from(sum).unwrap_or(i64::MIN);
            *narrow != i64::MIN
        });
        if self.sums[slot].0[0] == i64::MIN {
            self.wide.remove(&slot);
        }
        if !fits {
            narrow[0] = i64::MIN;
            self.wide.insert(slot, sums);
        }
        self.sums[slot] = Narrow(narrow);
    }

    /// Adds to the sums of a slot, which must fit.
    pub(crate) fn add(&mut self, slot: u32, delta: Sums<N>) {
        self.put(slot, self.get(slot).with(delta));
        self.undo.push((slot, delta));
    }

    /// Undoes the last delta: the sums with it, and that.
    pub(crate) fn undo(&mut self) -> Option<(Sums<N>, Sums<N>)> {
        let (slot, delta) = self.undo.pop()?;
        let was = self.get(slot);
        self.put(slot, was.without(delta));
        Some((was, delta))
    }

    /// The same with more sums, which are 0.
    pub(crate) fn widened<const M: usize>(&self) -> KeyedSums<M> {
        let wide = self.wide.iter();
        KeyedSums {
            sums: self.sums.map(|narrow| {
                Narrow(std::array::from_fn(|at| {
                    narrow.0.get(at).copied().unwrap_or(0)
                }))
            }),
            wide: wide.map(|(&slot, sums)| (slot, sums.widened())).collect(),
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
        if let Some(moved) = self.sums.commit(&leaving) {
            let wide = std::mem::take(&mut self.wide).into_iter();
            self.wide = wide.map(|(slot, sums)| (moved.to(slot), sums)).collect();
        }
        empty(&mut self.undo);
    }

    /// Removes the keys inserted since the last commit, once all is undone.
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
        self.wide.len() * 2 * size_of::<(u32, Sums<N>)>()
            + self.sums.memory_usage()
            + self.undo.capacity() * size_of::<(u32, Sums<N>)>()
    }
}

/// The two words of each number.
fn words(key: &[i128]) -> impl Iterator<Item = u64> {
    key.iter()
        .flat_map(|&units| [units as u64, (units >> 64) as u64])
}
