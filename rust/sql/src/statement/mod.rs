//! Statements of a script: definitions of tables and views, changes of rows, transactions, queries.
//!
//! Invariant: a script is read whole before any of it is done, so a text that is no SQL does nothing; an unsupported
//! part of a statement is refused, with its place. No data is looked at. Cost: linear in the text.
//!
//! | file | holds |
//! |---|---|
//! | `name` | names with their places |
//! | `select` | queries of a script |
//! | `constants` | the rows of VALUES |
//! | `table` | CREATE TABLE |
//! | `alter` | ALTER TABLE |
//! | `types` | SQL's names of types |
//! | `rows` | INSERT, UPDATE, DELETE |
//! | `given` | the rows of an INSERT as they are written |
//! | `returning` | RETURNING |

mod alter;
mod constants;
mod given;
mod name;
mod returning;
mod rows;
mod select;
mod table;
mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{self, ObjectType};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::TokenWithSpan;
use ringview_core::{Position, Result, SqlProblem};

use crate::dialect::Dialect;
use crate::grammar::{Parsed, script as parsed};
use crate::meaning;
use crate::parameters::{self, Parameters};
use crate::source_text::{Text, position};
use crate::tokens::word;

use alter::alter_table;
pub use alter::{Alter, AlterColumns};
pub use constants::Constants;
pub use name::Name;
pub use returning::{Returning, Shown};
pub use rows::{Conflict, Delete, Insert, Update};
pub use select::Select;
pub use table::CreateTable;
use table::{Reading, create_table};
pub(crate) use types::column_type;

/// A statement, and where it is.
#[derive(Clone, Debug)]
pub struct Stated {
    /// The statement.
    pub statement: Statement,
    /// Its position in the script.
    pub at: Option<Position>,
}

/// See the module.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A query, which changes nothing.
    Select(Select),
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE VIEW.
    CreateView(CreateView),
    /// DROP TABLE, DROP VIEW.
    Drop(Dropped),
    /// ALTER TABLE.
    Alter(Box<Alter>),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE, TRUNCATE.
    Delete(Box<Delete>),
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
}

/// CREATE VIEW.
#[derive(Clone, Debug)]
pub struct CreateView {
    /// Its name.
    pub name: Name,
    /// Its query.
    pub query: Select,
    /// Whether it takes the place of a view of this name.
    pub or_replace: bool,
    /// Whether a view of this name stays.
    pub if_not_exists: bool,
}

/// DROP.
#[derive(Clone, Debug)]
pub struct Dropped {
    /// Whether views are dropped; else tables.
    pub views: bool,
    /// The name.
    pub name: Name,
    /// Whether a name that is not there is passed over.
    pub if_exists: bool,
    /// Whether the views that read it are dropped with it.
    pub cascade: bool,
}

/// The statements of a script.
///
/// # Errors
/// `Sql` for a text that is no SQL, for a statement that is not done here, for a parameter without a value; `Value` for
/// one that the script does not have.
///
/// ```
/// use ringview_sql::{Dialect, Parameters, Statement, script};
/// let text = "CREATE TABLE r (a BIGINT PRIMARY KEY, b VARCHAR); SELECT * FROM r";
/// let statements = script(text, Dialect::DuckDb, &Parameters::default())?;
/// let Statement::CreateTable(table) = &statements[0].statement else { unreachable!() };
/// assert_eq!(table.unique.as_deref(), Some(&["a".to_owned()][..]));
/// assert!(matches!(statements[1].statement, Statement::Select(_)));
/// # Ok::<(), ringview_core::Error>(())
/// ```
pub fn script(text: &str, dialect: Dialect, given: &Parameters) -> Result<Vec<Stated>> {
    let shared: Arc<str> = Arc::from(text);
    let mut used = BTreeSet::new();
    let mut all = Vec::new();
    for Parsed {
        mut statement,
        tokens,
        questions,
    } in parsed(text, dialect)?
    {
        let mut own = BTreeSet::new();
        parameters::put(&mut statement, given, Text(text), &mut own)?;
        meaning::of_dialect(&mut statement, dialect, Text(text))?;
        let at = tokens.first().and_then(|token| position(token.span.start));
        let reading = Reading {
            script: &shared,
            dialect,
        };
        let written = (&tokens[..], questions);
        let statement = stated(statement, &reading, at, |query| {
            let (tokens, questions) = written;
            query.written((behind_as(tokens), questions), (given, &own))
        })?;
        all.push(Stated { statement, at });
        used.extend(own);
    }
    parameters::check_used(given, &used)?;
    Ok(all)
}

