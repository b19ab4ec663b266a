//! Terms that a text is changed to, and dialects that mean the same.
//!
//! Cost: O(1) each.

use datafusion_sql::sqlparser::ast::{Expr, Value};

use crate::dialect::Dialect;

/// Dialects that are Spark's.
pub(super) const SPARK: [Dialect; 2] = [Dialect::Spark, Dialect::Databricks];

pub(super) fn text(of: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(of.to_owned()))
}

pub(super) fn number(of: &str) -> Expr {
    Expr::value(Value::Number(of.to_owned(), false))
}

pub(super) fn nested(of: Expr) -> Expr {
    Expr::Nested(Box::new(of))
}
