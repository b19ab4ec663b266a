//! What moved in a result since somebody last looked.
//!
//! Invariant: for each key that a transaction touched since the last look, the log holds what the
//! result had for it then. So a look costs the keys touched, not the result; and nobody pays
//! before the first look.

use std::collections::BTreeMap;

use ringview_relation::{Change, KeyScratch, Keys, Part};

use crate::beside::Beside;
use crate::categories::{self, Tallies};
use crate::result::ResultRows;

/// What the result had for a key: the first word of the log's payload.
const ABSENT: u64 = 1;
const PRESENT: u64 = 2;

/// The log of a result.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    old: Part,
    /// What the categories of a key were, by its slot in `old`; for keys that were there.
    tallies: BTreeMap<u32, Tallies>,
    scratch: KeyScratch,
}

impl ChangeLog {
    /// An empty log of changes to `result`, with what stands beside its rows.
    pub(crate) fn new(result: &Part, beside: &Beside) -> Self {
        let old = Part::new(
            result.layout().clone(),
            1 + result.stride() + beside.width(),
        );
        Self {
            old,
            tallies: BTreeMap::new(),
            scratch: KeyScratch::default(),
        }
    }

    /// Takes in what the running transaction did to `result`, before it is committed.
    pub(crate) fn record(&mut self, result: &Part, beside: &Beside) {
        let fields: Vec<usize> = (0..result.layout().fields()).collect();
        let mut before: Vec<Option<&[u64]>> = Vec::new();
        let mut columns = keys_of(result, |was| before.push(was));
        if let Some(matrix) = beside.matrix_root() {
            // Where it alone moved, the result's payload is what it was. The keys that both moved
            // come again, and the first time counts.
            let mut rows = 0;
            let more = keys_of(matrix, |_| rows += 1);
            let keys = Keys {
                columns: &more,
                fields: &fields,
                rows,
            };
            let mut slots = Vec::new();
            result.find(keys, &mut self.scratch, &mut slots);
            let there = |&slot: &u32| slot != ringview_relation::ABSENT;
            before.extend(
                slots
                    .iter()
                    .map(|slot| there(slot).then(|| result.payload(*slot))),
            );
            for (column, more) in columns.iter_mut().zip(more) {
                column.extend(more);
            }
        }
        self.enter(&columns, &before, beside);
    }

    /// After `record`: takes in that every row of `result` will be shown otherwise. O(keys).
    pub(crate) fn record_all(&mut self, result: &Part, beside: &Beside) {
        let slots: Vec<u32> = result.iter().collect();
        let column = |field| slots.iter().map(|&s| result.field(s, field)).collect();
        let columns: Vec<Vec<u64>> = (0..result.layout().fields()).map(column).collect();
        let payloads: Vec<_> = slots.iter().map(|&s| Some(result.payload(s))).collect();
        self.enter(&columns, &payloads, beside);
    }

    /// Takes in what keys had before the running transaction, those that are not there yet.
    fn enter(&mut self, columns: &[Vec<u64>], before: &[Option<&[u64]>], beside: &Beside) {
        let fields: Vec<usize> = (0..columns.len()).collect();
        let mut slots = Vec::new();
        let keys = Keys {
            columns,
            fields: &fields,
            rows: before.len(),
        };
        self.old.locate(keys, &mut self.scratch, &mut slots);
        let further = beside.before(columns, before.len());
        let mut tallies =
            categories::tallies_before(&beside.tallied, columns, before.len()).into_iter();
        for (row, (&slot, before)) in slots.iter().zip(before).enumerate() {
            let tallies = tallies.next();
            let entry = self.old.payload_mut(slot);
            if entry[0] != 0 {
                continue;
            }
            match before {
                None => entry[0] = ABSENT,
                Some(payload) => {
                    entry[0] = PRESENT;
                    let (sums, rest) = entry[1..].split_at_mut(payload.len());
                    sums.copy_from_slice(payload);
                    rest.copy_from_slice(further.row(row));
                    self.tallies.extend(tallies.map(|tallies| (slot, tallies)));
                }
            }
        }
    }

    /// The old and new rows of the keys whose payload differs, each with its multiplicity (-1 old,
    /// +1 new); forgets them.
    pub(crate) fn take(&mut self, result: &Part, beside: &Beside) -> (ResultRows, Vec<i64>) {
        let log = std::mem::replace(self, Self::new(result, beside));
        let (old, old_tallies) = (log.old, log.tallies);
        let fields: Vec<usize> = (0..result.layout().fields()).collect();
        let keys: Vec<u32> = old.iter().collect();
        let column = |&f: &usize| keys.iter().map(|&slot| old.field(slot, f)).collect();
        let columns: Vec<Vec<u64>> = fields.iter().map(column).collect();
        let mut now = Vec::new();
        let batch = Keys {
            columns: &columns,
            fields: &fields,
            rows: keys.len(),
        };
        result.find(batch, &mut self.scratch, &mut now);

        let zero = vec![0; result.stride() + beside.width()];
        let further = beside.now(&columns, keys.len());
        let mut tallies = categories::tallies(&beside.tallied, &columns, keys.len()).into_iter();
        let nothing = categories::nothing(&beside.tallied);
        let mut current = Vec::new();
        // An aggregate without GROUP BY has a row even over nothing.
        let always = fields.is_empty();
        let (mut rows, mut multiplicities) =
            (ResultRows::new(fields.len(), zero.len()), Vec::new());
        for (row, (&slot, &now)) in keys.iter().zip(&now).enumerate() {
            let entry = old.payload(slot);
            let before = match entry[0] {
                PRESENT => Some(&entry[1..]),
                _ => always.then_some(&zero[..]),
            };
            let after = match now {
                ringview_relation::ABSENT => always.then_some(&zero[..]),
                now => {
                    current.clear();
                    current.extend_from_slice(result.payload(now));
                    current.extend_from_slice(further.row(row));
                    Some(&current[..])
                }
            };
            let were = old_tallies.get(&slot).or(nothing.as_ref()).cloned();
            let are = tallies.next();
            if before == after && were == are {
                continue;
            }
            for (payload, tallies, multiplicity) in [(before, were, -1), (after, are, 1)] {
                if let Some(payload) = payload {
                    rows.push(&old, slot, payload, tallies);
                    multiplicities.push(multiplicity);
                }
            }
        }
        (rows, multiplicities)
    }

    /// The keys that it holds, behind the first word of their payload what the result had for them, and
    /// their categories.
    pub(crate) fn held(&self) -> (&Part, impl Iterator<Item = &Tallies>) {
        (&self.old, self.tallies.values())
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let tallies = self.tallies.values().flat_map(|all| all.iter());
        let words: usize = tallies.map(Vec::capacity).sum();
        self.old.memory_usage() + words * size_of::<u64>()
    }
}

/// The keys that the running transaction touched, field by field; each change is told to `take`, with
/// what was there before. A key may come more than once, the first time first.
fn keys_of<'a>(part: &'a Part, mut take: impl FnMut(Option<&'a [u64]>)) -> Vec<Vec<u64>> {
    let mut columns = vec![Vec::new(); part.layout().fields()];
    for change in part.changes() {
        let (slot, was) = match change {
            Change::New(slot) => (slot, None),
            Change::Was(slot, payload) => (slot, Some(payload)),
        };
        take(was);
        for (field, column) in columns.iter_mut().enumerate() {
            column.push(part.field(slot, field));
        }
    }
    columns
}
