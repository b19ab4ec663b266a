//! Conditions: WHERE, HAVING, QUALIFY, ON, FILTER, WHEN, and the operands of AND, OR, NOT and IS TRUE.
//!
//! Invariant: each of them is a Boolean, by one rule, which is DuckDB's: a number is TRUE where it is not zero, a text
//! is read as one; other types are refused. The planner refuses other types than Booleans before their rule applies,
//! but for the operands of AND, whose planning is ours; so a text has `x AND TRUE`, and planning reduces it to
//! `condition(x)`. Cost: linear in the text.

use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit};
use datafusion_sql::sqlparser::ast::{
    self, BinaryOperator, JoinConstraint, JoinOperator, Query, Select, SetExpr, TableFactor,
    TableWithJoins, UnaryOperator, Value, VisitorMut,
};

/// A condition as a Boolean.
///
/// # Errors
/// `Plan` for a type without truth.
pub(crate) fn condition(of: Expr, schema: &DFSchema) -> Result<Expr> {
    if is_boolean(&of) {
        return Ok(of);
    }
    match of.get_type(schema)? {
        DataType::Boolean => Ok(of),
        ty @ DataType::Decimal128(..) => {
            let zero = lit(ScalarValue::new_zero(&ty)?);
            Ok(binary_expr(of, Operator::NotEq, zero))
        }
        ty if ty.is_numeric() || ty.is_null() || ty.is_string() => Ok(cast(of, DataType::Boolean)),
        ty => plan_err!(
            "{of} is no condition: it is of type {ty}, and not a Boolean, a number or a text"
        ),
    }
}

/// `left AND right`, or OR, of two conditions.
pub(crate) fn both(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<Expr> {
    let left = condition(left, schema)?;
    match (op, right) {
        (Operator::And, Expr::Literal(ScalarValue::Boolean(Some(true)), _)) => Ok(left),
        (op, right) => Ok(binary_expr(left, op, condition(right, schema)?)),
    }
}

/// Whether an expression is a Boolean by its form, so that the types of a long chain are not computed again and again.
fn is_boolean(of: &Expr) -> bool {
    match of {
        Expr::BinaryExpr(binary) => matches!(
            binary.op,
            Operator::And
                | Operator::Or
                | Operator::Eq
                | Operator::NotEq
                | Operator::Lt
                | Operator::LtEq
                | Operator::Gt
                | Operator::GtEq
        ),
        Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::InList(_)
        | Expr::InSubquery(_)
        | Expr::Exists(_)
        | Expr::Like(_)
        | Expr::Between(_) => true,
        _ => false,
    }
}

/// Says of each condition of a text that it is one.
#[derive(Debug)]
pub struct Conditions;

impl VisitorMut for Conditions {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        each_select(&mut query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            each_join(table_with_joins);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        match expr {
            ast::Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: of,
            }
            | ast::Expr::IsTrue(of)
            | ast::Expr::IsFalse(of)
            | ast::Expr::IsNotTrue(of)
            | ast::Expr::IsNotFalse(of) => stated(of),
            ast::Expr::Case {
                operand: None,
                conditions,
                ..
            } => {
                for arm in conditions {
                    stated(&mut arm.condition);
                }
            }
            ast::Expr::Function(of) => {
                if let Some(filter) = &mut of.filter {
                    stated(filter);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn each_select(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            each_select(left);
            each_select(right);
        }
        SetExpr::Select(select) => {
            let Select {
                from,
                selection,
                having,
                qualify,
                ..
            } = &mut **select;
            from.iter_mut().for_each(each_join);
            [selection, having, qualify]
                .into_iter()
                .flatten()
                .for_each(stated);
        }
        _ => {}
    }
}

fn each_join(of: &mut TableWithJoins) {
    for join in &mut of.joins {
        let (JoinOperator::Join(on)
        | JoinOperator::Inner(on)
        | JoinOperator::Left(on)
        | JoinOperator::LeftOuter(on)
        | JoinOperator::Right(on)
        | JoinOperator::RightOuter(on)
        | JoinOperator::FullOuter(on)
        | JoinOperator::Semi(on)
        | JoinOperator::LeftSemi(on)
        | JoinOperator::RightSemi(on)
        | JoinOperator::Anti(on)
        | JoinOperator::LeftAnti(on)
        | JoinOperator::RightAnti(on)) = &mut join.join_operator
        else {
            continue;
        };
        if let JoinConstraint::On(condition) = on {
            stated(condition);
        }
    }
}

/// `x` as `x AND TRUE`, unless its form is that of a Boolean.
fn stated(of: &mut ast::Expr) {
    if let ast::Expr::Nested(of) = of {
        return stated(of);
    }
    let may_be_another = match &*of {
        ast::Expr::Identifier(_)
        | ast::Expr::CompoundIdentifier(_)
        | ast::Expr::CompoundFieldAccess { .. }
        | ast::Expr::Case { .. }
        | ast::Expr::Cast { .. }
        | ast::Expr::Function(_)
        | ast::Expr::Subquery(_) => true,
        ast::Expr::Value(value) => !matches!(value.value, Value::Boolean(_)),
        ast::Expr::UnaryOp { op, .. } => *op != UnaryOperator::Not,
        ast::Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
                | BinaryOperator::DuckIntegerDivide
                | BinaryOperator::StringConcat
                | BinaryOperator::BitwiseAnd
                | BinaryOperator::BitwiseOr
                | BinaryOperator::BitwiseXor
                | BinaryOperator::PGBitwiseShiftLeft
                | BinaryOperator::PGBitwiseShiftRight
        ),
        _ => false,
    };
    if may_be_another {
        let one = std::mem::replace(of, truth());
        *of = ast::Expr::BinaryOp {
            left: Box::new(one),
            op: BinaryOperator::And,
            right: Box::new(truth()),
        };
    }
}

fn truth() -> ast::Expr {
    ast::Expr::value(Value::Boolean(true))
}
