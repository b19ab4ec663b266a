//! Expressions as text.
//!
//! Invariant: names are quoted; read again over the same columns, a text means what its expression means. Cost: linear in
//! the text.

use std::ops::ControlFlow;

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DataFusionError};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use datafusion_sql::sqlparser::ast::{self, Ident, Value, VisitorMut};
use datafusion_sql::unparser::Unparser;
use datafusion_sql::unparser::dialect::{Dialect, IntervalStyle};
use ringview_core::{Error, Result};

use crate::walk::walk_mut;

/// Names are quoted, and nothing else is a dialect's.
struct Quoted;

impl Dialect for Quoted {
    fn identifier_quote_style(&self, _name: &str) -> Option<char> {
        Some('"')
    }

    /// Fields would be written with dots, as columns of tables are.
    fn scalar_function_to_sql_overrides(
        &self,
        unparser: &Unparser<'_>,
        name: &str,
        args: &[Expr],
    ) -> datafusion_common::Result<Option<ast::Expr>> {
        if name != "get_field" {
            return Ok(None);
        }
        let args = args.iter().map(|arg| unparser.expr_to_sql(arg));
        let args = args.collect::<datafusion_common::Result<_>>()?;
        Ok(Some(call(name, args)))
    }

    fn interval_style(&self) -> IntervalStyle {
        IntervalStyle::PostgresVerbose
    }
}

/// A call of a function, as the parser has it.
#[must_use]
pub fn call(name: &str, args: Vec<ast::Expr>) -> ast::Expr {
    let arg = |of| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(of));
    ast::Expr::Function(ast::Function {
        name: ast::ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(arg).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Operands of a chain from which on they are written one by one.
const LONG: usize = 16;

/// Levels of an expression that the library writes at once: each takes a great deal of stack.
const LEVELS: usize = 8;

/// The text of an expression.
///
/// # Errors
/// `Unsupported` for what no text says.
pub(crate) fn text(expr: &Expr) -> Result<String> {
    let Some((first, behind)) = chain(expr) else {
        return by_levels(expr);
    };
    let mut made = format!("({})", text(first)?);
    for (op, operand) in behind.into_iter().rev() {
        made.push_str(&format!(" {op} ({})", text(operand)?));
    }
    Ok(made)
}

/// The first operand of a long chain, and the rest of it, from right to left: a chain may be longer than recursion is
/// deep.
fn chain(expr: &Expr) -> Option<(&Expr, Vec<(Operator, &Expr)>)> {
    let Expr::BinaryExpr(BinaryExpr { op, .. }) = expr else {
        return None;
    };
    let strength = binding(*op)?;
    let mut here = expr;
    let mut behind = Vec::new();
    while let Expr::BinaryExpr(BinaryExpr { left, op, right }) = here
        && binding(*op) == Some(strength)
    {
        behind.push((*op, &**right));
        here = left;
    }
    (behind.len() >= LONG).then_some((here, behind))
}

/// The beginning of the name of a part, before its number; no text spells it.
const PART: &str = "\u{1}part ";

/// The text of an expression, of which deeper parts are written by themselves.
fn by_levels(expr: &Expr) -> Result<String> {
    let mut parts = Vec::new();
    let top = cut(expr.clone(), LEVELS, &mut parts);
    let top = top.map_err(|problem| unwritten(&problem))?;
    let written = unparsed(&top)?;
    if parts.is_empty() {
        return Ok(written);
    }
    let mark = format!("\"{PART}");
    let mut pieces = written.split(&mark);
    let mut made = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once('"').unwrap_or((piece, ""));
        let part = number.parse().ok().and_then(|at: usize| parts.get(at));
        if let Some(part) = part {
            let written = text(part)?;
            match is_whole(part) {
                true => made.push_str(&written),
                false => made.push_str(&format!("({written})")),
            }
        }
        made.push_str(rest);
    }
    Ok(made)
}

/// An expression of so many levels, with columns in the place of the parts below them.
fn cut(expr: Expr, levels: usize, parts: &mut Vec<Expr>) -> datafusion_common::Result<Expr> {
    if matches!(expr, Expr::Column(_) | Expr::Literal(..)) {
        return Ok(expr);
    }
    if levels == 0 {
        let name = format!("{PART}{}", parts.len());
        parts.push(expr);
        return Ok(Expr::Column(Column::new_unqualified(name)));
    }
    let made = expr.map_children(|child| Ok(Transformed::yes(cut(child, levels - 1, parts)?)));
    made.map(|made| made.data)
}

/// Whether the text of an expression keeps its meaning in any context.
fn is_whole(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(_) => chain(expr).is_none(),
        Expr::ScalarFunction(_) | Expr::AggregateFunction(_) | Expr::Case(_) => true,
        _ => false,
    }
}

/// Precedence of an operator whose chains are read from left to right; those of one precedence make one chain.
fn binding(op: Operator) -> Option<u8> {
    Some(match op {
        Operator::Or => 0,
        Operator::And => 1,
        Operator::StringConcat => 2,
        Operator::Plus | Operator::Minus => 3,
        Operator::Multiply | Operator::Divide | Operator::Modulo => 4,
        _ => return None,
    })
}

fn unparsed(expr: &Expr) -> Result<String> {
    let made = Unparser::new(&Quoted).expr_to_sql(expr);
    made.map(|mut ast| {
        let _ = walk_mut(&mut ast, &mut Brackets);
        ast.to_string()
    })
    .map_err(|problem| unwritten(&problem))
}

