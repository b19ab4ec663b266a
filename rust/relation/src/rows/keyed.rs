//! Changes by the unique key: a row is inserted, replaces the row with its key, or deletes that
//! row.
//!
//! Invariant: the rows of a batch act in their order, each on the state that those before it left.
//! Changes are reported row by row, the deleted row before the inserted one; a row that is replaced
//! by its equal is not reported. After an error the table is to be rolled back. Cost: one look-up a
//! row. A row that was there before the transaction keeps its slot until the commit, the new one
//! takes another, and their entry in the directory is turned over in place.

use ringview_core::{Batch, Dictionary, Error, Result, format_row};

use super::change::Refusal;
use super::words::BLOCK;
use super::{MOST, RowStore, Scratch};

/// Action of a row by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Inserts the row; no row with its key may exist.
    Insert,
    /// Inserts the row, or replaces the one with its key if it exists.
    Upsert,
    /// It takes the place of the one that has its key, which must be there.
    Update,
    /// Deletes the row with its key, which must exist.
    Delete,
}

/// Actions of the rows of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Actions<'a> {
    /// All the same.
    All(Action),
    /// Each its own.
    Each(&'a [Action]),
}

impl Actions<'_> {
    #[inline(always)]
    fn of(self, row: usize) -> Action {
        match self {
            Actions::All(action) => action,
            Actions::Each(actions) => actions[row],
        }
    }
}

/// Deleted and inserted rows.
#[derive(Clone, Debug, Default)]
pub struct KeyedDelta {
    words: Vec<u64>,
    /// -1 for a deleted row, 1 for an inserted one.
    signs: Vec<i64>,
    /// The row of the batch that moved it.
    origins: Vec<u32>,
    /// The row at hand.
    row: Vec<u64>,
}

impl KeyedDelta {
    /// Number of rows that moved.
    pub fn len(&self) -> usize {
        self.signs.len()
    }

    /// Whether none did.
    pub fn is_empty(&self) -> bool {
        self.signs.is_empty()
    }

    /// The row of the batch that moved the row at `at`.
    pub fn origin(&self, at: usize) -> u32 {
        self.origins[at]
    }

    fn clear(&mut self) {
        self.words.clear();
        self.signs.clear();
        self.origins.clear();
    }

    #[inline(always)]
    fn push(&mut self, words: impl Iterator<Item = u64>, sign: i64, row: usize) {
        self.words.extend(words);
        self.signs.push(sign);
        self.origins.push(row as u32);
    }
}

impl RowStore {
    /// Changes rows by the key of the rows of a batch, which must not be NULL. Writes the deleted
    /// and inserted rows to `delta`. The batch carries the key and, but for deletes, every other
    /// column; for updates it may carry some, and the others stay.
    ///
    /// # Errors
    /// `Duplicate`, `UnknownKey`, `OverDelete`, `Overflow`; roll back then.
    ///
    /// # Panics
    /// If the table has no unique key.
    pub fn change_by_key(
        &mut self,
        batch: &Batch,
        actions: Actions<'_>,
        dict: &Dictionary,
        delta: &mut KeyedDelta,
    ) -> Result<()> {
        let keys = self.unique.as_deref();
        let keys = keys.map_or_else(|| panic!("a change by key of a bag"), <[usize]>::to_vec);
        delta.clear();
        let given = |column: &usize| batch.columns[*column].is_some();
        let given: Vec<usize> = (0..batch.columns.len()).filter(given).collect();
        let part = (given.len() < batch.columns.len()).then_some(&given[..]);
        let mut scratch = self.prepare(batch);
        self.rows.widen(&scratch.packed.spreads);
        let mut coming = self.coming(&scratch.hashes);
        let mut done = Ok(());
        for row in 0..batch.rows {
            coming.next(&self.directory, &scratch.hashes, row, |slot| self.ask(slot));
            if let Err(refusal) = self.act(actions.of(row), &scratch, row, part, delta) {
                let key = format_row(&self.schema, &keys, batch, row, dict);
                done = Err(self.refused(refusal, key, &scratch, row, actions));
                break;
            }
            if self.directory.is_degraded() {
                self.reseed();
                self.hash_all(&scratch.packed, batch.rows, &mut scratch.hashes);
            }
        }
        self.scratch = scratch;
        done
    }

    /// Refills `found` with the rows that have the keys of a batch, in all columns, and returns the rows of the batch
    /// that have one; the batch carries the key, which must not be NULL. O(1) a row.
    ///
    /// # Panics
    /// If the table has no unique key.
    pub fn rows_by_key(&mut self, batch: &Batch, found: &mut Batch) -> Vec<usize> {
        assert!(self.unique.is_some(), "a look-up by key in a bag");
        let scratch = self.prepare(batch);
        let (mut slots, mut places) = (Vec::new(), Vec::new());
        for row in 0..batch.rows {
            let words = self.words_of(&scratch.packed, row);
            if let Ok(at) = self.find_entry(scratch.hashes[row], words) {
                slots.push(self.directory.slot_at(at));
                places.push(row);
            }
        }
        self.scratch = scratch;
        found.reset(&vec![true; self.schema.len()]);
        self.read(&slots, found);
        places
    }

