//! Functions that look at few rows around each row: LAG and LEAD, and frames of so many rows.
//!
//! The rows of a partition are kept in their order, and nothing of what is shown: a transaction computes the values around
//! the rows that it changes, as they were and as they are. Invariant: the delta is what differs between the functions of all
//! rows before the transaction and behind it. Cost: O(log n + rows that a frame spans) a row that changes; whoever reads all
//! rows computes them.

mod region;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, Parted as Definition, Reach};
use ringview_view::answer::Cells;
use ringview_view::{Answer, Context, Delta, Key, RowDelta, View};

use crate::codec::{Codec, PartitionKey, Row};
use crate::explained::{described, recomputed};
use crate::kept::Kept;
use crate::output::{Output, Piece};
use region::{Region, When, regions};

/// About how many rows are read at once.
const CHUNK: usize = 1 << 16;

/// A view of functions over few rows around each row.
#[derive(Debug)]
pub struct Framed {
    definition: Definition,
    reach: Reach,
    codec: Codec,
    kept: Kept,
    output: Output,
    explanation: Explanation,
    steps: u64,
}

impl Framed {
    /// The view of a bound query whose functions look so far, without rows.
    ///
    /// # Errors
    /// `UnknownColumn`; `Unsupported` for a function that does not take its arguments.
    pub fn new(query: &Bound, definition: Definition, reach: Reach) -> Result<Self> {
        Ok(Self {
            codec: Codec::of(&definition, &query.atoms[0])?,
            kept: Kept::default(),
            output: Output::of(query, &definition)?,
            explanation: described(query),
            steps: 0,
            definition,
            reach,
        })
    }

    /// What is shown of regions at a time, where it may have changed, as columns; none of no rows.
    fn around(&mut self, regions: &[Region<'_>], when: When) -> Result<Vec<ArrayRef>> {
        let (mut rows, mut pieces): (Vec<&Row>, _) = (Vec::new(), Vec::new());
        for region in regions {
            let from = rows.len();
            rows.extend(region.rows(when));
            let own = rows.len() - from;
            pieces.push(Piece {
                rows: from..rows.len(),
                shown: region.affected(own, self.reach),
            });
        }
        self.steps += rows.len() as u64;
        let columns = self.codec.decode(rows.into_iter())?;
        self.output.columns(&columns, &pieces)
    }

    /// All that is shown, of some partitions.
    fn shown<'k>(
        &self,
        partitions: impl Iterator<Item = &'k crate::kept::Partition>,
    ) -> Result<RecordBatch> {
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

impl View for Framed {
    fn apply(&mut self, rows: RowDelta<'_>, _cx: &Context<'_, '_>) -> Result<()> {
        self.steps += rows.batch.rows as u64;
        let encoded = self.codec.encode(&rows)?;
        for (at, (key, row)) in encoded.into_iter().enumerate() {
            let change = rows.sign * rows.batch.multiplicity(at);
            self.kept.change(key, row, change);
        }
        Ok(())
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        let kept = std::mem::take(&mut self.kept);
        let delta = self.delta(&kept, cx.wanted);
        self.kept = kept;
        delta
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.kept.commit();
    }

    fn rollback(&mut self) {
        self.kept.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(format!(
                "{} rows kept, a change recomputes {}",
                self.kept.len(),
                recomputed(&self.definition)
            )),
            bytes: Some(self.memory_usage() as u64),
            ..self.explanation.clone()
        }
    }

    fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.kept.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn check(&self) {
        self.kept.check();
    }
}

impl Framed {
    /// What differs by the changes of a transaction, if somebody wants it; it is computed in any case, as it may fail.
    fn delta(&mut self, kept: &Kept, wanted: Option<&[bool]>) -> Result<Delta> {
        let mut changed: BTreeMap<&PartitionKey, BTreeMap<&Row, i64>> = BTreeMap::new();
        for (key, row, by) in kept.changes() {
            *changed.entry(key).or_default().entry(row).or_default() += by;
        }
        for rows in changed.values_mut() {
            rows.retain(|_, by| *by != 0);
        }
        let found = changed
            .iter()
            .flat_map(|(key, rows)| regions(kept.partition(key), rows, self.reach));
        let found: Vec<Region<'_>> = found.collect();
        let behind = self.around(&found, When::Behind)?;
        let Some(wanted) = wanted else {
            return Ok(Delta::default());
        };
        let before = self.around(&found, When::Before)?;
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
        changes.retain(|(_, change)| *change != 0);
        // Rows that leave come before those that take their place.
        let (leave, enter): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|(_, change)| *change < 0);
        let all = || leave.iter().chain(&enter);
        let rows = self.output.decode(all().map(|(row, _)| *row))?;
        let columns = rows.columns().iter().zip(wanted);
        let column =
            |(array, &wanted): (&ArrayRef, &bool)| wanted.then(|| Cells::Array(Arc::clone(array)));
        Ok(Delta {
            columns: columns.map(column).collect(),
            multiplicity: all().map(|(_, change)| *change).collect(),
        })
    }
}

/// Its rows hold their own strings.
impl HoldsStrings for Framed {
    fn mark_strings(&self, _held: &mut LiveIds) {}

    fn string_words(&self) -> usize {
        0
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

impl Answer for Framed {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.output.schema())
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        Ok(self.kept.copies())
    }

    fn rows(&self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        budget.ask()?;
        self.shown(self.kept.partitions())
    }

    /// Positions are those of partitions.
    fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        (_dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        budget.ask()?;
        let (mut rows, mut next) = (0, place);
        let from = usize::try_from(place).unwrap_or(usize::MAX);
        let some = self.kept.partitions().skip(from).take_while(|partition| {
            let is_taken = rows < CHUNK;
            rows += partition.len();
            next += u64::from(is_taken);
            is_taken
        });
        let shown = self.shown(some)?;
        let is_more = next < self.kept.partitions().count() as u64;
        Ok((Delta::each_once(&shown, wanted), is_more.then_some(next)))
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a block of partitions".to_owned(),
            why: "they are found by their partition alone".to_owned(),
            instead: "filter what you read".to_owned(),
        })
    }
}
