//! A batch of changes to the base rows, row by row through the directory.
//!
//! Invariant: all rows of a batch are applied, or none: the rows before one that is refused are
//! taken back, last first. Rows that are only inserted, without a look-up, are left to `pending`.
//! Cost: the memory that a row will touch is prefetched a few rows ahead.

use ringview_core::{Batch, Dictionary, Error, Result, format_row, random_hasher};

use super::{MOST, PackedRows, RowStore, Scratch};
use crate::hash::{Ahead, HashDirectory};
use crate::sort::sort;

/// Rows of a batch on their way.
pub(super) type Coming = Ahead<12, 24>;

/// Place of a row without a known entry.
const NOWHERE: usize = usize::MAX;

/// One row added or removed, or why not.
pub(super) type Step = std::result::Result<(), Refusal>;

/// Why a row was refused.
pub(super) enum Refusal {
    /// So many are there.
    OverDelete(u64),
    Duplicate,
    Overflow,
    /// No row has the key.
    Absent,
}

impl RowStore {
    pub(super) fn apply(&mut self, batch: &Batch, sign: i64, dict: &Dictionary) -> Result<()> {
        if self.append(batch, sign) {
            return Ok(());
        }
        let mut scratch = self.prepare(batch);
        let comes = |row| sign * batch.multiplicity(row) > 0;
        if (0..batch.rows).any(comes) {
            self.rows.widen(&scratch.packed.spreads);
        }
        let mut coming = self.coming(&scratch.hashes);
        let mut done = Ok(());
        for row in 0..batch.rows {
            let seen = coming.next(&self.directory, &scratch.hashes, row, |slot| self.ask(slot));
            let amount = sign * batch.multiplicity(row);
            if let Err(refusal) = self.change(&mut scratch, row, seen, amount) {
                self.take_back(&mut scratch, batch, row, sign);
                done = Err(self.explain(refusal, &scratch, batch, row, sign, dict));
                break;
            }
        }
        self.scratch = scratch;
        done
    }

    /// Takes back the first `rows` rows of a batch, the last one first: so each step meets the
    /// state that its counterpart left, and cannot fail.
    fn take_back(&mut self, scratch: &mut Scratch, batch: &Batch, rows: usize, sign: i64) {
        for row in (0..rows).rev() {
            let amount = -sign * batch.multiplicity(row);
            let done = self.change(scratch, row, NOWHERE, amount);
            debug_assert!(
                done.is_ok(),
                "the rows of a batch are taken back last first"
            );
        }
    }

    /// Prefetches the memory that the first rows of a batch touch.
    pub(super) fn coming(&self, hashes: &[u64]) -> Coming {
        Coming::begin(&self.directory, hashes, 0, |slot| self.ask(slot))
    }

    /// Prefetches a row and its multiplicity.
    #[inline(always)]
    pub(super) fn ask(&self, slot: u32) {
        self.rows.prefetch(slot);
        self.counts.prefetch(slot);
    }

    /// Transposes and hashes a batch, for a directory that holds all rows.
    pub(super) fn prepare(&mut self, batch: &Batch) -> Scratch {
        self.pending.expect_looks();
        self.enter_pending();
        let mut scratch = std::mem::take(&mut self.scratch);
        self.words.pack(batch, 0..batch.rows, &mut scratch.packed);
        self.hash_all(&scratch.packed, batch.rows, &mut scratch.hashes);
        scratch
    }

    /// Refills `hashes` with those of so many rows.
    pub(super) fn hash_all(&self, packed: &PackedRows, rows: usize, hashes: &mut Vec<u64>) {
        hashes.clear();
        let hash = |row| self.hash(self.words_of(packed, row));
        hashes.extend((0..rows).map(hash));
    }

    /// Rehashes all rows of the directory under a random seed, which nobody can predict.
    #[cold]
    pub(super) fn reseed(&mut self) {
        self.hasher = random_hasher();
        self.reseeds += 1;
        let entry = |slot| HashDirectory::entry(self.hash_slot(slot), slot);
        let mut entries: Vec<u64> = self.directory.slots().map(entry).collect();
        sort(&mut entries);
        let mut directory = self.directory.successor();
        let entered = directory.merge(&entries, |_, _| false);
        self.directory = directory;
        for &entry in &entries[entered..] {
            self.directory.insert_absent(entry, entry as u32);
        }
    }

    /// The hash of the key of a row.
    #[inline(always)]
    pub(super) fn hash(&self, words: &[u64]) -> u64 {
        self.words.hash(&self.hasher, words.iter().copied())
    }

    /// The hash of the key of a stored row.
    #[inline(always)]
    pub(super) fn hash_slot(&self, slot: u32) -> u64 {
        self.words.hash(&self.hasher, self.rows.words(slot))
    }

