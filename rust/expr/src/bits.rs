//! Operators on the bits of integers.
//!
//! Invariant: no operand of `&`, `|` or the exclusive or is a minus, and no minus has one of them as its operand: the
//! library's simplifier takes that minus for a `~`, and turns `-(a | b)` into `-a & -b`. Cost: O(1) a node.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit};

pub(crate) fn is_operator(op: Operator) -> bool {
    matches!(
        op,
        Operator::BitwiseAnd
            | Operator::BitwiseOr
            | Operator::BitwiseXor
            | Operator::BitwiseShiftLeft
            | Operator::BitwiseShiftRight
    )
}

/// `left op right`; in 64 bits where the types differ.
pub(crate) fn operator(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<Expr> {
    let [left, right] = [operand(left, schema)?, operand(right, schema)?];
    let types = [left.get_type(schema)?, right.get_type(schema)?];
    let is_mixed = types[0] != types[1] && types.iter().all(DataType::is_integer);
    let long = |of: Expr| cast(of, DataType::Int64);
    Ok(match is_mixed {
        true => binary_expr(long(left), op, long(right)),
        false => binary_expr(left, op, right),
    })
}

/// `-x`.
pub(crate) fn negative(of: Expr, schema: &DFSchema) -> Result<Expr> {
    match &of {
        Expr::BinaryExpr(BinaryExpr { op, .. }) if is_operator(*op) => from_zero(of, schema),
        _ => Ok(Expr::Negative(Box::new(of))),
    }
}

fn operand(of: Expr, schema: &DFSchema) -> Result<Expr> {
    match of {
        Expr::Negative(of) => from_zero(*of, schema),
        other => Ok(other),
    }
}

/// `0 - x`, of the type of x.
fn from_zero(of: Expr, schema: &DFSchema) -> Result<Expr> {
    let ty = of.get_type(schema)?;
    let zero = match ty.is_signed_integer() {
        true => ScalarValue::new_zero(&ty)?,
        false => ScalarValue::Int64(Some(0)),
    };
    Ok(binary_expr(lit(zero), Operator::Minus, of))
}
