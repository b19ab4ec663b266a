//! A statement to its query: names are resolved, DataFusion binds it, and its plan is lowered.
//!
//! Invariant: the query means what DuckDB means by the statement. Cost: that of binding it, once.

use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast;
use ringview_core::Result;
use ringview_expr::walk_mut;
use ringview_query::{Catalog, Query};

use crate::context::Context;
use crate::error::refusal;
use crate::errors_as_null::ErrorsAsNull;
use crate::lower::Lowering;
use crate::one_row;
use crate::options::Options;

/// The query of a statement over tables of these names; `known` are those that a message may name.
///
/// # Errors
/// `Sql` for a statement that names what does not exist, or that cannot be kept.
pub(crate) fn query(
    mut statement: ast::Statement,
    names: &[String],
    (known, catalog): (&[String], &dyn Catalog),
    options: &Options,
) -> Result<Query> {
    let context = Context::new(names, known, catalog, &options.functions)?;
    crate::names::normalise(&mut statement, &context)?;
    if options.errors_as_null {
        let _ = walk_mut(&mut statement, &mut ErrorsAsNull(&context));
    }
    let read = ringview_expr::options()
        .with_collect_spans(true)
        .with_default_null_ordering(options.dialect.nulls());
    let planner = SqlToRel::new_with_options(&context, read);
    let plan = planner.sql_statement_to_plan(statement);
    let plan = plan.map_err(|problem| refusal(&problem))?;
    one_row::check_aggregates(&plan)?;
    let plan = one_row::rewritten(plan).map_err(|problem| refusal(&problem))?;
    Lowering::new(catalog, names, options).query(&plan, options.order.as_deref())
}
