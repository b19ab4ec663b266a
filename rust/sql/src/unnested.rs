//! UNNEST in FROM as LATERAL: `FROM t, UNNEST(t.l) AS u(x)` is `FROM t, LATERAL (SELECT UNNEST(t.l) AS x) AS u`; a series
//! is such a list.
//!
//! Invariant: values without a name are called as the function is. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_common::tree_node::TreeNode;
use datafusion_sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, SelectItem, SetExpr, TableAlias, TableFactor,
    TableWithJoins,
};
use datafusion_sql::sqlparser::parser::Parser;
use ringview_expr::{call, walk_expressions};

use crate::dialect::DuckDb;

/// Marks a list of which each value makes a row.
pub(crate) const EACH: &str = "unnest_each";

/// Whether an expression is a row for each value of a list.
pub(crate) fn makes_rows(expr: &datafusion_expr::Expr) -> bool {
    use datafusion_expr::Expr;
    let found = expr.exists(|node| {
        Ok(match node {
            Expr::Unnest(_) => true,
            Expr::ScalarFunction(call) => call.name() == EACH,
            _ => false,
        })
    });
    found.unwrap_or(true)
}

/// The tables of a FROM with each UNNEST as LATERAL.
pub(crate) fn rewrite(from: &mut TableWithJoins) {
    let joined = from.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut from.relation).chain(joined) {
        if let Some(found) = lateral(factor) {
            *factor = found;
        }
    }
}

fn lateral(factor: &TableFactor) -> Option<TableFactor> {
    let (alias, lists, name) = match factor {
        TableFactor::UNNEST {
            alias,
            array_exprs,
            with_offset: false,
            with_ordinality: false,
            ..
        } => (alias, array_exprs.clone(), "unnest".to_owned()),
        // The form in a dialect without UNNEST here.
        TableFactor::Table {
            name,
            alias,
            args: Some(args),
            ..
        } => {
            let name = name.to_string().to_lowercase();
            let expr = |arg: &FunctionArg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            };
            let args: Vec<Expr> = args.args.iter().map(expr).collect::<Option<_>>()?;
            match name.as_str() {
                "unnest" => (alias, args, name),
                "range" | "generate_series" => (alias, vec![call(&name, args)], name),
                _ => return None,
            }
        }
        _ => return None,
    };
    let named = alias.iter().flat_map(|alias| &alias.columns);
    let mut names = named.map(|column| column.name.clone());
    let item = |expr| SelectItem::ExprWithAlias {
        expr: call(if is_constant(&expr) { "unnest" } else { EACH }, vec![expr]),
        alias: names.next().unwrap_or_else(|| Ident::new(&name)),
    };
    let items = lists.into_iter().map(item).collect();
    let mut subquery = Parser::new(&DuckDb::default())
        .try_with_sql("SELECT 1")
        .ok()?
        .parse_query()
        .ok()?;
    if let SetExpr::Select(select) = &mut *subquery.body {
        select.projection = items;
    }
    Some(TableFactor::Derived {
        lateral: true,
        subquery,
        alias: alias.clone().map(|alias| TableAlias {
            columns: Vec::new(),
            ..alias
        }),
        sample: None,
    })
}

/// Whether an expression reads no column.
fn is_constant(expr: &Expr) -> bool {
    let found = walk_expressions(expr, |node| match node {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_continue()
}
