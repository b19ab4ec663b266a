//! The rows of a join kept factorised: unions of products over the groups of the views (paper,
//! section 7.3), read back by position.
//!
//! Invariant: between transactions every index that the shape walks by is up to date, so reading
//! needs no change of the views. The order of rows is fixed until the next change.
//! Cost: a row is read in O(depth) look-ups and a binary search an entry's group; many in a row, in
//! constant delay; the number of rows is the count of the root.

mod answer;
mod distinct;
mod fill;
mod leaf_rows;
mod reader;
mod shape;
mod starts;
mod sums;
mod walk;

use std::sync::{Arc, Mutex, PoisonError};

use crate::plan::Plan;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use ringview_core::{Budget, Dictionary, Error, Result};
use ringview_relation::KeyedTable;

use crate::maintained::Maintained;
use distinct::Distinct;
use leaf_rows::LeafRows;
use reader::{Reader, Views};
use ringview_view::answer::listing::check_size;
use ringview_view::{Context, RowDelta};
use shape::Shape;
use starts::Starts;
use walk::{Changed, Paths};

pub(crate) use answer::FactorisedView;

/// Rows of a block: enough to pay for its overhead, few enough for its columns to stay in the cache.
const BLOCK: u64 = 1 << 16;

/// State of a factorised view in addition to its tree.
#[derive(Debug)]
pub(crate) struct Factorised {
    shape: Arc<Shape>,
    /// Number of transactions that have changed it.
    version: u64,
    starts: Mutex<Starts>,
    /// Number of times that indexes were rebuilt.
    rebuilds: u64,
    /// Paths from changed rows to rows of the result, once a delta was requested.
    paths: Option<Paths>,
    /// The change of the result by the running transaction, where it is wanted.
    changed: Option<Changed>,
    /// Whether views join indicator projections.
    projects: bool,
    /// The relations as sets, if each row of the result is there once.
    distinct: Option<Distinct>,
}

/// Position of a stream of rows.
#[derive(Debug)]
struct Position {
    version: u64,
    next: u64,
    reader: Reader,
}

impl Factorised {
    /// State for an empty tree.
    pub(crate) fn new(plan: &Plan, tree: &mut dyn Maintained) -> Self {
        Self {
            shape: Arc::new(Shape::compile(plan, tree)),
            version: 0,
            starts: Mutex::default(),
            rebuilds: 0,
            paths: None,
            changed: None,
            projects: plan.tree.nodes.iter().any(|node| node.indicator.is_some()),
            distinct: plan.distinct.then(|| Distinct::new(plan, tree.fields())),
        }
    }

    /// Whether rows are read before the tree takes them: for a delta, or for DISTINCT.
    fn reads_rows(&self, cx: &Context<'_, '_>) -> bool {
        cx.wanted.is_some() || self.distinct.is_some()
    }

    /// Applies rows at an atom, to the tree too; collects the delta if it is wanted.
    fn apply_to(
        &mut self,
        (plan, tree): (&Plan, &mut dyn Maintained),
        rows: RowDelta<'_>,
        cx: &Context<'_, '_>,
    ) -> Result<()> {
        let budget = cx.budget;
        if !self.reads_rows(cx) {
            return tree.apply(rows, budget);
        }
        let atom = rows.atom;
        let (columns, counts) = tree.read(rows)?;
        let times = counts.iter().map(|&count| count as i64).collect();
        let mut rows = LeafRows { columns, times };
        if let Some(distinct) = &mut self.distinct {
            rows = distinct.turn(atom, rows)?;
        }
        if cx.wanted.is_none() {
            return tree.apply_keys(atom, rows.columns, &rows.times, budget);
        }
        let paths = self.paths.get_or_insert_with(|| Paths::new(plan, tree));
        let changed = self.changed.get_or_insert_with(|| paths.nothing());
        if !self.projects {
            paths.apply(tree, atom, &rows, changed, budget)?;
            return tree.apply_keys(atom, rows.columns, &rows.times, budget);
        }
        let [leave, come] = rows.by_sign();
        paths.apply(tree, atom, &leave, changed, budget)?;
        tree.apply_keys(atom, rows.columns, &rows.times, budget)?;
        paths.apply(tree, atom, &come, changed, budget)
    }

