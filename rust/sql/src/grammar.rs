//! A text to its one statement, a SELECT.
//!
//! Invariant: whatever the parser does not take is refused with its place; a misspelt keyword is named. A text that
//! would be nested too deeply for the recursion of parser and binder never reaches them. Cost: linear in the text.

use datafusion_common::DataFusionError;
use datafusion_sql::parser::{DFParserBuilder, Statement};
use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::parser::ParserError;
use datafusion_sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use ringview_core::{Error, Position, Result, SqlProblem};

use crate::depth;
use crate::dialect::DuckDb;
use crate::place::{Text, position};
use crate::tokens::{misspelt, tokens, word};

/// The SELECT of a text.
pub(crate) fn parsed(text: &str) -> Result<ast::Statement> {
    let mut statement = statement(text)?;
    depth::balance(&mut statement);
    Ok(statement)
}

fn statement(text: &str) -> Result<ast::Statement> {
    let found = tokens(text)?;
    let Some(first) = found.iter().find(|token| token.token != Token::SemiColon) else {
        let empty = "the text of the view is empty; write SELECT .. FROM ..";
        return Err(Text(text).refused(SqlProblem::Query, None, empty));
    };
    let parameter = found
        .iter()
        .find(|token| matches!(token.token, Token::Placeholder(_)));
    if let Some(token) = parameter {
        let at = position(token.span.start);
        let what = "a view has no parameters; write the value";
        return Err(Text(text).refused(SqlProblem::Unsupported, at, what));
    }
    depth::check(text, &found)?;
    let statements = DFParserBuilder::new(found.clone())
        .with_dialect(&DuckDb)
        .build()
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|problem| syntax(text, &found, &problem))?;
    let mut statements = statements.into_iter();
    let refuse = |at: &TokenWithSpan, what: &str| {
        let at = position(at.span.start);
        Err(Text(text).refused(SqlProblem::Unsupported, at, what))
    };
    let one = statements.next();
    if statements.next().is_some() {
        let mut rest = found
            .iter()
            .skip_while(|token| token.token == Token::SemiColon);
        let _ = rest.find(|token| token.token == Token::SemiColon);
        let second = rest.find(|token| token.token != Token::SemiColon);
        return refuse(
            second.unwrap_or(first),
            "a view is one statement, this is a second; make a view of each",
        );
    }
    match one {
        Some(Statement::Statement(statement)) => match *statement {
            statement @ ast::Statement::Query(_) => Ok(statement),
            ast::Statement::Insert(_)
            | ast::Statement::Update { .. }
            | ast::Statement::Delete(_)
            | ast::Statement::Merge { .. }
            | ast::Statement::Truncate { .. } => refuse(
                first,
                "a view is a SELECT; change rows with db.insert and db.delete",
            ),
            _ => refuse(first, "a view is a SELECT; write SELECT .. FROM .."),
        },
        _ => refuse(first, "a view is a SELECT; write SELECT .. FROM .."),
    }
}

/// What the parser does not take.
fn syntax(text: &str, found: &[TokenWithSpan], problem: &DataFusionError) -> Error {
    let problem = problem.find_root();
    let refused =
        |at: Option<Position>, what: &str| Text(text).refused(SqlProblem::Query, at, what);
    let message = match problem {
        DataFusionError::SQL(problem, _) => match &**problem {
            ParserError::RecursionLimitExceeded => return depth::too_deep(text, None),
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => {
                message.clone()
            }
        },
        other => other.strip_backtrace(),
    };
    let (message, at) = located(&message);
    // The parser stumbles behind a misspelt keyword: it takes it for a name.
    let behind = |token: &&TokenWithSpan| at.is_none_or(|at| token.span.start <= at);
    let before: Vec<&TokenWithSpan> = found.iter().filter(behind).collect();
    for token in before.iter().rev().take(4) {
        if let Some(near) = misspelt(token) {
            let what = format!("not SQL at '{}'; did you mean {near}?", token.token);
            return refused(position(token.span.start), &what);
        }
    }
    let expected = match message.split_once(", found: ") {
        Some((expected, _)) => expected.replacen("Expected: ", "expected ", 1),
        None => message.to_owned(),
    };
    let Some(at) = at else {
        let last = found.last().and_then(|token| position(token.span.start));
        let what = format!("not SQL: the text ends too early; {expected}");
        return refused(last, &what);
    };
    let here = found.iter().find(|token| token.span.start == at);
    let what = match here {
        Some(token) if word(token).is_some() => format!("not SQL at '{}'; {expected}", token.token),
        Some(token) => format!("not SQL at {}; {expected}", quoted(&token.token)),
        None => format!("not SQL; {expected}"),
    };
    refused(position(at), &what)
}

/// A token in quotes, a text within its own.
fn quoted(token: &Token) -> String {
    match token {
        Token::SingleQuotedString(_) => token.to_string(),
        _ => format!("'{token}'"),
    }
}

/// A message of the parser without its place, and that.
fn located(message: &str) -> (&str, Option<Location>) {
    let parts = message.rsplit_once(" at Line: ").and_then(|(said, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        let digits = column.find(|letter: char| !letter.is_ascii_digit());
        let column = &column[..digits.unwrap_or(column.len())];
        let at = Location {
            line: line.parse().ok()?,
            column: column.parse().ok()?,
        };
        Some((said, at))
    });
    match parts {
        Some((said, at)) => (said, Some(at)),
        None => (message, None),
    }
}
