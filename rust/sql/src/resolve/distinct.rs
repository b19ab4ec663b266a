//! Outputs of one name, made distinct as DuckDB does: the second `b` is `b_1`.
//!
//! Invariant: the outputs of a SELECT that are named have names that differ. Cost: quadratic in the outputs if two have
//! one name, else O(n log n).

use std::collections::BTreeSet;

use datafusion_sql::sqlparser::ast::{Ident, SelectItem, SelectItemQualifiedWildcardKind, SetExpr};

use super::side::{Columns, Side, spelt};
use crate::outputs::{distinct_names, output};
use crate::wildcard;

/// Gives outputs of one name others; a star is spelt out if one of its columns needs one. The names that they had.
pub(super) fn named_outputs(projection: &mut Vec<SelectItem>, side: &Side) -> Columns {
    let names = outputs(projection, side);
    if let Some(names) = &names {
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return Some(names.clone());
        }
        spell_out(projection, side);
    }
    // The names of a star that stays are not known.
    let named: Vec<Option<String>> = projection.iter().map(output).collect();
    let said: Vec<String> = named.iter().flatten().cloned().collect();
    let mut apart = said.iter().zip(distinct_names(&said));
    for (item, _) in projection
        .iter_mut()
        .zip(&named)
        .filter(|(_, name)| name.is_some())
    {
        let Some((_, value)) = apart.next().filter(|(name, value)| **name != *value) else {
            continue;
        };
        let alias = Ident::with_quote('"', value);
        match item {
            SelectItem::ExprWithAlias { alias: of, .. } => {
                *of = Ident {
                    span: of.span,
                    ..alias
                };
            }
            SelectItem::UnnamedExpr(expr) => {
                let expr = expr.clone();
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
            _ => {}
        }
    }
    names
}

/// Names outputs of a set operation's right side, which nobody reads, apart from those of the left one: the binder
/// gives them its names, one after the other.
pub(super) fn name_right(body: &mut SetExpr, left: &Columns) {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { left: of, .. } => return name_right(of, left),
        SetExpr::Query(query) => return name_right(&mut query.body, left),
        _ => return,
    };
    for (at, item) in select.projection.iter_mut().enumerate() {
        let Some(name) = output(item) else {
            return;
        };
        let mut others = left.iter().flatten().enumerate();
        if !others.any(|(other, of)| other != at && *of == name) {
            continue;
        }
        let alias = Ident::with_quote('"', format!("output {at}"));
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            let expr = expr.clone();
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

/// Names of the outputs of a SELECT.
fn outputs(projection: &[SelectItem], side: &Side) -> Columns {
    let mut found = Vec::with_capacity(projection.len());
    for item in projection {
        let (options, columns) = match item {
            SelectItem::Wildcard(options) => (options, side.columns()?),
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => (options, side.of_relation(name.0.last()?.as_ident()?)?),
            item => {
                found.push(output(item)?);
                continue;
            }
        };
        let columns = columns.into_iter().map(|name| (name, ())).collect();
        let shown = wildcard::shown(options, columns, |_, _| ())?;
        found.extend(shown.into_iter().map(|(name, ())| name));
    }
    Some(found)
}

/// Spells stars out, if all can be.
fn spell_out(projection: &mut Vec<SelectItem>, side: &Side) {
    let mut made = Vec::with_capacity(projection.len());
    for item in &*projection {
        let shown = match item {
            SelectItem::Wildcard(options) => spelt(options, side.star()),
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => {
                let of = name.0.last().and_then(|part| part.as_ident());
                spelt(options, of.and_then(|of| side.star_of(of)))
            }
            other => Some(vec![other.clone()]),
        };
        match shown {
            Some(shown) => made.extend(shown),
            None => return,
        }
    }
    *projection = made;
}
