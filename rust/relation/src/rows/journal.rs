//! Undo log of base rows: a transaction is undone without the data that it was given.
//!
//! Invariant: `mark` slots were there at the last commit. Each of them whose count has changed
//! since is noted with the count that it had, and the bytes of a row that was there are as they
//! were: a slot whose row left is not filled again before the next commit. Slots made since need no
//! note, they are cut off; so a bulk load notes nothing. Cost: eight bytes for a change of a slot
//! that was there, at most some bytes a slot however many changes there are, given back at the
//! commit. Undoing costs O(1) for each change.

use ringview_core::empty;

use super::pending::PASS;
use super::{Journal, Note, RowStore, give_back};

/// Number of notes up to which all are kept.
const FEW: usize = 1 << 16;
/// Room that is kept between transactions.
const ROOM: usize = 1 << 14;

/// A count that a note has no room for.
const LARGE: u32 = u32::MAX;

impl Journal {
    pub(super) fn new() -> Journal {
        Journal {
            notes: Vec::new(),
            large: Vec::new(),
            limit: FEW,
            mark: 0,
            waiting: 0,
            len: 0,
            left: Vec::new(),
            reusable: Vec::new(),
        }
    }

    /// Releases a slot whose row was deleted.
    #[inline(always)]
    pub(super) fn release(&mut self, slot: u32) {
        if self.was_there(slot) {
            self.left.push(slot);
        } else {
            self.reusable.push(slot);
        }
    }

    /// A slot that the transaction made and freed.
    #[inline(always)]
    pub(super) fn reuse(&mut self) -> Option<u32> {
        self.reusable.pop()
    }

    /// Number of such slots.
    pub(super) fn reusable(&self) -> usize {
        self.reusable.len()
    }

    /// Number of slots that it has taken back, of either kind.
    pub(super) fn released(&self) -> (usize, usize) {
        (self.left.len(), self.reusable.len())
    }

    /// Sorts the slots released since these numbers were read.
    pub(super) fn sort_released(&mut self, (left, reusable): (usize, usize)) {
        self.left[left..].sort_unstable();
        self.reusable[reusable..].sort_unstable();
    }

    /// Whether the bytes of a slot must stay until the commit.
    #[inline(always)]
    pub(super) fn was_there(&self, slot: u32) -> bool {
        slot < self.mark
    }

    /// The first slot that the transaction made.
    pub(super) fn mark(&self) -> u32 {
        self.mark
    }

    /// Number of slots filled again that waited before the transaction; 0 from the second call on,
    /// since they wait no longer.
    pub(super) fn take_waiting(&mut self) -> usize {
        std::mem::take(&mut self.waiting)
    }

    #[inline(always)]
    fn note(&mut self, slot: u32, count: u64) {
        if self.notes.len() == self.notes.capacity() && self.notes.len() >= self.limit {
            self.reduce();
        }
        let was = match u32::try_from(count) {
            Ok(was) if was < LARGE => was,
            _ => self.note_large(count),
        };
        self.notes.push(Note { slot, was });
    }

    #[cold]
    fn note_large(&mut self, count: u64) -> u32 {
        self.large.push(count);
        LARGE
    }

    /// Takes the last note back.
    fn pop(&mut self) -> Option<(u32, u64)> {
        let Note { slot, was } = self.notes.pop()?;
        let large = match was {
            LARGE => self.large.pop(),
            _ => None,
        };
        Some((slot, large.unwrap_or(was.into())))
    }

    /// Keeps the first note of each slot, which is the one that counts.
    #[cold]
    fn reduce(&mut self) {
        let mut seen = vec![false; self.mark as usize];
        let mut counts = std::mem::take(&mut self.large).into_iter();
        let large = &mut self.large;
        self.notes.retain(|note| {
            let first = !std::mem::replace(&mut seen[note.slot as usize], true);
            if note.was == LARGE {
                large.extend(counts.next().filter(|_| first));
            }
            first
        });
        self.limit = FEW.max(2 * self.notes.len()).max(self.mark as usize / 4);
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.notes.capacity() * size_of::<Note>()
            + self.large.capacity() * size_of::<u64>()
            + (self.left.capacity() + self.reusable.capacity()) * size_of::<u32>()
    }
}

impl RowStore {
    /// Remembers the count of a slot that is about to change.
    #[inline(always)]
    pub(super) fn note(&mut self, slot: u32, was: u64) {
        if self.journal.was_there(slot) {
            self.journal.note(slot, was);
        }
    }

    /// Deletes the row of a slot, whose multiplicity was `was`.
    #[inline(always)]
    pub(super) fn leave(&mut self, slot: u32, was: u64) {
        if self.journal.was_there(slot) {
            self.journal.note(slot, was);
            self.journal.left.push(slot);
        } else {
            self.journal.reusable.push(slot);
        }
        self.counts.set(slot, 0);
    }

    /// Keeps the changes since the last commit. O(rows deleted since), or O(1).
    pub fn commit(&mut self) {
        self.free.append(&mut self.journal.left);
        self.free.append(&mut self.journal.reusable);
        self.shrink();
        self.begin();
    }

    /// Undoes the changes since the last commit, in the time that they took.
    pub fn rollback(&mut self) {
        self.pending.refilled.truncate(self.journal.waiting);
        self.cut_off();
        while let Some((slot, was)) = self.journal.pop() {
            let hash = self.hash_slot(slot);
            if was == 0 {
                // It may wait, or have been merged with an equal row: then it is not there.
                self.directory.remove(hash, slot);
                self.free.push(slot);
            } else if self.counts.get(slot) == 0 {
                self.directory.insert_absent(hash, slot);
            }
            self.counts.set(slot, was);
            if self.directory.is_degraded() {
                self.reseed();
            }
        }
        self.len = self.journal.len;
        self.journal.left.clear();
        self.journal.reusable.clear();
        self.shrink();
        self.begin();
    }

    /// Forgets the slots that the transaction made.
    fn cut_off(&mut self) {
        let mark = self.journal.mark;
        let most_is_made = self.counts.len() > ROOM + 4 * mark as usize;
        let entered = self.pending.known.saturating_sub(mark);
        if (entered as usize) < self.directory.len() / PASS {
            for slot in mark..mark + entered {
                self.directory.remove(self.hash_slot(slot), slot);
            }
        } else if entered > 0 {
            self.directory.retain(|slot| slot < mark);
        }
        self.pending.known = self.pending.known.min(mark);
        self.rows.truncate(mark as usize);
        self.counts.truncate(mark as usize);
        if self.directory.is_sparse() {
            self.directory.relocate(|slot| slot);
        }
        if most_is_made {
            self.counts.fit();
        }
    }

    /// From here on everything is remembered.
    fn begin(&mut self) {
        empty(&mut self.scratch.packed.words);
        empty(&mut self.scratch.hashes);
        let journal = &mut self.journal;
        journal.notes.clear();
        journal.large.clear();
        give_back(&mut journal.notes, ROOM);
        give_back(&mut journal.large, ROOM);
        give_back(&mut journal.left, ROOM);
        give_back(&mut journal.reusable, ROOM);
        journal.limit = FEW;
        journal.mark = self.counts.len() as u32;
        journal.waiting = self.pending.refilled.len();
        journal.len = self.len;
    }
}
