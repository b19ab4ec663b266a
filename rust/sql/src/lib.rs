//! SQL to the logical query: DataFusion parses and binds a text, and its plan is lowered to blocks.
//!
//! Invariant: the query means what DuckDB means by the text; what has no lowering is refused. Nothing here knows how a
//! block is kept. Cost: linear in the text, and the binding of each block.
//!
//! | file | holds |
//! |---|---|
//! | `context` | what the binder may look up: tables, functions, aggregates, window functions |
//! | `dialect` | what the parser takes, by dialect |
//! | `parse` | text to its one SELECT |
//! | `parameters` | constants in the places of `$1`, `?`, `$name` and `:name` |
//! | `meaning` | what other dialects mean, in DuckDB's words |
//! | `error` | problems of the library as ours |
//! | `order` | a variable order that the user gives |
//! | `names` | names are found without case; what has no AS is named by its own text |
//! | `syntax` | what the parser reads otherwise than DuckDB |
//! | `aliases` | names of outputs that are used beside them |
//! | `text` | a bound expression as the text that a block keeps |
//! | `using` | several joins by name in a row |
//! | `within` | WITHIN GROUP as ORDER BY among the arguments |
//! | `lower/` | relational operators to blocks |

mod aliases;
mod context;
mod dialect;
mod error;
mod lower;
mod meaning;
mod names;
mod order;
mod parameters;
mod parse;
mod syntax;
mod text;
mod using;
mod within;

use datafusion_sql::planner::SqlToRel;
use ringview_core::{Error, Result};
use ringview_query::{Catalog, Query};

use context::Context;
pub use dialect::Dialect;
use error::refusal;
use lower::Lowering;
pub use parameters::{Parameter, Parameters};

pub use order::Named;

/// How many names of outputs a text may use beside them.
const MOST_ALIASES: usize = 100;

/// What a user may say of a text beside it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// That of the text.
    pub dialect: Dialect,
    /// What stands for its parameters.
    pub parameters: Parameters,
    /// A variable order; chosen by cost if absent.
    pub order: Option<Vec<Named>>,
    /// Whether conditions that compare across tables, or with subqueries, become joins with blocks alone, where an engine
    /// might keep them as they stand.
    pub in_blocks: bool,
}

/// The query of a SELECT over the tables of a catalog, of which `known` are the names.
///
/// # Errors
/// `Value` for a text that is no SELECT; `UnknownTable`, `UnknownColumn`; `Unsupported` for what cannot be kept.
pub fn translate(
    text: &str,
    known: &[String],
    catalog: &dyn Catalog,
    options: &Options,
) -> Result<Query> {
    let mut statement = parse::parsed(text, options.dialect, &options.parameters)?;
    let context = Context::new(known, catalog)?;
    let using = names::settle(&mut statement, &context);
    let nulls = options.dialect.nulls();
    let planner = SqlToRel::new_with_options(
        &context,
        ringview_expr::options().with_default_null_ordering(nulls),
    );
    let mut left = MOST_ALIASES;
    let plan = loop {
        match planner.sql_statement_to_plan(statement.clone()) {
            Ok(plan) => break plan,
            Err(problem) => {
                left -= 1;
                let refused = refusal(&problem);
                let has = |column: &str, table: &str| context.has_column(table, column);
                let is_mended = match (&refused, error::ambiguous(&problem)) {
                    _ if left == 0 => false,
                    (_, Some(name)) => {
                        using::qualified(&mut statement, &name, &|table| has(&name, table))
                    }
                    (Error::UnknownColumn { table, column, .. }, _) => {
                        aliases::replace(&mut statement, column)
                            || using.merged(&mut statement, (table, column), &|table| {
                                has(column, table)
                            })
                    }
                    _ => false,
                };
                if !is_mended {
                    return Err(refused);
                }
            }
        }
    };
    Lowering::new(catalog, known, !options.in_blocks).query(&plan, options.order.as_deref())
}
