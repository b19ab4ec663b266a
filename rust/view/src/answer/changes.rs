//! What moved in a result between two places in time.
//!
//! Invariant: for each key that a transaction touched since the log began, it holds what the result had
//! for it then; but a key that was not there then and is not there at its end is no entry. So a look
//! costs the keys touched, a log is never larger than the result at its beginning and at its end
//! together, and nobody pays before the first look.

use std::collections::BTreeMap;

use ringview_core::LiveIds;
use ringview_relation::{KeyScratch, Keys, Part, SlotChange};

use super::followers::Segment;
use super::further::{Behind, Further};
use super::members::Members;
use super::rows::ResultRows;
use super::values::{Tallies, When};

/// What the result had for a key: the first word of the log's payload.
const ABSENT: u64 = 1;
const PRESENT: u64 = 2;

/// The log of a result.
#[derive(Clone, Debug)]
pub struct ChangeLog {
    old: Part,
    /// What the categories of a key were, by its slot in `old`; for keys that were there.
    tallies: BTreeMap<u32, Tallies>,
    /// The entries of keys that were not there, as far as the running transaction touched them.
    fresh: Vec<u32>,
    scratch: KeyScratch,
}

impl Segment for ChangeLog {
    fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    fn memory_usage(&self) -> usize {
        let tallies = self.tallies.values().flat_map(|all| all.iter());
        let words: usize = tallies.map(Vec::capacity).sum();
        self.old.memory_usage()
            + words * size_of::<u64>()
            + self.fresh.capacity() * size_of::<u32>()
    }
}

impl ChangeLog {
    /// An empty log of changes to `result`, with what stands beside its rows.
    #[must_use]
    pub fn new(result: &Part, beside: &dyn Further) -> Self {
        let old = Part::new(result.layout().clone(), 1 + beside.members().width());
        Self {
            old,
            tallies: BTreeMap::new(),
            fresh: Vec::new(),
            scratch: KeyScratch::default(),
        }
    }

    /// The result keeps larger sums from now on: brings entries of the members `narrow` to those of `grown`.
    /// O(keys).
    pub fn grow(&mut self, narrow: &Members, grown: &Members) {
        self.old.restride(1 + grown.width(), |entry, out| {
            out.push(entry[0]);
            narrow.append_grown(&entry[1..], grown, out);
        });
    }

