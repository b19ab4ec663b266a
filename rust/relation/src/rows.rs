//! The base rows of one table: a multiset, kept to check deletes and to feed views made later.
//!
//! Invariant: every live slot holds a row that no other live slot holds, with a multiplicity of at
//! least 1; with a unique key, no two live slots share the key and every multiplicity is 1. A call
//! that fails has changed nothing.
//! Cost: O(1) expected to insert or delete a row: a batch is packed and hashed as a whole, and the
//! memory that a row will touch is asked for a few rows ahead. A row takes the widths of its columns
//! (`packing`), one byte of multiplicity and 10 to 14 bytes of directory. Slots of deleted rows are
//! reused.

mod counts;
mod packing;

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;
use ringview_core::{Batch, Dictionary, Error, Result, Schema, format_row};

use crate::hash::HashDirectory;
use counts::Counts;
use packing::Packing;
use ringview_core::prefetch;

/// How many rows ahead the directory, and behind it the rows, are asked for.
const AHEAD_DIRECTORY: usize = 24;
const AHEAD_ROWS: usize = 12;

/// Rows of a table, each as often as it is there: what other layers can count too.
const MOST: u64 = i64::MAX as u64;

/// The rows of one table with their multiplicities.
///
/// ```
/// use ringview_core::{Batch, Column, Dictionary, Field, Schema, Type};
/// use ringview_relation::RowStore;
///
/// let schema = Schema::new(vec![Field::new("id", Type::Int32, false)])?;
/// let mut store = RowStore::new("orders", &schema, None);
/// let ids = Column { words: vec![7, 8, 7], ..Column::default() };
/// let batch = Batch { rows: 3, columns: vec![Some(ids)], multiplicity: None };
/// store.insert(&batch, &Dictionary::new())?;
/// assert_eq!((store.len(), store.distinct()), (3, 2));
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowStore {
    table: String,
    schema: Schema,
    unique: Option<Vec<usize>>,
    packing: Packing,
    /// Packed rows by slot.
    rows: Vec<u8>,
    counts: Counts,
    free: Vec<u32>,
    directory: HashDirectory,
    hasher: FixedState,
    len: u64,
    scratch: Scratch,
}

/// The rows of the batch at hand, packed, and the hashes of their keys.
#[derive(Clone, Debug, Default)]
struct Scratch {
    packed: Vec<u8>,
    hashes: Vec<u64>,
}

/// One row added or removed, or why not.
type Step = std::result::Result<(), Refusal>;

/// Why a row was refused.
enum Refusal {
    /// So many are there.
    OverDelete(u64),
    Duplicate,
    Overflow,
}

impl RowStore {
    /// An empty store; `unique` are the columns in which no two rows may agree, NULL agreeing with
    /// NULL. `table` names the rows in messages.
    pub fn new(table: &str, schema: &Schema, unique: Option<Vec<usize>>) -> RowStore {
        let all: Vec<usize> = (0..schema.len()).collect();
        RowStore {
            table: table.to_owned(),
            schema: schema.clone(),
            packing: Packing::new(schema, unique.as_deref().unwrap_or(&all)),
            unique,
            rows: Vec::new(),
            counts: Counts::new(),
            free: Vec::new(),
            directory: HashDirectory::new(),
            hasher: FixedState::default(),
            len: 0,
            scratch: Scratch::default(),
        }
    }

    /// Number of rows, each as often as it is there.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of distinct rows.
    pub fn distinct(&self) -> usize {
        self.directory.len()
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        self.rows.capacity()
            + self.counts.memory_usage()
            + self.free.capacity() * size_of::<u32>()
            + self.directory.memory_usage()
            + self.scratch.packed.capacity()
            + self.scratch.hashes.capacity() * size_of::<u64>()
    }

    /// Adds the rows of a batch, in order and with their multiplicities: a negative one deletes.
    /// The batch must carry every column. All or nothing.
    pub fn insert(&mut self, batch: &Batch, dict: &Dictionary) -> Result<()> {
        self.apply(batch, 1, dict)
    }

    /// Takes the rows of a batch away, in order and with their multiplicities: a negative one
    /// inserts. The batch must carry every column. All or nothing.
    pub fn delete(&mut self, batch: &Batch, dict: &Dictionary) -> Result<()> {
        self.apply(batch, -1, dict)
    }

