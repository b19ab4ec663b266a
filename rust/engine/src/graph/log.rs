//! The change log of a view, and who follows it.
//!
//! The deltas of a view are logged in segments, oldest first; the last one is open, and commits write to it alone. A
//! follower's position is where a segment starts: it has been given all that lies before. Invariant: a segment is a
//! Z-set, so that opposite changes of a row cancel, and each segment starts at the position of somebody; segments
//! between which nobody stands are one. So there are no more segments than followers, and none where nobody has begun
//! to read. Cost: a transaction pays O(rows of its delta) for one log, however many follow. A reader pays for
//! the segments from its position on; merging costs the size of a segment that was just read, or whose last reader left.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arrow_array::ArrayRef;
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, Schema};
use foldhash::quality::FixedState;
use hashbrown::HashTable;
use ringview_core::{Error, Result};

/// The position of somebody who was given nothing yet, and is to be given the whole view.
const START: u64 = u64::MAX;

/// Rows without a multiplicity that a segment may keep.
const FEW: usize = 1 << 10;

/// Somebody who follows the changes of one view, for as long as this value, or a copy, lives.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    /// Read and written under whatever guards the view.
    position: Arc<AtomicU64>,
}

impl Follower {
    fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }
}

/// Rows in Arrow, column by column, with their multiplicities.
pub(crate) type WeightedRows = (Vec<ArrayRef>, Vec<i64>);

/// The log of a view.
#[derive(Debug)]
pub(crate) struct Log {
    converter: RowConverter,
    positions: Vec<Weak<AtomicU64>>,
    /// With the position where each starts, ascending.
    segments: Vec<(u64, Segment)>,
    next: u64,
}

impl Log {
    /// That of a view with these columns.
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter();
        let fields = fields.map(|field| SortField::new(field.data_type().clone()));
        Ok(Self {
            converter: RowConverter::new(fields.collect()).map_err(unfit)?,
            positions: Vec::new(),
            segments: Vec::new(),
            next: 0,
        })
    }

    /// One more follower, who is given the whole view first, or what changes `from_now` on.
    pub(crate) fn join(&mut self, from_now: bool) -> Follower {
        let position = if from_now { self.here() } else { START };
        let follower = Follower {
            position: Arc::new(AtomicU64::new(position)),
        };
        self.positions.push(Arc::downgrade(&follower.position));
        follower
    }

    /// Whether somebody is to be given what changes from now on.
    pub(crate) fn is_open(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Takes in the delta of a transaction that is committed.
    pub(crate) fn record(&mut self, (columns, multiplicity): &WeightedRows) {
        let Ok(rows) = self.converter.convert_columns(columns) else {
            unreachable!("the columns of a view keep their types")
        };
        if let Some((_, open)) = self.segments.last_mut() {
            for (row, &multiplicity) in rows.iter().zip(multiplicity) {
                open.add(row, i128::from(multiplicity));
            }
            open.compact(&self.converter);
        }
    }

    /// The changes since a follower's position, old rows first; `None` if it was given nothing yet.
    pub(crate) fn since(&self, follower: &Follower) -> Result<Option<WeightedRows>> {
        let Some(parts) = self.unread(follower) else {
            return Ok(None);
        };
        let mut all = Segment::new(&self.converter);
        let one = match parts[..] {
            [one] => one,
            _ => {
                parts.into_iter().for_each(|part| all.merge(part));
                &all
            }
        };
        one.read(&self.converter).map(Some)
    }

    fn unread(&self, follower: &Follower) -> Option<Vec<&Segment>> {
        let position = follower.position();
        let behind = self.segments.iter().filter(|(start, _)| *start >= position);
        (position != START).then(|| behind.map(|(_, segment)| segment).collect())
    }

    /// Whether anything changed since a follower's position, or it was given nothing yet.
    pub(crate) fn has_changes(&self, follower: &Follower) -> bool {
        let parts = self.unread(follower);
        parts.is_none_or(|parts| parts.iter().any(|part| part.rows_held > 0))
    }

    /// A follower was given all changes; what nobody needs any more is dropped.
    pub(crate) fn advance(&mut self, follower: &Follower) {
        follower.position.store(self.here(), Ordering::Relaxed);
        self.tidy();
    }

    /// Drops what followers alone needed who have left since the last call. O(followers).
    pub(crate) fn forget_lost(&mut self) {
        let before = self.positions.len();
        self.positions
            .retain(|position| position.strong_count() > 0);
        if self.positions.len() < before {
            self.tidy();
        }
    }

    /// Drops what lies before all positions, and merges segments between which nobody stands.
    pub(crate) fn tidy(&mut self) {
        self.positions
            .retain(|position| position.strong_count() > 0);
        let all = self.positions.iter().filter_map(Weak::upgrade);
        let mut positions: Vec<u64> = all.map(|one| one.load(Ordering::Relaxed)).collect();
        positions.retain(|&position| position != START);
        let first = positions.iter().min().copied().unwrap_or(START);
        self.segments.retain(|(start, _)| *start >= first);
        for at in (1..self.segments.len()).rev() {
            if !positions.contains(&self.segments[at].0) {
                let (_, later) = self.segments.remove(at);
                self.segments[at - 1].1.merge(&later);
                self.segments[at - 1].1.compact(&self.converter);
            }
        }
    }

    /// The position of whoever has been given everything.
    fn here(&mut self) -> u64 {
        if let Some((start, _)) = self.segments.last().filter(|(_, open)| open.rows_held == 0) {
            return *start;
        }
        let here = self.next;
        self.next += 1;
        self.segments.push((here, Segment::new(&self.converter)));
        here
    }

    /// Bytes of what is logged.
    pub(crate) fn memory_usage(&self) -> usize {
        self.segments
            .iter()
            .map(|(_, segment)| segment.memory_usage())
            .sum()
    }
}

