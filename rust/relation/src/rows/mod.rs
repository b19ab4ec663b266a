//! The base rows of one table: a multiset, kept to check deletes and to feed views made later.
//!
//! Invariant: a live slot holds a row with a multiplicity of at least 1. The slots that `pending` names are not in the
//! directory; of all others, no two hold the same row. With a unique key nothing is pending, no two live slots share
//! the key and every multiplicity is 1. A call that fails has changed nothing; `rollback` takes back all that was done
//! since the last `commit` (`journal`). Cost: O(1) amortised and expected to insert or delete a row. A batch is packed
//! column by column; the rows of a bag enter the directory when one is looked for, or when they repeat (`pending`,
//! `repeats`): a table from which nothing is deleted has none. A row is compared and hashed as words (`words`); it
//! takes the bytes that the values seen so far need (`stored`, `pages`), one byte of multiplicity and, in the
//! directory, 10 to 14 bytes. Slots of deleted rows are reused, and given back where they are most of all (`shrink`).
//! Rows that were chosen to collide are rehashed under a random seed; nothing but the places in the directory depends
//! on it.

mod change;
mod counts;
mod journal;
mod keyed;
mod net;
mod pages;
mod pending;
mod repeats;
mod shrink;
mod stored;
mod words;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Batch, Dictionary, FreedIds, HoldsStrings, LiveIds, Result, Schema};

use crate::hash::HashDirectory;
use counts::Counts;
pub use keyed::{Action, Actions, KeyedDelta};
pub use net::Net;
use pages::Pages;
use repeats::Repeats;
use words::{PackedRows, RowWords};

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
    words: RowWords,
    /// By slot.
    rows: Pages,
    counts: Counts,
    free: Vec<u32>,
    pending: Pending,
    directory: HashDirectory,
    hasher: SeedableRandomState,
    /// Number of times that the rows were rehashed.
    reseeds: u32,
    len: u64,
    journal: Journal,
    scratch: Scratch,
}

/// The rows that wait for the directory; see `pending`.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// The first of the slots that never entered the directory.
    known: u32,
    /// Slots that were free, filled again.
    refilled: Vec<u32>,
    /// Whether only a few rows may wait.
    is_bounded: bool,
    repeats: Repeats,
}

/// The rows of the batch at hand as words, and the hashes of their keys.
#[derive(Clone, Debug, Default)]
struct Scratch {
    packed: PackedRows,
    hashes: Vec<u64>,
}