fn unwritten(problem: &DataFusionError) -> Error {
    Error::Unsupported {
        what: "this expression".to_owned(),
        why: problem.strip_backtrace(),
        instead: "write it in another way".to_owned(),
    }
}

/// Puts operands in brackets. Without them an operand may bind more weakly than the operator around it, as NOT does
/// before IS NULL, and two signs in a row would begin a comment.
struct Brackets;

impl VisitorMut for Brackets {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let is_sign = matches!(expr, ast::Expr::UnaryOp { .. });
        for operand in operands(expr) {
            let is_number = matches!(operand, ast::Expr::Value(_));
            if !is_closed(operand) && (is_sign || !is_number) {
                let inner = std::mem::replace(operand, ast::Expr::value(Value::Null));
                *operand = ast::Expr::Nested(Box::new(inner));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The operands of an expression that only an operator separates.
fn operands(expr: &mut ast::Expr) -> Vec<&mut ast::Expr> {
    match expr {
        ast::Expr::UnaryOp { expr, .. }
        | ast::Expr::IsNull(expr)
        | ast::Expr::IsNotNull(expr)
        | ast::Expr::IsTrue(expr)
        | ast::Expr::IsNotTrue(expr)
        | ast::Expr::IsFalse(expr)
        | ast::Expr::IsNotFalse(expr)
        | ast::Expr::IsUnknown(expr)
        | ast::Expr::IsNotUnknown(expr)
        | ast::Expr::InList { expr, .. }
        | ast::Expr::InSubquery { expr, .. }
        | ast::Expr::CompoundFieldAccess { root: expr, .. } => vec![expr],
        ast::Expr::BinaryOp { left, right, .. }
        | ast::Expr::IsDistinctFrom(left, right)
        | ast::Expr::IsNotDistinctFrom(left, right)
        | ast::Expr::AnyOp { left, right, .. }
        | ast::Expr::AllOp { left, right, .. } => vec![left, right],
        ast::Expr::Like { expr, pattern, .. }
        | ast::Expr::ILike { expr, pattern, .. }
        | ast::Expr::SimilarTo { expr, pattern, .. }
        | ast::Expr::RLike { expr, pattern, .. } => vec![expr, pattern],
        ast::Expr::Between {
            expr, low, high, ..
        } => vec![expr, low, high],
        ast::Expr::AtTimeZone {
            timestamp,
            time_zone,
        } => vec![timestamp, time_zone],
        _ => Vec::new(),
    }
}

/// A name as a text spells it: quoted, whatever is in it.
#[must_use]
pub fn quoted(name: &str) -> String {
    Ident::with_quote('"', name).to_string()
}

/// Whether an expression keeps its meaning in any context.
fn is_closed(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(value) => {
            !matches!(&value.value, Value::Number(digits, _) if digits.starts_with('-'))
        }
        ast::Expr::Cast { kind, .. } => *kind != ast::CastKind::DoubleColon,
        ast::Expr::Exists { negated, .. } => !negated,
        ast::Expr::Identifier(_)
        | ast::Expr::CompoundIdentifier(_)
        | ast::Expr::Function(_)
        | ast::Expr::Nested(_)
        | ast::Expr::Case { .. }
        | ast::Expr::Extract { .. }
        | ast::Expr::Ceil { .. }
        | ast::Expr::Floor { .. }
        | ast::Expr::Position { .. }
        | ast::Expr::Substring { .. }
        | ast::Expr::Trim { .. }
        | ast::Expr::Tuple(_)
        | ast::Expr::Array(_)
        | ast::Expr::Interval(_)
        | ast::Expr::TypedString(_)
        | ast::Expr::Subquery(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_binds_more_weakly_stands_in_brackets() -> Result<()> {
        let negated = Expr::Negative(Box::new(datafusion_expr::lit(-1i64)));
        assert!(
            crate::Scalar::read(&text(&negated)?)?
                .columns()
                .next()
                .is_none()
        );
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        // Operands that bind more weakly than the operator around them.
        let (a, b) = (datafusion_expr::col("a"), datafusion_expr::col("b"));
        let not = datafusion_expr::not(a.clone());
        assert_eq!(text(&not.clone().is_null())?, "(NOT \"a\") IS NULL");
        let compared = datafusion_expr::binary_expr(b.clone(), Operator::Eq, a.is_null());
        assert_eq!(text(&compared)?, "(\"b\" = (\"a\" IS NULL))");
        let listed = not.in_list(vec![b], false);
        assert_eq!(text(&listed)?, "(NOT \"a\") IN (\"b\")");
        Ok(())
    }

    #[test]
    fn what_is_deep_is_written_as_what_is_not() -> Result<()> {
        let deep = |depth: usize| {
            (0..depth).fold(datafusion_expr::col("a"), |of, at| match at % 3 {
                0 => datafusion_expr::not(of),
                1 => datafusion_expr::binary_expr(of, Operator::Eq, datafusion_expr::lit(true)),
                _ => of.is_null(),
            })
        };
        for depth in 0..2 * LEVELS + 2 {
            let written = text(&deep(depth))?;
            let again = crate::Scalar::read(&written)?;
            assert_eq!(*again.expr(), deep(depth));
        }
        assert_eq!(unparsed(&deep(LEVELS))?, text(&deep(LEVELS))?);
        Ok(())
    }
}
