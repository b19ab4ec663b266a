//! Values and conditions over one relation, as of the only one of its block.
//!
//! Invariant: all else stays. Cost: linear in them.

use crate::machine::query::plan::{Column, Condition, Value};

/// A value over one relation, as of the only one of its block.
pub(crate) fn flat_value(value: &Value) -> Value {
    let both = |a: &Value, b: &Value| (Box::new(flat_value(a)), Box::new(flat_value(b)));
    let pair = |make: fn(Box<Value>, Box<Value>) -> Value, a: &Value, b: &Value| {
        let (a, b) = both(a, b);
        make(a, b)
    };
    match value {
        Value::Column(column) => Value::Column(Column {
            depth: 0,
            relation: 0,
            ..*column
        }),
        Value::Present(columns) => {
            let flat = |column: &Column| Column {
                depth: 0,
                relation: 0,
                ..*column
            };
            Value::Present(columns.iter().map(flat).collect())
        }
        Value::Plus(a, b) => pair(Value::Plus, a, b),
        Value::Minus(a, b) => pair(Value::Minus, a, b),
        Value::Times(a, b) => pair(Value::Times, a, b),
        Value::Over(a, b) => pair(Value::Over, a, b),
        other => other.clone(),
    }
}

/// The same of a condition.
pub(crate) fn flat(condition: &Condition) -> Condition {
    match condition {
        Condition::And(all) => Condition::And(all.iter().map(flat).collect()),
        Condition::Or(all) => Condition::Or(all.iter().map(flat).collect()),
        Condition::Compare(left, how, right) => {
            Condition::Compare(flat_value(left), *how, flat_value(right))
        }
        Condition::IsNull(value, null) => Condition::IsNull(flat_value(value), *null),
    }
}
