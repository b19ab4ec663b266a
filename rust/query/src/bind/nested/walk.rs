//! Walks through blocks, conditions and values.
//!
//! Invariant: columns are named as seen from where the walk began. Cost: linear in the query.

use ringview_core::Result;

use super::evaluate::{Nowhere, evaluate};
use super::number::{Cell, Quantity};
use super::tree::{Aggregate, Block, Column, Condition, Value};
use crate::bind::polynomial::{Comparison, Predicate};

impl Value {
    /// Calls `visit` with every column of this block and of those around it, as seen from here:
    /// columns that inner blocks read of their own relations are left out.
    pub fn columns(&self, visit: &mut dyn FnMut(Column)) {
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
    pub fn blocks<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
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
    pub fn blocks_mut(&mut self, visit: &mut dyn FnMut(&mut Block)) {
        match self {
            Value::Block(block) => visit(block),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.blocks_mut(visit);
                b.blocks_mut(visit);
            }
            _ => {}
        }
    }

    /// A value without blocks over one relation, as of the only one of its block.
    #[must_use]
    pub fn flat(mut self) -> Self {
        self.flatten();
        self
    }

    fn flatten(&mut self) {
        let flat = |column: &mut Column| (column.depth, column.relation) = (0, 0);
        match self {
            Value::Column(column) => flat(column),
            Value::Present(columns) => columns.iter_mut().for_each(flat),
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b) => {
                a.flatten();
                b.flatten();
            }
            Value::Constant(_) | Value::Aggregate(_) | Value::Block(_) => {}
        }
    }

    /// Whether it has a block.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        let mut nested = false;
        self.blocks(&mut |_| nested = true);
        nested
    }

    /// Whether it has a quotient.
    #[must_use]
    pub fn divides(&self) -> bool {
        match self {
            Value::Over(..) => true,
            Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) => {
                a.divides() || b.divides()
            }
            _ => false,
        }
    }

    /// Whether it is closed: it depends only on the outer row.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let mut closed = true;
        self.columns(&mut |column| closed &= column.depth > 0);
        closed
    }

    /// Whether it depends on no row.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let mut constant = true;
        self.columns(&mut |_| constant = false);
        constant
    }
}

impl Condition {
    /// Calls `visit` with the values that it compares.
    pub fn values<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                all.iter().for_each(|one| one.values(visit));
            }
            Condition::Compare(left, _, right) => {
                visit(left);
                visit(right);
            }
            Condition::IsNull(value, _) => visit(value),
            Condition::Row(..) => {}
        }
    }

    /// Calls `visit` with the values that it compares, to change them.
    fn values_mut(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                all.iter_mut().for_each(|one| one.values_mut(visit));
            }
            Condition::Compare(left, _, right) => {
                visit(left);
                visit(right);
            }
            Condition::IsNull(value, _) => visit(value),
            Condition::Row(..) => {}
        }
    }

    /// Calls `visit` with the blocks in it, but not with those in them, to change them.
    pub fn blocks_mut(&mut self, visit: &mut dyn FnMut(&mut Block)) {
        self.values_mut(&mut |value| value.blocks_mut(visit));
    }

    /// The same, to read them.
    pub fn blocks<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        self.values(&mut |value| value.blocks(visit));
    }

    /// Calls `visit` with every column, as [`Value::columns`].
    pub fn columns(&self, visit: &mut dyn FnMut(Column)) {
        self.values(&mut |value| value.columns(visit));
        self.rows(&mut |relation, predicate| {
            predicate.each_column(&mut |column| {
                visit(Column {
                    depth: 0,
                    relation,
                    column,
                });
            });
        });
    }

    /// Calls `visit` with each predicate on the row of one relation alone.
    fn rows(&self, visit: &mut dyn FnMut(usize, &Predicate)) {
        match self {
            Condition::And(all) | Condition::Or(all) => all.iter().for_each(|one| one.rows(visit)),
            Condition::Row(relation, predicate) => visit(*relation, predicate),
            Condition::Compare(..) | Condition::IsNull(..) => {}
        }
    }

    /// Replaces each predicate on the row of one relation alone by a Boolean column, at the
    /// position that `column` returns. Subqueries are left as they are.
    pub fn with_verdicts(&mut self, column: &mut dyn FnMut(usize, &Predicate) -> usize) {
        match self {
            Condition::And(all) | Condition::Or(all) => {
                all.iter_mut().for_each(|one| one.with_verdicts(column));
            }
            Condition::Row(relation, predicate) => {
                let verdict = Column {
                    depth: 0,
                    relation: *relation,
                    column: column(*relation, predicate),
                };
                let yes = Value::Constant(Quantity::int(1));
                *self = Condition::Compare(Value::Column(verdict), Comparison::Eq, yes);
            }
            Condition::Compare(..) | Condition::IsNull(..) => {}
        }
    }

    /// A condition without blocks over one relation, as of the only one of its block.
    #[must_use]
    pub fn flat(mut self) -> Self {
        self.values_mut(&mut Value::flatten);
        self
    }

    /// Whether it has a block.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        let mut nested = false;
        self.values(&mut |value| nested |= value.is_nested());
        nested
    }

    /// The conjuncts.
    #[must_use]
    pub fn conjuncts(&self) -> Vec<&Condition> {
        match self {
            Condition::And(all) => all.iter().flat_map(Condition::conjuncts).collect(),
            one => vec![one],
        }
    }
}

