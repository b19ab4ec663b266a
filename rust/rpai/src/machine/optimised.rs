//! A query that aggregate indexes maintain as a whole (paper, section 4.3).
//!
//! Invariant: closed values, by the numbers of their blocks, are maintained by machines of their own,
//! which have taken the same rows. Cost: O(log n) a change and a result; of several relations only
//! those are read whose rows changed since.

use ringview_core::{Budget, Result};

use crate::machine::indexed::selector::Selector;
use crate::machine::query::{Cell, Nowhere, Plan, RowAt, Value, evaluate};
use crate::machine::state::{Indexed, Machine};

impl Indexed {
    /// Without rows; of a machine that is one of many, each with few rows, nothing is remembered.
    pub(crate) fn new(plan: &Plan, selector: Selector, is_one_of_many: bool) -> Self {
        let mut closed = Vec::new();
        selector.closed(&mut |value| {
            value.blocks(&mut |block| {
                let inner = Plan::new(plan.tables.clone(), block.clone());
                closed.push((block.number, Machine::closed(inner)));
            });
        });
        Self {
            memo: (!is_one_of_many)
                .then(|| selector.memo().map(Box::new))
                .flatten(),
            selector,
            closed,
        }
    }

    /// Inserts or deletes a row of a table. After an error only `rollback` may follow.
    #[inline]
    pub(crate) fn change(
        &mut self,
        table: usize,
        row: &RowAt<'_>,
        times: (i64, &Budget<'_>),
    ) -> Result<()> {
        if let Some(memo) = &mut self.memo {
            memo.touch(table);
        }
        self.selector.change(table, row, times.0)?;
        let mut closed = self.closed.iter_mut();
        closed.try_for_each(|(_, machine)| machine.change(table, row, times))
    }

    pub(crate) fn commit(&mut self) {
        self.selector.commit();
        let closed = self.closed.iter_mut();
        closed.for_each(|(_, machine)| machine.commit());
    }

    pub(crate) fn rollback(&mut self) {
        if let Some(memo) = &mut self.memo {
            memo.forget();
        }
        self.selector.rollback();
        let closed = self.closed.iter_mut();
        closed.for_each(|(_, machine)| machine.rollback());
    }

    /// Removes all rows, for good.
    pub(crate) fn clear(&mut self) {
        if let Some(memo) = &mut self.memo {
            memo.forget();
        }
        self.selector.clear();
        let closed = self.closed.iter_mut();
        closed.for_each(|(_, machine)| machine.clear());
    }

    /// Number of aggregates.
    pub(crate) fn len(&self) -> usize {
        self.selector.len()
    }

    /// The aggregates.
    pub(crate) fn aggregates(&mut self, budget: &Budget<'_>, into: &mut [Cell]) -> Result<()> {
        let Self {
            selector,
            closed,
            memo,
        } = self;
        let mut closed = |value: &Value| closed_value(closed, value, budget);
        selector.aggregates(&mut closed, memo.as_deref_mut(), into)
    }

    /// Whether no row can take part for want of rows of one of these tables.
    pub(crate) fn lacks(&self, tables: &[bool], relations: &[usize]) -> bool {
        let mut relations = relations.iter().zip(self.selector.are_empty());
        relations.any(|(&table, empty)| tables[table] && empty)
    }

    pub(crate) fn walks(&self) -> bool {
        self.selector.walks() > 0 || self.closed.iter().any(|(_, machine)| machine.walks())
    }

    pub(crate) fn is_vacant(&self) -> bool {
        let mut closed = self.closed.iter();
        self.selector.are_vacant() && closed.all(|(_, machine)| machine.is_vacant())
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let closed = self
            .closed
            .iter()
            .map(|(_, machine)| machine.memory_usage());
        let memo = self.memo.as_ref().map_or(0, |memo| memo.memory_usage());
        self.selector.memory_usage() + memo + closed.sum::<usize>()
    }

    pub(crate) fn steps(&self) -> u64 {
        let closed = self.closed.iter().map(|(_, machine)| machine.steps());
        self.selector.steps() + closed.sum::<u64>()
    }
}

/// A value without columns.
fn closed_value(
    closed: &mut [(usize, Machine)],
    value: &Value,
    budget: &Budget<'_>,
) -> Result<Cell> {
    evaluate(value, &Nowhere, &mut |value| match value {
        Value::Block(block) => {
            let mut machines = closed.iter_mut();
            let found = machines.find(|(number, _)| *number == block.number);
            found.map_or(Ok(Cell(None)), |(_, machine)| machine.value(budget))
        }
        _ => Ok(Cell(None)),
    })
}