    /// Undoes the last `insert`, which was of this batch and succeeded. Earlier calls can be undone
    /// after it, last first.
    pub fn undo_insert(&mut self, batch: &Batch) {
        self.undo(batch, 1);
    }

    /// Undoes the last `delete`, which was of this batch and succeeded. Earlier calls can be undone
    /// after it, last first.
    pub fn undo_delete(&mut self, batch: &Batch) {
        self.undo(batch, -1);
    }

    /// Hands out all rows in batches of at most `chunk_rows` distinct rows, in the columns that are
    /// `needed`, with their multiplicities. O(rows); the order is that of the slots.
    pub fn scan(
        &self,
        chunk_rows: usize,
        needed: &[bool],
        mut take: impl FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        batch.reset(needed);
        let mut slots = Vec::new();
        let mut live = (0..self.counts.len() as u32).filter(|&slot| self.counts.get(slot) > 0);
        loop {
            slots.clear();
            slots.extend(live.by_ref().take(chunk_rows.max(1)));
            if slots.is_empty() {
                return Ok(());
            }
            self.read(&slots, &mut batch);
            take(&batch)?;
        }
    }

    fn read(&self, slots: &[u32], batch: &mut Batch) {
        batch.rows = slots.len();
        for (index, column) in batch.columns.iter_mut().enumerate() {
            if let Some(column) = column {
                self.packing.unpack(&self.rows, slots, index, column);
            }
        }
        let once = self.len == self.directory.len() as u64;
        batch.multiplicity = (!once).then(|| {
            let count = |&slot| self.counts.get(slot).cast_signed();
            slots.iter().map(count).collect()
        });
    }

    fn apply(&mut self, batch: &Batch, sign: i64, dict: &Dictionary) -> Result<()> {
        let scratch = self.prepare(batch);
        let mut done = Ok(());
        for row in 0..batch.rows {
            self.look_ahead(&scratch.hashes, row);
            if let Err(refusal) = self.change(&scratch, row, sign * batch.multiplicity(row)) {
                self.take_back(&scratch, batch, row, sign);
                done = Err(self.explain(refusal, &scratch, batch, row, sign, dict));
                break;
            }
        }
        self.scratch = scratch;
        done
    }

    fn undo(&mut self, batch: &Batch, sign: i64) {
        let scratch = self.prepare(batch);
        self.take_back(&scratch, batch, batch.rows, sign);
        self.scratch = scratch;
    }

    /// Takes back the first `rows` rows of a batch, the last one first: so each step meets the state
    /// that its counterpart left, and cannot fail.
    fn take_back(&mut self, scratch: &Scratch, batch: &Batch, rows: usize, sign: i64) {
        for row in (0..rows).rev() {
            let done = self.change(scratch, row, -sign * batch.multiplicity(row));
            debug_assert!(
                done.is_ok(),
                "undo of a batch that was not the last one applied"
            );
        }
    }

    /// Packs and hashes a batch.
    fn prepare(&mut self, batch: &Batch) -> Scratch {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.packing.pack(batch, &mut scratch.packed);
        scratch.hashes.clear();
        let key_bytes = self.packing.key_bytes();
        scratch.hashes.extend((0..batch.rows).map(|row| {
            let mut hasher = self.hasher.build_hasher();
            hasher.write(&scratch.packed[self.bytes_of(row)][..key_bytes]);
            hasher.finish()
        }));
        scratch
    }

    #[inline(always)]
    fn bytes_of(&self, row: usize) -> std::ops::Range<usize> {
        let start = row * self.packing.stride();
        start..start + self.packing.stride()
    }

    #[inline(always)]
    fn look_ahead(&self, hashes: &[u64], row: usize) {
        if let Some(&hash) = hashes.get(row + AHEAD_DIRECTORY) {
            self.directory.prefetch(hash);
        }
        if let Some(&hash) = hashes.get(row + AHEAD_ROWS)
            && let Some(slot) = self.directory.candidate(hash)
        {
            prefetch(&self.rows, self.bytes_of(slot as usize).start);
            self.counts.prefetch(slot);
        }
    }

