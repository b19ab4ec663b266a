//! Values of expressions, conditions and aggregates, as SQL defines them: an interpreter of one row, or one group, at a
//! time.
//!
//! Nothing is compiled, and no type is brought to another but integers to doubles.

use datafusion_common::ScalarValue;
use datafusion_expr::expr::{AggregateFunction, BinaryExpr};
use datafusion_expr::{Expr, Operator};
use ringview_query::{Function, Named};

use crate::value::Value;

/// The inputs of an expression.
pub trait Reads {
    /// The value of something that a text names.
    fn named(&self, named: &Named) -> Value;

    /// The value of a column by its plain name.
    fn plain(&self, name: &str) -> Value {
        panic!("{name} has no qualifier")
    }

    /// The values of an expression in all rows of the group, each with how often it is there.
    fn values(&self, of: &dyn Fn(&dyn Reads) -> Value) -> Vec<(Value, i64)> {
        let _ = of;
        panic!("an aggregate of no group")
    }
}

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

/// The value of an expression.
#[must_use]
pub fn compute(expr: &Expr, from: &dyn Reads) -> Value {
    let of = |side: &Expr| compute(side, from);
    match expr {
        Expr::Alias(alias) => of(&alias.expr),
        Expr::Column(column) => match Named::meant(column) {
            Some(named) => from.named(&named),
            None => from.plain(&column.name),
        },
        Expr::Literal(value, _) => literal(value),
        Expr::Cast(cast) => match of(&cast.expr) {
            Value::Text(text) => Value::Real(text.parse().expect("a double")),
            other => panic!("a cast of {other:?} is not in the tests' queries"),
        },
        Expr::Negative(of) => match compute(of, from) {
            Value::Int(v) => Value::Int(-v),
            Value::Real(v) => Value::Real(-v),
            other => other,
        },
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let operator = match op {
                Operator::Plus => '+',
                Operator::Minus => '-',
                Operator::Multiply => '*',
                Operator::Divide => '/',
                other => panic!("{other} is not in the tests' values"),
            };
            combine(operator, of(left), of(right))
        }
        Expr::ScalarFunction(call) if call.func.name() == "coalesce" => {
            let mut values = call.args.iter().map(of);
            values
                .find(|value| *value != Value::Null)
                .unwrap_or(Value::Null)
        }
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => {
            let (left, right) = (of(&call.args[0]), of(&call.args[1]));
            match left.compare(&right) {
                Some(order) if order.is_eq() => Value::Null,
                _ => left,
            }
        }
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            let function = Function::named(func.name(), params.distinct);
            let argument = params.args.first().filter(|one| !is_star(one));
            let values = from.values(&|row| match argument {
                None => Value::Int(1),
                Some(argument) => compute(argument, row),
            });
            aggregate(function.expect("an aggregate of the tests"), values)
        }
        other => panic!("{other} is not in the tests' queries"),
    }
}

#[expect(deprecated, reason = "the binder makes one of COUNT(*)")]
fn is_star(of: &Expr) -> bool {
    matches!(of, Expr::Wildcard { .. } | Expr::Literal(..))
}

fn literal(value: &ScalarValue) -> Value {
    match value {
        value if value.is_null() => Value::Null,
        ScalarValue::Int64(Some(v)) => Value::Int(*v),
        ScalarValue::Float64(Some(v)) => Value::Real(*v),
        ScalarValue::Utf8(Some(v)) => Value::Text(v.clone()),
        // As a double: the tests' decimals are fractions of powers of two, or are in no
        // computation.
        ScalarValue::Decimal128(Some(v), _, scale) => {
            Value::Real(*v as f64 / 10f64.powi((*scale).into()))
        }
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

/// An aggregate of values, each with how often it is there.
#[must_use]
pub fn aggregate(function: Function, values: Vec<(Value, i64)>) -> Value {
    let values = values.into_iter();
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

/// Whether a condition holds; `None` if that is unknown.
#[must_use]
pub fn holds(condition: &Expr, from: &dyn Reads) -> Option<bool> {
    let opposite = |held: Option<bool>| held.map(|held| !held);
    let of = |one: &Expr| holds(one, from);
    let value = |one: &Expr| compute(one, from);
    match condition {
        Expr::Alias(alias) => of(&alias.expr),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => opposite(any(vec![opposite(of(left)), opposite(of(right))])),
            Operator::Or => any(vec![of(left), of(right)]),
            comparison => {
                let order = value(left).compare(&value(right))?;
                Some(match comparison {
                    Operator::Eq => order.is_eq(),
                    Operator::NotEq => order.is_ne(),
                    Operator::Lt => order.is_lt(),
                    Operator::LtEq => order.is_le(),
                    Operator::Gt => order.is_gt(),
                    Operator::GtEq => order.is_ge(),
                    other => panic!("{other} is not in the tests' conditions"),
                })
            }
        },
        Expr::InList(within) => {
            let operand = value(&within.expr);
            let equal = |one: &Expr| Some(operand.compare(&value(one))?.is_eq());
            let found = any(within.list.iter().map(equal).collect());
            if within.negated {
                opposite(found)
            } else {
                found
            }
        }
        Expr::Literal(ScalarValue::Boolean(value), _) => *value,
        Expr::IsNull(of) => Some(value(of) == Value::Null),
        Expr::IsNotNull(of) => Some(value(of) != Value::Null),
        Expr::Not(one) => opposite(of(one)),
        other => panic!("{other} is not in the tests' conditions"),
    }
}

/// OR in three-valued logic.
fn any(all: Vec<Option<bool>>) -> Option<bool> {
    match all.contains(&Some(true)) {
        true => Some(true),
        false => (!all.contains(&None)).then_some(false),
    }
}
