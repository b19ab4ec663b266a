//! Names of the outputs of a query, as far as its own text determines them, and made distinct.
//!
//! Invariant: an output without AS that is no column is called as its text. Cost: linear in the outputs; to
//! make them distinct, quadratic.

use datafusion_sql::sqlparser::ast::{Expr, Query, SelectItem, SetExpr};

/// Names of the outputs of a query, where none of them is a star.
pub(crate) fn outputs(query: &Query) -> Option<Vec<String>> {
    let mut body = &*query.body;
    let select = loop {
        match body {
            SetExpr::Select(select) => break select,
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(query) => body = &query.body,
            _ => return None,
        }
    };
    select.projection.iter().map(output).collect()
}

/// Name of an output; nothing if it is a star.
pub(crate) fn output(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(ident.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(idents)) => {
            idents.last().map(|ident| ident.value.clone())
        }
        SelectItem::UnnamedExpr(other) => Some(other.to_string()),
        _ => None,
    }
}

/// Names made distinct as in DuckDB, from left to right: the second `b` is `b_1`.
pub(crate) fn distinct_names(names: &[String]) -> Vec<String> {
    let mut made: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut numbered = (1..).map(|number| format!("{name}_{number}"));
        let free = match made.contains(name) {
            true => numbered.find(|one| !made.contains(one)),
            false => None,
        };
        made.push(free.unwrap_or_else(|| name.clone()));
    }
    made
}
