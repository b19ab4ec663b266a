//! A transaction applied by its net effect.
//!
//! Invariant: for each table with base rows, the net effect of all its changes is applied at the end, deleted rows
//! before inserted ones. So a delete may precede its insert, and a row inserted and deleted is no change at all.
//! Deletes and unique keys are checked on the net effect. Cost: O(1) a row to collect, and the memory of the distinct
//! rows; then that of the net effect.

use std::collections::BTreeMap;

use ringview_core::{Batch, Budget, Error, Result};
use ringview_relation::Net;
use ringview_view::FactorRows;

use super::chunks::{RowNumbers, chunks};
use super::factors;
use crate::CHUNK;
use crate::op::{Change, Direction, Product};
use crate::state::State;
use crate::storage::by_key::names_keys;
use crate::undo::Undo;

/// Handling of the changes of a table.
enum Taken {
    /// Collected.
    Net(Box<Net>),
    /// One after the other, as without base rows nothing is checked.
    AtOnce,
    /// One after the other, by key.
    ByKey,
}

impl State {
    pub(crate) fn run_net<'a, C>(
        &mut self,
        ops: &[C],
        undo: &mut Undo,
        batch: &mut Batch,
        budget: &Budget<'_>,
    ) -> Result<()>
    where
        C: Copy + Into<Change<'a>>,
    {
        let mut tables: BTreeMap<usize, Taken> = BTreeMap::new();
        for (index, op) in ops.iter().enumerate() {
            let (op, at) = ((*op).into(), undo.of_op[index]);
            if let Change::Advance(to) = op {
                self.set_clock(to, undo)?;
                continue;
            }
            let table = &self.storage.tables[at];
            let by_key = match &op {
                Change::Keyed(_) => true,
                Change::Rows(op) => names_keys(table, op)?,
                Change::Product(_) | Change::Advance(_) => false,
            };
            let taken = tables.entry(at).or_insert_with(|| match &table.rows {
                _ if by_key => Taken::ByKey,
                None => Taken::AtOnce,
                Some(rows) => Taken::Net(Box::new(Net::of(rows))),
            });
            match (taken, op) {
                (Taken::ByKey, op) if by_key => {
                    self.run_one((index, &op), undo, batch, budget)?;
                }
                (Taken::AtOnce, op) if !by_key => {
                    self.run_one((index, &op), undo, batch, budget)?;
                }
                (Taken::Net(net), Change::Rows(op)) if !by_key => {
                    for (first, chunk) in chunks(op.rows) {
                        self.encode(&op, &chunk, first, at, batch)?;
                        // Strings of rows that are inserted and deleted may have no reference.
                        undo.words_left += self.storage.tables[at].texts * batch.rows;
                        self.note(op.direction.of(batch).0 > 0, 0, undo, budget);
                        add(net, (batch, op.direction, first), budget)?;
                    }
                }
                (Taken::Net(net), Change::Product(product)) => {
                    self.collect(net, at, &product, undo, budget)?;
                }
                _ => return Err(mixed(&table.name)),
            }
        }
        for (&table, taken) in &tables {
            let Taken::Net(net) = taken else { continue };
            for direction in [Direction::Delete, Direction::Insert] {
                net.scan(direction.sign(), CHUNK, |batch, places| {
                    self.apply_chunk(
                        (table, direction),
                        RowNumbers::Rows(places),
                        undo,
                        batch,
                        budget,
                    )?;
                    self.done(batch.rows, budget)
                })?;
            }
        }
        Ok(())
    }

    /// Collects a product, multiplied out.
    fn collect(
        &mut self,
        net: &mut Net,
        at: usize,
        product: &Product<'_>,
        undo: &mut Undo,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let table = &self.storage.tables[at];
        let factors = factors::encode(table, product.factors, &mut self.storage.dictionary)?;
        let comes = product.direction == Direction::Insert;
        self.note(comes, 0, undo, budget);
        let table = &self.storage.tables[at];
        undo.words_left += table.texts * factors.iter().map(|f| f.batch.rows).sum::<usize>();
        if factors.iter().any(|factor| factor.batch.rows == 0) {
            return Ok(());
        }
        let all = FactorRows::product_rows(&factors)?;
        for start in (0..all).step_by(CHUNK) {
            let batch = FactorRows::multiplied_out(&factors, start, CHUNK.min(all - start))?;
            add(net, (&batch, product.direction, start), budget)?;
        }
        Ok(())
    }
}

/// Collects rows; `first` is the position of the first one. Their memory counts as in use.
fn add(
    net: &mut Net,
    (batch, direction, first): (&Batch, Direction, usize),
    budget: &Budget<'_>,
) -> Result<()> {
    let before = net.memory_usage();
    net.add(batch, direction.sign(), first as u64)?;
    budget.grown(net.memory_usage().saturating_sub(before) as u64)?;
    budget.done(batch.rows as u64)
}

fn mixed(table: &str) -> Error {
    Error::Unsupported {
        what: format!(
            "changing table {table:?} both by key and by whole rows in a net transaction"
        ),
        why: "what is there for a key is known only at its end".to_owned(),
        instead: "make the changes by key a transaction of their own, or one that is not net"
            .to_owned(),
    }
}
