//! A statement to its query: DataFusion binds it, and its plan is lowered. Names that DuckDB resolves, and the binder
//! does not, are replaced when the binder does not find them.
//!
//! Invariant: the query means what DuckDB means by the statement. Cost: that of binding it, once more for each name
//! that is replaced.

use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast;
use ringview_core::Result;
use ringview_expr::walk_mut;
use ringview_query::{Catalog, Query};

use crate::context::Context;
use crate::error::{self, refusal, unknown_column};
use crate::errors_as_null::ErrorsAsNull;
use crate::lower::Lowering;
use crate::options::Options;
use crate::{aliases, one_row, using};

/// Number of uses of output names that a text may have.
const MOST_ALIASES: usize = 100;

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
    let using = crate::names::normalise(&mut statement, &context)?;
    if options.errors_as_null {
        let _ = walk_mut(&mut statement, &mut ErrorsAsNull(&context));
    }
    let read = ringview_expr::options()
        .with_collect_spans(true)
        .with_default_null_ordering(options.dialect.nulls());
    let planner = SqlToRel::new_with_options(&context, read);
    let mut left = MOST_ALIASES;
    let plan = loop {
        match planner.sql_statement_to_plan(statement.clone()) {
            Ok(plan) => break plan,
            Err(problem) => {
                left -= 1;
                let has = |column: &str, table: &str| context.has_column(table, column);
                let is_mended = match (unknown_column(&problem), error::ambiguous(&problem)) {
                    _ if left == 0 => false,
                    (_, Some(name)) => {
                        using::qualified(&mut statement, &name, &|table| has(&name, table))
                    }
                    (Some((table, column)), _) => {
                        aliases::replace(&mut statement, column, &has)
                            || using.merged(&mut statement, (table, column), &|table| {
                                has(column, table)
                            })
                    }
                    _ => false,
                };
                if !is_mended {
                    return Err(refusal(&problem));
                }
            }
        }
    };
    one_row::check_aggregates(&plan)?;
    let plan = one_row::rewritten(plan).map_err(|problem| refusal(&problem))?;
    Lowering::new(catalog, names, options).query(&plan, options.order.as_deref())
}
