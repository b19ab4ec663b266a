//! What expressions, conditions and aggregates are, as SQL says it: the naive database's arithmetic.

use std::cmp::Ordering;

use ringview_query::{ColumnRef, Comparison, Condition, Function, Literal, Measure, Scalar};

use super::{Row, Value};

/// A measure over the rows of a group; integers alone are subtracted.
pub(super) fn compute_group<'a>(
    measure: &Measure,
    group: &[Vec<&'a Row>],
    get: &dyn Fn(&[&'a Row], &ColumnRef) -> Value,
) -> Value {
    let of = |side: &Measure| compute_group(side, group, get);
    match measure {
        Measure::Group { column } => get(&group[0], column),
        Measure::Aggregate {
            function,
            arguments,
        } => {
            let value = |rows: &Vec<&'a Row>| match arguments.first() {
                None => Value::Int(1),
                Some(scalar) => compute(scalar, &|c| get(rows, c)),
            };
            aggregate(*function, group.iter().map(value))
        }
        Measure::Literal { value } => literal(value),
        Measure::Subtract { left, right } => match (of(left), of(right)) {
            (Value::Int(l), Value::Int(r)) => Value::Int(l - r),
            _ => Value::Null,
        },
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

fn aggregate(function: Function, values: impl Iterator<Item = Value>) -> Value {
    let values: Vec<Value> = values.filter(|v| *v != Value::Null).collect();
    let real = |value: &Value| match value {
        Value::Int(v) => *v as f64,
        Value::Real(v) => *v,
        _ => f64::NAN,
    };
    match (function, &values[..]) {
        (Function::Count, _) => Value::Int(values.len() as i64),
        (Function::CountDistinct, values) => {
            let different = |at: &usize| !values[..*at].contains(&values[*at]);
            Value::Int((0..values.len()).filter(different).count() as i64)
        }
        (_, []) => Value::Null,
        (Function::Min | Function::Max, values) => {
            let wanted = match function {
                Function::Min => Ordering::Less,
                _ => Ordering::Greater,
            };
            let better = |best: Value, other: &Value| match other.partial_cmp(&best) {
                Some(order) if order == wanted => other.clone(),
                _ => best,
            };
            values.iter().fold(values[0].clone(), better)
        }
        (Function::Sum, [Value::Int(_), ..]) => Value::Int(
            values
                .iter()
                .map(|v| if let Value::Int(v) = v { *v } else { 0 })
                .sum(),
        ),
        (Function::Sum, _) => Value::Real(values.iter().map(real).sum::<f64>() + 0.0),
        (Function::Avg, _) => {
            Value::Real(values.iter().map(real).sum::<f64>() / values.len() as f64 + 0.0)
        }
        (other, _) => panic!("{other:?} is not in the tests' queries"),
    }
}

fn compute(scalar: &Scalar, get: &dyn Fn(&ColumnRef) -> Value) -> Value {
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

pub(super) fn holds(condition: &Condition, get: &dyn Fn(&ColumnRef) -> Value) -> Option<bool> {
    holds_of(condition, &|scalar| compute(scalar, get))
}

/// Of rows or of groups.
pub(super) fn holds_of<S: std::fmt::Debug>(
    condition: &Condition<S>,
    value: &dyn Fn(&S) -> Value,
) -> Option<bool> {
    match condition {
        Condition::Compare {
            comparison,
            left,
            right,
        } => {
            let (left, right) = (value(left), value(right));
            if left == Value::Null || right == Value::Null {
                return None;
            }
            let order = left.partial_cmp(&right)?;
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
        other => panic!("{other:?} is not in the tests' queries"),
    }
}
