//! A transaction: a list of changes that happen together or not at all.
//!
//! Invariant: either every op is applied to its table and to all views over it, or tables and views
//! are exactly as before, to the last bit of every float. Names and static tables are checked before
//! anything moves. Rows are then taken a chunk at a time: encoded once, for the base rows and all
//! views, and read no more: base rows and views remember by themselves what they were.
//! Cost: a change costs a row what each view costs that reads it, and O(1) for the base row; undoing
//! costs no more. A small batch allocates nothing once warm.

mod budget;
pub(crate) mod chunks;
mod deliver;
mod factors;
mod keyed;
mod net;
mod outcome;
pub(crate) mod prepare;
mod strings;
mod time;
pub(crate) mod workers;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Error, Result};
use ringview_view::RowDelta;

use crate::op::{ByKey, Change, Direction, Keyed, Op};
use crate::state::State;
use crate::storage::by_key::names_keys;
use crate::storage::table::Table;
use crate::undo::{NO_TABLE, Undo};
use crate::{OnCommit, Poll};
use chunks::{RowNumbers, chunks};
use deliver::deliver;

/// Rows of a transaction for which a table has room of its own.
const FEW: usize = 1 << 10;

/// The table whose own room the rows of a transaction take: that of its first change, if they are few.
/// Tables take turns, and each has columns of its own.
fn home<'a, C>(ops: &[C], undo: &Undo) -> Option<usize>
where
    C: Copy + Into<Change<'a>>,
{
    let rows = |op: &C| (*op).into().rows();
    let rows = ops.iter().flat_map(rows).map(RecordBatch::num_rows);
    let few = rows.sum::<usize>() <= FEW;
    undo.tables.first().copied().filter(|_| few)
}

