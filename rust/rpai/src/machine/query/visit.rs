//! Walks through blocks, conditions and values.
//!
//! Invariant: columns are named as seen from where the walk began. Cost: linear in the query.

use ringview_core::Result;

use crate::machine::query::plan::{Aggregate, Block, Column, Condition, Value};
use crate::machine::query::row::Cell;
use crate::machine::query::scope::{Nowhere, simple};

impl Value {
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
        let mut nested = false;
        self.blocks(&mut |_| nested = true);
        nested
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
    /// Calls `visit` with the values that it compares.
    pub(crate) fn values<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                all.iter().for_each(|one| one.values(visit));
            }
            Condition::Compare(left, _, right) => {
                visit(left);
                visit(right);
            }
            Condition::IsNull(value, _) => visit(value),
        }
    }

    /// Calls `visit` with the blocks in it, but not with those in them, to change them.
    pub(crate) fn blocks_mut(&mut self, visit: &mut dyn FnMut(&mut Block)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                all.iter_mut().for_each(|one| one.blocks_mut(visit));
            }
            Condition::Compare(left, _, right) => {
                left.blocks_mut(visit);
                right.blocks_mut(visit);
            }
            Condition::IsNull(value, _) => value.blocks_mut(visit),
        }
    }

    /// The same, to read them.
    pub(crate) fn blocks<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        self.values(&mut |value| value.blocks(visit));
    }

    /// Calls `visit` with every column, as seen from the block of the condition.
    pub(crate) fn columns(&self, visit: &mut dyn FnMut(Column)) {
        self.values(&mut |value| value.columns(visit));
    }

    pub(crate) fn is_nested(&self) -> bool {
        let mut nested = false;
        self.values(&mut |value| nested |= value.is_nested());
        nested
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
        self.condition.blocks_mut(&mut |block| block.number(next));
    }

    /// Calls `visit` with every column of its condition and its aggregates.
    fn columns(&self, visit: &mut dyn FnMut(Column)) {
        self.condition.columns(visit);
        let arguments = self.aggregates.iter().filter_map(Aggregate::argument);
        arguments.for_each(|value| value.columns(visit));
    }

    /// Calls `visit` with every column of an outer block, as seen from the next block out.
    pub(crate) fn free(&self, visit: &mut dyn FnMut(Column)) {
        self.columns(&mut |column| {
            if let Some(depth) = column.depth.checked_sub(1) {
                visit(Column { depth, ..column });
            }
        });
    }

    /// Calls `visit` with every table of this block and of all in it.
    pub(crate) fn tables(&self, visit: &mut dyn FnMut(usize)) {
        self.relations.iter().copied().for_each(&mut *visit);
        self.condition
            .blocks(&mut |block| block.tables(&mut *visit));
    }

    /// Marks the columns that it reads, by table; `outer` has the relations of the outer
    /// blocks.
    pub(crate) fn needs<'a>(&'a self, outer: &mut Vec<&'a [usize]>, needed: &mut [Vec<bool>]) {
        outer.push(&self.relations);
        let mut mark = |column: Column| {
            // The own columns of a subquery are marked there.
            if let Some(at) = (outer.len() - 1).checked_sub(column.depth) {
                needed[outer[at][column.relation]][column.column] = true;
            }
        };
        self.group.iter().copied().for_each(&mut mark);
        self.columns(&mut mark);
        self.condition
            .blocks(&mut |block| block.needs(outer, needed));
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