    /// Takes in what the running transaction did to `result`, before it is committed; then `settle`.
    pub fn record(&mut self, result: &Part, beside: &dyn Further) {
        let fields: Vec<usize> = (0..result.layout().fields()).collect();
        let mut before: Vec<Option<&[u64]>> = Vec::new();
        let mut columns = keys_of(result, |was| before.push(was));
        if let Some(matrix) = beside.part() {
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
    pub fn record_all(&mut self, result: &Part, beside: &dyn Further) {
        let slots: Vec<u32> = result.iter().collect();
        let column = |field| slots.iter().map(|&s| result.field(s, field)).collect();
        let columns: Vec<Vec<u64>> = (0..result.layout().fields()).map(column).collect();
        let payloads: Vec<_> = slots.iter().map(|&s| Some(result.payload(s))).collect();
        self.enter(&columns, &payloads, beside);
    }

    /// Takes in what keys had before the running transaction, those that are not there yet.
    fn enter(&mut self, columns: &[Vec<u64>], before: &[Option<&[u64]>], beside: &dyn Further) {
        let fields: Vec<usize> = (0..columns.len()).collect();
        let mut slots = Vec::new();
        let keys = Keys {
            columns,
            fields: &fields,
            rows: before.len(),
        };
        self.old.locate(keys, &mut self.scratch, &mut slots);
        let behind = Behind::of(beside, columns, before.len(), When::Before);
        let mut tallies = beside
            .tallies(columns, before.len(), When::Before)
            .into_iter();
        for (row, (&slot, before)) in slots.iter().zip(before).enumerate() {
            let tallies = tallies.next();
            let known = self.old.payload(slot)[0];
            if known == ABSENT {
                self.fresh.push(slot);
            }
            if known != 0 {
                continue;
            }
            let entry = self.old.payload_mut(slot);
            match before {
                None => {
                    entry[0] = ABSENT;
                    self.fresh.push(slot);
                }
                Some(payload) => {
                    entry[0] = PRESENT;
                    let (sums, rest) = entry[1..].split_at_mut(payload.len());
                    sums.copy_from_slice(payload);
                    rest.copy_from_slice(behind.row(row));
                    self.tallies.extend(tallies.map(|tallies| (slot, tallies)));
                }
            }
        }
    }

    /// Marks the strings that it remembers of rows that may have left: those in some fields of their keys,
    /// in their members and in their tallies.
    pub fn mark_strings(&self, texts: &[usize], members: &Members, held: &mut LiveIds) {
        if !texts.is_empty() || members.hold_strings() {
            for slot in self.old.iter() {
                let texts = texts.iter();
                texts.for_each(|&field| held.mark(self.old.field(slot, field)));
                members.mark_strings(&self.old.payload(slot)[1..], held);
            }
        }
        let tallies = self.tallies.values();
        tallies.for_each(|tallies| members.mark_tallies(tallies, held));
    }

    /// How many words that looks at, of so many fields with strings.
    #[must_use]
    pub fn string_words(&self, texts: usize, members: &Members) -> usize {
        let tallies = self.tallies.values().flat_map(|tallies| tallies.iter());
        self.old.len() * (texts + 2 * members.summaries().count())
            + tallies.map(Vec::len).sum::<usize>()
    }

    /// Forgets what came and left again, once the transaction is committed.
    pub fn settle(&mut self, result: &Part) {
        let mut fresh = std::mem::take(&mut self.fresh);
        let (columns, rows) = self.columns(&fresh);
        let mut absent = vec![true; rows];
        absent_in(result, &columns, &mut absent, &mut self.scratch, |_| true);
        let mut marks = absent.iter();
        fresh.retain(|_| marks.next() == Some(&true));
        // Ends the transaction of the log, too.
        self.old.commit(&fresh, |_| true);
        if self.tallies.is_empty() {
            // Nothing stands beside its slots.
            self.old.shrink();
        }
        fresh.clear();
        self.fresh = fresh;
    }

    /// Takes in the log that begins where this one ends; `later` are those behind, up to now.
    pub fn absorb<'a>(
        &mut self,
        next: &Self,
        later: impl Iterator<Item = &'a Self>,
        result: &Part,
    ) {
        let theirs: Vec<u32> = next.old.iter().collect();
        let (columns, rows) = next.columns(&theirs);
        let fields: Vec<usize> = (0..columns.len()).collect();
        let mut slots = Vec::new();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows,
        };
        self.old.locate(keys, &mut self.scratch, &mut slots);
        let mut fresh = Vec::new();
        for (&slot, &their) in slots.iter().zip(&theirs) {
            if self.old.payload(slot)[0] == 0 {
                let entry = self.old.payload_mut(slot);
                entry.copy_from_slice(next.old.payload(their));
                let tallies = next.tallies.get(&their).cloned();
                self.tallies.extend(tallies.map(|tallies| (slot, tallies)));
            }
            if self.old.payload(slot)[0] == ABSENT {
                fresh.push(slot);
            }
        }
        // Whether a key is there at the end of `next`: the first log behind that has it tells.
        let (columns, rows) = self.columns(&fresh);
        let mut absent = vec![true; rows];
        let mut told = vec![false; rows];
        for log in later {
            let mut found = Vec::new();
            log.find(&columns, rows, &mut self.scratch, &mut found);
            for (at, &slot) in found.iter().enumerate() {
                if slot != ringview_relation::ABSENT && !told[at] {
                    told[at] = true;
                    absent[at] = log.old.payload(slot)[0] == ABSENT;
                }
            }
        }
        absent_in(result, &columns, &mut absent, &mut self.scratch, |at| {
            !told[at]
        });
        let mut marks = absent.iter();
        fresh.retain(|_| marks.next() == Some(&true));
        self.old.commit(&fresh, |_| true);
    }

