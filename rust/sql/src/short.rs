//! Names of columns without a table in front.
//!
//! Invariant: names within subqueries stay, for they may mean a column there. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Expr, Ident, Query, VisitorMut};

/// Puts expressions in the place of short names.
pub(crate) struct Short<'s> {
    by: &'s dyn Fn(&Ident) -> Option<Expr>,
    depth: usize,
    /// Whether one was replaced.
    pub(crate) any: bool,
}

impl<'s> Short<'s> {
    /// Replaces each name for which there is an expression.
    pub(crate) fn new(by: &'s dyn Fn(&Ident) -> Option<Expr>) -> Self {
        Self {
            by,
            depth: 0,
            any: false,
        }
    }
}

impl VisitorMut for Short<'_> {
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
        if let Expr::Identifier(ident) = expr
            && self.depth == 0
            && let Some(by) = (self.by)(ident)
        {
            *expr = by;
            self.any = true;
        }
        ControlFlow::Continue(())
    }
}