fn stated(
    of: ast::Statement,
    reading: &Reading<'_>,
    at: Option<Position>,
    written: impl FnOnce(Select) -> Select,
) -> Result<Statement> {
    let refused = |what: &str| Err(Text(reading.script).refused(SqlProblem::Unsupported, at, what));
    Ok(match of {
        ast::Statement::Query(query) => {
            Statement::Select(Select::of(*query, reading.script, reading.dialect))
        }
        ast::Statement::CreateTable(table) => {
            Statement::CreateTable(Box::new(create_table(table, reading)?))
        }
        ast::Statement::CreateView(view) => {
            let name = Name::of_object(&view.name, reading.script)?;
            if !view.columns.is_empty() {
                let what = "a view's columns are named in its SELECT; write AS there";
                return Err(name.refused(SqlProblem::Unsupported, what));
            }
            if view.temporary || view.to.is_some() || view.options != ast::CreateTableOptions::None
            {
                let what = "a view is its SELECT alone; write CREATE VIEW name AS SELECT ..";
                return Err(name.refused(SqlProblem::Unsupported, what));
            }
            Statement::CreateView(CreateView {
                name,
                query: written(Select::of(*view.query, reading.script, reading.dialect)),
                or_replace: view.or_replace || view.or_alter,
                if_not_exists: view.if_not_exists,
            })
        }
        ast::Statement::Drop {
            object_type,
            if_exists,
            names,
            cascade,
            ..
        } => {
            let views = match object_type {
                ObjectType::Table => false,
                ObjectType::View | ObjectType::MaterializedView => true,
                _ => return refused("there are tables and views; write DROP TABLE or DROP VIEW"),
            };
            let [name] = &names[..] else {
                return refused("DROP names one table or view; write a statement for each");
            };
            Statement::Drop(Dropped {
                views,
                name: Name::of_object(name, reading.script)?,
                if_exists,
                cascade,
            })
        }
        ast::Statement::AlterTable(alter) => {
            Statement::Alter(Box::new(alter_table(alter, reading)?))
        }
        ast::Statement::Insert(insert) => Statement::Insert(Box::new(reading.insert(insert)?)),
        ast::Statement::Update(update) => Statement::Update(Box::new(reading.update(update)?)),
        ast::Statement::Delete(delete) => Statement::Delete(Box::new(reading.delete(delete)?)),
        ast::Statement::Truncate(truncate) => match &truncate.table_names[..] {
            [one] if truncate.partitions.is_none() && !truncate.if_exists => {
                let table = Name::of_object(&one.name, reading.script)?;
                let all = Delete::all(table, reading.script, reading.dialect);
                Statement::Delete(Box::new(all))
            }
            _ => return refused("TRUNCATE names one table; write a statement for each"),
        },
        ast::Statement::StartTransaction { statements, .. } if statements.is_empty() => {
            Statement::Begin
        }
        ast::Statement::Commit { chain: false, .. } => Statement::Commit,
        ast::Statement::Rollback {
            chain: false,
            savepoint: None,
        } => Statement::Rollback,
        ast::Statement::Rollback { .. } | ast::Statement::Savepoint { .. } => {
            return refused("a transaction is undone as a whole; write ROLLBACK");
        }
        ast::Statement::Merge { .. } => {
            return refused(
                "MERGE is not done; write INSERT .. ON CONFLICT DO UPDATE, UPDATE and DELETE",
            );
        }
        _ => {
            return refused(
                "this statement is not done here; there are SELECT, CREATE TABLE, CREATE VIEW, ALTER TABLE, DROP, \
                 INSERT, UPDATE, DELETE, TRUNCATE, BEGIN, COMMIT and ROLLBACK",
            );
        }
    })
}

/// The tokens of a view's query.
fn behind_as(tokens: &[TokenWithSpan]) -> &[TokenWithSpan] {
    let is_as = |token: &TokenWithSpan| word(token).is_some_and(|word| word.keyword == Keyword::AS);
    match tokens.iter().position(is_as) {
        Some(at) => &tokens[at + 1..],
        None => tokens,
    }
}
