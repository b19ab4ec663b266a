//! SQL to the logical query: DataFusion parses and binds a text, and its plan is lowered to blocks.
//!
//! Invariant: the query means what DuckDB means by the text; what has no lowering is refused. Nothing here knows how a
//! block is kept. Cost: linear in the text, and the binding of each block.
//!
//! | file | holds |
//! |---|---|
//! | `context` | what the binder may look up: tables, functions, aggregates, window functions |
//! | `clock` | now() and its kin |
//! | `dialect` | what the parser takes, by dialect |
//! | `tokens`, `grammar`, `rewritten` | a text to its one statement, and what is said of a text that is none |
//! | `parameters` | constants in the places of `$1`, `?`, `$name` and `:name` |
//! | `meaning` | what other dialects mean, in DuckDB's words |
//! | `depth` | how deeply a text may be nested |
//! | `error` | problems of the library as ours |
//! | `find`, `near`, `place`, `placed` | where in the text a problem is, and how a message shows it |
//! | `named` | what a text names, without tables |
//! | `options` | options of a translation |
//! | `order` | a variable order that the user gives |
//! | `names` | names are found without case; what has no AS is named by its own text |
//! | `columns` | the columns of what FROM names |
//! | `by_name` | NATURAL JOIN and USING spelt out |
//! | `join_kind` | which joins are by name |
//! | `partial` | names for the first columns of a table |
//! | `scopes` | names of WITH that hide others |
//! | `syntax` | what the parser reads otherwise than DuckDB |
//! | `positions` | ORDER BY ALL, GROUP BY ALL, constants that are no numbers of outputs |
//! | `aliases` | names of outputs that are used beside them |
//! | `text` | a bound expression as the text that a block keeps |
//! | `pushed` | filters as Spark's conditions |
//! | `short` | names without a table in front |
//! | `using` | several joins by name in a row |
//! | `windows` | windows that extend others, intervals of frames, defaults of LAG |
//! | `within` | WITHIN GROUP as ORDER BY among the arguments |
//! | `lower/` | relational operators to blocks |

mod aliases;
mod by_name;
mod clock;
mod columns;
mod context;
mod depth;
mod dialect;
mod error;
mod find;
mod grammar;
mod join_kind;
mod lower;
mod meaning;
mod named;
mod names;
mod near;
mod options;
mod order;
mod parameters;
mod partial;
mod place;
mod placed;
mod positions;
mod pushed;
mod rewritten;
mod scopes;
mod short;
mod syntax;
mod text;
mod tokens;
mod using;
mod windows;
mod within;

use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast;
use ringview_core::Result;
use ringview_query::{Catalog, Query};

use context::Context;
use error::{refusal, unknown_column};
use lower::Lowering;
use placed::placed;

pub use dialect::Dialect;
pub use named::{product_columns, sql_tokens, tables_named};
pub use options::Options;
pub use order::Named;
pub use parameters::{Parameter, Parameters};
pub use pushed::pushed;

/// How many names of outputs a text may use beside them.
const MOST_ALIASES: usize = 100;

/// The query of a SELECT over the tables of a catalog, of which `known` are the names.
///
/// # Errors
/// `Sql` for a text that is no SELECT, that names what does not exist, or that cannot be kept: with its place in the text.
pub fn translate(
    text: &str,
    known: &[String],
    catalog: &dyn Catalog,
    options: &Options,
) -> Result<Query> {
    let statement = grammar::parsed(text, options.dialect, Some(&options.parameters))?;
    let query = lowered(statement.clone(), known, catalog, options)
        .map_err(|error| placed(error, text, &statement))?;
    query.check_refresh(options.refresh)?;
    Ok(query)
}

fn lowered(
    mut statement: ast::Statement,
    known: &[String],
    catalog: &dyn Catalog,
    options: &Options,
) -> Result<Query> {
    let context = Context::new(known, catalog)?;
    let using = names::settle(&mut statement, &context)?;
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
                        aliases::replace(&mut statement, column)
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
    Lowering::new(catalog, known, options).query(&plan, options.order.as_deref())
}
