//! Tables of an outer scope that share the name of a column of an inner one.
//!
//! The binder reads `shop.id` as a field of a column `shop` of FROM before it looks for a table `shop` in an outer scope.
//! So that table gets another name, where the column is one of a table or view and has no fields. Invariant: a renamed
//! table is renamed wherever its scope is the innermost that has the name. Cost: linear in the text and the columns of
//! its tables, times its depth.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement,
    TableAlias, TableFactor, TableWithJoins, VisitorMut,
};
use ringview_expr::walk_mut;

use crate::context::Context;

/// Renames the tables that a column of an inner scope hides.
pub(crate) fn rename_hidden(statement: &mut Statement, context: &Context) {
    let mut hidden = Hidden {
        context,
        queries: Queries::default(),
        found: BTreeMap::new(),
    };
    let _ = walk_mut(statement, &mut hidden);
    let found = hidden.found;
    if !found.is_empty() {
        let queries = Queries::default();
        let _ = walk_mut(statement, &mut Renames { queries, found });
    }
}

/// By number of a query, as they are visited: the tables that need another name.
type Found = BTreeMap<usize, BTreeSet<String>>;

/// The queries that are open, the innermost last.
#[derive(Default)]
struct Queries {
    open: Vec<Open>,
    seen: usize,
}

struct Open {
    number: usize,
    tables: Vec<String>,
    /// Those of FROM that have no fields.
    columns: BTreeSet<String>,
    /// The names of its WITH.
    given: BTreeSet<String>,
}

impl Queries {
    /// Opens a query; its number.
    fn enter(&mut self, query: &Query) -> usize {
        let tables = factors(query).into_iter().filter_map(called);
        let given = query.with.iter().flat_map(|with| &with.cte_tables);
        self.seen += 1;
        self.open.push(Open {
            number: self.seen,
            tables: tables.map(|name| name.value.clone()).collect(),
            columns: BTreeSet::new(),
            given: given.map(|table| table.alias.name.value.clone()).collect(),
        });
        self.seen
    }

    /// Number of queries out to the innermost one that has a table of this name, and its number.
    fn with_table(&self, name: &str) -> Option<(usize, usize)> {
        let mut outwards = self.open.iter().rev().enumerate();
        let found = outwards.find(|(_, query)| query.tables.iter().any(|table| table == name));
        found.map(|(depth, query)| (depth, query.number))
    }
}

struct Hidden<'c> {
    context: &'c Context,
    queries: Queries,
    found: Found,
}

impl VisitorMut for Hidden<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.queries.enter(query);
        let all = factors(query);
        let columns = all.into_iter().flat_map(|factor| self.columns(factor));
        let columns = columns.collect();
        if let Some(own) = self.queries.open.last_mut() {
            own.columns = columns;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.queries.open.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(names) = expr
            && let [table, _] = &names[..]
            && let Some((depth @ 1.., number)) = self.queries.with_table(&table.value)
        {
            let mut within = self.queries.open.iter().rev().take(depth);
            if within.any(|query| query.columns.contains(&table.value)) {
                let names = self.found.entry(number).or_default();
                names.insert(table.value.clone());
            }
        }
        ControlFlow::Continue(())
    }
}

impl Hidden<'_> {
    /// The columns of a table or view that have no fields; none of what the text itself defines or renames.
    fn columns(&self, factor: &TableFactor) -> Vec<String> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return Vec::new();
        };
        let is_renamed = alias
            .as_ref()
            .is_some_and(|alias| !alias.columns.is_empty());
        let name = name.0.last().and_then(|part| part.as_ident());
        let is_given = |name: &&Ident| {
            let mut open = self.queries.open.iter();
            open.any(|query| query.given.contains(&name.value))
        };
        let name = name.filter(|name| !is_renamed && !is_given(name));
        let schema = name.and_then(|name| self.context.tables.get(&name.value));
        let fields = schema.into_iter().flat_map(|schema| schema.fields());
        let plain = fields.filter(|field| !field.data_type().is_nested());
        plain.map(|field| field.name().clone()).collect()
    }
}

struct Renames {
    queries: Queries,
    found: Found,
}

impl Renames {
    /// Renames a table, if it gets a new name.
    fn name(&self, name: &mut Ident) {
        if let Some((_, number)) = self.queries.with_table(&name.value)
            && self
                .found
                .get(&number)
                .is_some_and(|all| all.contains(&name.value))
        {
            *name = other(name);
        }
    }
}

impl VisitorMut for Renames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let number = self.queries.enter(query);
        let Some(names) = self.found.get(&number) else {
            return ControlFlow::Continue(());
        };
        if let SetExpr::Select(select) = &mut *query.body {
            select.from.iter_mut().for_each(|from| rename(from, names));
            for item in &mut select.projection {
                if let SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) = item
                    && let Some(ident) = name.0.last().and_then(|part| part.as_ident())
                    && names.contains(&ident.value)
                {
                    *name = vec![other(ident)].into();
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.queries.open.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(names) = expr
            && let [table, _] = &mut names[..]
        {
            self.name(table);
        }
        ControlFlow::Continue(())
    }
}

/// The name that a table gets: none that a text is likely to have.
fn other(name: &Ident) -> Ident {
    Ident {
        value: format!("{} outer", name.value),
        quote_style: Some('"'),
        span: name.span,
    }
}

/// The tables and subqueries of FROM.
fn factors(query: &Query) -> Vec<&TableFactor> {
    fn of<'f>(from: &'f TableWithJoins, into: &mut Vec<&'f TableFactor>) {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin {
                    table_with_joins,
                    alias: None,
                } => of(table_with_joins, into),
                factor => into.push(factor),
            }
        }
    }
    let mut found = Vec::new();
    if let SetExpr::Select(select) = &*query.body {
        select.from.iter().for_each(|from| of(from, &mut found));
    }
    found
}

/// Name of a table of FROM.
fn called(factor: &TableFactor) -> Option<&Ident> {
    match factor {
        TableFactor::Table { name, alias, .. } => match alias {
            Some(alias) => Some(&alias.name),
            None => name.0.last()?.as_ident(),
        },
        TableFactor::Derived { alias, .. } => Some(&alias.as_ref()?.name),
        _ => None,
    }
}

fn rename(from: &mut TableWithJoins, names: &BTreeSet<String>) {
    let joined = from.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut from.relation).chain(joined) {
        if let TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } = factor
        {
            rename(table_with_joins, names);
            continue;
        }
        let name = called(factor).filter(|name| names.contains(&name.value));
        let Some(name) = name.map(other) else {
            continue;
        };
        if let TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } = factor {
            let columns = alias.take().map(|alias| alias.columns);
            *alias = Some(TableAlias {
                explicit: true,
                name,
                columns: columns.unwrap_or_default(),
                at: None,
            });
        }
    }
}
