//! Functions over the rows of each partition: window functions, and aggregates that need all rows of a group.
//!
//! The rows of a partition are kept in their order. A transaction computes what is shown of each partition that it touches
//! anew, with the library's evaluators (`ringview_expr::Calls`). Invariant: `shown` is the functions of the rows that are
//! kept, as it was before the transaction; `next` is what it will be for the partitions that the transaction touched. The
//! delta is their difference. Cost: O(rows of the partition) a partition that is touched, so O(all rows) where there is one;
//! what is shown is kept beside the rows.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use ringview_core::Result;
use ringview_query::{Bound, Parted as Definition, Rows};
use ringview_view::RowDelta;

use crate::block::{Block, Changes, each_once, other_rows};
use crate::codec::{Codec, PartitionKey};
use crate::explained::recomputed;
use crate::output::{Output, Shown};
use crate::partitions::{CHUNK, PartitionedRows, leaving_first};

/// A view of functions over the rows of partitions.
#[derive(Debug)]
pub(crate) struct Parted {
    definition: Definition,
    codec: Codec,
    rows: PartitionedRows,
    output: Output,
    /// By partition, what is shown.
    shown: BTreeMap<PartitionKey, Vec<Shown>>,
    /// The same behind the transaction, for the partitions that it touched.
    next: BTreeMap<PartitionKey, Vec<Shown>>,
    bytes: usize,
    steps: u64,
}

impl Parted {
    /// The view of a bound query, without rows.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        let Some(Rows::Parted(definition)) = query.rows.clone() else {
            return Err(other_rows());
        };
        let mut made = Self {
            codec: Codec::of(&definition, &query.atoms[0])?,
            rows: PartitionedRows::default(),
            output: Output::of(query, &definition)?,
            shown: BTreeMap::new(),
            next: BTreeMap::new(),
            bytes: 0,
            steps: 0,
            definition,
        };
        if made.has_row_when_empty() {
            made.compute(vec![PartitionKey::default()])?;
            made.keep_next();
        }
        Ok(made)
    }

    /// Whether there is a row even over no rows.
    fn has_row_when_empty(&self) -> bool {
        self.definition.grouped && self.definition.partition.is_empty()
    }

    /// Computes what will be shown of some partitions. O(their rows).
    fn compute(&mut self, keys: Vec<PartitionKey>) -> Result<()> {
        let mut keys = keys.into_iter().peekable();
        while keys.peek().is_some() {
            let (mut chunk, mut ends, mut rows) = (Vec::new(), Vec::new(), Vec::new());
            while rows.len() < CHUNK
                && let Some(key) = keys.next()
            {
                let own = self
                    .rows
                    .partition(&key)
                    .into_iter()
                    .flat_map(|one| one.rows());
                for (row, copies) in own {
                    rows.extend(std::iter::repeat_n(row, copies as usize));
                }
                chunk.push(key);
                ends.push(rows.len());
            }
            self.steps += rows.len() as u64;
            let columns = self.codec.decode(rows.into_iter())?;
            let is_row = self.has_row_when_empty();
            let shown = self.output.compute(&columns, &ends, is_row)?;
            self.next.extend(chunk.into_iter().zip(shown));
        }
        Ok(())
    }

    /// Replaces the current rows by the next ones.
    fn keep_next(&mut self) {
        for (key, rows) in std::mem::take(&mut self.next) {
            self.bytes += bytes(&key, &rows);
            let before = if rows.is_empty() {
                self.shown.remove(&key)
            } else {
                self.shown.insert(key.clone(), rows)
            };
            self.bytes -= before.map_or(0, |before| bytes(&key, &before));
            if !self.shown.contains_key(&key) {
                self.bytes -= bytes(&key, &[]);
            }
        }
    }
}

/// Bytes that the rows of a partition take.
fn bytes(key: &PartitionKey, rows: &[Shown]) -> usize {
    let rows = rows.iter().map(|(row, _)| size_of::<Shown>() + row.len());
    size_of::<(PartitionKey, Vec<Shown>)>() + key.len() + rows.sum::<usize>()
}

