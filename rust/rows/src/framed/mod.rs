//! Functions that look at few rows around each row: LAG and LEAD, and frames of so many rows.
//!
//! The rows of a partition are kept in their order, and nothing of what is shown: a transaction computes the values around
//! the rows that it changes, as they were and as they are. Invariant: the delta is what differs between the functions of all
//! rows before the transaction and behind it. Cost: O(log n + rows that a frame spans) a row that changes; whoever reads all
//! rows computes them.

mod region;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use ringview_core::{Result, Schema};
use ringview_query::{Bound, Call, FrameBounds, Parted as Definition, Rows};
use ringview_view::RowDelta;

use crate::block::{Block, Changes, each_once, other_rows};
use crate::codec::{Codec, Row};
use crate::explained::recomputed;
use crate::numbers::NARROW;
use crate::output::{Output, Piece};
use crate::partitions::{Partition, PartitionedRows, leaving_first};
use region::{Region, When, regions};

/// A view of functions over few rows around each row.
#[derive(Debug)]
pub(crate) struct Framed {
    definition: Definition,
    frame_bounds: FrameBounds,
    codec: Codec,
    rows: PartitionedRows,
    output: Output,
    /// Whether there may be a row whose values cannot be computed.
    may_fail: bool,
    steps: u64,
}

impl Framed {
    /// The view of a bound query whose functions look so far, without rows.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        let Some(Rows::Parted(definition)) = query.rows.clone() else {
            return Err(other_rows());
        };
        let frame_bounds = definition.frame_bounds().ok_or_else(other_rows)?;
        Ok(Self {
            codec: Codec::of(&definition, &query.atoms[0])?,
            rows: PartitionedRows::default(),
            output: Output::of(query, &definition)?,
            may_fail: may_fail(&definition, &definition.schema(&query.atoms[0].schema)?),
            steps: 0,
            definition,
            frame_bounds,
        })
    }

    /// Columns of regions at a time, where they may have changed; none for no rows.
    fn window_values(&mut self, regions: &[Region<'_>], when: When) -> Result<Vec<ArrayRef>> {
        let (mut rows, mut pieces): (Vec<&Row>, _) = (Vec::new(), Vec::new());
        for region in regions {
            let from = rows.len();
            rows.extend(region.rows(when));
            let own = rows.len() - from;
            pieces.push(Piece {
                rows: from..rows.len(),
                shown: region.affected(own, self.frame_bounds),
            });
        }
        self.steps += rows.len() as u64;
        let columns = self.codec.decode(rows.into_iter())?;
        self.output.columns(&columns, &pieces)
    }

    /// All that is shown, of some partitions.
    fn shown<'k>(&self, partitions: impl Iterator<Item = &'k Partition>) -> Result<RecordBatch> {
        let (mut rows, mut pieces): (Vec<&Row>, _) = (Vec::new(), Vec::new());
        for partition in partitions {
            let from = rows.len();
            for (row, copies) in partition.rows() {
                rows.extend(std::iter::repeat_n(row, copies as usize));
            }
            pieces.push(Piece {
                rows: from..rows.len(),
                shown: 0..rows.len() - from,
            });
        }
        let columns = self.codec.decode(rows.into_iter())?;
        self.output.batch(self.output.columns(&columns, &pieces)?)
    }
}

impl Framed {
    /// Changes of the result by a transaction, if requested; they are computed in any case, as that may fail.
    fn differences(&mut self, rows: &PartitionedRows, asked: bool) -> Result<Changes> {
        let changed = rows.net();
        let found = changed
            .iter()
            .flat_map(|(key, net)| regions(rows.partition(key), net, self.frame_bounds));
        let found: Vec<Region<'_>> = found.collect();
        let behind = self.window_values(&found, When::Behind)?;
        if !asked {
            return Ok(Changes::default());
        }
        let before = self.window_values(&found, When::Before)?;
        let (before, behind) = (self.output.encoded(&before)?, self.output.encoded(&behind)?);
        let mut signed: Vec<(&[u8], i64)> = Vec::with_capacity(before.len() + behind.len());
        signed.extend(before.iter().map(|row| (&**row, -1)));
        signed.extend(behind.iter().map(|row| (&**row, 1)));
        signed.sort_unstable_by_key(|(row, _)| *row);
        let mut changes: Vec<(&[u8], i64)> = Vec::new();
        for (row, sign) in signed {
            match changes.last_mut() {
                Some((last, change)) if *last == row => *change += sign,
                _ => changes.push((row, sign)),
            }
        }
        let (rows, often) = leaving_first(changes.into_iter());
        let rows = self.output.decode(rows.into_iter())?;
        Ok((rows.columns().to_vec(), often))
    }
}

/// Whether values of functions may not fit: those that show a row always do, and so do sums of few numbers of few digits.
fn may_fail(definition: &Definition, schema: &Schema) -> bool {
    let fits = |call: &Call| match call.function.as_str() {
        "lag" | "lead" => call.constants.len() < 2,
        "first_value" | "last_value" | "nth_value" | "count" | "min" | "max" => true,
        "sum" | "avg" | "mean" => {
            let mut types = call.arguments.iter().map(|name| {
                let at = schema.index_of(name);
                at.map(|at| schema.fields()[at].ty.to_arrow())
            });
            types.all(|ty| match ty {
                Ok(DataType::Decimal128(digits, _)) => digits <= NARROW,
                Ok(_) => true,
                Err(_) => false,
            })
        }
        _ => false,
    };
    !definition.calls.iter().all(fits)
}

impl Block for Framed {
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
        if !asked && !self.may_fail {
            return Ok(Changes::default());
        }
        let rows = std::mem::take(&mut self.rows);
        let changes = self.differences(&rows, asked);
        self.rows = rows;
        changes
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
        let (rows, recomputed) = (self.rows.len(), recomputed(&self.definition));
        format!("{rows} rows kept, a change recomputes {recomputed}")
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
