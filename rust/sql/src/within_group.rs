//! Aggregates over an ordered set, WITHIN GROUP, as aggregates with ORDER BY among their arguments.
//!
//! Invariant: `percentile_cont(q) WITHIN GROUP (ORDER BY x)` is `quantile_cont(x, q ORDER BY x)`, and so on. Cost: linear
//! in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident,
    ObjectName, VisitorMut,
};

/// See the module.
pub(crate) struct WithinGroup;

impl VisitorMut for WithinGroup {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let FunctionArguments::List(arguments) = &mut function.args else {
            return ControlFlow::Continue(());
        };
        let order = std::mem::take(&mut function.within_group);
        let Some(first) = order.first() else {
            return ControlFlow::Continue(());
        };
        let name = function.name.to_string().to_lowercase();
        let ordered_set = match name.as_str() {
            "percentile_cont" => Some("quantile_cont"),
            "percentile_disc" => Some("quantile_disc"),
            "mode" => Some("mode"),
            _ => None,
        };
        if let Some(name) = ordered_set {
            let value = FunctionArg::Unnamed(FunctionArgExpr::Expr(first.expr.clone()));
            arguments.args.insert(0, value);
            function.name = ObjectName::from(vec![Ident::new(name)]);
        }
        arguments
            .clauses
            .push(FunctionArgumentClause::OrderBy(order));
        ControlFlow::Continue(())
    }
}
