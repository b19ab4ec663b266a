//! Values and conditions, evaluated over columns.
//!
//! Invariant: NULL meets NULL; a comparison with NULL is not TRUE. Cost: that of the expression.

use ringview_core::Result;

use crate::machine::query::number::Quantity;
use crate::machine::query::plan::{Column, Condition, Value};
use crate::machine::query::row::{Cell, Row, RowAt};
use crate::tree::overflow;

/// The source of columns.
pub(crate) trait Scope {
    fn cell(&self, column: Column) -> Cell;
}

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

/// No columns.
pub(crate) struct Nowhere;

impl Scope for Nowhere {
    fn cell(&self, _column: Column) -> Cell {
        Cell(None)
    }
}

/// A value without blocks.
pub(crate) fn value_for(value: &Value, scope: &dyn Scope) -> Result<Cell> {
    simple(value, scope, &mut |_| Ok(Cell(None)))
}

/// A value without blocks that is summed: sums and products of doubles are not rounded.
pub(crate) fn summand(value: &Value, scope: &dyn Scope) -> Result<Cell> {
    let (Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b)) = value else {
        return value_for(value, scope);
    };
    let (Some(a), Some(b)) = (summand(a, scope)?.0, summand(b, scope)?.0) else {
        return Ok(Cell(None));
    };
    let exact = |number: &Quantity| matches!(number, Quantity::Exact { .. });
    if exact(&a) && exact(&b) {
        return Ok(Cell(Some(match value {
            Value::Plus(..) => a.plus(b, 1)?,
            Value::Minus(..) => a.plus(b, -1)?,
            _ => a.times(b)?,
        })));
    }
    let (a, b) = (a.expansion(), b.expansion());
    let found = match value {
        Value::Plus(..) => a.sum(b),
        Value::Minus(..) => a.difference(b),
        _ => a.product(b),
    };
    match found.is_finite() {
        true => Ok(Cell(Some(Quantity::Sum(found)))),
        false => Err(overflow("a number to be summed")),
    }
}

/// A value over constants and one block, whose value is given.
pub(crate) fn value_with(value: &Value, block: Cell) -> Result<Cell> {
    simple(value, &Nowhere, &mut |_| Ok(block))
}

/// Whether a row of a block's one relation passes conditions without blocks.
#[inline]
pub(crate) fn holds_for(filter: &[Condition], row: &dyn Scope) -> Result<bool> {
    for one in filter {
        if !simple_condition(one, row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A value; `other` computes aggregates and blocks.
pub(crate) fn simple(
    value: &Value,
    scope: &dyn Scope,
    other: &mut dyn FnMut(&Value) -> Result<Cell>,
) -> Result<Cell> {
    let combine: fn(Quantity, Quantity) -> Result<Option<Quantity>> = match value {
        Value::Constant(number) => return Ok(Cell(Some(*number))),
        Value::Column(column) => return Ok(scope.cell(*column)),
        Value::Present(columns) => {
            let present = columns.iter().all(|&column| scope.cell(column).0.is_some());
            return Ok(Cell(present.then(|| Quantity::int(1))));
        }
        Value::Aggregate(_) | Value::Block(_) => return other(value),
        Value::Plus(..) => |a, b| a.plus(b, 1).map(Some),
        Value::Minus(..) => |a, b| a.plus(b, -1).map(Some),
        Value::Times(..) => |a, b| a.times(b).map(Some),
        Value::Over(..) => Quantity::over,
    };
    let (Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b)) = value
    else {
        return Ok(Cell(None));
    };
    match (simple(a, scope, other)?.0, simple(b, scope, other)?.0) {
        (Some(a), Some(b)) => combine(a, b).map(Cell),
        _ => Ok(Cell(None)),
    }
}

/// Whether a condition without blocks is TRUE.
pub(crate) fn simple_condition(condition: &Condition, scope: &dyn Scope) -> Result<bool> {
    holds(condition, &mut |value| {
        simple(value, scope, &mut |_| Ok(Cell(None)))
    })
}

/// Whether a condition is TRUE.
pub(crate) fn holds(
    condition: &Condition,
    value: &mut dyn FnMut(&Value) -> Result<Cell>,
) -> Result<bool> {
    match condition {
        Condition::And(all) => {
            for one in all {
                if !holds(one, value)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Condition::Or(all) => {
            for one in all {
                if holds(one, value)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Condition::IsNull(operand, null) => Ok(value(operand)?.0.is_none() == *null),
        Condition::Compare(left, how, right) => Ok(match (value(left)?.0, value(right)?.0) {
            (Some(left), Some(right)) => how.holds(left.compare(right)),
            _ => false,
        }),
    }
}
