//! Starts of the entries of groups, for random access to rows.
//!
//! Invariant: for each group that was read, the row counts of its entries are summed so that the entry of a row is
//! found in O(log entries). The entries named in `stale` are read again before the next search. A place of a group
//! keeps its content unless a slot that the transaction changed was there before, or is there afterwards.
//!
//! Cost: O(entries) when a group is first read; then a transaction costs O(1) for each changed key of a union that has
//! been read, and O(log entries) at the next search. If it changed more than half of the indexed entries, the index is
//! discarded, and rebuilt at the next read.

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ringview_core::{Error, Result};
use ringview_relation::{ABSENT, Index, KeyScratch, KeyedTable, Keys, SlotChange};

use super::sums::Sums;

/// Groups with fewer entries are walked.
const FEW: usize = 16;
/// So many places may always be stale.
const FEW_STALE: usize = 64;

/// The entry of a group that row `row` belongs to (or one before it), and the rows before it.
pub(crate) fn skip_to(
    starts: &mut Option<Starts>,
    (union, group): (usize, u32),
    (table, index): (&KeyedTable, &Index),
    row: u64,
) -> Result<(usize, u64)> {
    match starts {
        Some(starts) if row > 0 => starts.skip_to(union, group, (table, index), row),
        _ => Ok((0, 0)),
    }
}

/// Index of the groups of a union.
#[derive(Debug, Default)]
struct GroupStarts {
    of: HashMap<u32, Sums, FixedState>,
    /// The entries of them all.
    entries: usize,
    /// Number of rebuilds of the index.
    rebuilds: u64,
    /// Groups and places to be looked at again.
    stale: Vec<(u32, u32)>,
    /// Slots that the running transaction changed.
    changed: Vec<u32>,
}

/// By union: where the entries of groups start.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    unions: Vec<GroupStarts>,
    /// Entries and nodes handled.
    pub(crate) steps: u64,
}

impl Starts {
    fn skip_to(
        &mut self,
        union: usize,
        group: u32,
        (table, index): (&KeyedTable, &Index),
        row: u64,
    ) -> Result<(usize, u64)> {
        let slots = index.group(group);
        if slots.len() < FEW {
            return Ok((0, 0));
        }
        if self.unions.len() <= union {
            self.unions.resize_with(union + 1, GroupStarts::default);
        }
        let starts = &mut self.unions[union];
        self.steps += starts.refresh(table, index)?;
        let sums = match starts.of.entry(group) {
            Entry::Occupied(sums) => sums.into_mut(),
            Entry::Vacant(place) => {
                let counts = slots.iter().map(|&slot| count(table, slot));
                let sums = counts.collect::<Result<Sums>>()?;
                starts.entries += sums.len();
                starts.rebuilds = index.rebuilds();
                self.steps += slots.len() as u64;
                place.insert(sums)
            }
        };
        self.steps += sums.depth();
        Ok(sums.find(row))
    }

    /// Whether no group has been read yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.unions.is_empty()
    }

    /// Takes in which keys of a union's view the running transaction has changed, before it ends.
    pub(crate) fn note(&mut self, union: usize, table: &KeyedTable, index: &Index) {
        let Some(starts) = self
            .unions
            .get_mut(union)
            .filter(|starts| starts.entries > 0)
        else {
            return;
        };
        let slot = |change| match change {
            SlotChange::New(slot) | SlotChange::Was(slot, _) => slot,
        };
        let most = starts.most();
        starts.changed.clear();
        starts
            .changed
            .extend(table.changes().map(slot).take(most + 1));
        if starts.changed.len() > most {
            *starts = GroupStarts::default();
            return;
        }
        starts.name(table, index);
    }

    /// The transaction has ended, and the index is up to date.
    pub(crate) fn commit(&mut self, union: usize, table: &KeyedTable, index: &Index) {
        let Some(starts) = self
            .unions
            .get_mut(union)
            .filter(|starts| starts.entries > 0)
        else {
            return;
        };
        if starts.rebuilds == index.rebuilds() {
            starts.name(table, index);
        }
        starts.changed.clear();
        if starts.rebuilds != index.rebuilds() || starts.stale.len() > starts.most() {
            *starts = GroupStarts::default();
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let bytes = |starts: &GroupStarts| {
            starts.of.capacity() * (size_of::<(u32, Sums)>() + 1)
                + starts.of.values().map(Sums::memory_usage).sum::<usize>()
                + starts.stale.capacity() * size_of::<(u32, u32)>()
                + starts.changed.capacity() * size_of::<u32>()
        };
        self.unions.iter().map(bytes).sum::<usize>()
            + self.unions.capacity() * size_of::<GroupStarts>()
    }
}

impl GroupStarts {
    /// Largest number of stale places.
    fn most(&self) -> usize {
        FEW_STALE + self.entries / 2
    }

    /// Adds the current places of the changed slots to `stale`.
    fn name(&mut self, table: &KeyedTable, index: &Index) {
        let there = |slot: &u32| table.is_live(*slot) && index.position(*slot).is_some();
        let slots: Vec<u32> = self.changed.iter().copied().filter(there).collect();
        let column = |&field: &usize| slots.iter().map(|&slot| table.field(slot, field)).collect();
        let columns: Vec<Vec<u64>> = index.fields().iter().map(column).collect();
        let fields: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows: slots.len(),
        };
        let mut groups = Vec::new();
        index.find(keys, &mut KeyScratch::default(), &mut groups);
        for (&slot, &group) in slots.iter().zip(&groups) {
            if let Some(place) = index.position(slot).filter(|_| group != ABSENT) {
                self.stale.push((group, place));
            }
        }
    }

    /// Looks at what is stale; the steps that took.
    fn refresh(&mut self, table: &KeyedTable, index: &Index) -> Result<u64> {
        let mut steps = 0;
        for (group, place) in self.stale.drain(..) {
            let Some(sums) = self.of.get_mut(&group) else {
                continue;
            };
            let slots = index.group(group);
            let place = place as usize;
            self.entries -= sums.len();
            sums.truncate(slots.len());
            for &slot in &slots[sums.len()..] {
                steps += sums.depth();
                sums.push(count(table, slot)?);
            }
            self.entries += sums.len();
            if let Some(&slot) = slots.get(place) {
                steps += sums.depth();
                sums.set(place, count(table, slot)?);
            }
        }
        Ok(steps)
    }
}

/// The count of a slot: at least 1, where nothing is deleted that is not there.
pub(crate) fn count(table: &KeyedTable, slot: u32) -> Result<u64> {
    match table.payload(slot)[0] as i64 {
        rows @ 1.. => Ok(rows as u64),
        _ => Err(inconsistent()),
    }
}

#[cold]
pub(super) fn inconsistent() -> Error {
    Error::Value {
        place: "the rows of a join".to_owned(),
        problem: "a count is not positive: rows were deleted that were not there, which \
                  trust_deletes believes"
            .to_owned(),
    }
}
