//! Chains of joins by name: NATURAL JOIN and USING, more than one in a row.
//!
//! The binder merges the columns of one such join, not of several: a name that three tables share would be ambiguous.
//! So the tables left of the second join become a subquery, which has each merged column once. Invariant: the rows are
//! the same, and so are the names of columns without a table in front. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::parser::{DFParserBuilder, Statement as Parsed};
use datafusion_sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, Query, SetExpr, Statement, TableFactor,
    TableWithJoins, VisitorMut,
};
use ringview_expr::walk_mut;

use crate::short::Short;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Using {
    /// Tables within such a subquery: their names in the text, and the tables.
    subquery_tables: Vec<(String, String)>,
}

impl Using {
    /// Removes the qualifier of a column of a table within such a subquery, since the join has merged it; returns
    /// whether there was one. `has` tests whether a table has the column.
    pub(crate) fn merged(
        &self,
        statement: &mut Statement,
        (table, column): (&str, &str),
        has: &dyn Fn(&str) -> bool,
    ) -> bool {
        let is_it = |(alias, of): &(String, String)| alias == table && has(of);
        if !self.subquery_tables.iter().any(is_it) {
            return false;
        }
        let mut found = Bare {
            name: (table, column),
            any: false,
        };
        let _ = walk_mut(statement, &mut found);
        found.any
    }

    fn note(&mut self, factor: &TableFactor) {
        if let TableFactor::Table { name, alias, .. } = factor
            && let Some(last) = name.0.last().and_then(|part| part.as_ident())
        {
            let alias = alias
                .as_ref()
                .map_or(&last.value, |alias| &alias.name.value);
            self.subquery_tables
                .push((alias.clone(), last.value.clone()));
        }
    }

    /// Moves the tables left of each join by name but the first into a subquery.
    fn nest(&mut self, from: &mut TableWithJoins) {
        let by_name = |at: &usize| is_by_name(&from.joins[*at].join_operator);
        let Some(last) = (0..from.joins.len()).filter(by_name).nth(1) else {
            return;
        };
        let Some(all) = everything() else {
            return;
        };
        let rest = from.joins.split_off(last);
        let left = std::mem::replace(
            from,
            TableWithJoins {
                relation: all,
                joins: rest,
            },
        );
        self.note(&left.relation);
        left.joins.iter().for_each(|join| self.note(&join.relation));
        if let TableFactor::Derived { subquery, .. } = &mut from.relation
            && let SetExpr::Select(select) = &mut *subquery.body
        {
            select.from = vec![left];
        }
        self.nest(from);
    }
}

impl VisitorMut for Using {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &mut *query.body {
            select.from.iter_mut().for_each(|from| self.nest(from));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.nest(table_with_joins);
        }
        ControlFlow::Continue(())
    }
}

fn is_by_name(operator: &JoinOperator) -> bool {
    let (JoinOperator::Join(by)
    | JoinOperator::Inner(by)
    | JoinOperator::Left(by)
    | JoinOperator::LeftOuter(by)
    | JoinOperator::Right(by)
    | JoinOperator::RightOuter(by)
    | JoinOperator::FullOuter(by)) = operator
    else {
        return false;
    };
    matches!(by, JoinConstraint::Using(_) | JoinConstraint::Natural)
}

/// `(SELECT * FROM t)`, without a name.
fn everything() -> Option<TableFactor> {
    let mut parser = DFParserBuilder::new("SELECT * FROM t").build().ok()?;
    let Parsed::Statement(statement) = parser.parse_statements().ok()?.pop_front()? else {
        return None;
    };
    let Statement::Query(subquery) = *statement else {
        return None;
    };
    Some(TableFactor::Derived {
        lateral: false,
        subquery,
        alias: None,
        sample: None,
    })
}

struct Bare<'n> {
    name: (&'n str, &'n str),
    any: bool,
}

impl VisitorMut for Bare<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(idents) = expr
            && let [table, column] = &idents[..]
            && (table.value.as_str(), column.value.as_str()) == self.name
        {
            *expr = Expr::Identifier(column.clone());
            self.any = true;
        }
        ControlFlow::Continue(())
    }
}

/// Writes a column that a join by name has merged with the first of its tables in front; returns whether there was one.
/// `has` tests whether a table has the column.
pub(crate) fn qualified(statement: &mut Statement, name: &str, has: &dyn Fn(&str) -> bool) -> bool {
    let mut found = Merged {
        name,
        has,
        any: false,
    };
    let _ = walk_mut(statement, &mut found);
    found.any
}

struct Merged<'n> {
    name: &'n str,
    has: &'n dyn Fn(&str) -> bool,
    any: bool,
}

impl Merged<'_> {
    /// Name of the first table of a chain that has the column, if joins by name merge it.
    fn first(&self, from: &TableWithJoins) -> Option<Ident> {
        let merges = from
            .joins
            .iter()
            .any(|join| is_by_name(&join.join_operator));
        let tables = self.tables(from);
        (merges && tables.len() > 1).then(|| tables.into_iter().next())?
    }

    /// Names of the tables of a chain that have the column, those within a subquery of ours too.
    fn tables(&self, from: &TableWithJoins) -> Vec<Ident> {
        let joined = from.joins.iter().map(|join| &join.relation);
        let mut found = Vec::new();
        for factor in std::iter::once(&from.relation).chain(joined) {
            match factor {
                TableFactor::Table { name, alias, .. } => {
                    let last = name.0.last().and_then(|part| part.as_ident());
                    if let Some(last) = last.filter(|last| (self.has)(&last.value)) {
                        let called = alias.as_ref().map_or(last, |alias| &alias.name);
                        found.push(called.clone());
                    }
                }
                TableFactor::Derived {
                    subquery,
                    alias: None,
                    ..
                } => {
                    if let SetExpr::Select(select) = &*subquery.body {
                        let within = select.from.iter().flat_map(|from| self.tables(from));
                        found.extend(within);
                    }
                }
                _ => {}
            }
        }
        found
    }
}

impl VisitorMut for Merged<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = &mut *query.body else {
            return ControlFlow::Continue(());
        };
        let Some(table) = select.from.iter().find_map(|from| self.first(from)) else {
            return ControlFlow::Continue(());
        };
        let has_column = |from: &&TableWithJoins| !self.tables(from).is_empty();
        if select.from.iter().filter(has_column).count() > 1 {
            return ControlFlow::Continue(());
        }
        let from = std::mem::take(&mut select.from);
        let qualified = |ident: &Ident| {
            let is_it = ident.value == self.name;
            is_it.then(|| Expr::CompoundIdentifier(vec![table.clone(), ident.clone()]))
        };
        let mut uses = Short::new(&qualified);
        let _ = walk_mut(select, &mut uses);
        let _ = walk_mut(&mut query.order_by, &mut uses);
        if let SetExpr::Select(select) = &mut *query.body {
            select.from = from;
        }
        self.any |= uses.any;
        ControlFlow::Continue(())
    }
}
