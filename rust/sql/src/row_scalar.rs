//! Bound expressions as blocks keep them.
//!
//! Invariant: such an expression is of one row: it reads no clock, no subquery and no query around, and has none of the
//! binder's marks. Cost: linear in the expression.

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::Expr;
use ringview_core::{Error, Result};
use ringview_expr::Scalar;

use crate::clock::reads_clock;
use crate::context::CATEGORICAL;
use crate::error::{refusal, unsupported};
use crate::unnested::EACH;

/// An expression that a block keeps; it does not read the clock, for only conditions on it are kept.
pub(crate) fn row_scalar(expr: Expr) -> Result<Scalar> {
    let mut problem = None;
    let walked = expr.apply(|node| {
        problem = misplaced(node);
        Ok(match problem {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    walked.map_err(|problem| refusal(&problem))?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    if reads_clock(&expr) {
        return Err(clock_refused(&expr));
    }
    Ok(expr.into())
}

/// The refusal of a node that no block keeps.
fn misplaced(node: &Expr) -> Option<Error> {
    let what = match node {
        // The column is there, in a query around.
        Expr::OuterReferenceColumn(_, column) => {
            return Some(Error::UnknownColumn {
                table: String::new(),
                column: column.name.clone(),
                known: Vec::new(),
            });
        }
        Expr::ScalarFunction(call) if call.func.name() == CATEGORICAL => {
            "CATEGORICAL stands in COFACTOR alone"
        }
        Expr::ScalarFunction(call) if call.func.name() == EACH => {
            "UNNEST within an expression is not kept; take it in a subquery"
        }
        Expr::Exists(_)
        | Expr::InSubquery(_)
        | Expr::ScalarSubquery(_)
        | Expr::SetComparison(_) => "a subquery in this place is not kept",
        Expr::WindowFunction(_) => "a window function in this place is not kept",
        _ => return None,
    };
    Some(unsupported(what))
}

/// The refusal of any other use of the clock than a condition on it.
pub(crate) fn clock_refused(of: &Expr) -> Error {
    Error::Unsupported {
        what: Scalar::from(of.clone()).to_string(),
        why: "the clock is kept as a condition of a WHERE alone: a comparison of a column, or of an expression of \
              columns of one row, with now() or current_date, shifted by constants"
            .to_owned(),
        instead: "write it as WHERE ts > now() - INTERVAL '7 days'; in the place of OR take the UNION of two \
                  SELECTs; in SELECT show the columns, and compute with the clock as you read"
            .to_owned(),
    }
}