    /// The running transaction's changes stay; those of the tree do already.
    fn commit(&mut self, tree: &mut dyn Maintained) {
        self.refresh(tree);
        self.version += 1;
        self.changed = None;
        self.distinct.iter_mut().for_each(Distinct::commit);
    }

    /// Before a commit: notes which starts of entries it moves.
    fn note_starts(&mut self, tree: &dyn Maintained) {
        let starts = self.starts.get_mut();
        let starts = starts.unwrap_or_else(PoisonError::into_inner);
        if starts.is_empty() {
            return;
        }
        for (at, union) in self.shape.unions.iter().enumerate() {
            if let Some(table) = tree.table(union.node) {
                starts.note(at, table, table.index_at(union.index));
            }
        }
    }

    /// Brings the indexes up to date; whether one was made anew, so that the order of rows is another. A part
    /// without rows has no order: what a transaction brought there may be undone as a whole.
    fn refresh(&mut self, tree: &mut dyn Maintained) -> bool {
        let starts = self.starts.get_mut();
        let starts = starts.unwrap_or_else(PoisonError::into_inner);
        let mut rebuilds = 0;
        for (at, union) in self.shape.unions.iter().enumerate() {
            if let Some(table) = tree.table_mut(union.node) {
                table.refresh_index(union.index);
                if !table.is_empty() {
                    rebuilds += table.index_at(union.index).rebuilds();
                }
                starts.commit(at, table, table.index_at(union.index));
            }
        }
        std::mem::replace(&mut self.rebuilds, rebuilds) != rebuilds
    }

    /// The running transaction's changes are undone, those of the tree too: rows are as before, and so
    /// is their order unless room was given back.
    fn undo(&mut self, tree: &mut dyn Maintained) {
        if self.refresh(tree) {
            self.version += 1;
        }
        self.changed = None;
        self.distinct.iter_mut().for_each(Distinct::rollback);
    }

    fn views<'a>(&'a self, tree: &'a dyn Maintained, nodes: usize) -> Views<'a> {
        let table = |node| match tree.table(node) {
            Some(table) => table,
            None => unreachable!("a factorised tree keeps all its views"),
        };
        Views {
            shape: &self.shape,
            tables: (0..nodes).map(table).collect::<Vec<&KeyedTable>>(),
        }
    }

    /// Number of rows. O(1).
    fn len(&self, tree: &dyn Maintained) -> Result<u64> {
        self.views(tree, self.nodes()).rows()
    }

    fn nodes(&self) -> usize {
        let nodes = self.shape.unions.iter().map(|union| union.node);
        1 + nodes.max().unwrap_or(0).max(self.shape.root.count)
    }

