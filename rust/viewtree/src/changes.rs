//! What moved in a result since somebody last looked.
//!
//! Invariant: for each key that a transaction touched since the last look, the log holds what the
//! result had for it then. So a look costs the keys touched, not the result; and nobody pays
//! before the first look.

use std::collections::BTreeMap;

use ringview_relation::{Change, KeyScratch, Keys, Part};

use crate::categories::{self, Tallies};
use crate::companion::Summaries;
use crate::result::{Beside, ResultRows, width};

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
    /// An empty log of changes to `result`, with what companions add to its rows.
    pub(crate) fn new(result: &Part, beside: &Beside) -> Self {
        let old = Part::new(result.layout().clone(), 1 + width(result, beside));
        Self {
            old,
            tallies: BTreeMap::new(),
            scratch: KeyScratch::default(),
        }
    }

    /// Takes in what the running transaction did to `result`, before it is committed. Companions
    /// change at their commit, so they still tell what was.
    pub(crate) fn record(&mut self, result: &Part, beside: &Beside) {
        let changes: Vec<Change<'_>> = result.changes().collect();
        let fields: Vec<usize> = (0..result.layout().fields()).collect();
        let slot_of = |change: &Change<'_>| match *change {
            Change::New(slot) | Change::Was(slot, _) => slot,
        };
        let column = |&f: &usize| {
            changes
                .iter()
                .map(|c| result.field(slot_of(c), f))
                .collect()
        };
        let columns: Vec<Vec<u64>> = fields.iter().map(column).collect();
        let mut slots = Vec::new();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows: changes.len(),
        };
        self.old.locate(keys, &mut self.scratch, &mut slots);
        let summaries = Summaries::of(&beside.summarized, &columns, changes.len());
        let mut tallies =
            categories::tallies_before(&beside.tallied, &columns, changes.len()).into_iter();
        for (row, (&slot, change)) in slots.iter().zip(&changes).enumerate() {
            let tallies = tallies.next();
            let entry = self.old.payload_mut(slot);
            if entry[0] != 0 {
                continue;
            }
            match change {
                Change::New(_) => entry[0] = ABSENT,
                Change::Was(_, payload) => {
                    entry[0] = PRESENT;
                    let (sums, rest) = entry[1..].split_at_mut(payload.len());
                    sums.copy_from_slice(payload);
                    rest.copy_from_slice(summaries.row(row));
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

        let zero = vec![0; width(result, beside)];
        let summaries = Summaries::of(&beside.summarized, &columns, keys.len());
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
                    current.extend_from_slice(summaries.row(row));
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

    pub(crate) fn memory_usage(&self) -> usize {
        let tallies = self.tallies.values().flat_map(|all| all.iter());
        let words: usize = tallies.map(Vec::capacity).sum();
        self.old.memory_usage() + words * size_of::<u64>()
    }
}