impl RowStore {
    /// An empty store; `unique` are the columns in which no two rows may agree, NULL agreeing with
    /// NULL. `table` names the rows in messages.
    pub fn new(table: &str, schema: &Schema, unique: Option<Vec<usize>>) -> RowStore {
        let all: Vec<usize> = (0..schema.len()).collect();
        let words = RowWords::new(schema, unique.as_deref().unwrap_or(&all));
        RowStore {
            table: table.to_owned(),
            schema: schema.clone(),
            rows: Pages::new(words.ranges()),
            words,
            unique,
            counts: Counts::new(),
            free: Vec::new(),
            pending: Pending::default(),
            directory: HashDirectory::new(),
            hasher: SeedableRandomState::fixed(),
            reseeds: 0,
            len: 0,
            journal: Journal::new(),
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

    /// Number of distinct rows. O(rows that wait for the directory).
    pub fn distinct(&mut self) -> usize {
        self.enter_pending();
        self.directory.len()
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        self.rows.memory_usage()
            + self.counts.memory_usage()
            + self.free.capacity() * size_of::<u32>()
            + self.pending.memory_usage()
            + self.directory.memory_usage()
            + self.journal.memory_usage()
            + (self.scratch.packed.words.capacity() + self.scratch.hashes.capacity())
                * size_of::<u64>()
    }

    /// Number of times that the rows were rehashed because they collided more than by chance, and
    /// number of places that insertions and deletions have passed in the directory.
    pub fn degradation(&self) -> (u32, u64) {
        (self.reseeds, self.directory.passed())
    }

    /// Number of entries moved as the directory grew. Tests use it to check the bound of a single
    /// insert.
    pub fn entries_rehashed(&self) -> u64 {
        self.directory.entries_rehashed()
    }

    /// Number of rows rewritten because later values were wider. Tests use it to check the bound of
    /// a single insert.
    pub fn rows_rewritten(&self) -> u64 {
        self.rows.rewritten()
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

    /// Hands out all rows in batches of at most `chunk_rows`, in the columns that are `needed`,
    /// with their multiplicities; equal rows may be separate. O(rows); the order is that of the
    /// slots.
    pub fn scan(
        &self,
        chunk_rows: usize,
        needed: &[bool],
        mut take: impl FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        batch.reset(needed);
        self.each_slot(chunk_rows, |slots| {
            self.read(slots, &mut batch);
            take(&batch)
        })
    }

    /// Hands out the slots of all rows, ascending, at most `chunk_rows` at a time, in a list that may be changed.
    /// They stay until the next change of the store. O(rows).
    pub fn each_slot(
        &self,
        chunk_rows: usize,
        mut take: impl FnMut(&mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let (mut slots, chunk) = (
            Vec::new(),
            chunk_rows.clamp(1, crate::ABSENT as usize) as u32,
        );
        let end = self.counts.len() as u32;
        if self.free.is_empty() && self.journal.released() == (0, 0) {
            for first in (0..end).step_by(chunk as usize) {
                slots.clear();
                slots.extend(first..end.min(first.saturating_add(chunk)));
                take(&mut slots)?;
            }
            return Ok(());
        }
        let mut live = (0..end).filter(|&slot| self.counts.get(slot) > 0);
        loop {
            slots.clear();
            slots.extend(live.by_ref().take(chunk as usize));
            if slots.is_empty() {
                return Ok(());
            }
            take(&mut slots)?;
        }
    }

    /// Refills a batch with the rows of some slots, in the columns that it has, with their multiplicities. O(rows).
    pub fn read(&self, slots: &[u32], batch: &mut Batch) {
        batch.rows = slots.len();
        self.rows.read(&self.words, slots, &mut batch.columns);
        let once = self.len == (self.directory.len() + self.waiting()) as u64;
        batch.multiplicity = (!once).then(|| {
            let count = |&slot| self.counts.get(slot).cast_signed();
            slots.iter().map(count).collect()
        });
    }

    /// The columns of strings.
    fn texts(&self) -> impl Iterator<Item = usize> {
        let fields = self.schema.fields().iter().enumerate();
        let texts = fields.filter(|(_, field)| field.ty.is_interned());
        texts.map(|(column, _)| column)
    }
}

impl HoldsStrings for RowStore {
    fn mark_strings(&self, held: &mut LiveIds) {
        let texts = self.texts().map(|column| self.words.word_of(column));
        let texts: Vec<usize> = texts.collect();
        if texts.is_empty() {
            return;
        }
        let live = (0..self.counts.len() as u32).filter(|&slot| self.counts.get(slot) > 0);
        for slot in live {
            for &word in &texts {
                held.mark(self.rows.word(slot, word));
            }
        }
    }

    fn string_words(&self) -> usize {
        (self.counts.len() - self.free.len()) * self.texts().count()
    }

    /// It has no references to strings that it does not hold.
    fn forget_strings(&mut self, _: &FreedIds) {}
}

/// Frees the memory of an empty list beyond `room` values.
fn give_back<T>(list: &mut Vec<T>, room: usize) {
    debug_assert!(list.is_empty(), "only an empty list gives back its memory");
    if list.capacity() > room {
        *list = Vec::new();
    }
}

/// A slot, and the count that it had before a change.
#[derive(Clone, Copy, Debug)]
struct Note {
    slot: u32,
    /// `LARGE` if the count is in `Journal::large`.
    was: u32,
}

/// Changes of a transaction so far; see `journal`.
#[derive(Clone, Debug)]
struct Journal {
    notes: Vec<Note>,
    /// The counts of the notes that have no room for theirs, in their order.
    large: Vec<u64>,
    /// Notes at which those of one slot are reduced to the first, before there is room for more.
    limit: usize,
    /// Slots at the last commit.
    mark: u32,
    /// Number of the slots filled again that waited for the directory at the last commit.
    waiting: usize,
    /// Rows at the last commit.
    len: u64,
    /// Slots below the mark whose rows left; free after the commit.
    left: Vec<u32>,
    /// Slots above it that are free again.
    reusable: Vec<u32>,
}