    /// Some rows, in order.
    fn slice(
        &self,
        tree: &dyn Maintained,
        schema: SchemaRef,
        (from, to): (u64, u64),
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<RecordBatch> {
        self.check_memory(to - from, budget)?;
        let views = self.views(tree, self.nodes());
        let mut reader = Reader::new(&self.shape);
        let done = self.out_of_order(&mut reader, |reader| {
            let mut start = from;
            while start < to {
                let end = to.min(start + BLOCK);
                reader.read(&views, start, end)?;
                budget.work(end - start)?;
                start = end;
            }
            Ok(())
        });
        done?;
        batch(&views, &mut reader, schema, (dictionary, budget))
    }

    /// `rows` rows, each drawn from all with equal chances.
    fn draw(
        &self,
        tree: &dyn Maintained,
        schema: SchemaRef,
        (rows, seed): (u64, u64),
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<RecordBatch> {
        self.check_memory(rows, budget)?;
        let views = self.views(tree, self.nodes());
        let total = views.rows()?;
        if total == 0 && rows > 0 {
            return Err(Error::Value {
                place: "a draw from the rows of a join".to_owned(),
                problem: "there are none; draw when there are".to_owned(),
            });
        }
        let mut random = Pcg64::seed_from_u64(seed);
        let mut reader = Reader::new(&self.shape);
        let done = self.out_of_order(&mut reader, |reader| {
            (0..rows).try_for_each(|_| {
                let row = below(total, &mut random);
                // A row out of order is looked for in each union.
                budget.work(16)?;
                reader.read(&views, row, row + 1)
            })
        });
        done?;
        batch(&views, &mut reader, schema, (dictionary, budget))
    }

    /// Whether there is room for so many rows as one table: their columns, and an operation a union.
    fn check_memory(&self, rows: u64, budget: &Budget<'_>) -> Result<()> {
        let column = |column: &shape::Column| {
            let null = u64::from(column.null.is_some());
            match &column.ty {
                // Its words, where they end, and the texts.
                ty if ty.is_interned() => 16 + null,
                _ if column.high.is_some() => 16 + null,
                _ => 8 + null,
            }
        };
        let columns: u64 = self.shape.columns.iter().map(column).sum();
        budget.reserve(
            rows.saturating_mul(columns),
            || format!("a table of {rows} rows"),
            "read the rows as a stream, or some of them",
        )?;
        check_size(rows, self.shape.columns.len())
    }

    /// Lends a reader what is known of where entries start.
    fn out_of_order<T>(&self, reader: &mut Reader, read: impl FnOnce(&mut Reader) -> T) -> T {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        reader.starts = Some(std::mem::take(&mut *starts));
        let done = read(reader);
        *starts = reader.starts.take().unwrap_or_default();
        starts.steps += reader.steps;
        done
    }

    /// The place before the first row.
    fn start(&self) -> Position {
        Position {
            version: self.version,
            next: 0,
            reader: Reader::new(&self.shape),
        }
    }

    /// Whether nothing has changed since a place was made.
    fn is_current(&self, place: &Position) -> bool {
        place.version == self.version
    }

    /// The next block of rows; `None` behind the last.
    fn next(
        &self,
        tree: &dyn Maintained,
        place: &mut Position,
        schema: SchemaRef,
        dictionary: &Dictionary,
    ) -> Result<Option<RecordBatch>> {
        let views = self.views(tree, self.nodes());
        let to = views.rows()?.min(place.next + BLOCK);
        if place.next >= to {
            return Ok(None);
        }
        place.reader.clear();
        place.reader.read(&views, place.next, to)?;
        place.next = to;
        let all = (dictionary, &Budget::free());
        batch(&views, &mut place.reader, schema, all).map(Some)
    }

    /// Entries and patterns that reading out of order has handled.
    fn steps_read(&self) -> u64 {
        let starts = self.starts.lock();
        starts.unwrap_or_else(PoisonError::into_inner).steps
    }

    fn bytes(&self) -> usize {
        let starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let distinct = self.distinct.as_ref().map_or(0, Distinct::memory_usage);
        starts.memory_usage() + distinct
    }

    /// Checks the invariants; for tests.
    fn check_sets(&self, plan: &Plan, tree: &dyn Maintained) {
        let leaf = |atom| {
            let mut nodes = plan.tree.nodes.iter();
            tree.table(nodes.position(|node| node.atom == Some(atom))?)
        };
        self.distinct.iter().for_each(|sets| sets.check(leaf));
    }
}

impl ringview_view::Position for Position {
    fn steps(&self) -> u64 {
        self.reader.steps
    }
}

fn batch(
    views: &Views<'_>,
    reader: &mut Reader,
    schema: SchemaRef,
    (dictionary, budget): (&Dictionary, &Budget<'_>),
) -> Result<RecordBatch> {
    let columns = &views.shape.columns;
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for (column, lent) in columns.iter().zip(&mut reader.lent) {
        let table = views.tables[views.shape.unions[column.union].node];
        let ops = &reader.ops[column.union];
        arrays.push(fill::array(
            column,
            table,
            (ops, reader.rows),
            lent,
            (dictionary, budget),
        )?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(reader.rows));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|problem| Error::Value {
        place: "the rows of a join".to_owned(),
        problem: problem.to_string(),
    })
}

/// A number below `limit`, each with equal chances: what lies in the incomplete last round of 2^64
/// is thrown away (Lemire).
fn below(limit: u64, random: &mut Pcg64) -> u64 {
    let incomplete = limit.wrapping_neg() % limit;
    loop {
        let wide = u128::from(random.next_u64()) * u128::from(limit);
        if wide as u64 >= incomplete {
            return (wide >> 64) as u64;
        }
    }
}
