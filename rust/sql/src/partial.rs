//! `AS t(a, b)`: names for the first columns of a relation with more.
//!
//! The binder requires a name for each column, so the others are added under their own names. Invariant: the columns
//! keep their order. Cost: linear in the text and the columns of its tables.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
    VisitorMut,
};

use crate::context::Context;

/// Adds the names that the text leaves out.
pub(crate) struct Partial<'c>(pub(crate) &'c Context);

impl VisitorMut for Partial<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let names = outputs(&table.query);
            whole(&mut table.alias, names);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name,
                alias: Some(alias),
                ..
            } => {
                let last = name.0.last().and_then(|part| part.as_ident());
                let schema = last.and_then(|last| self.0.tables.get(&last.value));
                let names = schema.map(|schema| {
                    let fields = schema.fields().iter();
                    fields.map(|field| field.name().clone()).collect()
                });
                whole(alias, names);
            }
            TableFactor::Derived {
                subquery,
                alias: Some(alias),
                ..
            } => {
                let names = outputs(subquery);
                whole(alias, names);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Adds what is called so behind the names that are given, if there are any.
fn whole(alias: &mut TableAlias, names: Option<Vec<String>>) {
    let given = alias.columns.len();
    if given == 0 {
        return;
    }
    let rest = names.into_iter().flatten().skip(given);
    alias.columns.extend(rest.map(|name| TableAliasColumnDef {
        name: Ident::with_quote('"', name),
        data_type: None,
    }));
}

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
