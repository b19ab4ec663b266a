//! Bound operands of comparisons: columns of this block and outer ones, constants, arithmetic,
//! subqueries.
//!
//! Invariant: a value that is bound has a meaning: a number of some kind, a Boolean, a day, a tick,
//! or a string. Arithmetic is on numbers; a value that is NULL for all rows is recognised at once.
//! Cost: linear in the expression.

use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Result, Type};

use super::scope::OuterScope;
use super::side::{Side, TypedValue};
use crate::bind::domain::{Domain, domain_of};
use crate::bind::literal::{Literal, literal};
use crate::bind::names::{constant, joined, named, split};
use crate::bind::nested::{Column, Value};
use crate::bind::polynomial::{Constant, Kind, Polynomial};
use crate::bind::scalar::number_of;
use crate::bind::variables::resolve;
use crate::logical::{ColumnRef, Named};

impl OuterScope<'_> {
    /// Recognises one side of a comparison.
    ///
    /// # Errors
    /// `Unsupported` for what is no arithmetic over columns, constants and subqueries; `Type`.
    pub(super) fn side(&self, expr: &Expr) -> Result<Side> {
        match named(expr) {
            Some(Named::Column {
                depth,
                atom,
                column,
            }) => return self.column(depth, atom, &column).map(Side::TypedValue),
            Some(Named::Subquery(number)) => return Ok(self.values[number].clone()),
            None => {}
        }
        if let Some(value) = constant(expr)? {
            return side_of(literal(&value)?);
        }
        arithmetic(expr, &mut |operand| self.side(operand))
    }
}

