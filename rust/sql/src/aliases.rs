//! Names that a SELECT gives to its outputs, used beside them: in later outputs, in WHERE, in the arguments of aggregates.
//!
//! A column of the tables comes first, so a name is replaced only once the binder has found no such column. Invariant:
//! the rest of the text stays. Cost: linear in the text, once for each such name.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Query, Select, SelectItem, SetExpr, Statement, VisitMut, VisitorMut,
};

/// Puts what an output computes in the place of its name; whether there was one to replace.
pub(crate) fn replace(statement: &mut Statement, name: &str) -> bool {
    let mut found = Found { name, any: false };
    let _ = VisitMut::visit(statement, &mut found);
    found.any
}

struct Found<'n> {
    name: &'n str,
    any: bool,
}

impl VisitorMut for Found<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &mut *query.body {
            self.any |= inline_alias(select, self.name);
        }
        ControlFlow::Continue(())
    }
}

fn inline_alias(select: &mut Select, name: &str) -> bool {
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
        by: Expr::Nested(Box::new(expr.clone())),
        any: false,
    };
    for item in &mut select.projection[at + 1..] {
        let _ = VisitMut::visit(item, &mut uses);
    }
    let _ = VisitMut::visit(&mut select.selection, &mut uses);
    uses.any
}

struct Uses<'n> {
    name: &'n str,
    by: Expr,
    any: bool,
}

impl VisitorMut for Uses<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Identifier(ident) if ident.value == self.name) {
            *expr = self.by.clone();
            self.any = true;
        }
        ControlFlow::Continue(())
    }
}
