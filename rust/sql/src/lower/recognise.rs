//! What engines recognise in an expression: constants, sums of products, comparisons, values of subqueries.
//!
//! An engine reads a few forms of expressions by themselves: it multiplies rings along them, or keeps trees of what they
//! compare. Everything else over a row is computed by a block. Invariant: a recognised form means what the expression
//! means. Cost: O(size of the expression).

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::{BinaryExpr, Like};
use datafusion_expr::{Expr, Operator};
use ringview_query::{Comparison, Condition, Literal, Measure, Scalar, SubqueryExpr};

use super::pending::{any, is_nested};
use crate::text::text;

/// A tree of an engine's: literals and arithmetic over its own leaves.
pub(super) trait Arithmetic: Sized {
    fn literal(value: Literal) -> Self;
    fn negate(operand: Self) -> Self;
    /// None for an operator that the tree lacks.
    fn binary(op: Operator, left: Self, right: Self) -> Option<Self>;
}

macro_rules! arithmetic_of {
    ($tree:ident, $divides:expr $(, $variant:ident)?) => {
        impl Arithmetic for $tree {
            fn literal(value: Literal) -> Self {
                $tree::Literal { value }
            }

            fn negate(operand: Self) -> Self {
                $tree::Negate {
                    operand: Box::new(operand),
                }
            }

            fn binary(op: Operator, left: Self, right: Self) -> Option<Self> {
                if op == Operator::Divide && !$divides(&right) {
                    return None;
                }
                let (left, right) = (Box::new(left), Box::new(right));
                Some(match op {
                    Operator::Plus => $tree::Add { left, right },
                    Operator::Minus => $tree::Subtract { left, right },
                    Operator::Multiply => $tree::Multiply { left, right },
                    $(Operator::Divide => $tree::$variant { left, right },)?
                    _ => return None,
                })
            }
        }
    };
}

arithmetic_of!(Scalar, |_: &Scalar| false);
arithmetic_of!(SubqueryExpr, is_not_zero, Divide);
arithmetic_of!(Measure, |_: &Measure| true, Divide);

/// Whether an engine divides by a value in a condition as DuckDB does: it makes NULL of a division by zero.
fn is_not_zero(of: &SubqueryExpr) -> bool {
    match of {
        SubqueryExpr::Literal { value } => match value {
            Literal::Int(value) => *value != 0,
            Literal::Float(value) => *value != 0.0,
            Literal::Decimal(digits) => digits.contains(|digit: char| ('1'..='9').contains(&digit)),
            _ => false,
        },
        _ => false,
    }
}

/// An expression as an engine's tree over leaves that `leaf` recognises.
pub(super) fn tree<S: Arithmetic>(
    expr: &Expr,
    leaf: &mut dyn FnMut(&Expr) -> Option<S>,
) -> Option<S> {
    if let Some(found) = leaf(expr) {
        return Some(found);
    }
    if let Some(value) = constant(expr) {
        return Some(S::literal(value));
    }
    match expr {
        Expr::Alias(alias) => tree(&alias.expr, leaf),
        Expr::Negative(of) => Some(S::negate(tree(of, leaf)?)),
        Expr::BinaryExpr(BinaryExpr { op, .. })
            if matches!(op, Operator::Plus | Operator::Multiply) =>
        {
            let mut parts = Vec::new();
            super::pending::split(expr, *op, &mut parts);
            let parts = parts.iter().map(|part| tree(part, leaf));
            joined(parts.collect::<Option<Vec<S>>>()?, *op)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let left = tree(left, leaf)?;
            S::binary(*op, left, tree(right, leaf)?)
        }
        _ => None,
    }
}

/// A chain of more operands is balanced, so that it is as deep as its logarithm; of fewer, it stays as it is written.
const LONG: usize = 32;

/// The sum or the product of several operands.
fn joined<S: Arithmetic>(mut parts: Vec<S>, op: Operator) -> Option<S> {
    while parts.len() > LONG {
        let mut pairs = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => S::binary(op, left, right)?,
                None => left,
            });
        }
        parts = pairs;
    }
    let mut parts = parts.into_iter();
    let first = parts.next()?;
    parts.try_fold(first, |left, right| S::binary(op, left, right))
}

/// What a tree of an engine's is made of.
pub(super) trait Recognise<S> {
    /// What is compared.
    fn operand(&mut self, expr: &Expr) -> Option<S>;

    /// A condition that has a form of its own.
    fn whole(&mut self, _expr: &Expr) -> Option<Condition<S>> {
        None
    }
}

impl<S, F: FnMut(&Expr) -> Option<S>> Recognise<S> for F {
    fn operand(&mut self, expr: &Expr) -> Option<S> {
        self(expr)
    }
}