/// Arithmetic over what `side` recognises.
pub(super) fn arithmetic(expr: &Expr, side: &mut dyn FnMut(&Expr) -> Result<Side>) -> Result<Side> {
    match expr {
        Expr::Alias(alias) => side(&alias.expr),
        Expr::Negative(of) => {
            let zero = side_of(Literal::Number(Polynomial::int(0)))?;
            both(zero, side(of)?, |left, right| Ok(subtract(left, right)))
        }
        Expr::BinaryExpr(BinaryExpr { op, .. })
            if matches!(op, Operator::Plus | Operator::Multiply) =>
        {
            let mut parts = Vec::new();
            split(expr, *op, &mut parts);
            let parts = parts.into_iter().map(&mut *side);
            let parts = parts.collect::<Result<Vec<Side>>>()?;
            let joined = joined(parts, &mut |left, right| match op {
                Operator::Plus => both(left, right, add).map(Some),
                _ => both(left, right, multiply).map(Some),
            })?;
            Ok(joined.unwrap_or(Side::Null))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::Minus => {
            let (left, right) = (side(left)?, side(right)?);
            both(left, right, |left, right| Ok(subtract(left, right)))
        }
        // An engine makes NULL of a division by zero, as NULLIF does.
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::Divide => {
            let (left, right) = (side(left)?, side(divisor(right)?)?);
            both(left, right, divide)
        }
        other => Err(Error::Unsupported {
            what: format!("{other} in a condition with subqueries, or across tables"),
            why: "it is no arithmetic over columns, constants and the values of subqueries"
                .to_owned(),
            instead: "compute it in a subquery in FROM, as a column".to_owned(),
        }),
    }
}

/// The argument x of `NULLIF(x, 0)`, or a constant that is not zero: an engine divides by it as DuckDB does.
fn divisor(of: &Expr) -> Result<&Expr> {
    let number = |expr: &Expr| match constant(expr)? {
        Some(value) => number_of(literal(&value)?),
        None => Ok(None),
    };
    let is_zero = |number: &Polynomial| {
        matches!(
            number.value(),
            Some(Constant::Int(0) | Constant::Decimal(0) | Constant::Real(0.0))
        )
    };
    if let Expr::ScalarFunction(call) = of
        && call.func.name() == "nullif"
        && let [value, zero] = &call.args[..]
        && number(zero)?.as_ref().is_some_and(is_zero)
    {
        return Ok(value);
    }
    if let Some(value) = number(of)?
        && !is_zero(&value)
    {
        return Ok(of);
    }
    Err(Error::Unsupported {
        what: format!("a division by {of} in a condition with subqueries"),
        why: "it may be by zero, which is no NULL".to_owned(),
        instead: "divide by NULLIF(.., 0)".to_owned(),
    })
}

fn add(left: TypedValue, right: TypedValue) -> Result<TypedValue> {
    let kind = left.kind.common(right.kind);
    let (left, right) = (left.value.into(), right.value.into());
    Ok(TypedValue::number(Value::Plus(left, right), kind))
}

pub(super) fn divide(left: TypedValue, right: TypedValue) -> Result<TypedValue> {
    let (left, right) = (left.value.into(), right.value.into());
    Ok(TypedValue::number(Value::Over(left, right), Kind::Real))
}

/// Combines two numbers by `make`; NULL if either is.
pub(super) fn both(
    left: Side,
    right: Side,
    make: impl FnOnce(TypedValue, TypedValue) -> Result<TypedValue>,
) -> Result<Side> {
    match (number(left)?, number(right)?) {
        (Some(left), Some(right)) => Ok(Side::TypedValue(make(left, right)?)),
        _ => Ok(Side::Null),
    }
}

fn number(side: Side) -> Result<Option<TypedValue>> {
    match side {
        Side::Null => Ok(None),
        Side::Quoted(text) => Err(Error::Type {
            place: "arithmetic in a condition".to_owned(),
            expected: "a number".to_owned(),
            found: Literal::Text(text).description(),
        }),
        Side::TypedValue(known) => known.into_number("arithmetic in a condition").map(Some),
    }
}

fn subtract(left: TypedValue, right: TypedValue) -> TypedValue {
    let kind = left.kind.common(right.kind);
    let (left, right) = (left.value.into(), right.value.into());
    TypedValue::number(Value::Minus(left, right), kind)
}

pub(super) fn multiply(left: TypedValue, right: TypedValue) -> Result<TypedValue> {
    let kind = left.kind.product(right.kind)?;
    let (left, right) = (left.value.into(), right.value.into());
    Ok(TypedValue::number(Value::Times(left, right), kind))
}

/// A constant.
pub(super) fn side_of(literal: Literal) -> Result<Side> {
    let (expr, domain) = match literal {
        Literal::Null => return Ok(Side::Null),
        Literal::Text(text) => return Ok(Side::Quoted(text)),
        Literal::Bool(value) => (Polynomial::int(i64::from(value)), Domain::Bool),
        Literal::Date(days) => (Polynomial::int(days), Domain::Date),
        Literal::Timestamp(ticks, unit) => {
            let domain = Domain::Timestamp { unit, zoned: None };
            (Polynomial::int(ticks), domain)
        }
        Literal::Number(number) => (number, Domain::Number),
    };
    Ok(TypedValue::literal(&expr, domain).map_or(Side::Null, Side::TypedValue))
}

impl OuterScope<'_> {
    /// A column of the query so many further out.
    fn column(&self, depth: usize, atom: usize, name: &str) -> Result<TypedValue> {
        let Some(query) = self.out(depth) else {
            return Err(Error::Value {
                place: "the query".to_owned(),
                problem: format!(
                    "column {name:?} is of a query {depth} further out, and there is none so far out"
                ),
            });
        };
        let column = ColumnRef {
            atom,
            column: name.to_owned(),
        };
        let (atom, column) = resolve(query.scopes, &column)?;
        let scope = &query.scopes[atom];
        let ty = scope.ty(column).clone();
        let (domain, kind) = match domain_of(&ty) {
            Some((kind, domain)) => (Some(domain), kind),
            None => (None, Kind::Int),
        };
        let nullable = scope.nullable(column);
        let column = Column {
            depth,
            relation: atom,
            column,
        };
        Ok(TypedValue {
            single: ty == Type::Float32,
            nullable,
            value: Value::Column(column),
            domain,
            kind,
            constant: None,
        })
    }
}