    /// Refills `batch` with the rows that moved, in the columns that are `needed`, and returns the
    /// sign that all its multiplicities are to be multiplied with.
    pub fn read_delta(&self, delta: &KeyedDelta, needed: &[bool], batch: &mut Batch) -> i64 {
        batch.reset(needed);
        batch.rows = delta.len();
        let rows: Vec<&[u64]> = delta.words.chunks_exact(self.words.len()).collect();
        self.words
            .begin_unpacking(rows.len(), &mut batch.columns, self.rows.spreads());
        for block in rows.chunks(BLOCK) {
            let reader = |word| move |row: &[u64]| row[word];
            let rows = block.iter().copied();
            self.words.unpack(rows, &mut batch.columns, reader);
        }
        self.words.end_unpacking(&mut batch.columns);
        let first = delta.signs.first().copied().unwrap_or(1);
        if delta.signs.iter().any(|&sign| sign != first) {
            batch.multiplicity = Some(delta.signs.clone());
            return 1;
        }
        first
    }

    #[inline(always)]
    fn act(
        &mut self,
        action: Action,
        scratch: &Scratch,
        row: usize,
        part: Option<&[usize]>,
        delta: &mut KeyedDelta,
    ) -> std::result::Result<(), Refusal> {
        if self.directory.is_due() {
            self.directory.grow();
        }
        let (hash, words) = (scratch.hashes[row], self.words_of(&scratch.packed, row));
        match (action, self.find_entry(hash, words)) {
            (Action::Insert, Ok(_)) => Err(Refusal::Duplicate),
            (Action::Update, Err(_)) => Err(Refusal::Absent),
            (Action::Delete, Err(_)) => Err(Refusal::OverDelete(0)),
            (Action::Insert | Action::Upsert, Err(at)) => {
                if self.len >= MOST {
                    return Err(Refusal::Overflow);
                }
                let slot = self.fill_slot(words).ok_or(Refusal::Overflow)?;
                self.counts.set(slot, 1);
                self.directory.insert_at(at, hash, slot);
                self.len += 1;
                delta.push(words.iter().copied(), 1, row);
                Ok(())
            }
            (Action::Delete, Ok(at)) => {
                let slot = self.directory.slot_at(at);
                delta.push(self.rows.words(slot), -1, row);
                self.leave(slot, 1);
                self.directory.remove_at(at);
                self.len -= 1;
                Ok(())
            }
            (Action::Upsert | Action::Update, Ok(at)) => match part {
                None => self.replace(at, words, row, delta),
                Some(columns) => {
                    let mut whole = std::mem::take(&mut delta.row);
                    whole.clear();
                    whole.extend(self.rows.words(self.directory.slot_at(at)));
                    self.words.overlay(words, columns, &mut whole);
                    let done = self.replace(at, &whole, row, delta);
                    delta.row = whole;
                    done
                }
            },
        }
    }

    #[inline(always)]
    fn replace(
        &mut self,
        at: usize,
        words: &[u64],
        row: usize,
        delta: &mut KeyedDelta,
    ) -> std::result::Result<(), Refusal> {
        let slot = self.directory.slot_at(at);
        if self.rows.equals(slot, words) {
            return Ok(());
        }
        delta.push(self.rows.words(slot), -1, row);
        delta.push(words.iter().copied(), 1, row);
        if self.journal.was_there(slot) {
            let fresh = self.fill_slot(words).ok_or(Refusal::Overflow)?;
            self.leave(slot, 1);
            self.counts.set(fresh, 1);
            self.directory.set_slot(at, fresh);
        } else {
            self.rows.set(slot, words);
        }
        Ok(())
    }

    fn refused(
        &self,
        refusal: Refusal,
        key: String,
        scratch: &Scratch,
        row: usize,
        actions: Actions<'_>,
    ) -> Error {
        let table = self.table.clone();
        match refusal {
            Refusal::Duplicate => Error::Duplicate { table, key },
            Refusal::Absent => Error::UnknownKey { table, key },
            Refusal::Overflow => Error::Overflow {
                place: format!("the rows of table {table:?}"),
            },
            Refusal::OverDelete(_) => {
                // If all rows delete, earlier rows of the same key have deleted the rows that
                // existed.
                let key_words = self.words.key_words();
                let key_of = |row| &self.words_of(&scratch.packed, row)[..key_words];
                let same = (0..row).filter(|&other| key_of(other) == key_of(row));
                let present = match actions {
                    Actions::All(_) => same.count() as u64,
                    Actions::Each(_) => 0,
                };
                Error::OverDelete {
                    table,
                    row: key,
                    asked: present + 1,
                    present,
                }
            }
        }
    }
}