    /// Where the directory has the key of `packed`, or would have it.
    #[inline(always)]
    fn seek(&self, hash: u64, packed: &[u8]) -> std::result::Result<usize, usize> {
        let key = &packed[..self.packing.key_bytes()];
        self.directory.seek(hash, |slot| {
            let start = self.bytes_of(slot as usize).start;
            self.rows[start..start + key.len()] == *key
        })
    }

    #[inline(always)]
    fn change(&mut self, scratch: &Scratch, row: usize, amount: i64) -> Step {
        let (hash, packed) = (scratch.hashes[row], &scratch.packed[self.bytes_of(row)]);
        if amount > 0 {
            self.add(hash, packed, amount.unsigned_abs())
        } else if amount < 0 {
            self.remove(hash, packed, amount.unsigned_abs())
        } else {
            Ok(())
        }
    }

    #[inline(always)]
    fn add(&mut self, hash: u64, packed: &[u8], amount: u64) -> Step {
        if self.unique.is_some() && amount > 1 {
            return Err(Refusal::Duplicate);
        }
        let len = self.len.checked_add(amount);
        let len = len.filter(|&len| len <= MOST).ok_or(Refusal::Overflow)?;
        if self.directory.is_full() {
            self.directory.grow();
        }
        match self.seek(hash, packed) {
            Ok(_) if self.unique.is_some() => return Err(Refusal::Duplicate),
            Ok(at) => {
                let slot = self.directory.slot_at(at);
                self.counts.set(slot, self.counts.get(slot) + amount);
            }
            Err(at) => {
                let slot = self.fill_slot(packed).ok_or(Refusal::Overflow)?;
                self.counts.set(slot, amount);
                self.directory.insert_at(at, hash, slot);
            }
        }
        self.len = len;
        Ok(())
    }

    #[inline(always)]
    fn remove(&mut self, hash: u64, packed: &[u8], amount: u64) -> Step {
        let slot = self.slot_of(hash, packed).ok_or(Refusal::OverDelete(0))?;
        let present = self.counts.get(slot);
        let left = present
            .checked_sub(amount)
            .ok_or(Refusal::OverDelete(present))?;
        self.counts.set(slot, left);
        self.len -= amount;
        if left == 0 {
            self.directory.remove(hash, slot);
            self.free.push(slot);
        }
        Ok(())
    }

    /// The slot of the whole row.
    #[inline(always)]
    fn slot_of(&self, hash: u64, packed: &[u8]) -> Option<u32> {
        let slot = self.directory.slot_at(self.seek(hash, packed).ok()?);
        let whole = self.packing.key_bytes() == packed.len()
            || self.rows[self.bytes_of(slot as usize)] == *packed;
        whole.then_some(slot)
    }

    /// Writes a row into a free slot or a new one; `None` when the slots are used up.
    #[inline(always)]
    fn fill_slot(&mut self, packed: &[u8]) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            let bytes = self.bytes_of(slot as usize);
            self.rows[bytes].copy_from_slice(packed);
            return Some(slot);
        }
        let slot = u32::try_from(self.counts.len())
            .ok()
            .filter(|&slot| slot != crate::ABSENT)?;
        extend_tightly(&mut self.rows, packed);
        self.counts.push_free();
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
            Refusal::OverDelete(left) => {
                // Earlier rows of the batch have taken or brought their share.
                let slot = self.slot_of(scratch.hashes[row], &scratch.packed[self.bytes_of(row)]);
                let present = slot.map_or(0, |slot| self.counts.get(slot));
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

/// Appends with little room to spare: a long array grows by 1/32, which the allocator does by moving
/// pages, not bytes.
#[inline(always)]
fn extend_tightly<T: Copy>(into: &mut Vec<T>, values: &[T]) {
    if into.capacity() - into.len() < values.len() {
        grow_tightly(into, values.len());
    }
    into.extend_from_slice(values);
}

#[cold]
fn grow_tightly<T>(into: &mut Vec<T>, values: usize) {
    const SHORT: usize = 1 << 16;
    let more = if into.len() < SHORT {
        into.len()
    } else {
        into.len() / 32
    };
    into.reserve_exact(more.max(values).max(64));
}
