//! Each row of one table with the latest row of another: an ASOF join.
//!
//! Both sides are stored by key, in search trees ordered by time. A row of the second side is the match of the first
//! side's rows from its time to that of the next one, so one that enters or leaves moves the rows of that range alone.
//! Among rows of the second side with the same time the greatest in the columns that are shown is the match. Invariant:
//! `delta` is the difference of the join since the transaction began. Cost: O(log n) a row that changes, and the rows
//! whose match changes.

mod side;

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_arrays;
use ringview_core::Result;
use ringview_query::{Bound, Rows};
use ringview_view::RowDelta;

use crate::block::{Block, Changes, other_rows};
use crate::codec::{PartitionKey, Row, refused, schema_of};
use crate::partitions::{Partition, leaving_first};
use side::Side;

/// A row of the first side, and its match; both as what is shown of them.
type Pair = (Box<[u8]>, Option<Box<[u8]>>);

/// A view that is an ASOF join.
#[derive(Debug)]
pub(crate) struct AsOf {
    strict: bool,
    outer: bool,
    sides: [Side; 2],
    schema: SchemaRef,
    /// By how much each pair has changed.
    delta: BTreeMap<Pair, i64>,
    steps: u64,
}

impl AsOf {
    /// The join of a bound query, without rows.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        let Some(Rows::Latest(latest)) = &query.rows else {
            return Err(other_rows());
        };
        let [one, other] = [0, 1].map(|at: usize| Arc::clone(&query.atoms[at].schema));
        let [first, second] = latest.projections([&one, &other])?;
        let side = |at: usize, projection, schema| {
            Side::new(&latest.sides[at], projection, schema, latest.following)
        };
        Ok(Self {
            strict: latest.strict,
            outer: latest.outer,
            sides: [side(0, first, one)?, side(1, second, other)?],
            schema: schema_of(query),
            delta: BTreeMap::new(),
            steps: 0,
        })
    }

    /// The least row that is no match for a time any more: all before it in the order are.
    fn end(&self, time: &[u8]) -> Row {
        if self.strict { at(time) } else { behind(time) }
    }

    /// The match of a time among some rows.
    fn matched<'p>(&self, among: Option<&'p Partition>, time: &[u8]) -> Option<&'p Row> {
        let end = self.end(time);
        let mut before = among?.backward(Excluded(&end));
        before.find(|(_, copies)| *copies > 0).map(|(row, _)| row)
    }

    /// Changes how often a row of the first side is there.
    fn change_first(&mut self, key: PartitionKey, row: Row, change: i64, asked: bool) {
        if asked {
            let matched = self.matched(self.sides[1].rows.partition(&key), &row.order);
            let pair = (row.shown.clone(), matched.map(|found| found.shown.clone()));
            self.note(pair, change);
        }
        self.sides[0].rows.change(key, row, change);
    }

    /// Changes how often a row of the second side is there: once or more often is the same.
    fn change_second(&mut self, key: PartitionKey, row: Row, change: i64, asked: bool) {
        let known = self.sides[1].rows.partition(&key);
        let before = known.map_or(0, |known| known.multiplicity(&row));
        if asked && (before > 0) != (before + change > 0) {
            let sign = if before > 0 { -1 } else { 1 };
            for ((first, other), copies) in self.taken(&key, &row) {
                self.note((first.clone(), Some(row.shown.clone())), sign * copies);
                self.note((first, other), -sign * copies);
            }
        }
        self.sides[1].rows.change(key, row, change);
    }

    /// Rows of the first side whose match is a row of the second while it is there: each with its other match, and how
    /// often it is there.
    fn taken(&self, key: &PartitionKey, row: &Row) -> Vec<(Pair, i64)> {
        let Some(first) = self.sides[0].rows.partition(key) else {
            return Vec::new();
        };
        let second = self.sides[1].rows.partition(key);
        let is_there = |(_, copies): &(&Row, i64)| *copies > 0;
        let next = second.and_then(|all| all.forward(Excluded(row)).find(is_there));
        let before = second.and_then(|all| all.backward(Excluded(row)).find(is_there));
        let from = self.first_for(&row.order);
        let to = next.map(|(next, _)| self.first_for(&next.order));
        if to.as_ref().is_some_and(|to| *to <= from) {
            return Vec::new();
        }
        let range = first.forward(Included(&from));
        let range = range.take_while(|(row, _)| to.as_ref().is_none_or(|to| *row < to));
        let other = before.map(|(before, _)| before.shown.clone());
        range
            .map(|(first, copies)| ((first.shown.clone(), other.clone()), copies))
            .collect()
    }

    /// The least row of the first side that a time of the second matches.
    fn first_for(&self, time: &[u8]) -> Row {
        if self.strict { behind(time) } else { at(time) }
    }

    fn note(&mut self, pair: Pair, change: i64) {
        if pair.1.is_none() && !self.outer {
            return;
        }
        self.steps += 1;
        *self.delta.entry(pair).or_default() += change;
    }

    /// All pairs, with how many of each.
    fn pairs(&self) -> impl Iterator<Item = (&Row, Option<&Row>, u64)> {
        self.sides[0].rows.keyed().flat_map(move |(key, first)| {
            let second = self.sides[1].rows.partition(key);
            first.rows().filter_map(move |(row, copies)| {
                let matched = self.matched(second, &row.order);
                (self.outer || matched.is_some()).then_some((row, matched, copies as u64))
            })
        })
    }

    /// The columns of some pairs.
    fn columns<'r>(
        &self,
        pairs: impl Iterator<Item = (&'r [u8], Option<&'r [u8]>)>,
    ) -> Result<Vec<ArrayRef>> {
        let (first, second): (Vec<_>, Vec<_>) = pairs.unzip();
        let mut columns = self.sides[0].decode(&first)?;
        let there: Vec<&[u8]> = second.iter().copied().flatten().collect();
        let mut found = 0..;
        let places = second
            .iter()
            .map(|one| one.and_then(|_| found.next()))
            .collect::<UInt32Array>();
        let matches = self.sides[1].decode(&there)?;
        columns.extend(take_arrays(&matches, &places, None).map_err(refused)?);
        Ok(columns)
    }
}

