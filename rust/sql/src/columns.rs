//! The columns of the relations in FROM: tables, names of WITH, subqueries.
//!
//! Invariant: columns are returned only if the text and the catalog determine all of them. Cost: linear in the text,
//! for each star within another.

use datafusion_sql::sqlparser::ast::{
    Ident, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor,
    WildcardAdditionalOptions,
};

use crate::context::Context;
use crate::join_kind::joins_by_name;
use crate::wildcard;

/// Meanings of names in the query that is visited, and in those around it.
pub(crate) struct Columns<'c> {
    context: &'c Context,
    /// The queries that are open, the innermost last.
    open: Vec<Given>,
}

/// The names of a WITH, and the columns of each where they are known.
#[derive(Default)]
struct Given {
    names: Vec<(String, Option<Vec<String>>)>,
    /// Number of their queries that were visited.
    known: usize,
}

/// A table of FROM: what the text calls it, and its columns.
pub(crate) struct ScopedTable {
    pub(crate) alias: Ident,
    pub(crate) columns: Vec<String>,
}

impl<'c> Columns<'c> {
    pub(crate) fn new(context: &'c Context) -> Self {
        Self {
            context,
            open: Vec::new(),
        }
    }

    /// A query is visited: the names of its WITH have meanings.
    pub(crate) fn enter(&mut self, query: &Query) {
        self.open.push(Given::default());
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = named_columns(&table.alias, self.outputs(&table.query));
            if let Some(own) = self.open.last_mut() {
                own.names.push((table.alias.name.value.clone(), columns));
                own.known += 1;
            }
        }
    }

    /// Called before the queries of its WITH, in which a name does not mean itself.
    pub(crate) fn forget_names(&mut self) {
        if let Some(own) = self.open.last_mut() {
            own.known = 0;
        }
    }

    /// A query is over.
    pub(crate) fn leave(&mut self) {
        self.open.pop();
        if let Some(around) = self.open.last_mut() {
            around.known = (around.known + 1).min(around.names.len());
        }
    }

    /// A table of FROM, if its columns are known.
    pub(crate) fn scoped_table(&self, factor: &TableFactor) -> Option<ScopedTable> {
        let (called, alias, columns) = match factor {
            TableFactor::Table { name, alias, .. } => {
                let last = name.0.last()?.as_ident()?;
                (Some(last), alias.as_ref(), self.columns(&last.value))
            }
            TableFactor::Derived {
                subquery, alias, ..
            } => (None, alias.as_ref(), self.outputs(subquery)),
            _ => return None,
        };
        Some(ScopedTable {
            alias: alias.map(|alias| &alias.name).or(called)?.clone(),
            columns: match alias {
                Some(alias) => named_columns(alias, columns)?,
                None => columns?,
            },
        })
    }

    /// The columns of a name of FROM.
    fn columns(&self, name: &str) -> Option<Vec<String>> {
        let mut given = self
            .open
            .iter()
            .rev()
            .flat_map(|scope| &scope.names[..scope.known]);
        if let Some((_, columns)) = given.find(|(other, _)| other == name) {
            return columns.clone();
        }
        let fields = self.context.tables.get(name)?.fields().iter();
        Some(fields.map(|field| field.name().clone()).collect())
    }

    /// The columns of a subquery, a star spelt out where it is of what is known.
    fn outputs(&self, query: &Query) -> Option<Vec<String>> {
        if let SetExpr::Values(values) = &*query.body {
            let width = values.rows.first()?.content.len();
            return Some((0..width).map(|at| format!("col{at}")).collect());
        }
        if let Some(found) = crate::partial::outputs(query) {
            return Some(found);
        }
        let mut body = &*query.body;
        let select = loop {
            match body {
                SetExpr::Select(select) => break select,
                // The outputs of a set operation are called as those of its left side.
                SetExpr::SetOperation { left, .. } => body = left,
                SetExpr::Query(within) => return self.outputs(within),
                _ => return None,
            }
        };
        if joins_by_name(select) || query.with.is_some() {
            return None;
        }
        let factors = select.from.iter().flat_map(|chain| {
            let joined = chain.joins.iter().map(|join| &join.relation);
            std::iter::once(&chain.relation).chain(joined)
        });
        let tables = factors.map(|factor| self.scoped_table(factor));
        let tables = tables.collect::<Option<Vec<ScopedTable>>>()?;
        let mut found = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(options) => {
                    found.extend(shown(options, &tables)?);
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let name = name.0.last()?.as_ident()?;
                    let mut tables = tables.iter();
                    let table = tables.find(|table| table.alias.value == name.value)?;
                    found.extend(shown(options, std::slice::from_ref(table))?);
                }
                item => found.push(crate::partial::output(item)?),
            }
        }
        Some(found)
    }
}

/// Columns of a star over some tables.
fn shown(options: &WildcardAdditionalOptions, tables: &[ScopedTable]) -> Option<Vec<String>> {
    let columns = tables.iter().flat_map(|table| table.columns.clone());
    let all = wildcard::shown(options, columns.map(|name| (name, ())).collect(), |_, _| ())?;
    Some(all.into_iter().map(|(name, ())| name).collect())
}

/// The columns of what has an alias, which may name all of them.
fn named_columns(alias: &TableAlias, columns: Option<Vec<String>>) -> Option<Vec<String>> {
    let given = alias.columns.iter();
    let mut named: Vec<String> = given.map(|column| column.name.value.clone()).collect();
    if named.is_empty() {
        return columns;
    }
    let columns = columns?;
    named.extend(columns.into_iter().skip(named.len()));
    Some(named)
}