    /// The keys at some slots, field by field, and how many there are.
    fn columns(&self, slots: &[u32]) -> (Vec<Vec<u64>>, usize) {
        let fields = 0..self.old.layout().fields();
        let column = |f: usize| slots.iter().map(|&slot| self.old.field(slot, f)).collect();
        (fields.map(column).collect(), slots.len())
    }

    fn find(
        &self,
        columns: &[Vec<u64>],
        rows: usize,
        scratch: &mut KeyScratch,
        out: &mut Vec<u32>,
    ) {
        let fields: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns,
            fields: &fields,
            rows,
        };
        self.old.find(keys, scratch, out);
    }

    /// What moved since the first of `logs` began, of which each begins where the one before it ends.
    #[must_use]
    pub fn read(logs: &[&Self], result: &Part, beside: &dyn Further) -> (ResultRows, Vec<i64>) {
        match logs {
            [] => Self::new(result, beside).rows(result, beside),
            [only] => only.rows(result, beside),
            [first, rest @ ..] => {
                let mut all = (*first).clone();
                for (at, next) in rest.iter().enumerate() {
                    all.absorb(next, rest[at + 1..].iter().copied(), result);
                }
                all.rows(result, beside)
            }
        }
    }

    /// The old and new rows of the keys whose payload differs, each with its multiplicity (-1 old,
    /// +1 new).
    fn rows(&self, result: &Part, beside: &dyn Further) -> (ResultRows, Vec<i64>) {
        let (old, old_tallies) = (&self.old, &self.tallies);
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
        result.find(batch, &mut KeyScratch::default(), &mut now);

        let zero = vec![0; beside.members().width()];
        let behind = Behind::of(beside, &columns, keys.len(), When::Now);
        let mut tallies = beside.tallies(&columns, keys.len(), When::Now).into_iter();
        let nothing = beside.no_tallies();
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
                    current.extend_from_slice(behind.row(row));
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
                    rows.push(old, slot, payload, tallies);
                    multiplicities.push(multiplicity);
                }
            }
        }
        (rows, multiplicities)
    }
}

/// Leaves of the marks of `absent` that `asked` tells those of keys that `result` does not have.
fn absent_in(
    result: &Part,
    columns: &[Vec<u64>],
    absent: &mut [bool],
    scratch: &mut KeyScratch,
    asked: impl Fn(usize) -> bool,
) {
    let fields: Vec<usize> = (0..columns.len()).collect();
    let keys = Keys {
        columns,
        fields: &fields,
        rows: absent.len(),
    };
    let mut slots = Vec::new();
    result.find(keys, scratch, &mut slots);
    for (at, (mark, &slot)) in absent.iter_mut().zip(&slots).enumerate() {
        if asked(at) {
            *mark = slot == ringview_relation::ABSENT;
        }
    }
}

/// The keys that the running transaction touched, field by field; each change is told to `take`, with
/// what was there before. A key may come more than once, the first time first.
fn keys_of<'a>(part: &'a Part, mut take: impl FnMut(Option<&'a [u64]>)) -> Vec<Vec<u64>> {
    let mut columns = vec![Vec::new(); part.layout().fields()];
    for change in part.changes() {
        let (slot, was) = match change {
            SlotChange::New(slot) => (slot, None),
            SlotChange::Was(slot, payload) => (slot, Some(payload)),
        };
        take(was);
        for (field, column) in columns.iter_mut().enumerate() {
            column.push(part.field(slot, field));
        }
    }
    columns
}
