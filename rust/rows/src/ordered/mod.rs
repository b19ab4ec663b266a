//! Rows in an order: all of them, or the first of each partition.
//!
//! `ORDER BY .. LIMIT k OFFSET m`, and `QUALIFY ROW_NUMBER() OVER (PARTITION BY .. ORDER BY ..) <= k` with its kin: the
//! rows of a partition are stored in a search tree, and those that are shown are a prefix of it, or a range.
//!
//! Invariant: the delta of a transaction is the difference of the windows of the partitions that it touched. Cost:
//! O(log n) a row that changes, and the rows up to the window's end for each touched partition; where all rows are
//! shown, the rows that change alone.

mod window;

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use ringview_core::Result;
use ringview_query::{Bound, Ordering, Rows};
use ringview_view::RowDelta;

use crate::block::{Block, Changes, other_rows, repeated};
use crate::codec::{Codec, Layout, PartitionKey, Row, schema_of};
use crate::partitions::{PartitionedRows, leaving_first};
use window::{Shown, window};

/// A view whose rows are in an order.
#[derive(Debug)]
pub(crate) struct Ordered {
    ordering: Ordering,
    codec: Codec,
    rows: PartitionedRows,
    /// Rows shown of each partition that the transaction touched, before it.
    before: BTreeMap<PartitionKey, Vec<Shown>>,
    steps: u64,
}

impl Ordered {
    /// The view of a bound query with an order, without rows.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        let Some(Rows::Ordered(ordering)) = query.rows.clone() else {
            return Err(other_rows());
        };
        let shown: Vec<&String> = ordering.names.iter().collect();
        let layout = Layout {
            partition: &ordering.partition,
            order: &ordering.order,
            shown: &shown,
        };
        Ok(Self {
            codec: Codec::new(&layout, &query.atoms[0], schema_of(query))?,
            ordering,
            rows: PartitionedRows::default(),
            before: BTreeMap::new(),
            steps: 0,
        })
    }

    /// Whether all rows are shown, so that a change of the rows is a change of the result.
    fn is_unlimited(&self) -> bool {
        self.ordering.keep.is_none() && self.ordering.skip == 0
    }

    fn window<'a>(&'a self, key: &PartitionKey) -> impl Iterator<Item = (&'a Row, i64)> + 'a {
        let partition = self.rows.partition(key).into_iter();
        partition.flat_map(|partition| window(partition, &self.ordering))
    }

    /// By how much each row of what is shown has changed.
    fn difference(&self) -> BTreeMap<(&PartitionKey, Row), i64> {
        let mut changes: BTreeMap<(&PartitionKey, Row), i64> = BTreeMap::new();
        if self.is_unlimited() {
            for one in self.rows.changes() {
                *changes.entry((&one.key, one.row.clone())).or_default() += one.change;
            }
        }
        for (key, before) in &self.before {
            for (row, copies) in before {
                *changes.entry((key, row.clone())).or_default() -= copies;
            }
            for (row, copies) in self.window(key) {
                *changes.entry((key, row.clone())).or_default() += copies;
            }
        }
        changes
    }
}

impl Block for Ordered {
    fn apply(&mut self, rows: &RowDelta<'_>, asked: bool) -> Result<()> {
        self.steps += rows.batch.rows as u64;
        let encoded = self.codec.encode(rows)?;
        for (at, (key, row)) in encoded.into_iter().enumerate() {
            if asked && !self.is_unlimited() && !self.before.contains_key(&key) {
                let window = self.window(&key).map(|(row, copies)| (row.clone(), copies));
                let window: Vec<Shown> = window.collect();
                self.steps += window.len() as u64;
                self.before.insert(key.clone(), window);
            }
            let change = rows.sign * rows.batch.multiplicity(at);
            self.rows.change(key, row, change);
        }
        Ok(())
    }

    fn changes(&mut self, asked: bool) -> Result<Changes> {
        if !asked {
            return Ok(Changes::default());
        }
        let (rows, often) = leaving_first(self.difference().into_iter());
        let rows = self.codec.decode(rows.iter().map(|(_, row)| row))?;
        Ok((rows.columns().to_vec(), often))
    }

    fn commit(&mut self) {
        self.rows.commit();
        self.before.clear();
    }

    fn rollback(&mut self) {
        self.rows.rollback();
        self.before.clear();
    }

    fn len(&self) -> Result<u64> {
        let windows = self
            .rows
            .partitions()
            .flat_map(|one| window(one, &self.ordering));
        Ok(windows.map(|(_, copies)| copies.max(0) as u64).sum())
    }

    fn rows(&self) -> Result<RecordBatch> {
        // A row that is there many times is decoded once.
        let windows = self
            .rows
            .partitions()
            .flat_map(|one| window(one, &self.ordering));
        let (mut distinct, mut places) = (Vec::new(), Vec::<u32>::new());
        for (row, copies) in windows {
            places.extend(std::iter::repeat_n(
                distinct.len() as u32,
                copies.max(0) as usize,
            ));
            distinct.push(row);
        }
        repeated(self.codec.decode(distinct.iter().copied())?, places)
    }

    fn size(&self) -> String {
        format!("{} rows kept", self.rows.len())
    }

    fn memory_usage(&self) -> usize {
        self.rows.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.steps + self.rows.steps()
    }

    fn check(&self) {
        assert!(self.before.is_empty(), "a transaction left rows behind");
        self.rows.check();
    }
}
