//! Kinds of functions, and the clauses of their calls.
//!
//! Invariant: DISTINCT, ORDER BY and FILTER are for aggregates, OVER for those and for functions over windows; the binder
//! would drop them elsewhere. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Function, FunctionArgumentClause, FunctionArguments, Spanned, Statement,
};
use ringview_core::{Result, SqlProblem};
use ringview_expr::{WINDOWS, walk_expressions};

use crate::context::Context;
use crate::error::bare;
use crate::source_text::position;

/// Refuses clauses of a call that a function of its kind does not have.
///
/// # Errors
/// `Sql` at the name of the function.
pub(crate) fn check_calls(statement: &Statement, context: &Context) -> Result<()> {
    let found = walk_expressions(statement, |expr: &Expr| {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        match of_another_kind(function, context) {
            Some(clause) => ControlFlow::Break((clause, function.name.span())),
            None => ControlFlow::Continue(()),
        }
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(((clause, kind), span)) => {
            let what = format!("{clause} is for {kind}; leave it out");
            Err(bare(SqlProblem::Query, position(span.start), what))
        }
    }
}

const AGGREGATE: &str = "aggregates";
const WINDOW: &str = "aggregates and functions over windows";

/// The first clause of a call that is for functions of another kind, and that kind.
fn of_another_kind(function: &Function, context: &Context) -> Option<(&'static str, &'static str)> {
    let name = function.name.to_string().to_lowercase();
    if context.is_aggregate(&name) || !context.is_function(&name) {
        return None;
    }
    let is_window = WINDOWS.contains(&name.as_str());
    let (mut is_distinct, mut is_ordered, mut has_nulls) = (false, false, false);
    if let FunctionArguments::List(list) = &function.args {
        is_distinct = list.duplicate_treatment.is_some();
        for clause in &list.clauses {
            is_ordered |= matches!(clause, FunctionArgumentClause::OrderBy(_));
            has_nulls |= matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_));
        }
    }
    has_nulls |= function.null_treatment.is_some();
    let clauses = [
        (is_distinct, "DISTINCT", AGGREGATE),
        (is_ordered && !is_window, "ORDER BY", AGGREGATE),
        (function.filter.is_some(), "FILTER", AGGREGATE),
        (!function.within_group.is_empty(), "WITHIN GROUP", AGGREGATE),
        (has_nulls && !is_window, "NULLS", WINDOW),
        (function.over.is_some() && !is_window, "OVER", WINDOW),
    ];
    let found = clauses.into_iter().find(|(is_there, _, _)| *is_there);
    found.map(|(_, clause, kind)| (clause, kind))
}
