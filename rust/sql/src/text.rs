//! A bound expression as the text that a block keeps.
//!
//! Invariant: names are quoted; read again over the columns of the block, the text means what the expression means.
//! Cost: linear in the expression.

use datafusion_common::tree_node::TreeNode;
use datafusion_expr::Expr;
use ringview_core::{Error, Result};

use crate::clock::reads_clock;
use crate::context::CATEGORICAL;
use crate::error::unsupported;

/// The text of an expression, which does not read the clock: only conditions on it are kept.
pub(crate) fn text(expr: &Expr) -> Result<String> {
    if expr
        .exists(|node| Ok(is_categorical(node)))
        .unwrap_or(false)
    {
        return Err(unsupported("CATEGORICAL stands in COFACTOR alone"));
    }
    if reads_clock(expr) {
        return Err(clock_refused(expr));
    }
    ringview_expr::text(expr)
}

fn is_categorical(node: &Expr) -> bool {
    matches!(node, Expr::ScalarFunction(call) if call.func.name() == CATEGORICAL)
}

/// The refusal of any other use of the clock than a condition on it.
pub(crate) fn clock_refused(of: &Expr) -> Error {
    Error::Unsupported {
        what: ringview_expr::text(of).unwrap_or_else(|_| "this use of now()".to_owned()),
        why: "the clock is kept as a condition of a WHERE alone: a comparison of a column, or of an expression of \
              columns of one row, with now() or current_date, shifted by constants"
            .to_owned(),
        instead: "write it as WHERE ts > now() - INTERVAL '7 days'; in the place of OR take the UNION of two \
                  SELECTs; in SELECT show the columns, and compute with the clock as you read"
            .to_owned(),
    }
}
