//! Rows by partition, in order, and how a transaction changes them.
//!
//! Invariant: a row is there while its multiplicity is not 0, and a partition while it has rows; `rollback` puts back what
//! the transaction changed. Cost: O(log n) a row that changes.

use std::collections::BTreeMap;
use std::ops::Bound;

use arrow_array::ArrayRef;
use ringview_core::Result;
use ringview_view::Delta;
use ringview_view::answer::Cells;

use crate::codec::{PartitionKey, Row};

/// Rows with multiplicities, in order.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    rows: BTreeMap<Row, i64>,
}

impl Partition {
    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many different rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows, with how many of each, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Row, i64)> {
        let rows = self
            .rows
            .iter()
            .map(|(row, &multiplicity)| (row, multiplicity));
        rows.filter(|(_, multiplicity)| *multiplicity > 0)
    }

    /// The rows within bounds, with how many of each, in order.
    pub(crate) fn range(
        &self,
        from: Bound<&Row>,
        to: Bound<&Row>,
    ) -> impl DoubleEndedIterator<Item = (&Row, i64)> {
        let rows = self.rows.range::<Row, _>((from, to));
        rows.map(|(row, &multiplicity)| (row, multiplicity))
    }

    /// How often a row is there.
    pub(crate) fn multiplicity(&self, row: &Row) -> i64 {
        self.rows.get(row).copied().unwrap_or_default()
    }

    /// Adds to the multiplicity of a row; by how many bytes the partition grows.
    fn add(&mut self, row: &Row, change: i64) -> isize {
        let bytes = row.bytes() as isize;
        let Some(known) = self.rows.get_mut(row) else {
            self.rows.insert(row.clone(), change);
            return bytes;
        };
        *known += change;
        if *known != 0 {
            return 0;
        }
        self.rows.remove(row);
        -bytes
    }
}

/// Changes of rows as a delta: rows that leave stand before those that take their place. `decode` makes columns of them.
pub(crate) fn delta<R>(
    changes: &BTreeMap<R, i64>,
    wanted: &[bool],
    decode: impl FnOnce(&[&R]) -> Result<Vec<ArrayRef>>,
) -> Result<Delta> {
    let (mut all, enter): (Vec<_>, Vec<_>) = changes.iter().partition(|(_, change)| **change < 0);
    all.extend(enter);
    let (rows, multiplicity): (Vec<&R>, Vec<i64>) = all.into_iter().unzip();
    let columns = decode(&rows)?.into_iter().zip(wanted);
    Ok(Delta {
        columns: columns
            .map(|(array, &wanted)| wanted.then_some(Cells::Array(array)))
            .collect(),
        multiplicity,
    })
}

/// Partitions, and the changes of the transaction at hand.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    partitions: BTreeMap<PartitionKey, Partition>,
    journal: Vec<(PartitionKey, Row, i64)>,
    /// How many rows there are, each as often as it is there.
    copies: i64,
    bytes: usize,
}

impl Kept {
    /// The rows of a partition, if there are any.
    pub(crate) fn partition(&self, key: &PartitionKey) -> Option<&Partition> {
        self.partitions.get(key)
    }

    /// All partitions, in the order of their keys.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &Partition> {
        self.partitions.values()
    }

    /// The same with their keys.
    pub(crate) fn keyed(&self) -> impl Iterator<Item = (&PartitionKey, &Partition)> {
        self.partitions.iter()
    }

    /// What the transaction has changed so far.
    pub(crate) fn changes(&self) -> &[(PartitionKey, Row, i64)] {
        &self.journal
    }

    /// Adds to the multiplicity of a row.
    pub(crate) fn change(&mut self, key: PartitionKey, row: Row, change: i64) {
        self.add(&key, &row, change);
        self.journal.push((key, row, change));
    }

    fn add(&mut self, key: &PartitionKey, row: &Row, change: i64) {
        let partition = match self.partitions.get_mut(key) {
            Some(partition) => partition,
            None => self.partitions.entry(key.clone()).or_default(),
        };
        let grown = partition.add(row, change);
        self.copies += change;
        self.bytes = self.bytes.saturating_add_signed(grown);
        if partition.is_empty() {
            self.partitions.remove(key);
        }
    }

    /// Ends the transaction.
    pub(crate) fn commit(&mut self) {
        self.journal.clear();
    }

    /// Undoes it.
    pub(crate) fn rollback(&mut self) {
        for (key, row, change) in std::mem::take(&mut self.journal).into_iter().rev() {
            self.add(&key, &row, -change);
        }
    }

    /// How many rows there are, each as often as it is there.
    pub(crate) fn copies(&self) -> u64 {
        u64::try_from(self.copies).unwrap_or(0)
    }

    /// How many different rows there are.
    pub(crate) fn len(&self) -> usize {
        self.partitions.values().map(Partition::len).sum()
    }

    /// Bytes that they take: a node of the search tree is two thirds full.
    pub(crate) fn memory_usage(&self) -> usize {
        self.bytes + self.bytes / 2
    }

    /// Checks the invariant between transactions.
    pub(crate) fn check(&self) {
        assert!(self.journal.is_empty(), "a transaction left changes behind");
        let all = self.partitions.values();
        assert!(
            all.clone().all(|one| !one.is_empty()),
            "an empty partition stays"
        );
        let rows = all.flat_map(|one| one.rows.iter());
        let bytes: usize = rows.map(|(row, _)| row.bytes()).sum();
        assert_eq!(bytes, self.bytes, "bytes are miscounted");
        let copies: i64 = self
            .partitions()
            .flat_map(|one| one.rows())
            .map(|(_, copies)| copies)
            .sum();
        assert_eq!(copies, self.copies, "rows are miscounted");
    }
}
