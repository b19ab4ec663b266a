//! A query whose relations are chosen each by itself: sums of products of their sums.
//!
//! Invariant: what is closed in the query, blocks without a column from outside, are machines of their own and
//! fresh like it. A row goes to all parts or, where one fails, to none. Cost: that of the parts: O(log n) a
//! change and a result.

use ringview_core::Result;

use super::Machine;
use super::number::Quantity;
use super::plan::{Aggregate, Block, Condition, Plan, Value};
use super::row::{Cell, Row};
use super::running::Part;
use super::scope::{Nowhere, holds, simple};
use crate::tree::overflow;

/// One product: of each relation its count (0) or one of its sums (from 1).
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) sign: i128,
    pub(super) factors: Vec<usize>,
    pub(super) scale: u8,
}

#[derive(Debug)]
pub(super) struct Indexed {
    parts: Vec<Box<dyn Part>>,
    /// By the numbers of their blocks.
    closed: Vec<(usize, Machine)>,
    /// Conditions of the whole.
    gates: Vec<Condition>,
    aggregates: Vec<(Aggregate, Vec<Term>)>,
    outputs: Vec<Value>,
}

impl Clone for Indexed {
    fn clone(&self) -> Self {
        Self {
            parts: self.parts.iter().map(|part| part.copy()).collect(),
            closed: self.closed.clone(),
            gates: self.gates.clone(),
            aggregates: self.aggregates.clone(),
            outputs: self.outputs.clone(),
        }
    }
}

impl Indexed {
    pub(super) fn new(
        plan: &Plan,
        parts: Vec<Box<dyn Part>>,
        gates: Vec<Condition>,
        terms: Vec<Vec<Term>>,
    ) -> Self {
        let mut closed = Vec::new();
        let mut add = |block: &Block| {
            let inner = Plan::new(plan.tables.clone(), block.clone());
            closed.push((block.place(), Machine::new(inner)));
        };
        for stage in parts.iter().flat_map(|part| part.stages()) {
            stage.closed.blocks(&mut add);
        }
        for gate in &gates {
            gate.blocks(&mut add);
        }
        let aggregates = plan.block.aggregates.iter().cloned().zip(terms).collect();
        let outputs = plan.block.outputs.clone();
        Self {
            parts,
            closed,
            gates,
            aggregates,
            outputs,
        }
    }

    pub(super) fn change(&mut self, table: usize, row: &Row, times: i64) -> Result<()> {
        let parts = self.parts.len();
        for at in 0..parts + self.closed.len() {
            let changed = self.change_one(at, table, row, times);
            if changed.is_err() {
                for done in 0..at {
                    self.change_one(done, table, row, -times)?;
                }
                return changed;
            }
        }
        Ok(())
    }

    fn change_one(&mut self, at: usize, table: usize, row: &Row, times: i64) -> Result<()> {
        match at.checked_sub(self.parts.len()) {
            None => self.parts[at].change(table, row, times),
            Some(at) => self.closed[at].1.change(table, row, times),
        }
    }

    /// The aggregates.
    fn aggregates(&mut self) -> Result<Vec<Cell>> {
        let closed = &mut self.closed;
        let mut open = true;
        for gate in &self.gates {
            open = open && holds(gate, &mut |value| closed_value(closed, value))?;
        }
        let mut numbers = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let mut sides = Vec::with_capacity(part.stages().len());
            for stage in part.stages() {
                sides.push(closed_value(closed, &stage.closed)?);
            }
            numbers.push(if open { part.passing(&sides)? } else { [0; 8] });
        }
        let product = |places: &mut dyn Iterator<Item = usize>| {
            (places.zip(&numbers)).try_fold(1i128, |product, (at, of)| product.checked_mul(of[at]))
        };
        let rows = product(&mut std::iter::repeat(0)).ok_or_else(|| overflow("a count"))?;
        let mut all = Vec::with_capacity(self.aggregates.len());
        for (aggregate, terms) in &self.aggregates {
            if matches!(aggregate, Aggregate::Count) {
                all.push(Cell(Some(Quantity::int(rows))));
                continue;
            }
            if rows == 0 {
                all.push(Cell(None));
                continue;
            }
            let mut sum = Quantity::int(0);
            for term in terms {
                let units = product(&mut term.factors.iter().copied());
                let units = units.ok_or_else(|| overflow("a product of sums"))?;
                sum = sum.plus(
                    Quantity::Exact {
                        units,
                        scale: term.scale,
                    },
                    term.sign,
                )?;
            }
            all.push(match aggregate {
                Aggregate::Average(_) => Cell(sum.over(Quantity::int(rows))?),
                _ => Cell(Some(sum)),
            });
        }
        Ok(all)
    }

    pub(super) fn outputs(&mut self) -> Result<Vec<Cell>> {
        let aggregates = self.aggregates()?;
        let mut aggregate = |value: &Value| match value {
            Value::Aggregate(at) => Ok(aggregates[*at]),
            _ => Ok(Cell(None)),
        };
        let outputs = self.outputs.iter();
        outputs
            .map(|output| simple(output, &Nowhere, &mut aggregate))
            .collect()
    }

    pub(super) fn walks(&self) -> bool {
        let closed = self.closed.iter().any(|(_, machine)| machine.walks());
        closed || self.parts.iter().any(|part| part.walks())
    }

    pub(super) fn memory_usage(&self) -> usize {
        let closed = self
            .closed
            .iter()
            .map(|(_, machine)| machine.memory_usage());
        self.parts
            .iter()
            .map(|part| part.memory_usage())
            .chain(closed)
            .sum()
    }

    pub(super) fn steps(&self) -> u64 {
        let closed = self.closed.iter().map(|(_, machine)| machine.steps());
        self.parts
            .iter()
            .map(|part| part.steps())
            .chain(closed)
            .sum()
    }
}

/// A value without columns.
fn closed_value(closed: &mut [(usize, Machine)], value: &Value) -> Result<Cell> {
    simple(value, &Nowhere, &mut |value| match value {
        Value::Block(block) => {
            let found = closed
                .iter_mut()
                .find(|(number, _)| *number == block.place());
            found.map_or(Ok(Cell(None)), |(_, machine)| machine.scalar())
        }
        _ => Ok(Cell(None)),
    })
}
