//! A block of rows as a view: what all blocks that keep rows have in common.
//!
//! A block says what it keeps and what it shows of that; the view around it answers readers, and may compute further
//! columns of the rows, or leave some out, as they are read and as they change. Invariant: the view keeps nothing itself, so
//! where a computed value may not fit, a transaction computes it once before it is committed. Cost: that of the block; a
//! column that is computed costs its expression for each row that is read, or changes.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_arrays;
use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_view::answer::{Cells, listing::check_size};
use ringview_view::{Answer, Context, Delta, Key, RowDelta, View};

use crate::codec::{refused, schema_of, zeroed};
use crate::explained::described;
use crate::found::rows_with;
use crate::map::RowMap;
use crate::partitions::CHUNK;

/// Rows by which a result changes, with multiplicities: deleted rows precede inserted ones.
pub type Changes = (Vec<ArrayRef>, Vec<i64>);

/// Operator that keeps the rows of a block.
pub trait Block: Debug + Send + Sync + 'static {
    /// Takes rows of an atom; `asked` says whether changes will be.
    fn apply(&mut self, rows: &RowDelta<'_>, asked: bool) -> Result<()>;

    /// Ends the work that rows as such did not need, before changes are read. Nothing by default.
    fn evaluate(&mut self, _budget: &Budget<'_>) -> Result<()> {
        Ok(())
    }

    /// The transaction's changes to the result; may be empty unless `asked`. All work that may fail is done here.
    fn changes(&mut self, asked: bool) -> Result<Changes>;

    /// Keeps what the transaction changed.
    fn commit(&mut self);

    /// Undoes it.
    fn rollback(&mut self);

    /// Number of rows of the result.
    fn len(&self) -> Result<u64>;

    /// All that is shown, column by column.
    fn rows(&self) -> Result<RecordBatch>;

    /// Some of it from a place on, which is 0 at first, rows with multiplicities, and the place behind, if there is more.
    /// By default all rows are made.
    fn scan(&self, place: u64) -> Result<(Changes, Option<u64>)> {
        let rows = self.rows()?;
        let all = rows.num_rows();
        let from = usize::try_from(place).unwrap_or(all).min(all);
        let len = CHUNK.min(all - from);
        let next = (from + len < all).then_some((from + len) as u64);
        Ok((each_once(&rows.slice(from, len)), next))
    }

    /// Its size, in words.
    fn size(&self) -> String;

    /// Bytes that its rows take.
    fn memory_usage(&self) -> usize;

    /// Rows handled so far.
    fn steps(&self) -> u64;

    /// Checks its invariants between transactions.
    fn check(&self);
}

/// The error for a block that is given rows of another kind.
pub(crate) fn other_rows() -> Error {
    Error::Value {
        place: "the rows of a block".to_owned(),
        problem: "the query computes others".to_owned(),
    }
}

/// Rows, each once.
pub(crate) fn each_once(rows: &RecordBatch) -> Changes {
    (rows.columns().to_vec(), vec![1; rows.num_rows()])
}

