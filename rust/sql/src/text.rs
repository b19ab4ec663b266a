//! A bound expression as the text that a block keeps.
//!
//! Invariant: names are quoted; read again over the columns of the block, the text means what the expression means.
//! Cost: linear in the expression.

use datafusion_expr::Expr;
use datafusion_sql::unparser::Unparser;
use datafusion_sql::unparser::dialect::{Dialect, IntervalStyle};
use ringview_core::Result;

use crate::clock::{reads_clock, refused};
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
    if reads_clock(expr) {
        return Err(refused(expr));
    }
    let made = Unparser::new(&Quoted).expr_to_sql(expr);
    made.map(|ast| ast.to_string())
        .map_err(|problem| refusal(&problem))
}
