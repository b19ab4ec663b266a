//! SQL to the logical query: DataFusion parses and binds a text, and its plan is lowered to blocks.
//!
//! Invariant: the query means what DuckDB means by the text; what has no lowering is refused. Nothing here knows how a
//! block is kept. Cost: linear in the text, and the binding of each block.
//!
//! | file | holds |
//! |---|---|
//! | `context` | what the binder may look up: tables, functions, aggregates, window functions |
//! | `clock` | now() and its kin |
//! | `dialect` | what the parser takes |
//! | `error` | problems of the library as ours |
//! | `names` | names are found without case; what has no AS is named by its own text |
//! | `syntax` | what the parser reads otherwise than DuckDB |
//! | `aliases` | names of outputs that are used beside them |
//! | `text` | a bound expression as the text that a block keeps |
//! | `within` | WITHIN GROUP as ORDER BY among the arguments |
//! | `lower/` | relational operators to blocks |

mod aliases;
mod clock;
mod context;
mod dialect;
mod error;
mod lower;
mod names;
mod syntax;
mod text;
mod within;

use datafusion_sql::parser::{DFParserBuilder, Statement};
use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast;
use ringview_core::{Error, Result};
use ringview_query::{Catalog, Query};

use context::Context;
use dialect::DuckDb;
use error::refusal;
use lower::Lowering;

/// How many names of outputs a text may use beside them.
const MOST_ALIASES: usize = 100;

/// The query of a SELECT over the tables of a catalog, of which `known` are the names.
///
/// # Errors
/// `Value` for a text that is no SELECT; `UnknownTable`, `UnknownColumn`; `Unsupported` for what cannot be kept.
pub fn translate(text: &str, known: &[String], catalog: &dyn Catalog) -> Result<Query> {
    let mut statement = parsed(text)?;
    let context = Context::new(known, catalog)?;
    names::settle(&mut statement, &context);
    let planner = SqlToRel::new_with_options(&context, ringview_expr::options());
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

fn parsed(text: &str) -> Result<ast::Statement> {
    let statements = DFParserBuilder::new(text)
        .with_dialect(&DuckDb)
        .build()
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|problem| refusal(&problem))?;
    let mut statements = statements.into_iter();
    match (statements.next(), statements.next()) {
        (Some(Statement::Statement(statement)), None)
            if matches!(*statement, ast::Statement::Query(_)) =>
        {
            Ok(*statement)
        }
        _ => Err(Error::Value {
            place: "the text".to_owned(),
            problem: "a view is one SELECT; write SELECT .. FROM ..".to_owned(),
        }),
    }
}
