//! Evaluation of expressions over aggregates and of HAVING, a row at a time.
//!
//! Invariant: exact arithmetic stays exact; what leaves 64 bits, or 38 digits of a decimal, is an
//! overflow. Conditions are in three-valued logic, `None` being unknown. Cost: O(nodes) a row.

use std::cmp::Ordering;

use ringview_core::{Dictionary, Error, Result, Type};
use ringview_query::{Computed, ComputedOp, Constant, Having, PlanOutput};
use ringview_ring::Expansion;

use super::cells::{Cells, Value};
use crate::read::Pattern;

/// The measures of some rows.
pub(crate) struct Measures<'a> {
    pub(crate) outputs: &'a [PlanOutput],
    pub(crate) cells: Vec<Cells>,
    pub(crate) dictionary: &'a Dictionary,
}

impl Measures<'_> {
    /// The value of an expression for a row; `name` is for messages.
    pub(crate) fn evaluate<'v>(
        &'v self,
        name: &str,
        expression: &'v Computed,
        row: usize,
    ) -> Result<Option<Value<'v>>> {
        let value = |operand: &'v Computed| self.evaluate(name, operand, row);
        let fits = |value| fit(value, &expression.ty, name);
        Ok(match &expression.op {
            ComputedOp::Null => None,
            ComputedOp::Number { value } => Some(number(*value)),
            ComputedOp::Text { value } => Some(Value::Text(value)),
            ComputedOp::Measure { measure } => {
                let ty = &self.outputs[*measure].ty;
                self.cells[*measure].value(row, ty, self.dictionary)
            }
            ComputedOp::Add { left, right } => {
                let pair = value(left)?.zip(value(right)?);
                pair.map(|(a, b)| fits(arithmetic(a, b, i128::checked_add, |a, b| a + b)))
                    .transpose()?
            }
            ComputedOp::Subtract { left, right } => {
                let pair = value(left)?.zip(value(right)?);
                pair.map(|(a, b)| fits(arithmetic(a, b, i128::checked_sub, |a, b| a - b)))
                    .transpose()?
            }
            ComputedOp::Multiply { left, right } => {
                let pair = value(left)?.zip(value(right)?);
                pair.map(|(a, b)| fits(arithmetic(a, b, i128::checked_mul, |a, b| a * b)))
                    .transpose()?
            }
            ComputedOp::Divide { left, right } => {
                let pair = value(left)?.zip(value(right)?);
                pair.map(|(a, b)| fits(arithmetic(a, b, i128::checked_div, |a, b| a / b)))
                    .transpose()?
            }
            ComputedOp::Negate { operand } => {
                let negated = |value| match value {
                    Value::Exact(value) => value.checked_neg().map(Value::Exact),
                    Value::Real(value) => Some(Value::Real(-value)),
                    Value::Text(_) => None,
                };
                value(operand)?
                    .map(|value| fits(negated(value)))
                    .transpose()?
            }
            ComputedOp::Scale { operand, factor } => {
                let scaled =
                    |value| arithmetic(value, number(*factor), i128::checked_mul, |a, _| a);
                value(operand)?
                    .map(|value| fits(scaled(value)))
                    .transpose()?
            }
            ComputedOp::Real { operand, scale } => value(operand)?.map(|value| match value {
                Value::Exact(value) => Value::Real(Expansion::decimal_value(value, *scale)),
                other => other,
            }),
            ComputedOp::Coalesce { operands } => {
                for operand in operands {
                    if let Some(found) = value(operand)? {
                        return in_range(found, &expression.ty, name).map(Some);
                    }
                }
                None
            }
            ComputedOp::NullIf {
                operand,
                left,
                right,
            } => {
                let (left, right) = (value(left)?, value(right)?);
                let equal = left.zip(right).is_some_and(|(a, b)| compare(a, b).is_eq());
                if equal { None } else { value(operand)? }
            }
        })
    }

    /// Whether a condition holds for a row; `None` if that is unknown.
    pub(crate) fn holds(&self, condition: &Having, row: usize) -> Result<Option<bool>> {
        let name = "HAVING";
        Ok(match condition {
            Having::Constant { value } => Some(*value),
            Having::Compare {
                comparison,
                left,
                right,
            } => {
                let (left, right) = (
                    self.evaluate(name, left, row)?,
                    self.evaluate(name, right, row)?,
                );
                left.zip(right)
                    .map(|(a, b)| comparison.holds(compare(a, b)))
            }
            Having::Like {
                operand,
                pattern,
                escape,
                insensitive,
            } => match self.evaluate(name, operand, row)? {
                Some(Value::Text(text)) => {
                    Some(Pattern::new(pattern, *escape, *insensitive)?.matches(text))
                }
                _ => None,
            },
            Having::IsNull { operand } => Some(self.evaluate(name, operand, row)?.is_none()),
            Having::And { operands } => self.decided(operands, row, false)?,
            Having::Or { operands } => self.decided(operands, row, true)?,
            Having::Not { operand } => self.holds(operand, row)?.map(|value| !value),
        })
    }

    /// OR where `decides` is true, AND where it is false: one such operand decides; else one that is
    /// unknown leaves it open.
    fn decided(&self, operands: &[Having], row: usize, decides: bool) -> Result<Option<bool>> {
        let mut value = Some(!decides);
        for operand in operands {
            match self.holds(operand, row)? {
                Some(found) if found == decides => return Ok(Some(decides)),
                Some(_) => {}
                None => value = None,
            }
        }
        Ok(value)
    }
}

