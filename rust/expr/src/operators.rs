//! DuckDB's operators: `/` is a double, `^` a power, `||` of anything a text; days and intervals added and taken away.
//!
//! Invariant: as in `meaning`, operands are meant already, and their types known. Cost: O(1) a node.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit};
use datafusion_functions::math;
use datafusion_functions_nested::expr_fn::array_concat;
use datafusion_sql::sqlparser::ast::BinaryOperator;

use crate::bits;
use crate::conditions::both;
use crate::kernels;
use crate::kernels::time::MOMENT;
use crate::lists::is_list;
use crate::renamed::int_divide;
use crate::synonyms;
use crate::types::{self, double};

/// Arithmetic of dates, and powers, planned at once: the library refuses to derive their types.
#[derive(Debug)]
pub(crate) struct Dates;

impl ExprPlanner for Dates {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match raw.op {
            BinaryOperator::DuckIntegerDivide => {
                return Ok(PlannerResult::Planned(int_divide(raw.left, raw.right)));
            }
            BinaryOperator::BitwiseXor => {
                let power = math::power().call(vec![double(raw.left), double(raw.right)]);
                return Ok(PlannerResult::Planned(power));
            }
            _ => match decided_by_types(&raw.op) {
                Some(op) => op,
                None => return Ok(PlannerResult::Original(raw)),
            },
        };
        let binary = BinaryExpr::new(Box::new(raw.left), op, Box::new(raw.right));
        of_text(binary, schema).map(PlannerResult::Planned)
    }
}

/// The operator that `of_text` plans, if it is one.
pub(crate) fn decided_by_types(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::And => Operator::And,
        BinaryOperator::Or => Operator::Or,
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::StringConcat => Operator::StringConcat,
        _ => return None,
    })
}

/// An operator of a text, once its operands have types: the library refuses to derive the type of AND of numbers, or of
/// arithmetic of dates.
pub(crate) fn of_text(binary: BinaryExpr, schema: &DFSchema) -> Result<Expr> {
    let BinaryExpr { left, op, right } = binary;
    let has =
        |of: &Expr, is_it: fn(&DataType) -> bool| of.get_type(schema).is_ok_and(|ty| is_it(&ty));
    let is_day = |ty: &DataType| matches!(ty, DataType::Date32);
    let is_interval = |ty: &DataType| matches!(ty, DataType::Interval(_));
    Ok(match op {
        Operator::And | Operator::Or => both(*left, op, *right, schema)?,
        Operator::Plus | Operator::Minus if has(&left, is_day) || has(&right, is_day) => {
            operator(BinaryExpr { left, op, right }, schema)?
        }
        Operator::Multiply => match (has(&left, is_interval), has(&right, is_interval)) {
            (true, false) => times(*right, *left),
            (false, true) => times(*left, *right),
            _ => binary_expr(*left, op, *right),
        },
        Operator::StringConcat if has(&left, is_list) || has(&right, is_list) => {
            array_concat(vec![*left, *right])
        }
        Operator::StringConcat => {
            // Each time that a text is read again, another cast would be put around.
            let text = |of: Expr| match of.get_type(schema) {
                Ok(DataType::Utf8) => of,
                _ => cast(of, DataType::Utf8),
            };
            binary_expr(text(*left), op, text(*right))
        }
        _ => Expr::BinaryExpr(BinaryExpr { left, op, right }),
    })
}

/// Meaning of an operator whose operands are rewritten already.
pub(crate) fn operator(
    BinaryExpr { left, op, right }: BinaryExpr,
    schema: &DFSchema,
) -> Result<Expr> {
    let types = (left.get_type(schema)?, right.get_type(schema)?);
    let is_day = |of: &DataType| matches!(of, DataType::Date32);
    let is_interval = |of: &DataType| matches!(of, DataType::Interval(_));
    let is_single = |of: &DataType| *of == DataType::Float32;
    let (left, right) = (*left, *right);
    if bits::is_operator(op) {
        return bits::operator(left, op, right, schema);
    }
    let days = |of: Expr| cast(of, DataType::Int32);
    Ok(match (op, &types.0, &types.1) {
        (Operator::Divide, one, other) if is_single(one) || is_single(other) => {
            let single = DataType::Float32;
            let is_double = *one == DataType::Float64 || *other == DataType::Float64;
            let to = if is_double { DataType::Float64 } else { single };
            binary_expr(cast(left, to.clone()), op, cast(right, to))
        }
        (Operator::Divide, _, _) => binary_expr(double(left), op, double(right)),
        (Operator::Minus, one, other) if is_day(one) && is_day(other) => binary_expr(
            cast(days(left), DataType::Int64),
            op,
            cast(days(right), DataType::Int64),
        ),
        (Operator::Plus | Operator::Minus, one, other) if is_day(one) && other.is_integer() => {
            cast(binary_expr(days(left), op, days(right)), DataType::Date32)
        }
        (Operator::Plus, one, other) if one.is_integer() && is_day(other) => {
            cast(binary_expr(days(left), op, days(right)), DataType::Date32)
        }
        (Operator::Plus | Operator::Minus, one, other) if is_day(one) && is_interval(other) => {
            binary_expr(cast(left, MOMENT), op, right)
        }
        (Operator::Plus, one, other) if is_interval(one) && is_day(other) => {
            binary_expr(left, op, cast(right, MOMENT))
        }
        (Operator::And | Operator::Or, _, _) => both(left, op, right, schema)?,
        (Operator::StringConcat, _, _) => binary_expr(
            synonyms::joined(left, schema)?,
            op,
            synonyms::joined(right, schema)?,
        ),
        (
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom,
            _,
            _,
        ) => {
            let mut all = types::unify_operands(vec![left, right], schema)?.into_iter();
            pair(&mut all, op)
        }
        (Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Modulo, _, _) => {
            let mut all = types::alike(vec![left, right], schema)?.into_iter();
            pair(&mut all, op)
        }
        _ => binary_expr(left, op, right),
    })
}

fn times(number: Expr, interval: Expr) -> Expr {
    kernels::interval_times().call(vec![cast(number, DataType::Int64), interval])
}

fn pair(of: &mut dyn Iterator<Item = Expr>, op: Operator) -> Expr {
    let mut next = || of.next().unwrap_or_else(|| lit(ScalarValue::Null));
    let left = next();
    binary_expr(left, op, next())
}