    /// A row of those that are packed.
    #[inline(always)]
    pub(super) fn words_of<'a>(&self, packed: &'a PackedRows, row: usize) -> &'a [u64] {
        let width = self.words.len();
        &packed.words[row * width..][..width]
    }

    /// Place of the key of a row in the directory, or the place where it would be inserted.
    #[inline(always)]
    pub(super) fn find_entry(&self, hash: u64, words: &[u64]) -> std::result::Result<usize, usize> {
        let key = &words[..self.words.key_words()];
        self.directory
            .find_entry(hash, |slot| self.rows.equals(slot, key))
    }

    /// Changes how often a row is there; its entry may have been seen at a place.
    #[inline(always)]
    fn change(&mut self, scratch: &mut Scratch, row: usize, seen: usize, amount: i64) -> Step {
        let (hash, words) = (scratch.hashes[row], self.words_of(&scratch.packed, row));
        let step = if amount > 0 {
            self.add(hash, words, amount.unsigned_abs())
        } else if amount < 0 {
            self.remove(seen, hash, words, amount.unsigned_abs())
        } else {
            Ok(())
        };
        if self.directory.is_degraded() {
            self.reseed();
            let rows = scratch.hashes.len();
            self.hash_all(&scratch.packed, rows, &mut scratch.hashes);
        }
        step
    }

    #[inline(always)]
    fn add(&mut self, hash: u64, words: &[u64], amount: u64) -> Step {
        if self.unique.is_some() && amount > 1 {
            return Err(Refusal::Duplicate);
        }
        let len = self.len.checked_add(amount);
        let len = len.filter(|&len| len <= MOST).ok_or(Refusal::Overflow)?;
        if self.directory.is_due() {
            self.directory.grow();
        }
        match self.find_entry(hash, words) {
            Ok(_) if self.unique.is_some() => return Err(Refusal::Duplicate),
            Ok(at) => {
                let slot = self.directory.slot_at(at);
                let present = self.counts.get(slot);
                self.note(slot, present);
                self.counts.set(slot, present + amount);
            }
            Err(at) => {
                let slot = self.fill_slot(words).ok_or(Refusal::Overflow)?;
                self.counts.set(slot, amount);
                self.directory.insert_at(at, hash, slot);
            }
        }
        self.len = len;
        Ok(())
    }

    #[inline(always)]
    fn remove(&mut self, seen: usize, hash: u64, words: &[u64], amount: u64) -> Step {
        let at = self.entry_of(seen, hash, words);
        let at = at.ok_or(Refusal::OverDelete(0))?;
        let slot = self.directory.slot_at(at);
        let present = self.counts.get(slot);
        let left = present
            .checked_sub(amount)
            .ok_or(Refusal::OverDelete(present))?;
        self.len -= amount;
        if left == 0 {
            self.leave(slot, present);
            self.directory.remove_at(at);
        } else {
            self.note(slot, present);
            self.counts.set(slot, left);
        }
        Ok(())
    }

    /// Place of the whole row in the directory; `seen` is a likely place of its entry.
    #[inline(always)]
    fn entry_of(&self, seen: usize, hash: u64, words: &[u64]) -> Option<usize> {
        let likely = self.directory.candidate_at(seen, hash);
        if likely.is_some_and(|slot| self.rows.equals(slot, words)) {
            return Some(seen);
        }
        let at = self.find_entry(hash, words).ok()?;
        let slot = self.directory.slot_at(at);
        let whole = self.words.key_words() == words.len() || self.rows.equals(slot, words);
        whole.then_some(at)
    }

    /// Writes a row into a free slot or a new one, which the caller enters in the directory; `None`
    /// when the slots are used up.
    #[inline(always)]
    pub(super) fn fill_slot(&mut self, words: &[u64]) -> Option<u32> {
        if let Some(slot) = self.journal.reuse().or_else(|| self.free.pop()) {
            self.note(slot, 0);
            self.rows.set(slot, words);
            return Some(slot);
        }
        let slot = u32::try_from(self.counts.len())
            .ok()
            .filter(|&slot| slot != crate::ABSENT)?;
        self.rows.push(words);
        self.counts.push_free();
        self.pending.enter_below(slot + 1);
        Some(slot)
    }

    /// The error for a refused row. The store is as before the batch.
    fn explain(
        &self,
        refusal: Refusal,
        scratch: &Scratch,
        batch: &Batch,
        row: usize,
        sign: i64,
        dict: &Dictionary,
    ) -> Error {
        let all: Vec<usize> = (0..self.schema.len()).collect();
        let text = |columns: &[usize]| format_row(&self.schema, columns, batch, row, dict);
        let table = self.table.clone();
        match refusal {
            Refusal::Overflow => Error::Overflow {
                place: format!("the rows of table {table:?}"),
            },
            Refusal::Duplicate => Error::Duplicate {
                table,
                key: text(self.unique.as_deref().unwrap_or(&all)),
            },
            Refusal::Absent => Error::UnknownKey {
                table,
                key: text(self.unique.as_deref().unwrap_or(&all)),
            },
            Refusal::OverDelete(left) => {
                // Earlier rows of the batch have taken or brought their share.
                let words = self.words_of(&scratch.packed, row);
                let at = self.entry_of(NOWHERE, scratch.hashes[row], words);
                let present = at.map_or(0, |at| self.counts.get(self.directory.slot_at(at)));
                let asked = (sign * batch.multiplicity(row)).unsigned_abs();
                let asked = i128::from(asked) + i128::from(present) - i128::from(left);
                let asked = u64::try_from(asked).unwrap_or(u64::MAX);
                Error::OverDelete {
                    table,
                    row: text(&all),
                    asked,
                    present,
                }
            }
        }
    }
}