fn number(number: Constant) -> Value<'static> {
    match number {
        Constant::Int(value) => Value::Exact(i128::from(value)),
        Constant::Decimal(value) => Value::Exact(value),
        Constant::Real(value) => Value::Real(value),
    }
}

/// `None` if it cannot be represented.
fn arithmetic(
    left: Value<'_>,
    right: Value<'_>,
    exact: impl Fn(i128, i128) -> Option<i128>,
    real: impl Fn(f64, f64) -> f64,
) -> Option<Value<'static>> {
    match (left, right) {
        (Value::Exact(a), Value::Exact(b)) => exact(a, b).map(Value::Exact),
        (Value::Real(a), Value::Real(b)) => Some(Value::Real(real(a, b))),
        _ => None,
    }
}

/// A value that its type can hold, or an overflow.
fn fit(value: Option<Value<'static>>, ty: &Type, name: &str) -> Result<Value<'static>> {
    const LIMIT: i128 = 10i128.pow(38);
    let fits = |value: &Value<'_>| match (value, ty) {
        (Value::Exact(value), Type::Decimal { .. }) => -LIMIT < *value && *value < LIMIT,
        // A finer unit of time is only compared, and has room.
        (Value::Exact(value), Type::Int64) => i64::try_from(*value).is_ok(),
        _ => true,
    };
    value.filter(fits).ok_or_else(|| too_large(name))
}

/// A moment that was brought to a finer unit, if that unit reaches so far.
fn in_range<'v>(value: Value<'v>, ty: &Type, name: &str) -> Result<Value<'v>> {
    match (value, ty) {
        (Value::Exact(ticks), Type::Timestamp { .. }) if i64::try_from(ticks).is_err() => {
            Err(too_large(name))
        }
        _ => Ok(value),
    }
}

fn too_large(name: &str) -> Error {
    Error::Overflow {
        place: format!("the column {name:?} of the result"),
    }
}

/// Values of one type. NaN equals itself and is the greatest.
fn compare(left: Value<'_>, right: Value<'_>) -> Ordering {
    match (left, right) {
        (Value::Exact(a), Value::Exact(b)) => a.cmp(&b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Real(a), Value::Real(b)) => {
            let ordered = a.partial_cmp(&b);
            ordered.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        // The plan compares values of one type.
        _ => Ordering::Less,
    }
}
