//! Calls over all columns of a table that an outer join may have no row of: `COUNT(t.*)`.
//!
//! The binder reads `t.*` there as `*`, which counts the rows of the join. Invariant: none of those reaches it. Cost: linear
//! in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, JoinOperator, Query, Select, SetExpr,
    Statement, Visitor,
};
use datafusion_sql::sqlparser::tokenizer::Location;
use ringview_core::Position;
use ringview_expr::{walk, walk_expressions};

use crate::source_text::position;

/// The place of the first of them, if there is one.
pub(crate) fn count_of_table(statement: &Statement) -> Option<Option<Position>> {
    match walk(statement, &mut Counts) {
        ControlFlow::Break(at) => Some(position(at)),
        ControlFlow::Continue(()) => None,
    }
}

struct Counts;

impl Visitor for Counts {
    type Break = Location;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Location> {
        match &*query.body {
            SetExpr::Select(select) if has_outer_join(select) => {
                walk_expressions(&select.projection, of_table)?;
                walk_expressions(&select.having, of_table)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn has_outer_join(select: &Select) -> bool {
    let mut joins = select.from.iter().flat_map(|from| &from.joins);
    joins.any(|join| {
        matches!(
            join.join_operator,
            JoinOperator::Left(_)
                | JoinOperator::LeftOuter(_)
                | JoinOperator::Right(_)
                | JoinOperator::RightOuter(_)
                | JoinOperator::FullOuter(_)
        )
    })
}

fn of_table(expr: &Expr) -> ControlFlow<Location> {
    let Expr::Function(function) = expr else {
        return ControlFlow::Continue(());
    };
    let FunctionArguments::List(list) = &function.args else {
        return ControlFlow::Continue(());
    };
    let is_star = |argument: &FunctionArg| {
        matches!(
            argument,
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_))
        )
    };
    let first = function.name.0.first().and_then(|part| part.as_ident());
    match first.filter(|_| list.args.iter().any(is_star)) {
        Some(name) => ControlFlow::Break(name.span.start),
        None => ControlFlow::Continue(()),
    }
}
