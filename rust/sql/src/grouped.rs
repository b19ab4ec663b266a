//! GROUP BY of brackets, and GROUPING() of all groups.
//!
//! `GROUP BY (a, b), GROUPING SETS (..)` groups by both columns beside each set, and `GROUPING()` is of each expression
//! that some set groups by, in their order. Invariant: groups of a subquery are its own. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, OrderBy, Query, Select,
    VisitorMut,
};
use ringview_expr::walk_mut;

/// See the module.
pub(crate) fn spell_out(select: &mut Select, order_by: &mut Option<OrderBy>) {
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else {
        return;
    };
    let mut all = Vec::with_capacity(keys.len());
    for key in std::mem::take(keys) {
        match key {
            Expr::Tuple(of) => all.extend(of),
            other => all.push(other),
        }
    }
    *keys = all;
    let mut grouped: Vec<Expr> = Vec::new();
    let mut note = |expr: &Expr| {
        if !grouped.contains(expr) {
            grouped.push(expr.clone());
        }
    };
    for key in &*keys {
        match key {
            Expr::GroupingSets(sets) | Expr::Rollup(sets) | Expr::Cube(sets) => {
                sets.iter().flatten().for_each(&mut note);
            }
            other => note(other),
        }
    }
    if grouped.is_empty() {
        return;
    }
    let mut groupings = Groupings { grouped, depth: 0 };
    let _ = walk_mut(&mut select.projection, &mut groupings);
    let _ = walk_mut(&mut select.having, &mut groupings);
    let _ = walk_mut(&mut select.qualify, &mut groupings);
    let _ = walk_mut(order_by, &mut groupings);
}

/// Gives each GROUPING() its arguments.
struct Groupings {
    grouped: Vec<Expr>,
    /// Subqueries around what is visited.
    depth: usize,
}

impl VisitorMut for Groupings {
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
        if let Expr::Function(call) = expr
            && self.depth == 0
            && call.name.to_string().eq_ignore_ascii_case("grouping")
            && let FunctionArguments::List(list) = &mut call.args
            && list.args.is_empty()
        {
            let arg = |of: &Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(of.clone()));
            list.args = self.grouped.iter().map(arg).collect();
        }
        ControlFlow::Continue(())
    }
}
