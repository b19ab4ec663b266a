//! What expressions, conditions and aggregates are, as SQL says it.

use ringview_query::{
    ColumnRef, Compared, Comparison, Condition, Function, Literal, Measure, Query, Scalar,
};

use crate::value::Value;

/// Reads a column of a row of a join.
pub type Get<'a> = &'a dyn Fn(&ColumnRef) -> Value;

/// `left + right` and its kin; NULL with NULL, and by zero.
fn combine(operator: char, left: Value, right: Value) -> Value {
    let real = |value: &Value| match value {
        Value::Int(value) => Some(*value as f64),
        Value::Real(value) => Some(*value),
        _ => None,
    };
    let (Some(l), Some(r)) = (real(&left), real(&right)) else {
        return Value::Null;
    };
    match (operator, left, right) {
        ('+', Value::Int(l), Value::Int(r)) => Value::Int(l + r),
        ('-', Value::Int(l), Value::Int(r)) => Value::Int(l - r),
        ('*', Value::Int(l), Value::Int(r)) => Value::Int(l * r),
        ('+', ..) => Value::Real(l + r),
        ('-', ..) => Value::Real(l - r),
        ('*', ..) => Value::Real(l * r),
        ('/', ..) if r == 0.0 => Value::Null,
        ('/', ..) => Value::Real(l / r),
        (other, ..) => panic!("{other} is no operator"),
    }
}

fn negated(value: Value) -> Value {
    match value {
        Value::Int(v) => Value::Int(-v),
        Value::Real(v) => Value::Real(-v),
        other => other,
    }
}

/// What a condition compares; `column` reads one so many queries further out, `query` makes one
/// value of one within.
pub fn compute_compared(
    compared: &Compared,
    column: &dyn Fn(usize, &ColumnRef) -> Value,
    query: &dyn Fn(&Query) -> Value,
) -> Value {
    let of = |side: &Compared| compute_compared(side, column, query);
    match compared {
        Compared::Column {
            depth,
            atom,
            column: name,
        } => {
            let (atom, name) = (*atom, name.clone());
            column(*depth, &ColumnRef { atom, column: name })
        }
        Compared::Literal { value } => literal(value),
        Compared::Add { left, right } => combine('+', of(left), of(right)),
        Compared::Subtract { left, right } => combine('-', of(left), of(right)),
        Compared::Multiply { left, right } => combine('*', of(left), of(right)),
        Compared::Divide { left, right } => combine('/', of(left), of(right)),
        Compared::Negate { operand } => negated(of(operand)),
        Compared::Query { query: within } => query(within),
    }
}

/// A measure over the rows of a group, each with how often it is there.
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
        Measure::Add { left, right } => combine('+', of(left), of(right)),
        Measure::Subtract { left, right } => combine('-', of(left), of(right)),
        Measure::Multiply { left, right } => combine('*', of(left), of(right)),
        Measure::Divide { left, right } => combine('/', of(left), of(right)),
        Measure::Negate { operand } => negated(of(operand)),
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
    let of = |side: &Scalar| compute(side, get);
    match scalar {
        Scalar::Column { atom, column } => get(&ColumnRef {
            atom: *atom,
            column: column.clone(),
        }),
        Scalar::Literal { value } => literal(value),
        Scalar::Add { left, right } => combine('+', of(left), of(right)),
        Scalar::Subtract { left, right } => combine('-', of(left), of(right)),
        Scalar::Multiply { left, right } => combine('*', of(left), of(right)),
        Scalar::Negate { operand } => negated(of(operand)),
    }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Int(v) => Value::Int(*v),
        Literal::Float(v) => Value::Real(*v),
        Literal::Text(v) => Value::Text(v.clone()),
        Literal::Null => Value::Null,
        // As a double: the tests' decimals are fractions of powers of two, or stand alone.
        Literal::Decimal(v) => Value::Real(v.parse().expect("a decimal")),
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
        Condition::In { operand, list } => {
            let operand = value(operand);
            let equal = |one| Some(operand.compare(&literal(one))?.is_eq());
            any(list.iter().map(equal).collect())
        }
        Condition::Constant { value } => Some(*value),
        Condition::IsNull { operand } => Some(value(operand) == Value::Null),
        Condition::Not { operand } => holds_of(operand, value).map(|held| !held),
        Condition::And { operands } => {
            let opposite = |one| holds_of(one, value).map(|held| !held);
            any(operands.iter().map(opposite).collect()).map(|held| !held)
        }
        Condition::Or { operands } => {
            any(operands.iter().map(|one| holds_of(one, value)).collect())
        }
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

/// OR in three-valued logic.
fn any(all: Vec<Option<bool>>) -> Option<bool> {
    match all.contains(&Some(true)) {
        true => Some(true),
        false => (!all.contains(&None)).then_some(false),
    }
}
