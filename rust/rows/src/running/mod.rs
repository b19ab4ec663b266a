//! Functions of the rows before each row: numbers of rows, running sums, values of first rows; and totals of partitions.
//!
//! The rows of a partition are kept in a search tree with their numbers and sums, and nothing of what is shown: so a
//! value is found by its row, and a transaction that nobody follows computes none. Invariant: the delta is what differs
//! between the functions of all rows before the transaction and behind it. Cost: O(log n) a row that changes; if
//! changes are requested, O(log n + rows that move) more for each place that changes, and all rows of its partition for
//! sums of doubles and for MIN and MAX; a read of all rows computes them, in one pass over the columns.

mod over;
mod pass;
pub(crate) mod plan;
mod region;
mod states;
mod values;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take;
use ringview_core::Result;
use ringview_query::{Bound, Rows};
use ringview_view::RowDelta;

use crate::block::{Block, Changes, each_once, other_rows};
use crate::codec::{Codec, refused, schema_of};
use crate::numbers::scaled;
use crate::partitions::{Changed, Partition, PartitionedRows};
use pass::Shown;
use plan::{Kind, Plan, Weight, planned};
use region::{Entry, Regions};

/// More rows of equal values are all recomputed, where their copies differ.
const FEW: usize = 64;

/// A view of functions of the rows before each row.
#[derive(Debug)]
pub(crate) struct Running {
    plan: Plan,
    codec: Codec,
    rows: PartitionedRows,
    /// Number of columns of the rows that are shown: the first ones.
    plain: usize,
    schema: SchemaRef,
    steps: u64,
}

/// Positions of rows among those of the regions, and of their values among those of a time.
#[derive(Debug, Default)]
struct SelectedRows {
    rows: Vec<u32>,
    values: Vec<u32>,
}