/// A Z-set of rows: the changes between two positions.
#[derive(Debug)]
struct Segment {
    /// Each once; those whose changes cancelled stay until there are many of them.
    rows: Rows,
    /// By row. Each is the difference of two counts of 64 bits, whatever it is in passing.
    multiplicity: Vec<i128>,
    table: HashTable<u32>,
    hasher: FixedState,
    /// Rows whose multiplicity is not 0.
    rows_held: usize,
}

impl Segment {
    fn new(converter: &RowConverter) -> Self {
        Self {
            rows: converter.empty_rows(0, 0),
            multiplicity: Vec::new(),
            table: HashTable::new(),
            hasher: FixedState::default(),
            rows_held: 0,
        }
    }

    fn add(&mut self, row: Row<'_>, multiplicity: i128) {
        let Self {
            rows,
            table,
            hasher,
            ..
        } = self;
        let hash = |row: Row<'_>| hasher.hash_one(row.as_ref());
        let known = table
            .find(hash(row), |&at| rows.row(at as usize) == row)
            .copied();
        let at = known.unwrap_or_else(|| {
            let at = self.multiplicity.len() as u32;
            rows.push(row);
            self.multiplicity.push(0);
            table.insert_unique(hash(row), at, |&at| hash(rows.row(at as usize)));
            at
        });
        let count = &mut self.multiplicity[at as usize];
        self.rows_held -= usize::from(*count != 0);
        *count += multiplicity;
        self.rows_held += usize::from(*count != 0);
    }

    fn merge(&mut self, later: &Self) {
        later
            .live()
            .for_each(|at| self.add(later.rows.row(at), later.multiplicity[at]));
    }

    fn live(&self) -> impl Iterator<Item = usize> {
        let all = self.multiplicity.iter().enumerate();
        all.filter(|(_, multiplicity)| **multiplicity != 0)
            .map(|(at, _)| at)
    }

    /// Forgets rows whose changes cancelled, once they are many.
    fn compact(&mut self, converter: &RowConverter) {
        if self.multiplicity.len() > FEW + 2 * self.rows_held {
            let mut all = Self::new(converter);
            all.merge(self);
            *self = all;
        }
    }

    fn read(&self, converter: &RowConverter) -> Result<WeightedRows> {
        let mut held: Vec<usize> = self.live().collect();
        held.sort_by_key(|&at| (self.multiplicity[at] > 0, self.rows.row(at)));
        let multiplicity = held.iter().map(|&at| i64::try_from(self.multiplicity[at]));
        let multiplicity = multiplicity.collect::<std::result::Result<Vec<i64>, _>>();
        let multiplicity = multiplicity.map_err(|_| Error::Overflow {
            place: "a multiplicity among the changes".to_owned(),
        })?;
        let rows = held.iter().map(|&at| self.rows.row(at));
        Ok((converter.convert_rows(rows).map_err(unfit)?, multiplicity))
    }

    fn memory_usage(&self) -> usize {
        self.rows.size()
            + self.multiplicity.capacity() * size_of::<i128>()
            + self.table.capacity() * (size_of::<u32>() + 1)
    }
}

fn unfit(problem: ArrowError) -> Error {
    Error::Value {
        place: "the changes of a view".to_owned(),
        problem: problem.to_string(),
    }
}
