//! Every clause of a statement is read, or refused by its name at its place.
//!
//! Invariant: the structs of the parser's tree are taken apart here without a rest pattern and its enums without a
//! wildcard, which a test of this folder's text checks. So a field or a variant that a new parser brings does not
//! compile before it is decided: read, by the binder or by a pass before it, or refused. A field bound to `_` is read
//! elsewhere, or says nothing about rows. Cost: linear in the text; a refusal reads its tokens once more.
//!
//! | file | holds |
//! |---|---|
//! | `query` | WITH, set operations, ORDER BY, LIMIT |
//! | `select` | the clauses of a SELECT, its outputs and windows |
//! | `from` | tables, joins, aliases |
//! | `expr` | expressions |
//! | `call` | calls of functions |
//! | `statement` | statements that are no queries |
//! | `rows` | INSERT, UPDATE and DELETE |
//! | `table` | CREATE TABLE |
//! | `window` | windows, with a name or within OVER |
//! | `unread` | a clause that is refused |

#![deny(clippy::wildcard_enum_match_arm)]

mod call;
mod expr;
mod from;
mod query;
mod rows;
mod select;
mod statement;
mod table;
mod unread;
mod window;

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Expr, Query, Select, Statement, TableFactor, Visitor};
use datafusion_sql::sqlparser::tokenizer::TokenWithSpan;
use ringview_core::{Result, SqlProblem};
use ringview_expr::walk;

use crate::source_text::{Text, position};
use unread::{Checked, Unread};

/// Refuses the first clause of a statement that nothing reads; `tokens` are those of the statement.
///
/// # Errors
/// `Sql` with the name and the place of the clause.
pub(crate) fn check(statement: &Statement, text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    match walk(statement, &mut Clauses) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(unread) => {
            let at = position(unread.place(tokens));
            let what = format!("{} is not supported; {}", unread.clause, unread.instead);
            Err(Text(text).refused(SqlProblem::Unsupported, at, &what))
        }
    }
}

/// Shows each node of a tree to the file that takes its kind apart.
struct Clauses;

impl Visitor for Clauses {
    type Break = Unread;

    fn pre_visit_statement(&mut self, statement: &Statement) -> Checked {
        statement::check(statement)
    }

    fn pre_visit_query(&mut self, query: &Query) -> Checked {
        query::check(query)
    }

    fn pre_visit_select(&mut self, select: &Select) -> Checked {
        select::check(select)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Checked {
        from::check(factor)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        expr::check(expr)
    }
}
