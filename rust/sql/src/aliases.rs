//! Names that a SELECT gives to its outputs, used elsewhere in it: in later outputs, in WHERE, in the arguments of
//! aggregates.
//!
//! A column of the tables has precedence, so a name is replaced only after the binder has found no such column. Within
//! a subquery the columns of the output are qualified with their tables, as the subquery may have columns of those
//! names. Invariant: the rest of the text stays. Cost: linear in the text, once for each such name.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
    VisitorMut,
};
use ringview_expr::walk_mut;

/// Whether a table has a column: (column, table).
pub(crate) type Has<'h> = &'h dyn Fn(&str, &str) -> bool;

/// Puts what an output computes in the place of its name; whether there was one to replace.
pub(crate) fn replace(statement: &mut Statement, name: &str, has: Has<'_>) -> bool {
    let mut found = Found {
        name,
        has,
        any: false,
    };
    let _ = walk_mut(statement, &mut found);
    found.any
}

struct Found<'n> {
    name: &'n str,
    has: Has<'n>,
    any: bool,
}

impl VisitorMut for Found<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &mut *query.body {
            self.any |= inline_alias(select, self.name, self.has);
        }
        ControlFlow::Continue(())
    }
}

fn inline_alias(select: &mut Select, name: &str, has: Has<'_>) -> bool {
    let defined = select.projection.iter().position(
        |item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value == name),
    );
    let Some(at) = defined else {
        return false;
    };
    let SelectItem::ExprWithAlias { expr, .. } = &select.projection[at] else {
        return false;
    };
    let mut uses = Uses {
        name,
        within: qualified(expr, &select.from, has),
        by: Expr::Nested(Box::new(expr.clone())),
        depth: 0,
        any: false,
    };
    for item in &mut select.projection[at + 1..] {
        let _ = walk_mut(item, &mut uses);
    }
    let _ = walk_mut(&mut select.selection, &mut uses);
    uses.any
}

/// An expression whose columns have their tables in front, in brackets; nothing where a table is not found.
fn qualified(expr: &Expr, from: &[TableWithJoins], has: Has<'_>) -> Option<Expr> {
    let joined = from.iter().flat_map(|of| {
        std::iter::once(&of.relation).chain(of.joins.iter().map(|join| &join.relation))
    });
    let tables: Vec<(&Ident, &Ident)> = joined
        .filter_map(|factor| match factor {
            TableFactor::Table { name, alias, .. } => {
                let of = name.0.last()?.as_ident()?;
                Some((alias.as_ref().map_or(of, |alias| &alias.name), of))
            }
            _ => None,
        })
        .collect();
    let mut made = Expr::Nested(Box::new(expr.clone()));
    walk_mut(&mut made, &mut Qualifies { tables, has })
        .is_continue()
        .then_some(made)
}

struct Qualifies<'q> {
    /// Names of tables in the text, and the tables.
    tables: Vec<(&'q Ident, &'q Ident)>,
    has: Has<'q>,
}

impl VisitorMut for Qualifies<'_> {
    type Break = ();

    /// A subquery has names of its own.
    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Identifier(column) = expr else {
            return ControlFlow::Continue(());
        };
        let mut tables = self.tables.iter();
        match tables.find(|(_, of)| (self.has)(&column.value, &of.value)) {
            Some((table, _)) => {
                *expr = Expr::CompoundIdentifier(vec![Ident::clone(table), column.clone()]);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }
}

struct Uses<'n> {
    name: &'n str,
    /// Expression of an output, here and within a subquery.
    by: Expr,
    within: Option<Expr>,
    depth: usize,
    any: bool,
}

impl VisitorMut for Uses<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let is_use = matches!(expr, Expr::Identifier(ident) if ident.value == self.name);
        let by = match self.depth {
            0 => Some(&self.by),
            _ => self.within.as_ref(),
        };
        if let Some(by) = by.filter(|_| is_use) {
            *expr = by.clone();
            self.any = true;
        }
        ControlFlow::Continue(())
    }
}