impl Block for Parted {
    fn apply(&mut self, rows: &RowDelta<'_>, _asked: bool) -> Result<()> {
        self.steps += rows.batch.rows as u64;
        let encoded = self.codec.encode(rows)?;
        for (at, (key, row)) in encoded.into_iter().enumerate() {
            let change = rows.sign * rows.batch.multiplicity(at);
            self.rows.change(key, row, change);
        }
        Ok(())
    }

    fn changes(&mut self, asked: bool) -> Result<Changes> {
        let touched: BTreeSet<&PartitionKey> =
            self.rows.changes().iter().map(|one| &one.key).collect();
        let touched = touched.into_iter().cloned().collect();
        self.compute(touched)?;
        if !asked {
            return Ok(Changes::default());
        }
        let mut changes: BTreeMap<&[u8], i64> = BTreeMap::new();
        for (key, next) in &self.next {
            for (rows, sign) in [(self.shown.get(key), -1), (Some(next), 1)] {
                for (row, copies) in rows.into_iter().flatten() {
                    *changes.entry(row).or_default() += sign * copies;
                }
            }
        }
        let (rows, often) = leaving_first(changes.into_iter());
        let rows = self.output.decode(rows.into_iter())?;
        Ok((rows.columns().to_vec(), often))
    }

    fn commit(&mut self) {
        self.rows.commit();
        self.keep_next();
    }

    fn rollback(&mut self) {
        self.rows.rollback();
        self.next.clear();
    }

    fn len(&self) -> Result<u64> {
        let rows = self.shown.values().flatten();
        Ok(rows.map(|(_, copies)| copies.unsigned_abs()).sum())
    }

    fn rows(&self) -> Result<RecordBatch> {
        self.output.decode(repeated(self.shown.values()))
    }

    /// Positions are those of partitions.
    fn scan(&self, place: u64) -> Result<(Changes, Option<u64>)> {
        let (mut number, mut next) = (0, place);
        let from = usize::try_from(place).unwrap_or(usize::MAX);
        let some = self.shown.values().skip(from).take_while(|rows| {
            let is_taken = number < CHUNK;
            number += rows.len();
            next += u64::from(is_taken);
            is_taken
        });
        let rows = self.output.decode(repeated(some))?;
        let is_more = next < self.shown.len() as u64;
        Ok((each_once(&rows), is_more.then_some(next)))
    }

    fn size(&self) -> String {
        let (rows, recomputed) = (self.rows.len(), recomputed(&self.definition));
        format!("{rows} rows kept, a change recomputes {recomputed}")
    }

    fn memory_usage(&self) -> usize {
        // A node of the search tree is two thirds full.
        self.rows.memory_usage() + self.bytes + self.bytes / 2
    }

    fn steps(&self) -> u64 {
        self.steps + self.rows.steps()
    }

    fn check(&self) {
        self.rows.check();
        assert!(self.next.is_empty(), "a transaction left rows behind");
        let rows = |of: &[Shown]| of.iter().map(|(_, copies)| *copies).sum::<i64>();
        let shown: i64 = self.shown.values().map(|of| rows(of)).sum();
        let partitions = self.rows.partitions();
        let expected = match (self.definition.grouped, self.has_row_when_empty()) {
            (_, true) => 1,
            (true, _) => partitions.count() as i64,
            _ => partitions
                .flat_map(|one| one.rows())
                .map(|(_, copies)| copies)
                .sum(),
        };
        assert_eq!(shown, expected, "rows that are kept are shown");
        let counted: usize = self.shown.iter().map(|(key, rows)| bytes(key, rows)).sum();
        assert_eq!(counted, self.bytes, "bytes are miscounted");
    }
}

/// The rows of some partitions, each as often as it is shown.
fn repeated<'r>(
    partitions: impl Iterator<Item = &'r Vec<Shown>>,
) -> impl Iterator<Item = &'r [u8]> {
    let rows = partitions.flatten();
    rows.flat_map(|(row, copies)| std::iter::repeat_n(&**row, copies.unsigned_abs() as usize))
}
