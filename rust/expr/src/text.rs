//! Expressions as text, and texts with something else in the place of their columns.
//!
//! Invariant: names are quoted; read again over the same columns, a text means what its expression means. Cost: linear in
//! the text.

use std::ops::ControlFlow;

use datafusion_expr::{BinaryExpr, Expr, Operator};
use datafusion_sql::parser::DFParserBuilder;
use datafusion_sql::sqlparser::ast::{self, Ident, Value, VisitMut, VisitorMut};
use datafusion_sql::sqlparser::dialect::DuckDbDialect;
use datafusion_sql::unparser::Unparser;
use datafusion_sql::unparser::dialect::{Dialect, IntervalStyle};
use ringview_core::{Error, Result};

use crate::balance::{Balance, DEPTH};

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

/// The text of an expression.
///
/// # Errors
/// `Unsupported` for what no text says.
pub fn text(expr: &Expr) -> Result<String> {
    let Expr::BinaryExpr(BinaryExpr { op, .. }) = expr else {
        return unparsed(expr);
    };
    // A chain may be longer than recursion is deep.
    let is_chain = matches!(
        op,
        Operator::And | Operator::Or | Operator::Plus | Operator::Multiply
    );
    let mut here = expr;
    let mut behind = Vec::new();
    while let Expr::BinaryExpr(BinaryExpr {
        left,
        op: other,
        right,
    }) = here
        && other == op
        && is_chain
    {
        behind.push(&**right);
        here = left;
    }
    if behind.len() < LONG {
        return unparsed(expr);
    }
    let mut made = format!("({})", text(here)?);
    for operand in behind.into_iter().rev() {
        made.push_str(&format!(" {op} ({})", text(operand)?));
    }
    Ok(made)
}

fn unparsed(expr: &Expr) -> Result<String> {
    let made = Unparser::new(&Quoted).expr_to_sql(expr);
    made.map(|mut ast| {
        let _ = VisitMut::visit(&mut ast, &mut Brackets);
        ast.to_string()
    })
    .map_err(|problem| Error::Unsupported {
        what: "this expression".to_owned(),
        why: problem.strip_backtrace(),
        instead: "write it in another way".to_owned(),
    })
}

/// Puts operands in brackets: what is written without them may bind more weakly than what stands around it, as NOT does
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

/// The operands of an expression that nothing but an operator tells apart.
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

/// The conditions of which all must hold, as one; none where there is none.
#[must_use]
pub fn all_of(conditions: impl IntoIterator<Item = String>) -> Option<String> {
    let mut conditions: Vec<String> = conditions.into_iter().collect();
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => {
            let each = conditions.iter().map(|one| format!("({one})"));
            Some(each.collect::<Vec<_>>().join(" AND "))
        }
    }
}

/// The conditions of which all must hold, apart.
///
/// # Errors
/// `Value` for a text that is no expression.
pub fn conjuncts(text: &str) -> Result<Vec<String>> {
    fn split(expr: &ast::Expr, into: &mut Vec<String>) {
        match expr {
            ast::Expr::BinaryOp {
                left,
                op: ast::BinaryOperator::And,
                right,
            } => {
                split(left, into);
                split(right, into);
            }
            ast::Expr::Nested(inner) => split(inner, into),
            other => into.push(other.to_string()),
        }
    }
    let mut found = Vec::new();
    split(&parsed(text)?, &mut found);
    Ok(found)
}

/// The text with something else in the place of columns: `by` is given the names of each, qualifiers first.
///
/// # Errors
/// `Value` for a text that is no expression, or where another stands for a column; those of `by`.
pub fn replaced(
    text: &str,
    by: &mut dyn FnMut(&[&str]) -> Result<Option<String>>,
) -> Result<String> {
    let mut expr = parsed(text)?;
    let mut replaces = Replaces { by };
    match VisitMut::visit(&mut expr, &mut replaces) {
        ControlFlow::Break(problem) => Err(problem),
        ControlFlow::Continue(()) => Ok(expr.to_string()),
    }
}

/// The columns that a text reads, each by its names, qualifiers first; as often as they stand there.
///
/// # Errors
/// `Value` for a text that is no expression.
pub fn columns(text: &str) -> Result<Vec<Vec<String>>> {
    let mut found = Vec::new();
    replaced(text, &mut |names| {
        found.push(names.iter().map(|&name| name.to_owned()).collect());
        Ok(None)
    })?;
    Ok(found)
}

struct Replaces<'b> {
    by: &'b mut dyn FnMut(&[&str]) -> Result<Option<String>>,
}

impl VisitorMut for Replaces<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Error> {
        let names: Vec<&str> = match expr {
            ast::Expr::Identifier(name) => vec![&name.value],
            ast::Expr::CompoundIdentifier(names) => names.iter().map(|name| &*name.value).collect(),
            _ => return ControlFlow::Continue(()),
        };
        let made = (self.by)(&names).and_then(|text| text.map(|text| parsed(&text)).transpose());
        match made {
            Err(problem) => return ControlFlow::Break(problem),
            Ok(None) => {}
            Ok(Some(made)) if is_closed(&made) => *expr = made,
            Ok(Some(made)) => *expr = ast::Expr::Nested(Box::new(made)),
        }
        ControlFlow::Continue(())
    }
}

/// Whether an expression means the same wherever it stands.
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

fn parsed(text: &str) -> Result<ast::Expr> {
    let parsed = DFParserBuilder::new(text)
        .with_dialect(&DuckDbDialect {})
        .with_recursion_limit(DEPTH)
        .build()
        .and_then(|mut parser| parser.parse_into_expr());
    let parsed = parsed.map(|mut found| {
        let _ = VisitMut::visit(&mut found.expr, &mut Balance);
        found.expr
    });
    parsed.map_err(|problem| {
        let message = problem.strip_backtrace();
        let message = message.lines().next().unwrap_or_default();
        Error::Value {
            place: format!("the expression {text}"),
            problem: message.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_and_replaced() -> Result<()> {
        let text = r#""0"."a b" * 2 < sum("outer 1"."0"."x")"#;
        assert_eq!(
            columns(text)?,
            [vec!["0", "a b"], vec!["outer 1", "0", "x"]]
        );
        let found = replaced(text, &mut |names| {
            Ok((names.len() == 2).then(|| "1 + 2".to_owned()))
        })?;
        assert_eq!(found, r#"(1 + 2) * 2 < sum("outer 1"."0"."x")"#);
        let negated = Expr::Negative(Box::new(datafusion_expr::lit(-1i64)));
        assert!(columns(&super::text(&negated)?)?.is_empty());
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        // What binds more weakly than the operator around it.
        let (a, b) = (datafusion_expr::col("a"), datafusion_expr::col("b"));
        let not = datafusion_expr::not(a.clone());
        assert_eq!(super::text(&not.clone().is_null())?, "(NOT \"a\") IS NULL");
        let compared = datafusion_expr::binary_expr(b.clone(), Operator::Eq, a.is_null());
        assert_eq!(super::text(&compared)?, "(\"b\" = (\"a\" IS NULL))");
        let listed = not.in_list(vec![b], false);
        assert_eq!(super::text(&listed)?, "(NOT \"a\") IN (\"b\")");
        assert_eq!(
            conjuncts("a = 1 AND (b OR c) AND (d AND e)")?,
            ["a = 1", "b OR c", "d", "e"]
        );
        Ok(())
    }
}
