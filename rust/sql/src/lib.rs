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
//! | `names` | names are found without case; what has no AS is named by its own text |
//! | `syntax` | what the parser reads otherwise than DuckDB |
//! | `positions` | ORDER BY ALL, GROUP BY ALL, constants that are no numbers of outputs |
//! | `aliases` | names of outputs that are used beside them |
//! | `text` | a bound expression as the text that a block keeps |
//! | `within` | WITHIN GROUP as ORDER BY among the arguments |
//! | `lower/` | relational operators to blocks |

mod aliases;
mod context;
mod dialect;
mod error;
mod lower;
mod meaning;
mod names;
mod parameters;
mod parse;
mod positions;
mod syntax;
mod text;
mod within;

use datafusion_sql::planner::SqlToRel;
use ringview_core::{Error, Result};
use ringview_query::{Catalog, Query};

use context::Context;
pub use dialect::Dialect;
use error::refusal;
use lower::Lowering;
pub use parameters::{Parameter, Parameters};

/// How many names of outputs a text may use beside them.
const MOST_ALIASES: usize = 100;

/// The query of a SELECT over the tables of a catalog, of which `known` are the names.
///
/// # Errors
/// `Value` for a text that is no SELECT; `UnknownTable`, `UnknownColumn`; `Unsupported` for what cannot be kept.
pub fn translate(text: &str, known: &[String], catalog: &dyn Catalog) -> Result<Query> {
    translate_with(
        text,
        known,
        catalog,
        Dialect::DuckDb,
        &Parameters::default(),
    )
}

/// The same of a text of a dialect, with parameters.
///
/// # Errors
/// Those of `translate`; `Value` for a parameter without a value, and for one that the text does not name.
pub fn translate_with(
    text: &str,
    known: &[String],
    catalog: &dyn Catalog,
    dialect: Dialect,
    parameters: &Parameters,
) -> Result<Query> {
    let mut statement = parse::parsed(text, dialect, parameters)?;
    let context = Context::new(known, catalog)?;
    names::settle(&mut statement, &context);
    let options = ringview_expr::options().with_default_null_ordering(dialect.nulls());
    let planner = SqlToRel::new_with_options(&context, options);
    let mut left = MOST_ALIASES;
    let plan = loop {
        match planner.sql_statement_to_plan(statement.clone()) {
            Ok(plan) => break plan,
            Err(problem) => {
                let refused = refusal(&problem);
                let Error::UnknownColumn { column, .. } = &refused else {
                    return Err(refused);
                };
                left -= 1;
                if left == 0 || !aliases::replace(&mut statement, column) {
                    return Err(refused);
                }
            }
        }
    };
    Lowering::new(catalog, known).query(&plan)
}
