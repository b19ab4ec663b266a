//! A secondary index: the slots of a table grouped by some fields of the key.
//!
//! Invariant (after a refresh): every live slot is stored exactly once, in the run of its group, at
//! the place recorded for the slot; a group without slots does not exist. So a count and a removal
//! are O(1), an insert is O(1) amortised, and a group is a slice, walked with constant delay.
//!
//! The index is lazy: slots added since the last refresh are entered, each once, as one batch,
//! when somebody is about to read. An index that nobody reads costs nothing.
//!
//! An index whose groups are intersected with others has a filter a group (`bloom_filter`) in the run
//! itself.

use ringview_core::{Slab, prefetch};

use crate::ABSENT;
use crate::directory::{KeyScratch, Keys};
use crate::keyed_table::bloom_filter::{
    BloomFilter, fingerprint_of, fingerprint_of_one, is_identity, value_of,
};
use crate::keyed_table::runs::{Run, Runs};
use crate::keyed_table::{Index, KeyedTable};
use crate::layout::KeyLayout;

/// Slots entered at a time.
const CHUNK: usize = 1024;
/// Slots between the prefetch of a run and writing to it.
const AHEAD: usize = 8;
/// The place of a slot that is named among those that wait.
const NAMED: u32 = ABSENT - 1;

/// Slots that are removed together.
pub(super) const BLOCK: usize = 32;

impl Index {
    pub(crate) fn new(layout: &KeyLayout, fields: &[usize]) -> Self {
        let rest = (0..layout.fields()).filter(|field| !fields.contains(field));
        let rest: Vec<usize> = rest.collect();
        Self {
            fields: fields.to_vec(),
            whole_fingerprints: match rest[..] {
                [only] => Some(layout.field(only).signed),
                _ => None,
            },
            rest,
            groups: Box::new(KeyedTable::new(layout.project(fields), 2)),
            runs: Runs::default(),
            position: Slab::new(),
            waiting: Vec::new(),
            scratch: KeyScratch::default(),
            rebuilds: 0,
        }
    }

    /// The fields of the table's key that make the group.
    #[must_use]
    pub fn fields(&self) -> &[usize] {
        &self.fields
    }

    /// Position of a slot in its group; `None` while it waits.
    #[must_use]
    pub fn position(&self, slot: u32) -> Option<u32> {
        let position = self.position.get(slot as usize).copied();
        position.filter(|&position| position < NAMED)
    }

    /// Number of rebuilds of the groups: between them a slot keeps its group, and its place but for
    /// what removals move.
    #[must_use]
    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// From now on each group has a filter.
    pub(crate) fn filter(&mut self) {
        if !self.runs.is_filtered() {
            self.forget();
            self.runs = Runs::filtered();
        }
    }

    /// The number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The group of each key of a batch, to be passed to `group`; `ABSENT` for an empty one.
    pub fn find(&self, keys: Keys<'_>, scratch: &mut KeyScratch, out: &mut Vec<u32>) {
        self.groups.find(keys, scratch, out);
    }

    /// The slots of a group; their number is its length. Empty for `ABSENT`.
    #[must_use]
    #[inline]
    pub fn group(&self, group: u32) -> &[u32] {
        if group == ABSENT {
            return &[];
        }
        let (run, length) = self.run(group);
        self.runs.slots(run, length)
    }

    #[inline(always)]
    fn run(&self, group: u32) -> (Run, usize) {
        let headers = self.groups.payloads().as_chunks::<2>().0;
        let [run, length] = headers[group as usize];
        (Run::from_word(run), length as u32 as usize)
    }

    /// Number of slots of a group.
    #[must_use]
    #[inline]
    pub fn length(&self, group: u32) -> usize {
        match group {
            ABSENT => 0,
            _ => self.run(group).1,
        }
    }

    /// Prefetches the first fingerprints of a group that has slots.
    #[inline(always)]
    pub(crate) fn prefetch_fingerprints(&self, group: u32) {
        self.runs.prefetch_fingerprints(self.run(group).0);
    }

    /// Prefetches the first line of the filter of a group that has slots.
    #[inline(always)]
    pub(crate) fn prefetch_bits(&self, group: u32) {
        self.runs.prefetch_bits(self.run(group).0);
    }

    /// Prefetches the payload of a group.
    #[inline(always)]
    pub(crate) fn prefetch(&self, group: u32) {
        prefetch(self.groups.payloads(), 2 * group as usize);
    }

