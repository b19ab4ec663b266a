//! Rows in an order: all of them, or the first of each partition.
//!
//! `ORDER BY .. LIMIT k OFFSET m`, and `QUALIFY ROW_NUMBER() OVER (PARTITION BY .. ORDER BY ..) <= k` with its kin: the
//! rows of a partition stand in a search tree, and those that are shown are a prefix of it, or a range.
//!
//! Invariant: the delta of a transaction is the difference of the windows of the partitions that it touched. Cost:
//! O(log n) a row that changes, and the rows up to the window's end for each touched partition; where all rows are
//! shown, the rows that change alone.

mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use arrow_select::take::take_arrays;
use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, Ordering};
use ringview_view::{Answer, Context, Delta, Key, RowDelta, View};

use crate::codec::{Codec, Layout, PartitionKey, Row, refused};
use crate::explained::described;
use crate::kept::{Kept, delta};
use window::{Shown, window};

/// A view whose rows are in an order.
#[derive(Debug)]
pub struct Ordered {
    ordering: Ordering,
    codec: Codec,
    schema: SchemaRef,
    kept: Kept,
    /// What was shown of each partition that the transaction touched, before it.
    before: BTreeMap<PartitionKey, Vec<Shown>>,
    explanation: Explanation,
    steps: u64,
}

impl Ordered {
    /// The view of a bound query with an order, without rows.
    ///
    /// # Errors
    /// `UnknownColumn`; `Value` for columns that have no order.
    pub fn new(query: &Bound, ordering: Ordering) -> Result<Self> {
        let fields = query.outputs.iter();
        let fields = fields.map(|output| ArrowField::new(&output.name, output.ty.to_arrow(), true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let shown: Vec<&String> = ordering.names.iter().collect();
        let layout = Layout {
            partition: &ordering.partition,
            order: &ordering.order,
            shown: &shown,
        };
        Ok(Self {
            codec: Codec::new(&layout, &query.atoms[0], Arc::clone(&schema))?,
            schema,
            ordering,
            kept: Kept::default(),
            before: BTreeMap::new(),
            explanation: described(query),
            steps: 0,
        })
    }

    /// Whether all rows are shown, so that a change of the rows is a change of the result.
    fn shows_all(&self) -> bool {
        self.ordering.keep.is_none() && self.ordering.skip == 0
    }

    fn window<'a>(&'a self, key: &PartitionKey) -> impl Iterator<Item = (&'a Row, i64)> + 'a {
        let partition = self.kept.partition(key).into_iter();
        partition.flat_map(|partition| window(partition, &self.ordering))
    }

    /// By how much each row of what is shown has changed.
    fn difference(&self) -> BTreeMap<(&PartitionKey, Row), i64> {
        let mut changes: BTreeMap<(&PartitionKey, Row), i64> = BTreeMap::new();
        if self.shows_all() {
            for (key, row, change) in self.kept.changes() {
                *changes.entry((key, row.clone())).or_default() += change;
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
        changes.retain(|_, change| *change != 0);
        changes
    }
}

impl View for Ordered {
    fn apply(&mut self, rows: RowDelta<'_>, _cx: &Context<'_, '_>) -> Result<()> {
        self.steps += rows.batch.rows as u64;
        let encoded = self.codec.encode(&rows)?;
        for (at, (key, row)) in encoded.into_iter().enumerate() {
            if !self.shows_all() && !self.before.contains_key(&key) {
                let window = self.window(&key).map(|(row, copies)| (row.clone(), copies));
                let window: Vec<Shown> = window.collect();
                self.steps += window.len() as u64;
                self.before.insert(key.clone(), window);
            }
            let change = rows.sign * rows.batch.multiplicity(at);
            self.kept.change(key, row, change);
        }
        Ok(())
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        let Some(wanted) = cx.wanted else {
            return Ok(Delta::default());
        };
        delta(&self.difference(), wanted, |rows| {
            let rows = self.codec.decode(rows.iter().map(|(_, row)| row))?;
            Ok(rows.columns().to_vec())
        })
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.kept.commit();
        self.before.clear();
    }

    fn rollback(&mut self) {
        self.kept.rollback();
        self.before.clear();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        let rows = self.kept.len();
        Explanation {
            size: Some(format!("{rows} rows kept")),
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
        assert!(self.before.is_empty(), "a transaction left rows behind");
        self.kept.check();
    }
}

/// Its rows hold their own strings.
impl HoldsStrings for Ordered {
    fn mark_strings(&self, _held: &mut LiveIds) {}

    fn string_words(&self) -> usize {
        0
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

impl Answer for Ordered {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        let windows = self
            .kept
            .partitions()
            .flat_map(|one| window(one, &self.ordering));
        Ok(windows.map(|(_, copies)| copies.max(0) as u64).sum())
    }

    fn rows(&self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        budget.ask()?;
        // A row that is there many times is decoded once.
        let windows = self
            .kept
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
        let rows = self.codec.decode(distinct.iter().copied())?;
        if places.len() == distinct.len() {
            return Ok(rows);
        }
        let columns =
            take_arrays(rows.columns(), &UInt32Array::from(places), None).map_err(refused)?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(refused)
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a view with an order".to_owned(),
            why: "they are found by their order alone".to_owned(),
            instead: "filter what you read, or leave ORDER BY and LIMIT out of the view".to_owned(),
        })
    }
}