impl State {
    /// Applies a transaction; `keep` is called once nothing else can fail.
    pub(crate) fn apply<'a, C>(
        &mut self,
        ops: &[C],
        net: bool,
        poll: Poll<'_>,
        keep: OnCommit<'_>,
    ) -> Result<()>
    where
        C: Copy + Into<Change<'a>>,
    {
        let mut undo = self.undo.take().unwrap_or_default();
        let outcome = self.begin(ops, &mut undo).and_then(|()| {
            let home = home(ops, &undo);
            let mut batch = std::mem::take(self.batch_at(home));
            let budget = self.budget(poll);
            self.note(false, 0, &mut undo, &budget);
            let ran = if net {
                self.run_net(ops, &mut undo, &mut batch, &budget)
            } else {
                self.run(ops, &mut undo, &mut batch, &budget)
            };
            let passed = ran.and_then(|()| self.pass_time(&mut undo, &budget));
            let settled = passed.and_then(|()| self.prepare(&mut undo, &budget));
            let outcome = settled.and_then(|()| keep());
            match &outcome {
                Ok(()) => self.commit(&mut undo),
                Err(_) => {
                    self.roll_back(&mut undo);
                    self.recount();
                }
            }
            *self.batch_at(home) = batch;
            outcome
        });
        self.undo = Some(undo);
        outcome
    }

    /// Buffer of the rows of a transaction: that of a table, or the shared one.
    fn batch_at(&mut self, home: Option<usize>) -> &mut Batch {
        match home {
            Some(table) => &mut self.storage.tables[table].batch,
            None => &mut self.storage.batch,
        }
    }

    /// Checks names and static tables.
    fn begin<'a, C>(&self, ops: &[C], undo: &mut Undo) -> Result<()>
    where
        C: Copy + Into<Change<'a>>,
    {
        undo.begin(self.graph.nodes.len());
        for op in ops {
            let Some(name) = (*op).into().table() else {
                undo.of_op.push(NO_TABLE);
                continue;
            };
            let index = self.storage.index(name)?;
            let table = &self.storage.tables[index];
            if table.is_static && !table.readers.is_empty() {
                return Err(Error::Static {
                    table: table.name.clone(),
                    views: self.graph.readers_of(&table.name),
                });
            }
            undo.of_op.push(index);
            undo.tables.push(index);
        }
        Ok(())
    }

    fn run<'a, C>(
        &mut self,
        ops: &[C],
        undo: &mut Undo,
        batch: &mut Batch,
        budget: &Budget<'_>,
    ) -> Result<()>
    where
        C: Copy + Into<Change<'a>>,
    {
        for (index, op) in ops.iter().enumerate() {
            self.run_one((index, &(*op).into()), undo, batch, budget)?;
        }
        Ok(())
    }

    pub(crate) fn run_one(
        &mut self,
        (index, op): (usize, &Change<'_>),
        undo: &mut Undo,
        batch: &mut Batch,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let table = undo.of_op[index];
        match op {
            Change::Advance(to) => self.set_clock(*to, undo),
            Change::Rows(op) if names_keys(&self.storage.tables[table], op)? => {
                self.run_keyed((table, ByKey::Delete, op.rows), undo, batch, budget)
            }
            Change::Rows(op) => self.run_rows((table, op), undo, batch, budget),
            Change::Product(product) => self.run_product((table, product), undo, budget),
            Change::Keyed(Keyed { by, rows, .. }) => {
                self.run_keyed((table, *by, rows), undo, batch, budget)
            }
        }
    }

    fn run_rows(
        &mut self,
        (table, op): (usize, &Op<'_>),
        undo: &mut Undo,
        batch: &mut Batch,
        budget: &Budget<'_>,
    ) -> Result<()> {
        for (first, chunk) in chunks(op.rows) {
            self.encode(op, &chunk, first, table, batch)?;
            if batch.rows > 0 {
                self.apply_chunk(
                    (table, op.direction),
                    RowNumbers::From(first),
                    undo,
                    batch,
                    budget,
                )?;
                self.done(batch.rows, budget)?;
            }
        }
        Ok(())
    }

    /// Encodes rows of an op, the first of which is its row `first`.
    pub(crate) fn encode(
        &mut self,
        op: &Op<'_>,
        rows: &RecordBatch,
        first: usize,
        table: usize,
        into: &mut Batch,
    ) -> Result<()> {
        let table = &mut self.storage.tables[table];
        table.encoder.encode(
            rows,
            first,
            &table.needed,
            &mut self.storage.dictionary,
            op.multiplicity,
            into,
        )
    }

    /// Base rows first, where they may refuse; then every leaf that reads the table.
    pub(crate) fn apply_chunk(
        &mut self,
        (index, direction): (usize, Direction),
        place: RowNumbers<'_>,
        undo: &mut Undo,
        batch: &Batch,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let (comes, goes) = direction.of(batch);
        self.note(comes > 0, goes, undo, budget);
        let table = &mut self.storage.tables[index];
        let dictionary = &self.storage.dictionary;
        if direction == Direction::Delete || batch.multiplicity.is_some() {
            undo.words_left += table.texts * batch.rows;
        }
        let is_bag = table.unique.is_none();
        let only_adds = is_bag && direction == Direction::Insert && batch.multiplicity.is_none();
        let mut concurrent = None;
        match table.rows.as_mut() {
            Some(rows) if only_adds => concurrent = Some(|| rows.insert(batch, dictionary)),
            Some(rows) => match direction {
                Direction::Insert => rows.insert(batch, dictionary)?,
                Direction::Delete => rows.delete(batch, dictionary)?,
            },
            None => {
                undo.totals.push((index, table.total));
                let change = direction.sign().saturating_mul(Table::count(batch));
                table.total = table.total.saturating_add(change);
            }
        }
        if let Some(aged) = &mut table.retention {
            aged.apply(batch, direction.sign());
        }
        let (readers, workers) = (&table.readers[..], &self.workers);
        let views = (&mut self.graph.nodes[..], readers);
        deliver(
            views,
            (workers, batch.rows),
            undo,
            budget,
            concurrent,
            |view, atom, budget| {
                let rows = RowDelta {
                    atom,
                    batch,
                    sign: direction.sign(),
                    dictionary,
                };
                view.apply(rows, budget).map_err(|error| match place {
                    RowNumbers::From(first) => error.counted_from(first as u64),
                    RowNumbers::Rows(rows) => error.counted_by(|row| rows[row as usize]),
                })
            },
        )
    }
}