/// Before all rows of a time.
fn at(time: &[u8]) -> Row {
    Row {
        order: time.into(),
        shown: Box::default(),
    }
}

/// Behind all rows of a time, before those of the next: no time's bytes begin with those of another.
fn behind(time: &[u8]) -> Row {
    at(&[time, &[0]].concat())
}

impl Block for AsOf {
    fn apply(&mut self, rows: &RowDelta<'_>, asked: bool) -> Result<()> {
        self.steps += rows.batch.rows as u64;
        let encoded = self.sides[rows.atom].encode(rows)?;
        for (place, (key, row, is_comparable)) in encoded.into_iter().enumerate() {
            let change = rows.sign * rows.batch.multiplicity(place);
            match rows.atom {
                0 => self.change_first(key, row, change, asked),
                // A row without a key or a time matches nothing.
                _ if !is_comparable => {}
                _ => self.change_second(key, row, change, asked),
            }
        }
        Ok(())
    }

    fn changes(&mut self, asked: bool) -> Result<Changes> {
        if !asked {
            return Ok(Changes::default());
        }
        let delta = self.delta.iter().map(|(pair, change)| (pair, *change));
        let (pairs, often) = leaving_first(delta);
        let pairs = pairs.into_iter();
        let columns = self.columns(pairs.map(|(first, second)| (&**first, second.as_deref())))?;
        Ok((columns, often))
    }

    fn commit(&mut self) {
        self.sides.iter_mut().for_each(|side| side.rows.commit());
        self.delta.clear();
    }

    fn rollback(&mut self) {
        self.sides.iter_mut().for_each(|side| side.rows.rollback());
        self.delta.clear();
    }

    fn len(&self) -> Result<u64> {
        Ok(self.pairs().map(|(.., copies)| copies).sum())
    }

    fn rows(&self) -> Result<RecordBatch> {
        let pairs = self.pairs().flat_map(|(first, second, copies)| {
            let pair = (&*first.shown, second.map(|row| &*row.shown));
            std::iter::repeat_n(pair, copies as usize)
        });
        let pairs: Vec<_> = pairs.collect();
        let options = RecordBatchOptions::new().with_row_count(Some(pairs.len()));
        let columns = self.columns(pairs.into_iter())?;
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(refused)
    }

    fn size(&self) -> String {
        let rows: usize = self.sides.iter().map(|side| side.rows.len()).sum();
        format!("{rows} rows kept")
    }

    fn memory_usage(&self) -> usize {
        let sides = self.sides.iter();
        sides.map(|side| side.rows.memory_usage()).sum()
    }

    fn steps(&self) -> u64 {
        let sides = self.sides.iter().map(|side| side.rows.steps());
        self.steps + sides.sum::<u64>()
    }

    fn check(&self) {
        assert!(self.delta.is_empty(), "a transaction left changes behind");
        self.sides.iter().for_each(|side| side.rows.check());
    }
}
