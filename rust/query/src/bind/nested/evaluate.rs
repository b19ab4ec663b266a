//! Values and conditions, evaluated.
//!
//! Invariant: NULL meets NULL; a comparison with NULL is not TRUE. Cost: that of the expression.

use ringview_core::Result;

use super::number::{Cell, Quantity, overflow};
use super::tree::{Column, Condition, Value};

/// Values of the columns during evaluation.
pub trait Scope {
    /// The value of a column.
    fn cell(&self, column: Column) -> Cell;
}

/// No columns: the scope of what depends on no row.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Scope for Nowhere {
    fn cell(&self, _column: Column) -> Cell {
        Cell(None)
    }
}

/// A value; `other` computes aggregates and blocks.
///
/// # Errors
/// `Overflow`, and those of `other`.
pub fn evaluate(
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
        Value::Plus(..) => |a, b| a.plus(b).map(Some),
        Value::Minus(..) => |a, b| a.minus(b).map(Some),
        Value::Times(..) => |a, b| a.times(b).map(Some),
        Value::Over(..) => |a, b| Ok(a.over(b)),
    };
    let (Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b) | Value::Over(a, b)) = value
    else {
        return Ok(Cell(None));
    };
    match (evaluate(a, scope, other)?.0, evaluate(b, scope, other)?.0) {
        (Some(a), Some(b)) => combine(a, b).map(Cell),
        _ => Ok(Cell(None)),
    }
}

/// A value without blocks that is summed: sums and products of doubles are not rounded.
///
/// # Errors
/// `Overflow`, also where a sum of doubles is no number: no sum could be rid of that again.
pub fn summand(value: &Value, scope: &dyn Scope) -> Result<Cell> {
    let (Value::Plus(a, b) | Value::Minus(a, b) | Value::Times(a, b)) = value else {
        return evaluate(value, scope, &mut |_| Ok(Cell(None)));
    };
    let (Some(a), Some(b)) = (summand(a, scope)?.0, summand(b, scope)?.0) else {
        return Ok(Cell(None));
    };
    let exact = |number: &Quantity| matches!(number, Quantity::Exact { .. });
    if exact(&a) && exact(&b) {
        return Ok(Cell(Some(match value {
            Value::Plus(..) => a.plus(b)?,
            Value::Minus(..) => a.minus(b)?,
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

/// Whether a condition is TRUE; `value` computes what it compares.
///
/// # Errors
/// Those of `value`.
pub fn holds(condition: &Condition, value: &mut dyn FnMut(&Value) -> Result<Cell>) -> Result<bool> {
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
        Condition::Row(..) => unreachable!("engines read verdicts as columns"),
    }
}
