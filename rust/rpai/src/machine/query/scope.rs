//! Look-up of the columns of blocks: in rows of relations, and in bindings of free columns.
//!
//! Invariant: a column of a relation without a row is NULL. Cost: O(1) a block further out; of a
//! binding, linear in it.

use ringview_core::Result;
use ringview_query::nested::{Cell, Column, Condition, Nowhere, Scope, Value, evaluate, holds};

use crate::machine::query::row::{Row, RowAt};

/// Rows of the relations of a block, with an outer scope.
pub(crate) struct Frame<'a> {
    /// By relation, as far as they are bound.
    pub(crate) rows: Vec<Option<&'a Row>>,
    pub(crate) outer: Option<&'a dyn Scope>,
}

impl Scope for Frame<'_> {
    fn cell(&self, column: Column) -> Cell {
        match (column.depth, self.outer) {
            (0, _) => {
                let row = self.rows.get(column.relation).copied().flatten();
                row.map_or(Cell(None), |row| row[column.column])
            }
            (depth, Some(outer)) => outer.cell(Column {
                depth: depth - 1,
                ..column
            }),
            (_, None) => Cell(None),
        }
    }
}

impl Scope for RowAt<'_> {
    fn cell(&self, column: Column) -> Cell {
        Cell(self.quantity(column.column))
    }
}

/// A binding of free columns, as the outer scope of a block.
pub(crate) struct Binding<'a> {
    pub(crate) columns: &'a [Column],
    pub(crate) cells: &'a [Cell],
}

impl Scope for Binding<'_> {
    fn cell(&self, column: Column) -> Cell {
        let at = self.columns.iter().position(|free| *free == column);
        at.map_or(Cell(None), |at| self.cells[at])
    }
}

/// A value without blocks.
pub(crate) fn value_for(value: &Value, scope: &dyn Scope) -> Result<Cell> {
    evaluate(value, scope, &mut |_| Ok(Cell(None)))
}

/// A value over constants and one block, whose value is given.
pub(crate) fn value_with(value: &Value, block: Cell) -> Result<Cell> {
    evaluate(value, &Nowhere, &mut |_| Ok(block))
}

/// Whether a condition without blocks is TRUE.
pub(crate) fn holds_for(condition: &Condition, scope: &dyn Scope) -> Result<bool> {
    holds(condition, &mut |value| value_for(value, scope))
}
