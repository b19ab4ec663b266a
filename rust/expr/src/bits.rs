//! Operators on the bits of integers.
//!
//! Invariant: both operands have one type, and shifts are `shifts`'s, which lose no bit. Cost: O(1) a node.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast};

use crate::kernels::shifts;

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
    let types = [left.get_type(schema)?, right.get_type(schema)?];
    let is_mixed = types[0] != types[1] && types.iter().all(DataType::is_integer);
    let long = |of: Expr| cast(of, DataType::Int64);
    let (left, right) = match is_mixed {
        true => (long(left), long(right)),
        false => (left, right),
    };
    Ok(match op {
        Operator::BitwiseShiftLeft => shifts::left().call(vec![left, right]),
        Operator::BitwiseShiftRight => shifts::right().call(vec![left, right]),
        _ => binary_expr(left, op, right),
    })
}