    /// The filter of a group that has slots; the index must have filters.
    #[must_use]
    #[inline(always)]
    pub(crate) fn bloom_filter(&self, group: u32) -> BloomFilter<'_> {
        self.runs.bloom_filter(self.run(group).0)
    }

    /// The fingerprints of the slots of a group that has some; the index must have filters.
    #[must_use]
    #[inline(always)]
    pub(crate) fn fingerprints(&self, group: u32) -> &[u32] {
        let (run, length) = self.run(group);
        self.runs.fingerprints(run, length)
    }

    /// If the fingerprint is the only other field of the key itself: whether that field has a sign.
    #[inline]
    pub(crate) fn whole_fingerprints(&self) -> Option<bool> {
        self.whole_fingerprints
    }

    /// The fingerprint of a slot.
    fn fingerprint(&self, table: &KeyedTable, slot: u32) -> u32 {
        match self.rest[..] {
            [only] => fingerprint_of_one(table.field(slot, only)),
            _ => fingerprint_of(self.rest.iter().map(|&field| table.field(slot, field))),
        }
    }

    /// The fingerprints of some slots, which are entered.
    fn fingerprints_of(&mut self, table: &KeyedTable, slots: &[u32]) -> Vec<u32> {
        let [only] = self.rest[..] else {
            return slots
                .iter()
                .map(|&slot| self.fingerprint(table, slot))
                .collect();
        };
        let values = table.column(slots, only);
        if let Some(signed) = self.whole_fingerprints {
            if values.iter().all(|&value| is_identity(value, signed)) {
                return values.iter().map(|&value| value as u32).collect();
            }
            self.whole_fingerprints = None;
        }
        values.into_iter().map(fingerprint_of_one).collect()
    }

    pub(crate) fn added(&mut self, slot: u32) {
        if let Some(position) = self.position.get_mut(slot as usize)
            && *position != NAMED
        {
            *position = NAMED;
            self.waiting.push(slot);
        }
    }

    /// Prefetches the position of a slot that is about to be taken out.
    #[inline(always)]
    pub(super) fn prefetch_position(&self, slot: u32) {
        prefetch(&self.position, slot as usize);
    }

    /// Takes slots out, a block of them at the most, while the table still holds their keys. The
    /// memory that they touch is prefetched before the first is removed.
    pub(crate) fn removed(&mut self, slots: &[u32], field: impl Fn(u32, usize) -> u64) {
        let mut groups = [ABSENT; BLOCK];
        for (group, &slot) in groups.iter_mut().zip(slots) {
            if self.position(slot).is_some() {
                let key = |at: usize| field(slot, self.fields[at]);
                *group = self.groups.find_one(key, &mut self.scratch.packed);
                self.prefetch(*group);
            }
        }
        let entered = || {
            let both = slots.iter().zip(&groups);
            both.filter(|(_, group)| **group != ABSENT)
        };
        for (&slot, &group) in entered() {
            let (run, length) = self.run(group);
            self.runs
                .prefetch_ends(run, length - 1, self.position[slot as usize] as usize);
        }
        for (&slot, &group) in entered() {
            self.take_out(slot, group);
        }
    }

    /// Takes a slot out of its group.
    fn take_out(&mut self, slot: u32, group: u32) {
        let position = std::mem::replace(&mut self.position[slot as usize], ABSENT);
        let payload = self.groups.payload_mut(group);
        let run = Run::from_word(payload[0]);
        let (length, mut left) = (
            payload[1] as u32 as usize - 1,
            (payload[1] >> 32) as usize + 1,
        );
        if let Some(last) = self.runs.take_out(run, length, position as usize) {
            self.position[last as usize] = position;
        }
        // Removed fingerprints keep their bits in the filter until it is rebuilt.
        if left > run.capacity() {
            self.runs.filter(run, length);
            left = 0;
        }
        payload[1] = (left as u64) << 32 | length as u64;
        if length == 0 {
            self.runs.release(run);
            self.groups.remove(group);
        }
    }

    /// Enters the slots of `table` that wait.
    pub(crate) fn refresh(&mut self, table: &KeyedTable) {
        if self.is_sparse(table) {
            self.forget();
        }
        let first = self.position.len();
        if first == table.slots() && self.waiting.is_empty() {
            return;
        }
        self.position.resize(table.slots(), ABSENT);
        let mut batch: Vec<u32> = Vec::with_capacity(CHUNK);
        let waiting = std::mem::take(&mut self.waiting);
        for slot in waiting
            .into_iter()
            .chain(first as u32..table.slots() as u32)
        {
            self.position[slot as usize] = ABSENT;
            if table.is_live(slot) {
                batch.push(slot);
            }
            if batch.len() == CHUNK {
                self.enter(table, &batch);
                batch.clear();
            }
        }
        self.enter(table, &batch);
    }

    fn enter(&mut self, table: &KeyedTable, slots: &[u32]) {
        let column = |&field: &usize| table.column(slots, field);
        let columns: Vec<Vec<u64>> = self.fields.iter().map(column).collect();
        let all: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &all,
            rows: slots.len(),
        };
        let mut groups = Vec::with_capacity(slots.len());
        self.groups.locate(keys, &mut self.scratch, &mut groups);
        let fingerprints = match self.runs.is_filtered() {
            true => self.fingerprints_of(table, slots),
            false => Vec::new(),
        };
        let headers = self.groups.write(&groups).as_chunks_mut::<2>().0;
        for (row, (&slot, &group)) in slots.iter().zip(&groups).enumerate() {
            if let Some(&ahead) = groups.get(row + 3 * AHEAD) {
                prefetch(headers, ahead as usize);
            }
            if let Some(&ahead) = groups.get(row + AHEAD) {
                let [run, length] = headers[ahead as usize];
                let (run, length) = (Run::from_word(run), length as u32 as usize);
                self.runs
                    .prefetch(run, length, fingerprints.get(row + AHEAD));
            }
            let header = &mut headers[group as usize];
            let length = header[1] as u32 as usize;
            let run = match length {
                0 => self.runs.first(),
                _ => self.runs.grown(Run::from_word(header[0]), length),
            };
            *header = [run.word(), header[1] + 1];
            self.runs.put(run, length, slot, fingerprints.get(row));
            self.position[slot as usize] = length as u32;
        }
    }

    /// The slots from `slots` on are no more; they were removed.
    pub(crate) fn cut_off(&mut self, slots: u32) {
        self.position.truncate(slots as usize);
        self.waiting.retain(|&slot| slot < slots);
    }

    /// Forgets all groups: every slot waits.
    pub(crate) fn forget(&mut self) {
        *self.groups = KeyedTable::new(self.groups.layout().clone(), 2);
        self.runs = self.runs.emptied();
        self.position = Slab::new();
        self.waiting = Vec::new();
        self.rebuilds += 1;
    }

    /// Forgets all groups of a table without slots; their room is used again.
    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.runs.clear();
        self.position.clear();
        self.waiting.clear();
        self.rebuilds += 1;
    }

    /// Whether most of the capacity belongs to removed groups or places. A rebuild enters at most
    /// half as many, so insertions and removals pay for it.
    fn is_sparse(&self, table: &KeyedTable) -> bool {
        const FEW: usize = 1 << 12;
        self.groups.slots() > FEW + 4 * self.groups.len()
            || self.runs.capacity() > FEW + 8 * table.len()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.groups.memory_usage()
            + self.runs.memory_usage()
            + self.position.memory_usage()
            + self.waiting.capacity() * size_of::<u32>()
    }

    pub(crate) fn check(&self, table: &KeyedTable) {
        let mut seen = 0;
        for group in self.groups.iter() {
            assert!(!self.group(group).is_empty(), "an empty group");
            for (at, &slot) in self.group(group).iter().enumerate() {
                assert!(table.is_live(slot), "a dead slot in a group");
                assert_eq!(
                    self.position[slot as usize] as usize, at,
                    "the place of a slot"
                );
                for (f, &field) in self.fields.iter().enumerate() {
                    assert_eq!(table.field(slot, field), self.groups.field(group, f));
                }
                if self.runs.is_filtered() {
                    let fingerprint = self.fingerprint(table, slot);
                    if let (Some(signed), [only]) = (self.whole_fingerprints, &self.rest[..]) {
                        assert_eq!(
                            value_of(fingerprint, signed),
                            table.field(slot, *only),
                            "a whole fingerprint"
                        );
                    }
                    assert_eq!(self.fingerprints(group)[at], fingerprint, "a fingerprint");
                    assert!(
                        self.bloom_filter(group).may_hold(fingerprint),
                        "a slot that the filter denies"
                    );
                }
                seen += 1;
            }
        }
        let entered = |&slot: &u32| self.position.get(slot as usize).is_some_and(|&p| p < NAMED);
        assert_eq!(seen, table.iter().filter(entered).count());
    }
}