/// Repeats each row as often as the ascending places list its number.
pub(crate) fn repeated(rows: RecordBatch, places: Vec<u32>) -> Result<RecordBatch> {
    if places.len() == rows.num_rows() {
        return Ok(rows);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    let columns = take_arrays(rows.columns(), &UInt32Array::from(places), None).map_err(refused)?;
    RecordBatch::try_new_with_options(rows.schema(), columns, &options).map_err(refused)
}

/// See the module.
#[derive(Debug)]
pub struct BlockView<B> {
    pub(crate) block: B,
    /// Projection of its rows; they are shown as they are where absent.
    map: Option<RowMap>,
    schema: SchemaRef,
    explanation: Explanation,
}

impl<B: Block> BlockView<B> {
    /// The view of a bound query, whose block is made for what is below the computed columns, if there are any.
    pub(crate) fn new(query: &Bound, make: impl FnOnce(&Bound) -> Result<B>) -> Result<Self> {
        let (inner, map) = match query.computed_of()? {
            Some(inner) => {
                let map = RowMap::above(query, &inner)?;
                (inner, Some(map))
            }
            None => (query.clone(), None),
        };
        Ok(Self {
            block: make(&inner)?,
            map,
            schema: schema_of(query),
            explanation: described(query),
        })
    }

    /// Whether the changes of a transaction are computed: somebody wants them, or one of them may not be computable.
    fn is_asked(&self, cx: &Context<'_, '_>) -> bool {
        cx.wanted.is_some() || self.map.as_ref().is_some_and(RowMap::may_fail)
    }

    /// Projection of rows with multiplicities.
    fn mapped(&self, columns: Vec<ArrayRef>, often: Vec<i64>) -> Result<Changes> {
        let Some(map) = &self.map else {
            return Ok((columns, often));
        };
        if columns.is_empty() {
            return Ok(Changes::default());
        }
        let inputs = map.inputs(0).iter().map(|&at| zeroed(&columns[at]));
        let (made, often) = map.of_arrays(0, inputs.collect(), often.len(), &|row| often[row])?;
        Ok((made.columns().to_vec(), often))
    }

    /// The same of rows, each once.
    fn shown(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let Some(map) = &self.map else {
            return Ok(rows);
        };
        let inputs = map.inputs(0).iter().map(|&at| zeroed(rows.column(at)));
        Ok(map
            .of_arrays(0, inputs.collect(), rows.num_rows(), &|_| 1)?
            .0)
    }
}

/// Rows in the columns that are wanted.
fn delta(columns: Vec<ArrayRef>, multiplicity: Vec<i64>, wanted: &[bool]) -> Delta {
    let columns = columns.into_iter().zip(wanted);
    let column = |(array, &wanted): (ArrayRef, &bool)| wanted.then_some(Cells::Array(array));
    Delta {
        columns: columns.map(column).collect(),
        multiplicity,
    }
}

impl<B: Block> View for BlockView<B> {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        let asked = self.is_asked(cx);
        self.block.apply(&rows, asked)
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        let asked = self.is_asked(cx);
        self.block.evaluate(cx.budget)?;
        let (columns, often) = self.block.changes(asked)?;
        let (columns, multiplicity) = if asked {
            self.mapped(columns, often)?
        } else {
            Changes::default()
        };
        Ok(match cx.wanted.filter(|_| !multiplicity.is_empty()) {
            Some(wanted) => delta(columns, multiplicity, wanted),
            None => Delta::default(),
        })
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.block.commit();
    }

    fn rollback(&mut self) {
        self.block.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(self.block.size()),
            bytes: Some(self.memory_usage() as u64),
            ..self.explanation.clone()
        }
    }

    fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.block.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.block.steps()
    }

    fn check(&self) {
        self.block.check();
    }
}

/// Its rows hold their own strings.
impl<B: Block> HoldsStrings for BlockView<B> {
    fn mark_strings(&self, _held: &mut LiveIds) {}

    fn string_words(&self) -> usize {
        0
    }

    fn forget_strings(&mut self, _gone: &FreedIds) {}
}

impl<B: Block> Answer for BlockView<B> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn len(&self, dictionary: &Dictionary) -> Result<u64> {
        if self.map.as_ref().is_some_and(RowMap::has_filter) {
            return Ok(self.rows(dictionary, &Budget::free())?.num_rows() as u64);
        }
        self.block.len()
    }

    fn rows(&self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        budget.ask()?;
        check_size(self.block.len()?, self.schema.fields().len())?;
        self.shown(self.block.rows()?)
    }

    /// Positions are those of the block.
    fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        (_dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        budget.ask()?;
        let ((columns, often), next) = self.block.scan(place)?;
        let (columns, multiplicity) = self.mapped(columns, often)?;
        Ok((delta(columns, multiplicity, wanted), next))
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        rows_with(key, &self.rows(dictionary, &Budget::free())?)
    }
}
