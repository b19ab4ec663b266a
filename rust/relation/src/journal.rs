//! Undo log of a table: a transaction is undone exactly, whatever the ring.
//!
//! Invariant: replaying the records backwards, and removing every slot made since the mark, gives
//! the table as it was at the last commit. A slot made since then needs no record, so a bulk load
//! into an empty table journals nothing; an update costs one copy of the payload it replaces.

use ringview_core::empty;

/// One remembered step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    /// The slot was reused for a key that was not there.
    Inserted(u32),
    /// The payload of the slot was written; the old one is next in `payloads`.
    Written(u32),
}

impl Record {
    #[inline(always)]
    fn slot(self) -> u32 {
        match self {
            Self::Inserted(slot) | Self::Written(slot) => slot,
        }
    }
}

/// Changes in a table since the last commit.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    records: Vec<Record>,
    payloads: Vec<u64>,
    /// Slots below it existed (live or free) at the last commit.
    pub(crate) mark: u32,
}

/// A slot that the running transaction touched, and what it held before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotChange<'a> {
    /// The key was not there before.
    New(u32),
    /// The key was there, with this payload. Later changes of the same slot may follow.
    Was(u32, &'a [u64]),
}

impl Journal {
    pub(crate) fn inserted(&mut self, slot: u32) {
        if slot < self.mark {
            self.records.push(Record::Inserted(slot));
        }
    }

    /// Remembers the payloads at `slots`, each `stride` words of `slab`.
    #[inline]
    pub(crate) fn written(&mut self, slots: &[u32], slab: &[u64], stride: usize) {
        let known = slots.iter().filter(|&&slot| slot < self.mark);
        let first = self.records.len();
        self.records
            .extend(known.map(|&slot| Record::Written(slot)));
        let slots = self.records[first..]
            .iter()
            .map(|record| record.slot() as usize);
        match stride {
            // A copy of one word is no call.
            1 => self.payloads.extend(slots.map(|slot| slab[slot])),
            _ => slots.for_each(|slot| {
                let payload = &slab[slot * stride..][..stride];
                self.payloads.extend_from_slice(payload);
            }),
        }
    }

    /// The changes in the order they were made, for a table that now has `slots` slots.
    pub fn changes(&self, slots: u32, stride: usize) -> impl Iterator<Item = SlotChange<'_>> {
        let mut at = 0;
        let fresh = (self.mark..slots).map(SlotChange::New);
        let recorded = self.records.iter().map(move |record| match *record {
            Record::Inserted(slot) => SlotChange::New(slot),
            Record::Written(slot) => {
                at += stride;
                SlotChange::Was(slot, &self.payloads[at - stride..at])
            }
        });
        fresh.chain(recorded)
    }

    /// Undoes the records, last first: `restore` puts a payload back, `remove` removes a key.
    pub(crate) fn undo(&mut self, stride: usize, mut step: impl FnMut(Undo<'_>)) {
        while let Some(record) = self.records.pop() {
            match record {
                Record::Inserted(slot) => step(Undo::Remove(slot)),
                Record::Written(slot) => {
                    let at = self.payloads.len() - stride;
                    step(Undo::Restore(slot, &self.payloads[at..]));
                    self.payloads.truncate(at);
                }
            }
        }
    }

    /// Replaces every remembered payload, of `stride` words, by what `convert` appends for it.
    pub(crate) fn restride(
        &mut self,
        stride: usize,
        convert: &mut impl FnMut(&[u64], &mut Vec<u64>),
    ) {
        let mut converted = Vec::new();
        for payload in self.payloads.chunks_exact(stride) {
            convert(payload, &mut converted);
        }
        self.payloads = converted;
    }

    /// Forgets everything: what is now is what was.
    pub(crate) fn clear(&mut self, slots: u32) {
        empty(&mut self.records);
        empty(&mut self.payloads);
        self.mark = slots;
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.records.capacity() * size_of::<Record>() + self.payloads.capacity() * size_of::<u64>()
    }
}

/// One step of undoing.
pub(crate) enum Undo<'a> {
    Remove(u32),
    Restore(u32, &'a [u64]),
}