/// A condition over operands that are recognised.
pub(super) fn condition<S: Arithmetic + Clone>(
    expr: &Expr,
    of: &mut dyn Recognise<S>,
) -> Option<Condition<S>> {
    if let Some(found) = of.whole(expr) {
        return Some(found);
    }
    let not = |of: Condition<S>| Condition::Not {
        operand: Box::new(of),
    };
    let negated = |of: Condition<S>, is: bool| if is { not(of) } else { of };
    Some(match expr {
        Expr::Alias(alias) => condition(&alias.expr, of)?,
        Expr::BinaryExpr(BinaryExpr { op, .. }) if matches!(op, Operator::And | Operator::Or) => {
            let mut arms = Vec::new();
            super::pending::split(expr, *op, &mut arms);
            let arms = arms.iter().map(|arm| condition(arm, of));
            let operands = arms.collect::<Option<Vec<_>>>()?;
            match op {
                Operator::And => Condition::And { operands },
                _ => Condition::Or { operands },
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => Condition::Compare {
            comparison: comparison(*op)?,
            left: of.operand(left)?,
            right: of.operand(right)?,
        },
        Expr::Not(inner) => not(condition(inner, of)?),
        Expr::IsNull(inner) => Condition::IsNull {
            operand: of.operand(inner)?,
        },
        Expr::IsNotNull(inner) => not(Condition::IsNull {
            operand: of.operand(inner)?,
        }),
        Expr::Between(between) => {
            let value = of.operand(&between.expr)?;
            let bound = |comparison, right| Condition::Compare {
                comparison,
                left: value.clone(),
                right,
            };
            let operands = vec![
                bound(Comparison::Ge, of.operand(&between.low)?),
                bound(Comparison::Le, of.operand(&between.high)?),
            ];
            negated(Condition::And { operands }, between.negated)
        }
        Expr::InList(within) => {
            let list = within
                .list
                .iter()
                .map(constant)
                .collect::<Option<Vec<_>>>()?;
            let operand = of.operand(&within.expr)?;
            negated(Condition::In { operand, list }, within.negated)
        }
        Expr::Like(one) => negated(like(one, of)?, one.negated),
        Expr::Literal(ScalarValue::Boolean(Some(value)), _) => {
            Condition::Constant { value: *value }
        }
        // A Boolean that stands alone; NULL = TRUE is unknown, as NULL itself is.
        other => Condition::Compare {
            comparison: Comparison::Eq,
            left: match is_boolean(other) {
                true => of.operand(other)?,
                false => return None,
            },
            right: S::literal(Literal::Bool(true)),
        },
    })
}

/// Whether a node may be a Boolean by itself: a column or NULL.
fn is_boolean(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::OuterReferenceColumn(..) => true,
        Expr::Literal(value, _) => value.is_null(),
        _ => false,
    }
}

fn like<S>(like: &Like, of: &mut dyn Recognise<S>) -> Option<Condition<S>> {
    let Some(Literal::Text(pattern)) = constant(&like.pattern) else {
        return None;
    };
    matches!(*like.expr, Expr::Column(_)).then_some(())?;
    Some(Condition::Like {
        operand: of.operand(&like.expr)?,
        pattern,
        escape: like.escape_char,
        insensitive: like.case_insensitive,
    })
}

pub(super) fn comparison(op: Operator) -> Option<Comparison> {
    Some(match op {
        Operator::Eq => Comparison::Eq,
        Operator::NotEq => Comparison::Ne,
        Operator::Lt => Comparison::Lt,
        Operator::LtEq => Comparison::Le,
        Operator::Gt => Comparison::Gt,
        Operator::GtEq => Comparison::Ge,
        _ => return None,
    })
}

/// The constant that an expression is.
pub(super) fn constant(expr: &Expr) -> Option<Literal> {
    if let Expr::Literal(value, _) = expr {
        return literal(value);
    }
    let reads = |node: &Expr| {
        let is_column = matches!(node, Expr::Column(_) | Expr::OuterReferenceColumn(..));
        is_column || is_nested(node) || matches!(node, Expr::AggregateFunction(_))
    };
    if any(expr, reads) {
        return None;
    }
    literal(&ringview_expr::constant(&text(expr).ok()?).ok()??)
}

/// A value as the engines write it.
pub(super) fn literal(value: &ScalarValue) -> Option<Literal> {
    let integer = |value: i128| match i64::try_from(value) {
        Ok(value) => Literal::Int(value),
        Err(_) => Literal::Decimal(value.to_string()),
    };
    if value.is_null() {
        return Some(Literal::Null);
    }
    Some(match value {
        ScalarValue::Boolean(Some(value)) => Literal::Bool(*value),
        ScalarValue::Int8(Some(value)) => integer((*value).into()),
        ScalarValue::Int16(Some(value)) => integer((*value).into()),
        ScalarValue::Int32(Some(value)) => integer((*value).into()),
        ScalarValue::Int64(Some(value)) => integer((*value).into()),
        ScalarValue::UInt8(Some(value)) => integer((*value).into()),
        ScalarValue::UInt16(Some(value)) => integer((*value).into()),
        ScalarValue::UInt32(Some(value)) => integer((*value).into()),
        ScalarValue::UInt64(Some(value)) => integer((*value).into()),
        ScalarValue::Float32(Some(value)) if value.is_finite() => Literal::Float((*value).into()),
        ScalarValue::Float64(Some(value)) if value.is_finite() => Literal::Float(*value),
        ScalarValue::Decimal128(Some(value), _, scale) => decimal(*value, *scale)?,
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => Literal::Text(text.clone()),
        ScalarValue::Date32(_) => Literal::Date(shown(value)?),
        ScalarValue::TimestampSecond(..)
        | ScalarValue::TimestampMillisecond(..)
        | ScalarValue::TimestampMicrosecond(..)
        | ScalarValue::TimestampNanosecond(..) => {
            let unit = match value {
                ScalarValue::TimestampNanosecond(..) => TimeUnit::Nanosecond,
                _ => TimeUnit::Microsecond,
            };
            // Moments with a zone are those of UTC.
            let local = value.cast_to(&DataType::Timestamp(unit, None)).ok()?;
            Literal::Timestamp(shown(&local)?)
        }
        _ => return None,
    })
}

fn shown(value: &ScalarValue) -> Option<String> {
    match value.cast_to(&DataType::Utf8).ok()? {
        ScalarValue::Utf8(text) => text,
        _ => None,
    }
}

fn decimal(value: i128, scale: i8) -> Option<Literal> {
    let scale = usize::try_from(scale).ok()?;
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    Some(Literal::Decimal(format!("{sign}{whole}{point}{fraction}")))
}
