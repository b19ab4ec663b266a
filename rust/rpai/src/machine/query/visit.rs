//! Walks through blocks, conditions and values.
//!
//! Invariant: columns are named as seen from where the walk began. Cost: linear in the query.

use ringview_core::Result;

use crate::machine::query::plan::{Aggregate, Block, Column, Condition, Value};
use crate::machine::query::row::Cell;
use crate::machine::query::scope::{Nowhere, simple};

impl Value {
    pub(crate) fn number(&mut self, next: &mut usize) {
        match self {
            Value::Block(block) => block.number(next),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.number(next);
                b.number(next);
            }
            _ => {}
        }
    }

    /// Calls `visit` with every column, as seen from the block of the value.
    pub(crate) fn columns(&self, visit: &mut dyn FnMut(Column)) {
        match self {
            Value::Constant(_) | Value::Aggregate(_) => {}
            Value::Column(column) => visit(*column),
            Value::Present(columns) => columns.iter().for_each(|&column| visit(column)),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.columns(visit);
                b.columns(visit);
            }
            Value::Block(block) => block.free(visit),
        }
    }

    /// Calls `visit` with the blocks in it, but not with those in them.
    pub(crate) fn blocks<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        match self {
            Value::Block(block) => visit(block),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.blocks(visit);
                b.blocks(visit);
            }
            _ => {}
        }
    }

    /// The same, to change them.
    pub(crate) fn blocks_mut(&mut self, visit: &mut dyn FnMut(&mut Block)) {
        match self {
            Value::Block(block) => visit(block),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.blocks_mut(visit);
                b.blocks_mut(visit);
            }
            _ => {}
        }
    }

    /// Whether it has a block.
    pub(crate) fn is_nested(&self) -> bool {
        match self {
            Value::Block(_) => true,
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.is_nested() || b.is_nested()
            }
            _ => false,
        }
    }

    /// Whether it has a quotient.
    pub(crate) fn divides(&self) -> bool {
        match self {
            Value::Over(..) => true,
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) => {
                a.divides() || b.divides()
            }
            _ => false,
        }
    }

    /// Whether it is closed: it depends only on the outer row.
    pub(crate) fn is_closed(&self) -> bool {
        let mut closed = true;
        self.columns(&mut |column| closed &= column.depth > 0);
        closed
    }

    /// Whether it depends on no row.
    pub(crate) fn is_constant(&self) -> bool {
        let mut constant = true;
        self.columns(&mut |_| constant = false);
        constant
    }
}

impl Condition {
    pub(crate) fn number(&mut self, next: &mut usize) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                all.iter_mut().for_each(|one| one.number(next));
            }
            Condition::Compare(left, _, right) => {
                left.number(next);
                right.number(next);
            }
            Condition::IsNull(value, _) => value.number(next),
        }
    }

    /// Calls `visit` with every column, as seen from the block of the condition.
    pub(crate) fn columns(&self, visit: &mut dyn FnMut(Column)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.columns(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                left.columns(visit);
                right.columns(visit);
            }
            Condition::IsNull(value, _) => value.columns(visit),
        }
    }

    /// Calls `visit` with the blocks in it, but not with those in them.
    pub(crate) fn blocks<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.blocks(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                left.blocks(visit);
                right.blocks(visit);
            }
            Condition::IsNull(value, _) => value.blocks(visit),
        }
    }

    /// The same, to change them.
    pub(crate) fn blocks_mut(&mut self, visit: &mut dyn FnMut(&mut Block)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.blocks_mut(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                left.blocks_mut(visit);
                right.blocks_mut(visit);
            }
            Condition::IsNull(value, _) => value.blocks_mut(visit),
        }
    }

    /// Calls `visit` with both sides of each comparison.
    pub(crate) fn values(&self, visit: &mut dyn FnMut(&Value)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                for one in all {
                    one.values(visit);
                }
            }
            Condition::Compare(left, _, right) => {
                visit(left);
                visit(right);
            }
            Condition::IsNull(value, _) => visit(value),
        }
    }

    pub(crate) fn is_nested(&self) -> bool {
        match self {
            Condition::And(all) | Condition::Or(all) => all.iter().any(Condition::is_nested),
            Condition::Compare(left, _, right) => left.is_nested() || right.is_nested(),
            Condition::IsNull(value, _) => value.is_nested(),
        }
    }

    /// The conjuncts.
    pub(crate) fn conjuncts(&self) -> Vec<&Condition> {
        match self {
            Condition::And(all) => all.iter().flat_map(Condition::conjuncts).collect(),
            one => vec![one],
        }
    }
}

impl Block {
    /// Numbers this block and its subqueries.
    pub(crate) fn number(&mut self, next: &mut usize) {
        self.number = *next;
        *next += 1;
        self.condition.number(next);
    }

    /// Calls `visit` with every column of a block further out, as seen from the next block out.
    pub(crate) fn free(&self, visit: &mut dyn FnMut(Column)) {
        let mut auxiliary = |column: Column| {
            if let Some(depth) = column.depth.checked_sub(1) {
                visit(Column { depth, ..column });
            }
        };
        self.condition.columns(&mut auxiliary);
        for value in self.aggregates.iter().filter_map(Aggregate::argument) {
            value.columns(&mut auxiliary);
        }
    }

    /// Calls `visit` with every table of this block and of all in it.
    pub(crate) fn tables(&self, visit: &mut dyn FnMut(usize)) {
        self.relations.iter().copied().for_each(&mut *visit);
        self.condition
            .blocks(&mut |block| block.tables(&mut *visit));
    }

    /// Marks the columns that it reads, by table; `outer` has the relations of the outer blocks
    /// it.
    pub(crate) fn needs<'a>(&'a self, outer: &mut Vec<&'a [usize]>, needed: &mut [Vec<bool>]) {
        outer.push(&self.relations);
        let mut mark = |column: Column| {
            // What a subquery reads of its own is marked there.
            if let Some(at) = (outer.len() - 1).checked_sub(column.depth) {
                needed[outer[at][column.relation]][column.column] = true;
            }
        };
        self.group.iter().copied().for_each(&mut mark);
        self.condition.columns(&mut mark);
        for value in self.aggregates.iter().filter_map(Aggregate::argument) {
            value.columns(&mut mark);
        }
        let mut within = Vec::new();
        self.condition.blocks(&mut |block| within.push(block));
        for block in within {
            block.needs(outer, needed);
        }
        outer.pop();
    }

    /// Its first output, from its aggregates.
    pub(crate) fn output(&self, aggregates: &[Cell]) -> Result<Cell> {
        simple(&self.outputs[0], &Nowhere, &mut |value| match value {
            Value::Aggregate(at) => Ok(aggregates[*at]),
            _ => Ok(Cell(None)),
        })
    }

    /// The one aggregate that is its output, as it is.
    pub(crate) fn sole_aggregate(&self) -> Option<&Aggregate> {
        match (&self.outputs[..], &self.aggregates[..]) {
            ([Value::Aggregate(0)], [aggregate]) => Some(aggregate),
            _ => None,
        }
    }
}
