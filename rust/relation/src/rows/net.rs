//! Net effect of several changes of one table: each row that they name, with its remaining
//! multiplicity.
//!
//! Invariant: no two entries hold the same row; an amount is the sum of all that was added, inserts
//! positive, and may pass through anything on the way. The order is that in which rows were first
//! added. Cost: O(1) expected a row that is added, and the memory of the distinct rows.

use foldhash::quality::SeedableRandomState;
use ringview_core::{Batch, Error, Result, random_hasher};

use super::RowStore;
use super::pages::Pages;
use super::words::{PackedRows, RowWords};
use crate::hash::HashDirectory;

/// The net effect of changes.
#[derive(Clone, Debug)]
pub struct Net {
    table: String,
    words: RowWords,
    rows: Pages,
    amounts: Vec<i64>,
    /// Position of the first occurrence of each row, counted as users count.
    origins: Vec<u64>,
    directory: HashDirectory,
    hasher: SeedableRandomState,
    packed: PackedRows,
}

impl Net {
    /// No changes yet of the table of `store`.
    pub fn of(store: &RowStore) -> Net {
        Net {
            table: store.table.clone(),
            words: store.words.clone(),
            rows: Pages::new(store.words.ranges()),
            amounts: Vec::new(),
            origins: Vec::new(),
            directory: HashDirectory::new(),
            hasher: random_hasher(),
            packed: PackedRows::default(),
        }
    }

    /// Adds the rows of a batch, `sign` times their multiplicities. The first is row `first` of
    /// what the user handed in. The batch must carry every column.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn add(&mut self, batch: &Batch, sign: i64, first: u64) -> Result<()> {
        let mut packed = std::mem::take(&mut self.packed);
        self.words.pack(batch, 0..batch.rows, &mut packed);
        self.rows.widen(&packed.spreads);
        let width = self.words.len();
        let mut done = Ok(());
        for row in 0..batch.rows {
            let words = &packed.words[row * width..][..width];
            let amount = batch.multiplicity(row).checked_mul(sign);
            if amount.is_none_or(|amount| !self.add_row(words, amount, first + row as u64)) {
                done = Err(Error::Overflow {
                    place: format!("the rows of table {:?}", self.table),
                });
                break;
            }
        }
        self.packed = packed;
        done
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        let words =
            self.amounts.capacity() + self.origins.capacity() + self.packed.words.capacity();
        self.rows.memory_usage() + words * size_of::<u64>() + self.directory.memory_usage()
    }

    /// Whether there was room.
    fn add_row(&mut self, words: &[u64], amount: i64, origin: u64) -> bool {
        let hash = self.words.hash(&self.hasher, words.iter().copied());
        let (rows, fresh) = (&self.rows, self.amounts.len());
        if fresh >= crate::ABSENT as usize {
            return false;
        }
        let same = |slot| rows.equals(slot, words);
        let (slot, made) = self.directory.find_or_insert(hash, same, || fresh as u32);
        if made {
            self.rows.push(words);
            self.amounts.push(0);
            self.origins.push(origin);
        }
        let held = &mut self.amounts[slot as usize];
        let sum = held.checked_add(amount);
        *held = sum.unwrap_or(0);
        // `scan` negates it.
        sum.is_some_and(|sum| sum != i64::MIN)
    }

    /// Hands out the rows whose amount times `sign` is positive, with their amounts and the
    /// positions of their first occurrences, in the order of these; in batches of at most
    /// `chunk_rows` in all columns.
    ///
    /// # Errors
    /// The error of `take`.
    pub fn scan(
        &self,
        sign: i64,
        chunk_rows: usize,
        mut take: impl FnMut(&Batch, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        batch.reset(&vec![true; self.words.columns()]);
        let amount = |slot: u32| self.amounts[slot as usize] * sign;
        let mut left = (0..self.amounts.len() as u32).filter(|&slot| amount(slot) > 0);
        loop {
            let slots: Vec<u32> = left.by_ref().take(chunk_rows.max(1)).collect();
            if slots.is_empty() {
                return Ok(());
            }
            batch.rows = slots.len();
            self.rows.read(&self.words, &slots, &mut batch.columns);
            let amounts: Vec<i64> = slots.iter().map(|&slot| amount(slot)).collect();
            let once = amounts.iter().all(|&amount| amount == 1);
            batch.multiplicity = (!once).then_some(amounts);
            let origins = slots.iter().map(|&slot| self.origins[slot as usize]);
            take(&batch, &origins.collect::<Vec<_>>())?;
        }
    }
}
