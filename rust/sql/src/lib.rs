//! SQL to the logical query: DataFusion parses and binds a text, and its plan is lowered to blocks.
//!
//! Invariant: the query means what DuckDB means by the text; what has no lowering is refused. Nothing here knows how a
//! block is kept. Cost: linear in the text, and the binding of each block.
//!
//! | file | holds |
//! |---|---|
//! | `context` | what the binder may look up: tables, functions, aggregates, window functions |
//! | `dialect` | what the parser takes |
//! | `tokens`, `grammar` | a text to its one statement, and what is said of a text that is none |
//! | `depth` | how deeply a text may be nested |
//! | `error` | problems of the library as ours |
//! | `find`, `near`, `place`, `placed` | where in the text a problem is, and how a message shows it |
//! | `named` | what a text names, without tables |
//! | `names` | names are found without case; what has no AS is named by its own text |
//! | `syntax` | what the parser reads otherwise than DuckDB |
//! | `aliases` | names of outputs that are used beside them |
//! | `text` | a bound expression as the text that a block keeps |
//! | `within` | WITHIN GROUP as ORDER BY among the arguments |
//! | `lower/` | relational operators to blocks |

mod aliases;
mod context;
mod depth;
mod dialect;
mod error;
mod find;
mod grammar;
mod lower;
mod named;
mod names;
mod near;
mod place;
mod placed;
mod syntax;
mod text;
mod tokens;
mod within;

use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast;
use ringview_core::Result;
use ringview_query::{Catalog, Query};

use context::Context;
use error::{refusal, unknown_column};
use grammar::parsed;
use lower::Lowering;
pub use named::{product_columns, sql_tokens, tables_named};
use placed::placed;

/// How many names of outputs a text may use beside them.
const MOST_ALIASES: usize = 100;

/// The query of a SELECT over the tables of a catalog, of which `known` are the names.
///
/// # Errors
/// `Sql` for a text that is no SELECT, that names what does not exist, or that cannot be kept: with its place in the text.
pub fn translate(text: &str, known: &[String], catalog: &dyn Catalog) -> Result<Query> {
    let statement = parsed(text)?;
    lowered(statement.clone(), known, catalog).map_err(|error| placed(error, text, &statement))
}

fn lowered(
    mut statement: ast::Statement,
    known: &[String],
    catalog: &dyn Catalog,
) -> Result<Query> {
    let context = Context::new(known, catalog)?;
    names::settle(&mut statement, &context);
    let options = ringview_expr::options().with_collect_spans(true);
    let planner = SqlToRel::new_with_options(&context, options);
    let mut left = MOST_ALIASES;
    let plan = loop {
        match planner.sql_statement_to_plan(statement.clone()) {
            Ok(plan) => break plan,
            Err(problem) => {
                left -= 1;
                let is_replaced = left > 0
                    && unknown_column(&problem)
                        .is_some_and(|column| aliases::replace(&mut statement, column));
                if !is_replaced {
                    return Err(refusal(&problem));
                }
            }
        }
    };
    Lowering::new(catalog, known).query(&plan)
}