impl Block {
    /// Numbers this block and those within; returns how many there are.
    pub fn number(&mut self) -> usize {
        let mut next = 0;
        self.number_from(&mut next);
        next
    }

    fn number_from(&mut self, next: &mut usize) {
        self.number = *next;
        *next += 1;
        self.condition
            .blocks_mut(&mut |block| block.number_from(next));
    }

    /// Calls `visit` with every column of its condition and its aggregates.
    fn columns(&self, visit: &mut dyn FnMut(Column)) {
        self.condition.columns(visit);
        let arguments = self.aggregates.iter().filter_map(Aggregate::argument);
        arguments.for_each(|value| value.columns(visit));
    }

    /// Calls `visit` with every column of the blocks around it (its free columns), as seen from the
    /// next one out.
    pub fn free(&self, visit: &mut dyn FnMut(Column)) {
        self.columns(&mut |column| {
            if let Some(depth) = column.depth.checked_sub(1) {
                visit(Column { depth, ..column });
            }
        });
    }

    /// Calls `visit` with the number of every relation of this block and of all in it.
    pub fn tables(&self, visit: &mut dyn FnMut(usize)) {
        self.relations.iter().copied().for_each(&mut *visit);
        self.condition
            .blocks(&mut |block| block.tables(&mut *visit));
    }

    /// Calls `see` with the number of a relation and the position of a column, for all that this
    /// block and those within read.
    pub fn each_read(&self, see: &mut dyn FnMut(usize, usize)) {
        for column in &self.group {
            see(self.relations[column.relation], column.column);
        }
        self.read_in(&mut Vec::new(), see);
    }

    fn read_in<'a>(&'a self, outer: &mut Vec<&'a [usize]>, see: &mut dyn FnMut(usize, usize)) {
        outer.push(&self.relations);
        for value in self.aggregates.iter().filter_map(Aggregate::argument) {
            value.columns(&mut |column| mark(column, outer, see));
        }
        read(&self.condition, outer, see);
        outer.pop();
    }

    /// Its first output, from its aggregates.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn output(&self, aggregates: &[Cell]) -> Result<Cell> {
        evaluate(&self.outputs[0], &Nowhere, &mut |value| match value {
            Value::Aggregate(at) => Ok(aggregates[*at]),
            _ => Ok(Cell(None)),
        })
    }

    /// The one aggregate that is its output, as it is.
    #[must_use]
    pub fn sole_aggregate(&self) -> Option<&Aggregate> {
        match (&self.outputs[..], &self.aggregates[..]) {
            ([Value::Aggregate(0)], [aggregate]) => Some(aggregate),
            _ => None,
        }
    }
}

/// Calls `see` with the number of a relation and the position of a column, for all that the
/// condition of a query over these relations reads.
pub(crate) fn each_read(
    condition: &Condition,
    relations: &[usize],
    see: &mut dyn FnMut(usize, usize),
) {
    read(condition, &mut vec![relations], see);
}

fn read<'a>(
    condition: &'a Condition,
    outer: &mut Vec<&'a [usize]>,
    see: &mut dyn FnMut(usize, usize),
) {
    condition.columns(&mut |column| mark(column, outer, see));
    condition.blocks(&mut |block| block.read_in(outer, see));
}

/// A column of a query around; what a query within reads of its own is marked there.
fn mark(column: Column, outer: &[&[usize]], see: &mut dyn FnMut(usize, usize)) {
    if let Some(at) = (outer.len() - 1).checked_sub(column.depth) {
        see(outer[at][column.relation], column.column);
    }
}
