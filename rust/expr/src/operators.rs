//! DuckDB's operators: `/` is a double, `^` a power, `||` of anything a text; days and intervals added and taken away.
//!
//! Invariant: as in `meaning`, operands are meant already, and their types known. Cost: O(1) a node.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit};
use datafusion_functions::math;
use datafusion_sql::sqlparser::ast::BinaryOperator;

use crate::bits;
use crate::kernels;
use crate::meaning::{MOMENT, double};
use crate::renamed::int_divide;
use crate::synonyms;
use crate::types;

/// Arithmetic of dates, and powers, planned at once: whoever asks the library for their types is refused.
#[derive(Debug)]
pub(crate) struct Dates;

impl ExprPlanner for Dates {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match raw.op {
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            BinaryOperator::Multiply => {
                let is_interval =
                    |of: &Expr| matches!(of.get_type(schema), Ok(DataType::Interval(_)));
                return Ok(match (is_interval(&raw.left), is_interval(&raw.right)) {
                    (true, false) => PlannerResult::Planned(times(raw.right, raw.left)),
                    (false, true) => PlannerResult::Planned(times(raw.left, raw.right)),
                    _ => PlannerResult::Original(raw),
                });
            }
            BinaryOperator::DuckIntegerDivide => {
                return Ok(PlannerResult::Planned(int_divide(raw.left, raw.right)));
            }
            BinaryOperator::StringConcat => {
                let [left, right] = [raw.left, raw.right].map(|side| cast(side, DataType::Utf8));
                let joined = binary_expr(left, Operator::StringConcat, right);
                return Ok(PlannerResult::Planned(joined));
            }
            BinaryOperator::BitwiseXor => {
                let power = math::power().call(vec![double(raw.left), double(raw.right)]);
                return Ok(PlannerResult::Planned(power));
            }
            _ => return Ok(PlannerResult::Original(raw)),
        };
        let days = [&raw.left, &raw.right].map(|side| side.get_type(schema));
        if !days.iter().any(|of| matches!(of, Ok(DataType::Date32))) {
            return Ok(PlannerResult::Original(raw));
        }
        let binary = BinaryExpr::new(Box::new(raw.left), op, Box::new(raw.right));
        operator(binary, schema).map(PlannerResult::Planned)
    }
}

/// What an operator means, its operands meant already.
pub(crate) fn operator(
    BinaryExpr { left, op, right }: BinaryExpr,
    schema: &DFSchema,
) -> Result<Expr> {
    let types = (left.get_type(schema)?, right.get_type(schema)?);
    let is_day = |of: &DataType| matches!(of, DataType::Date32);
    let is_interval = |of: &DataType| matches!(of, DataType::Interval(_));
    let (left, right) = (*left, *right);
    if bits::is_operator(op) {
        return bits::operator(left, op, right, schema);
    }
    let days = |of: Expr| cast(of, DataType::Int32);
    Ok(match (op, &types.0, &types.1) {
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