impl Running {
    /// The view of a bound query with such functions, without rows.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        let (Some(Rows::Parted(definition)), Some(plan)) = (&query.rows, planned(query)?) else {
            return Err(other_rows());
        };
        Ok(Self {
            codec: Codec::of(definition, &query.atoms[0])?,
            rows: PartitionedRows::weighed(plan.weights.len(), plan.leads),
            plain: definition.names.len(),
            schema: schema_of(query),
            steps: 0,
            plan,
        })
    }

    /// The weights of the rows of some columns, one row behind the other.
    fn weights(&self, columns: &[ArrayRef], rows: usize) -> Vec<i128> {
        let width = self.rows.width();
        let mut weights = vec![0; rows * width];
        for (at, weight) in self.plan.weights.iter().enumerate() {
            for (row, one) in of_column(weight, columns, rows).into_iter().enumerate() {
                weights[row * width + at] = one;
            }
        }
        weights
    }

    /// The columns of rows of regions, and behind them of those that functions show.
    fn batch(&self, regions: &Regions<'_>) -> Result<RecordBatch> {
        let functions = 0..self.plan.functions.len();
        let shown =
            functions.flat_map(|at| regions.all.iter().filter_map(move |one| one.shown[at]));
        let rows = regions.rows.iter().map(|entry| entry.row);
        self.codec.decode(rows.chain(shown))
    }

    /// Whether all rows are read to compute values.
    fn reads_rows(&self) -> bool {
        self.plan.walks || self.plan.reads_other_rows()
    }

    /// Columns of chosen rows, those of the time before first.
    fn columns(
        &self,
        regions: &Regions<'_>,
        (old, leave): (&Shown, &SelectedRows),
        (new, enter): (&Shown, &SelectedRows),
        batch: Option<&RecordBatch>,
    ) -> Result<Vec<ArrayRef>> {
        let selected = || leave.rows.iter().chain(&enter.rows);
        let made;
        let (source, places): (&RecordBatch, UInt32Array) = match batch {
            Some(batch) => (batch, selected().copied().collect()),
            None => {
                // A row that leaves and enters is decoded once.
                let mut place = vec![u32::MAX; regions.rows.len()];
                let mut rows = Vec::new();
                for &row in selected() {
                    if place[row as usize] == u32::MAX {
                        place[row as usize] = rows.len() as u32;
                        rows.push(regions.rows[row as usize].row);
                    }
                }
                made = self.codec.decode(rows.into_iter())?;
                (&made, selected().map(|&row| place[row as usize]).collect())
            }
        };
        let is_each_once = places.len() == source.num_rows()
            && places
                .values()
                .iter()
                .enumerate()
                .all(|(at, &row)| at == row as usize);
        let plain = source.columns()[..self.plain].iter();
        let plain = plain.map(|column| match is_each_once {
            true => Ok(Arc::clone(column)),
            false => take(column, &places, None).map_err(refused),
        });
        let functions = old.functions.iter().zip(&new.functions);
        let functions =
            functions.map(|(old, new)| old.column(&leave.values, (new, &enter.values), batch));
        plain.chain(functions).collect()
    }

    /// All that is shown of some partitions.
    fn shown<'k>(&self, partitions: impl Iterator<Item = &'k Partition>) -> Result<RecordBatch> {
        let mut regions = Regions::default();
        for partition in partitions {
            regions.whole(&self.plan, partition)?;
        }
        let batch = self
            .reads_rows()
            .then(|| self.batch(&regions))
            .transpose()?;
        let read = self.plan.read(batch.as_ref())?;
        let (old, new) = (
            self.plan.values(&regions, 0, &read)?,
            self.plan.values(&regions, 1, &read)?,
        );
        let mut all = SelectedRows::default();
        for (row, entry) in (0..).zip(&regions.rows) {
            all.rows
                .extend(std::iter::repeat_n(row, entry.copies[1] as usize));
        }
        all.values.extend(0..all.rows.len() as u32);
        let none = SelectedRows::default();
        let columns = self.columns(&regions, (&old, &none), (&new, &all), batch.as_ref())?;
        let options = RecordBatchOptions::new().with_row_count(Some(all.rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(refused)
    }

    /// Whether a sum of a partition that changed may not fit.
    fn may_overflow(&self) -> bool {
        let mut weights = self.plan.weights.iter();
        weights.any(|weight| weight.kind == Kind::Size)
            && self.rows.changes().iter().any(|one| {
                let partition = self.rows.partition(&one.key);
                partition.is_some_and(|all| self.plan.is_large(&all.total()))
            })
    }

    /// Changes of the result by a transaction; if they are not requested, checks that they can be computed.
    fn differences(&self, asked: bool) -> Result<(Changes, u64)> {
        let net = self.rows.net();
        let mut regions = Regions::default();
        for (key, changed) in &net {
            regions.changed(&self.plan, self.rows.partition(key), changed)?;
        }
        let steps = regions.rows.len() as u64;
        let batch = self
            .reads_rows()
            .then(|| self.batch(&regions))
            .transpose()?;
        let read = self.plan.read(batch.as_ref())?;
        let new = self.plan.values(&regions, 1, &read)?;
        if !asked {
            return Ok((Changes::default(), steps));
        }
        let old = self.plan.values(&regions, 0, &read)?;
        let (mut leave, mut enter) = (SelectedRows::default(), SelectedRows::default());
        for (row, entry) in regions.rows.iter().enumerate() {
            choose(row, entry, (&old, &mut leave), (&new, &mut enter));
        }
        let mut often = vec![-1; leave.rows.len()];
        often.resize(leave.rows.len() + enter.rows.len(), 1);
        if often.is_empty() {
            return Ok((Changes::default(), steps));
        }
        let columns = self.columns(&regions, (&old, &leave), (&new, &enter), batch.as_ref())?;
        Ok(((columns, often), steps))
    }
}

/// The weight of each row.
fn of_column(weight: &Weight, columns: &[ArrayRef], rows: usize) -> Vec<i128> {
    let mask = weight.filter.and_then(|at| scaled(&columns[at]));
    let takes_part = |row: usize| mask.as_ref().is_none_or(|mask| mask[row] == Some(1));
    let column = weight.of.map(|at| &columns[at]);
    let values = column
        .filter(|_| weight.kind != Kind::Count)
        .and_then(scaled);
    let of = |row: usize| {
        let is_there = takes_part(row) && column.is_none_or(|column| column.is_valid(row));
        let value = values.as_ref().and_then(|values| values[row]);
        match (is_there, weight.kind) {
            (false, _) => 0,
            (true, Kind::Count) => 1,
            (true, Kind::Sum) => value.unwrap_or(0),
            (true, Kind::Size) => (value.unwrap_or(0).abs() >> 40) + 1,
        }
    };
    (0..rows).map(of).collect()
}

/// Notes which copies of a row leave and enter.
fn choose(
    row: usize,
    entry: &Entry<'_>,
    (old, leave): (&Shown, &mut SelectedRows),
    (new, enter): (&Shown, &mut SelectedRows),
) {
    let (before, behind) = (old.starts[row], new.starts[row]);
    let is_equal = |at: u32, there: u32| {
        let mut functions = old.functions.iter().zip(&new.functions);
        functions.all(|(old, new)| old.is_equal(at as usize, new, there as usize))
    };
    let [gone, here] = entry.copies.map(|copies| copies as usize);
    let mut stays = vec![false; here];
    for at in (before..).take(gone) {
        let mut others = (behind..).zip(&mut stays);
        let is_few = gone * here <= FEW;
        let same = others.find(|(there, stays)| is_few && !**stays && is_equal(at, *there));
        match same {
            Some((_, stays)) => *stays = true,
            None => {
                leave.rows.push(row as u32);
                leave.values.push(at);
            }
        }
    }
    for (there, stays) in (behind..).zip(stays) {
        if !stays {
            enter.rows.push(row as u32);
            enter.values.push(there);
        }
    }
}

impl Block for Running {
    fn apply(&mut self, rows: &RowDelta<'_>, _asked: bool) -> Result<()> {
        self.steps += rows.batch.rows as u64;
        let (encoded, columns) = self.codec.encode_and_return(rows)?;
        let (weights, width) = (self.weights(&columns, rows.batch.rows), self.rows.width());
        for (at, (key, row)) in encoded.into_iter().enumerate() {
            let change = rows.sign * rows.batch.multiplicity(at);
            let own = weights[at * width..(at + 1) * width].iter();
            self.rows.change_weighed(Changed {
                weights: own
                    .map(|one| one.wrapping_mul(i128::from(change)))
                    .collect(),
                key,
                row,
                change,
            });
        }
        Ok(())
    }

    fn changes(&mut self, asked: bool) -> Result<Changes> {
        if !asked && !self.may_overflow() {
            return Ok(Changes::default());
        }
        let (changes, steps) = self.differences(asked)?;
        self.steps += steps;
        Ok(changes)
    }

    fn commit(&mut self) {
        self.rows.commit();
    }

    fn rollback(&mut self) {
        self.rows.rollback();
    }

    fn len(&self) -> Result<u64> {
        Ok(self.rows.copies())
    }

    fn rows(&self) -> Result<RecordBatch> {
        self.shown(self.rows.partitions())
    }

    /// Positions are those of partitions.
    fn scan(&self, place: u64) -> Result<(Changes, Option<u64>)> {
        let (some, next) = self.rows.some(place);
        Ok((each_once(&self.shown(some.into_iter())?), next))
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
        self.rows.check();
    }
}
