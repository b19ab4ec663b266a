//! A bound expression as the text that a block keeps.
//!
//! Invariant: names are quoted; read again over the columns of the block, the text means what the expression means.
//! Cost: linear in the expression.

use datafusion_expr::{BinaryExpr, Expr, Operator};
use datafusion_sql::unparser::Unparser;
use datafusion_sql::unparser::dialect::{Dialect, IntervalStyle};
use ringview_core::Result;

use crate::error::refusal;

/// Names are quoted, and nothing else is a dialect's.
struct Quoted;

impl Dialect for Quoted {
    fn identifier_quote_style(&self, _name: &str) -> Option<char> {
        Some('"')
    }

    fn interval_style(&self) -> IntervalStyle {
        IntervalStyle::PostgresVerbose
    }
}

/// The text of an expression.
pub(crate) fn text(expr: &Expr) -> Result<String> {
    // A chain of conditions may be longer than recursion is deep.
    let mut here = expr;
    let mut behind = Vec::new();
    while let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::And,
        right,
    }) = here
    {
        behind.push(&**right);
        here = left;
    }
    if behind.len() < LONG {
        return whole(expr);
    }
    let mut made = format!("({})", whole(here)?);
    for condition in behind.into_iter().rev() {
        made.push_str(" AND (");
        made.push_str(&whole(condition)?);
        made.push(')');
    }
    Ok(made)
}

/// Conditions joined by AND from which on they are written one by one.
const LONG: usize = 50;

fn whole(expr: &Expr) -> Result<String> {
    let made = Unparser::new(&Quoted).expr_to_sql(expr);
    made.map(|ast| ast.to_string())
        .map_err(|problem| refusal(&problem))
}
