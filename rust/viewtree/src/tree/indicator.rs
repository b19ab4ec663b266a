//! Indicator projections at work: which keys a relation has, and when that changes.
//!
//! Invariant: after a change of a relation has been applied, `present` names the slots of its leaf
//! whose payload is not zero; an indicator has the ring's one for exactly the projections of their
//! keys (paper, section 6). It changes only where the first key that projects to a value is inserted or the last one
//! deleted: |d(∃R)| <= |dR|. If several keys may share a projection, they are counted.
//! Cost: O(1) a row of dR, and what the delta of the indicator costs on its path, for each value that appears or
//! disappears.

use std::sync::Arc;

use ringview_core::empty;
use ringview_relation::join::Path;
use ringview_relation::{Delta, KeyScratch, KeyedTable, Keys, Relation, Relocated, SlotChange};
use ringview_ring::PayloadRing;

/// The indicator projections of one atom, and what its leaf held when they were brought up to date.
#[derive(Debug)]
pub(crate) struct Watch<R: PayloadRing> {
    /// One bit a slot of the leaf.
    present: Vec<u64>,
    /// Slots whose bit the running transaction turned, as often as it did.
    turned: Vec<u32>,
    pub(crate) indicators: Vec<Indicator<R>>,
}

/// One indicator projection.
#[derive(Debug)]
pub(crate) struct Indicator<R: PayloadRing> {
    pub(crate) path: Arc<Path<R>>,
    /// The fields of the leaf's key that it keeps.
    fields: Vec<usize>,
    /// Number of keys of the leaf that project to a value, and whether the indicator has it; `None` where it keeps the
    /// whole key.
    counts: Option<KeyedTable>,
    /// Its change on the way up: room kept between batches.
    pub(crate) delta: Delta,
}

impl<R: PayloadRing> Watch<R> {
    pub(crate) fn new(indicators: Vec<Indicator<R>>) -> Self {
        Self {
            present: Vec::new(),
            turned: Vec::new(),
            indicators,
        }
    }

    /// After rows were added to the leaf: the slots that appeared (1) or disappeared (-1). A slot of several rows is
    /// listed once, by its current payload.
    pub(crate) fn turn(&mut self, leaf: &Relation<R>, toggled: &mut Vec<(u32, i64)>) {
        toggled.clear();
        let Some(table) = leaf.table() else { return };
        self.present.resize(table.slots().div_ceil(64), 0);
        for &slot in leaf.last_slots() {
            let is = !R::is_zero(leaf.shape(), table.payload(slot));
            let (word, bit) = (&mut self.present[slot as usize / 64], 1 << (slot % 64));
            if (*word & bit != 0) != is {
                *word ^= bit;
                self.turned.push(slot);
                toggled.push((slot, if is { 1 } else { -1 }));
            }
        }
    }

    /// Keeps the changes of the running transaction; the slots of the leaf may have moved with it.
    pub(crate) fn commit(&mut self, moved: Option<&Relocated>) {
        empty(&mut self.turned);
        if let Some(moved) = moved {
            self.follow(moved);
        }
        for indicator in &mut self.indicators {
            indicator.commit();
        }
    }

    fn follow(&mut self, moved: &Relocated) {
        let before = std::mem::take(&mut self.present);
        for (word, bits) in (0u32..).zip(before) {
            let set = (0..64).filter(|bit| bits >> bit & 1 == 1);
            for slot in set.map(|bit| moved.to(word * 64 + bit)) {
                let at = slot as usize / 64;
                if self.present.len() <= at {
                    self.present.resize(at + 1, 0);
                }
                self.present[at] |= 1 << (slot % 64);
            }
        }
    }

    pub(crate) fn rollback(&mut self) {
        for slot in self.turned.drain(..) {
            self.present[slot as usize / 64] ^= 1 << (slot % 64);
        }
        let tables = self.indicators.iter_mut().filter_map(|i| i.counts.as_mut());
        tables.for_each(KeyedTable::rollback);
        empty(&mut self.turned);
    }

    /// Bytes beside those of the views.
    pub(crate) fn memory_usage(&self) -> usize {
        let counts = self.indicators.iter().filter_map(|i| i.counts.as_ref());
        self.present.capacity() * size_of::<u64>()
            + self.turned.capacity() * size_of::<u32>()
            + counts.map(KeyedTable::memory_usage).sum::<usize>()
    }

    /// Checks the invariant; for tests.
    pub(crate) fn check(&self, leaf: &Relation<R>, views: &[Relation<R>]) {
        let Some(table) = leaf.table() else { return };
        let held: Vec<u32> = table.iter().collect();
        let bits: u32 = self.present.iter().map(|word| word.count_ones()).sum();
        assert_eq!(bits as usize, held.len(), "bits of dead slots");
        for &slot in &held {
            let bit = self.present[slot as usize / 64] >> (slot % 64) & 1;
            let zero = R::is_zero(leaf.shape(), table.payload(slot));
            assert_eq!(bit == 1, !zero, "the bit of a slot");
        }
        for indicator in &self.indicators {
            indicator.check(table, &held, &views[indicator.path.from]);
        }
    }
}

