//! Tables of queries around that are called as a column within.
//!
//! The binder takes `shop.id` for a field of a column `shop`, if FROM has one, before it looks for a table `shop` of a
//! query around. So such a table gets a name of its own. Invariant: a name with a table in front means the innermost
//! table that is called so. Cost: linear in the text, times its depth.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement,
    TableAlias, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};

use crate::columns::Columns;
use crate::context::Context;

/// Gives tables other names where a column within hides them.
pub(crate) fn settle(statement: &mut Statement, context: &Context) {
    let mut hidden = Hidden {
        columns: Columns::new(context),
        queries: Queries::default(),
        found: BTreeMap::new(),
    };
    let _ = VisitMut::visit(statement, &mut hidden);
    let found = hidden.found;
    if !found.is_empty() {
        let queries = Queries::default();
        let _ = VisitMut::visit(statement, &mut Renames { queries, found });
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
    columns: BTreeSet<String>,
}

impl Queries {
    fn enter(&mut self, tables: Vec<String>, columns: BTreeSet<String>) -> usize {
        self.seen += 1;
        self.open.push(Open {
            number: self.seen,
            tables,
            columns,
        });
        self.seen
    }

    /// How far out the innermost query is that has a table of this name, and its number.
    fn with_table(&self, name: &str) -> Option<(usize, usize)> {
        let mut outwards = self.open.iter().rev().enumerate();
        let found = outwards.find(|(_, query)| query.tables.iter().any(|table| table == name));
        found.map(|(depth, query)| (depth, query.number))
    }
}

struct Hidden<'c> {
    columns: Columns<'c>,
    queries: Queries,
    found: Found,
}

impl VisitorMut for Hidden<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.columns.enter(query);
        let (mut tables, mut columns) = (Vec::new(), BTreeSet::new());
        for factor in select(query).into_iter().flat_map(factors) {
            tables.extend(called(factor).map(|name| name.value.clone()));
            let known = self.columns.known(factor);
            columns.extend(known.into_iter().flat_map(|known| known.columns));
        }
        self.columns.forget_names();
        self.queries.enter(tables, columns);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.columns.leave();
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

struct Renames {
    queries: Queries,
    found: Found,
}

impl Renames {
    /// What a table is called now.
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
        let all = select(query).into_iter().flat_map(factors);
        let tables = all.filter_map(called).map(|name| name.value.clone());
        let number = self.queries.enter(tables.collect(), BTreeSet::new());
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
        value: format!("{} around", name.value),
        quote_style: Some('"'),
        span: name.span,
    }
}

fn select(query: &Query) -> Option<&Select> {
    match &*query.body {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// The tables and subqueries of FROM.
fn factors(select: &Select) -> Vec<&TableFactor> {
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
    select.from.iter().for_each(|from| of(from, &mut found));
    found
}

/// What a table of FROM is called.
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
