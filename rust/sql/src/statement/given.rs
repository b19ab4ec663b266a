//! The rows of an INSERT as they are written: their outputs, and where they say DEFAULT.
//!
//! Invariant: what the query of the rows means stays as it is. Cost: linear in the text.

use std::collections::BTreeSet;

use datafusion_sql::sqlparser::ast::{Expr, Ident, Query, SelectItem, SetExpr, Value};

/// Outputs that are the same expression get names of their own: those of an INSERT are matched by position.
pub(super) fn name_duplicates(body: &mut SetExpr) {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::Query(query) => return name_duplicates(&mut query.body),
        SetExpr::SetOperation { left, .. } => return name_duplicates(left),
        _ => return,
    };
    let mut seen = BTreeSet::new();
    for (at, item) in select.projection.iter_mut().enumerate() {
        let name = match item {
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                parts.last().map(|part| part.value.clone())
            }
            SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some(ident.value.clone()),
            SelectItem::UnnamedExpr(expr) => Some(expr.to_string()),
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        };
        let is_new = name.is_none_or(|name| seen.insert(name.to_lowercase()));
        if !is_new
            && let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
        {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', format!("value {at}")),
            };
        }
    }
}

/// Replaces DEFAULT in VALUES by NULL, and returns its places.
pub(super) fn null_defaults(query: &mut Query) -> Vec<(usize, usize)> {
    let mut defaulted = Vec::new();
    let SetExpr::Values(values) = &mut *query.body else {
        return defaulted;
    };
    for (row, values) in values.rows.iter_mut().enumerate() {
        for (column, value) in values.content.iter_mut().enumerate() {
            if matches!(value, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
            {
                *value = Expr::value(Value::Null);
                defaulted.push((row, column));
            }
        }
    }
    defaulted
}