impl<R: PayloadRing> Indicator<R> {
    /// An indicator over these fields of the key of a leaf.
    pub(crate) fn new(path: Arc<Path<R>>, leaf: &KeyedTable, fields: Vec<usize>) -> Self {
        let whole = fields.len() == leaf.layout().fields();
        let counts = (!whole).then(|| KeyedTable::new(leaf.layout().project(&fields), 2));
        Self {
            delta: Delta::with_registers(path.registers),
            path,
            fields,
            counts,
        }
    }

    /// Makes `delta` the change of the indicator that follows from keys of the leaf that appeared (1) or disappeared
    /// (-1), with payloads of `stride` words.
    pub(crate) fn change(
        &mut self,
        leaf: &KeyedTable,
        toggled: &[(u32, i64)],
        stride: usize,
        scratch: &mut KeyScratch,
    ) {
        let delta = &mut self.delta;
        for (&register, &field) in self.path.keys.iter().zip(&self.fields) {
            let column = &mut delta.columns[register];
            column.clear();
            column.extend(toggled.iter().map(|&(slot, _)| leaf.field(slot, field)));
        }
        delta.rows = toggled.len();
        let mut signs: Vec<i64> = toggled.iter().map(|&(_, sign)| sign).collect();
        if let Some(counts) = &mut self.counts {
            let keys = Keys {
                columns: &delta.columns,
                fields: &self.path.keys,
                rows: delta.rows,
            };
            let mut slots = Vec::new();
            counts.locate(keys, scratch, &mut slots);
            let rows = count(counts, &slots, &mut signs);
            for &register in &self.path.keys {
                let column = &mut delta.columns[register];
                *column = rows.iter().map(|&row| column[row]).collect();
            }
            delta.rows = rows.len();
        }
        delta.payload.clear();
        delta.payload.resize(delta.rows * stride, 0);
        delta.width = stride;
        // The count is the first word, and the ring's one is a count of 1 alone.
        let payloads = delta.payload.chunks_exact_mut(stride);
        payloads
            .zip(&signs)
            .for_each(|(payload, &sign)| payload[0] = sign as u64);
    }

    fn commit(&mut self) {
        if let Some(counts) = &mut self.counts {
            let touched: Vec<u32> = counts
                .changes()
                .map(|change| match change {
                    SlotChange::New(slot) | SlotChange::Was(slot, _) => slot,
                })
                .collect();
            counts.commit(&touched, |payload| payload[0] == 0);
            // Nobody keeps its slots.
            counts.shrink();
        }
    }

    fn check(&self, leaf: &KeyedTable, held: &[u32], view: &Relation<R>) {
        let key = |slot: u32| -> Vec<u64> {
            let fields = self.fields.iter();
            fields.map(|&field| leaf.field(slot, field)).collect()
        };
        let mut expected: Vec<Vec<u64>> = held.iter().map(|&slot| key(slot)).collect();
        expected.sort();
        if let Some(counts) = &self.counts {
            counts.check();
            let total: u64 = counts.iter().map(|slot| counts.payload(slot)[0]).sum();
            assert_eq!(total as usize, expected.len(), "keys counted");
        }
        expected.dedup();
        let Some(table) = view.table() else { return };
        let field = |slot| (0..self.fields.len()).map(move |f| table.field(slot, f));
        let mut found: Vec<Vec<u64>> = table.iter().map(|slot| field(slot).collect()).collect();
        found.sort();
        assert_eq!(found, expected, "the keys of {}", view.name());
        let one = |slot| table.payload(slot)[0] == 1;
        assert!(table.iter().all(one), "an indicator holds ones");
    }
}

/// Adds each sign to its slot's count; keeps of the rows one for each slot that got its first key or
/// lost its last, with 1 or -1.
fn count(counts: &mut KeyedTable, slots: &[u32], signs: &mut Vec<i64>) -> Vec<usize> {
    let payloads = counts.write(slots);
    for (&slot, &sign) in slots.iter().zip(signs.iter()) {
        let count = &mut payloads[slot as usize * 2];
        *count = count.wrapping_add_signed(sign);
    }
    signs.clear();
    let mut rows = Vec::new();
    for (row, &slot) in slots.iter().enumerate() {
        let [count, known] = &mut payloads[slot as usize * 2..][..2] else {
            continue;
        };
        let is = u64::from(*count > 0);
        if is != *known {
            *known = is;
            rows.push(row);
            signs.push(if is == 1 { 1 } else { -1 });
        }
    }
    rows
}
