//! What several changes of one table come to: each row that they speak of, with what is left of it.
//!
//! Invariant: no two entries hold the same row; an amount is the sum of all that was added, inserts
//! positive, and may pass through anything on the way. The order is that in which rows came first.
//! Cost: O(1) expected a row that is added, and the room of the distinct rows.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::SeedableRandomState;
use ringview_core::{Batch, Error, Result, random_hasher};

use super::RowStore;
use super::packing::Packing;
use super::pages::Pages;
use crate::hash::HashDirectory;

/// The net effect of changes.
#[derive(Clone, Debug)]
pub struct Net {
    table: String,
    packing: Packing,
    rows: Pages,
    amounts: Vec<i64>,
    /// Where each row stood first, counted as users count.
    origins: Vec<u64>,
    directory: HashDirectory,
    hasher: SeedableRandomState,
    packed: Vec<u8>,
}

impl Net {
    /// No changes yet of the table of `store`.
    pub fn of(store: &RowStore) -> Net {
        Net {
            table: store.table.clone(),
            packing: store.packing.clone(),
            rows: Pages::new(store.packing.stride()),
            amounts: Vec::new(),
            origins: Vec::new(),
            directory: HashDirectory::new(),
            hasher: random_hasher(),
            packed: Vec::new(),
        }
    }

    /// Adds the rows of a batch, `sign` times their multiplicities. The first is row `first` of
    /// what the user handed in. The batch must carry every column.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn add(&mut self, batch: &Batch, sign: i64, first: u64) -> Result<()> {
        let mut packed = std::mem::take(&mut self.packed);
        self.packing.pack(batch, &mut packed);
        let stride = self.packing.stride();
        let mut done = Ok(());
        for row in 0..batch.rows {
            let bytes = &packed[row * stride..][..stride];
            let amount = batch.multiplicity(row).checked_mul(sign);
            if amount.is_none_or(|amount| !self.add_row(bytes, amount, first + row as u64)) {
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
        let words = self.amounts.capacity() + self.origins.capacity();
        self.rows.memory_usage()
            + words * size_of::<u64>()
            + self.directory.memory_usage()
            + self.packed.capacity()
    }

    /// Whether there was room.
    fn add_row(&mut self, bytes: &[u8], amount: i64, origin: u64) -> bool {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(bytes);
        let hash = hasher.finish();
        let (rows, fresh) = (&self.rows, self.amounts.len());
        if fresh >= crate::ABSENT as usize {
            return false;
        }
        let same = |slot| rows.row(slot) == bytes;
        let (slot, made) = self.directory.find_or_insert(hash, same, || fresh as u32);
        if made {
            self.rows.extend(bytes, 1);
            self.amounts.push(0);
            self.origins.push(origin);
        }
        let held = &mut self.amounts[slot as usize];
        let sum = held.checked_add(amount);
        *held = sum.unwrap_or(0);
        // Its negation is asked for.
        sum.is_some_and(|sum| sum != i64::MIN)
    }

    /// Hands out the rows of which `sign` times something is left, in the order in which they came
    /// first, with how often and where they stood; in batches of at most `chunk_rows` in all
    /// columns.
    ///
    /// # Errors
    /// What `take` returns.
    pub fn scan(
        &self,
        sign: i64,
        chunk_rows: usize,
        mut take: impl FnMut(&Batch, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        batch.reset(&vec![true; self.packing.columns()]);
        let amount = |slot: u32| self.amounts[slot as usize] * sign;
        let mut left = (0..self.amounts.len() as u32).filter(|&slot| amount(slot) > 0);
        loop {
            let slots: Vec<u32> = left.by_ref().take(chunk_rows.max(1)).collect();
            if slots.is_empty() {
                return Ok(());
            }
            batch.rows = slots.len();
            let rows = slots.iter().map(|&slot| self.rows.row(slot));
            self.packing.unpack(rows, &mut batch.columns);
            let amounts: Vec<i64> = slots.iter().map(|&slot| amount(slot)).collect();
            let once = amounts.iter().all(|&amount| amount == 1);
            batch.multiplicity = (!once).then_some(amounts);
            let origins = slots.iter().map(|&slot| self.origins[slot as usize]);
            take(&batch, &origins.collect::<Vec<_>>())?;
        }
    }
}
