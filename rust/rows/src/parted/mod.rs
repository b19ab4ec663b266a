//! Functions over the rows of each partition: window functions, and aggregates that need all rows of a group.
//!
//! The rows of a partition are kept in their order. A transaction computes what is shown of each partition that it touches
//! anew, with the library's evaluators (`ringview_expr::Calls`). Invariant: `shown` is the functions of the rows that are
//! kept, as it was before the transaction; `next` is what it will be for the partitions that the transaction touched. The
//! delta is their difference. Cost: O(rows of the partition) a partition that is touched, so O(all rows) where there is one;
//! what is shown is kept beside the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, Parted as Definition};
use ringview_view::answer::Cells;
use ringview_view::{Answer, Context, Delta, Key, RowDelta, View};

use crate::codec::{Codec, PartitionKey};
use crate::explained::{described, recomputed};
use crate::kept::Kept;
use crate::output::{Output, Shown};

/// About how many rows are computed at once.
const CHUNK: usize = 1 << 16;

/// A view of functions over the rows of partitions.
#[derive(Debug)]
pub struct Parted {
    definition: Definition,
    codec: Codec,
    kept: Kept,
    output: Output,
    /// By partition, what is shown.
    shown: BTreeMap<PartitionKey, Vec<Shown>>,
    /// The same behind the transaction, for the partitions that it touched.
    next: BTreeMap<PartitionKey, Vec<Shown>>,
    explanation: Explanation,
    bytes: usize,
    steps: u64,
}

impl Parted {
    /// The view of a bound query, without rows.
    ///
    /// # Errors
    /// `UnknownColumn`; `Unsupported` for a function that does not take its arguments.
    pub fn new(query: &Bound, definition: Definition) -> Result<Self> {
        let mut made = Self {
            codec: Codec::of(&definition, &query.atoms[0])?,
            kept: Kept::default(),
            output: Output::of(query, &definition)?,
            shown: BTreeMap::new(),
            next: BTreeMap::new(),
            explanation: described(query),
            bytes: 0,
            steps: 0,
            definition,
        };
        if made.shows_nothing_as_a_row() {
            made.compute(vec![PartitionKey::default()])?;
            made.keep_next();
        }
        Ok(made)
    }

    /// Whether there is a row even over no rows.
    fn shows_nothing_as_a_row(&self) -> bool {
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
                    .kept
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
            let is_row = self.shows_nothing_as_a_row();
            let shown = self.output.compute(&columns, &ends, is_row)?;
            self.next.extend(chunk.into_iter().zip(shown));
        }
        Ok(())
    }

    /// What will be shown takes the place of what is.
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

impl View for Parted {
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
        let touched: BTreeSet<&PartitionKey> =
            self.kept.changes().iter().map(|(key, _, _)| key).collect();
        let touched = touched.into_iter().cloned().collect();
        self.compute(touched)?;
        let Some(wanted) = cx.wanted else {
            return Ok(Delta::default());
        };
        let mut changes: BTreeMap<&[u8], i64> = BTreeMap::new();
        for (key, next) in &self.next {
            for (rows, sign) in [(self.shown.get(key), -1), (Some(next), 1)] {
                for (row, copies) in rows.into_iter().flatten() {
                    *changes.entry(row).or_default() += sign * copies;
                }
            }
        }
        // Rows that leave come before those that take their place.
        let chosen = changes.into_iter().filter(|(_, change)| *change != 0);
        let (leave, enter): (Vec<_>, Vec<_>) = chosen.partition(|(_, change)| *change < 0);
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

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.kept.commit();
        self.keep_next();
    }

    fn rollback(&mut self) {
        self.kept.rollback();
        self.next.clear();
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
        // A node of the search tree is two thirds full.
        size_of::<Self>() + self.kept.memory_usage() + self.bytes + self.bytes / 2
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn check(&self) {
        self.kept.check();
        assert!(self.next.is_empty(), "a transaction left rows behind");
        let rows = |of: &[Shown]| of.iter().map(|(_, copies)| *copies).sum::<i64>();
        let shown: i64 = self.shown.values().map(|of| rows(of)).sum();
        let partitions = self.kept.partitions();
        let expected = match (self.definition.grouped, self.shows_nothing_as_a_row()) {
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

/// Its rows hold their own strings.
impl HoldsStrings for Parted {
    fn mark_strings(&self, _held: &mut LiveIds) {}

    fn string_words(&self) -> usize {
        0
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

impl Answer for Parted {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.output.schema())
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        let rows = self.shown.values().flatten();
        Ok(rows.map(|(_, copies)| copies.unsigned_abs()).sum())
    }

    fn rows(&self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        budget.ask()?;
        let rows = self.shown.values().flatten();
        let rows = rows
            .flat_map(|(row, copies)| std::iter::repeat_n(&**row, copies.unsigned_abs() as usize));
        self.output.decode(rows)
    }

    /// Positions are those of partitions.
    fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        (_dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        budget.ask()?;
        let (mut number, mut next) = (0, place);
        let from = usize::try_from(place).unwrap_or(usize::MAX);
        let some = self.shown.values().skip(from).take_while(|rows| {
            let is_taken = number < CHUNK;
            number += rows.len();
            next += u64::from(is_taken);
            is_taken
        });
        let rows = some.flatten();
        let rows = rows
            .flat_map(|(row, copies)| std::iter::repeat_n(&**row, copies.unsigned_abs() as usize));
        let rows = self.output.decode(rows)?;
        let is_more = next < self.shown.len() as u64;
        Ok((Delta::each_once(&rows, wanted), is_more.then_some(next)))
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a block of partitions".to_owned(),
            why: "they are found by their partition alone".to_owned(),
            instead: "filter what you read".to_owned(),
        })
    }
}
