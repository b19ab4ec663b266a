//! What expressions, conditions and aggregates are, as SQL says it.

use ringview_query::{ColumnRef, Comparison, Condition, Function, Literal, Measure, Scalar};

use crate::value::Value;

/// Reads a column of a row of a join.
pub type Get<'a> = &'a dyn Fn(&ColumnRef) -> Value;

/// A measure over the rows of a group, each with how often it is there; integers alone are subtracted.
#[must_use]
pub fn compute_group<R>(
    measure: &Measure,
    group: &[(R, i64)],
    get: &dyn Fn(&R, &ColumnRef) -> Value,
) -> Value {
    let of = |side: &Measure| compute_group(side, group, get);
    match measure {
        Measure::Group { column } => get(&group[0].0, column),
        Measure::Aggregate {
            function,
            arguments,
        } => {
            let value = |(row, times): &(R, i64)| {
                let value = match arguments.first() {
                    None => Value::Int(1),
                    Some(scalar) => compute(scalar, &|c| get(row, c)),
                };
                (value, *times)
            };
            aggregate(*function, group.iter().map(value))
        }
        Measure::Literal { value } => literal(value),
        Measure::Subtract { left, right } => match (of(left), of(right)) {
            (Value::Int(l), Value::Int(r)) => Value::Int(l - r),
            _ => Value::Null,
        },
        Measure::Coalesce { operands } => {
            let mut values = operands.iter().map(of);
            values
                .find(|value| *value != Value::Null)
                .unwrap_or(Value::Null)
        }
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

fn aggregate(function: Function, values: impl Iterator<Item = (Value, i64)>) -> Value {
    let values: Vec<(Value, i64)> = values.filter(|(v, _)| *v != Value::Null).collect();
    let count: i64 = values.iter().map(|(_, times)| times).sum();
    let real = |(value, times): &(Value, i64)| match value {
        Value::Int(v) => (v * times) as f64,
        Value::Real(v) => *v * *times as f64,
        _ => f64::NAN,
    };
    let whole = |(value, times): &(Value, i64)| match value {
        Value::Int(v) => v * times,
        other => panic!("{other:?} among integers"),
    };
    match (function, &values[..]) {
        (Function::Count, _) => Value::Int(count),
        (Function::CountDistinct, values) => {
            let mut different: Vec<&Value> = values.iter().map(|(value, _)| value).collect();
            different.sort();
            different.dedup();
            Value::Int(different.len() as i64)
        }
        (_, []) => Value::Null,
        (Function::Min, values) => extreme(values.iter().map(|(value, _)| value).min()),
        (Function::Max, values) => extreme(values.iter().map(|(value, _)| value).max()),
        (Function::Sum, [(Value::Int(_), _), ..]) => Value::Int(values.iter().map(whole).sum()),
        (Function::Sum, _) => Value::Real(values.iter().map(real).sum::<f64>() + 0.0),
        (Function::Avg, [(Value::Int(_), _), ..]) => {
            let sum: i64 = values.iter().map(whole).sum();
            Value::Real(sum as f64 / count as f64 + 0.0)
        }
        (Function::Avg, _) => {
            Value::Real(values.iter().map(real).sum::<f64>() / count as f64 + 0.0)
        }
        (other, _) => panic!("{other:?} is not in the tests' queries"),
    }
}

fn extreme(found: Option<&Value>) -> Value {
    found.cloned().unwrap_or(Value::Null)
}

/// An expression over a row.
#[must_use]
pub fn compute(scalar: &Scalar, get: Get<'_>) -> Value {
    let two = |l: &Scalar, r: &Scalar, int: fn(i64, i64) -> i64, real: fn(f64, f64) -> f64| match (
        compute(l, get),
        compute(r, get),
    ) {
        (Value::Int(l), Value::Int(r)) => Value::Int(int(l, r)),
        (Value::Real(l), Value::Real(r)) => Value::Real(real(l, r)),
        (Value::Int(l), Value::Real(r)) => Value::Real(real(l as f64, r)),
        (Value::Real(l), Value::Int(r)) => Value::Real(real(l, r as f64)),
        _ => Value::Null,
    };
    match scalar {
        Scalar::Column { atom, column } => get(&ColumnRef {
            atom: *atom,
            column: column.clone(),
        }),
        Scalar::Literal { value } => literal(value),
        Scalar::Add { left, right } => two(left, right, |l, r| l + r, |l, r| l + r),
        Scalar::Subtract { left, right } => two(left, right, |l, r| l - r, |l, r| l - r),
        Scalar::Multiply { left, right } => two(left, right, |l, r| l * r, |l, r| l * r),
        Scalar::Negate { operand } => match compute(operand, get) {
            Value::Int(v) => Value::Int(-v),
            Value::Real(v) => Value::Real(-v),
            other => other,
        },
    }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Int(v) => Value::Int(*v),
        Literal::Float(v) => Value::Real(*v),
        Literal::Text(v) => Value::Text(v.clone()),
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

/// Whether a condition holds of a row; `None` if that is unknown.
#[must_use]
pub fn holds(condition: &Condition, get: Get<'_>) -> Option<bool> {
    holds_of(condition, &|scalar| compute(scalar, get))
}

/// The same, of rows or of groups.
#[must_use]
pub fn holds_of<S: std::fmt::Debug>(
    condition: &Condition<S>,
    value: &dyn Fn(&S) -> Value,
) -> Option<bool> {
    match condition {
        Condition::Compare {
            comparison,
            left,
            right,
        } => {
            let order = value(left).compare(&value(right))?;
            Some(match comparison {
                Comparison::Eq => order.is_eq(),
                Comparison::Ne => order.is_ne(),
                Comparison::Lt => order.is_lt(),
                Comparison::Le => order.is_le(),
                Comparison::Gt => order.is_gt(),
                Comparison::Ge => order.is_ge(),
            })
        }
        Condition::IsNull { operand } => Some(value(operand) == Value::Null),
        Condition::Not { operand } => holds_of(operand, value).map(|held| !held),
        Condition::And { operands } => decided(operands, value, false),
        Condition::Or { operands } => decided(operands, value, true),
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

/// AND (`decides` is false) or OR (true) in three-valued logic.
fn decided<S: std::fmt::Debug>(
    operands: &[Condition<S>],
    value: &dyn Fn(&S) -> Value,
    decides: bool,
) -> Option<bool> {
    let all: Vec<Option<bool>> = operands.iter().map(|one| holds_of(one, value)).collect();
    match all.contains(&Some(decides)) {
        true => Some(decides),
        false => (!all.contains(&None)).then_some(!decides),
    }
}
