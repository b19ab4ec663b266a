//! A text to its one statement, a SELECT; a script to its statements.
//!
//! Invariant: whatever the parser does not take is refused with its place; a misspelt keyword is named. A text that
//! would be nested too deeply for the recursion of parser and binder never reaches them. Cost: linear in the text.

use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::dialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use ringview_core::{Error, Position, Result, SqlProblem};
use ringview_expr::{is_inner_function, walk_mut};

use crate::asof;
use crate::clauses;
use crate::depth;
use crate::dialect::{Dialect, Operands};
use crate::error::unknown_function;
use crate::find::{Named, Of, join_without_condition, names};
use crate::meaning;
use crate::missing::count_of_table;
use crate::parameters::{self, Parameters};
use crate::rewritten::rewritten;
use crate::source_text::{Text, position};
use crate::tokens::{misspelt, tokens, word};
use crate::wildcard::FromFirst;

/// Recursion limit of the parser.
const DEPTH: usize = 100;
/// Operands that the parser may read of any text, and more of a text for each of its tokens.
const OPERANDS: usize = 100_000;
const OPERANDS_A_TOKEN: usize = 16;

/// The SELECT of a text of a dialect; with parameters if they are given, else they stay in their places.
pub(crate) fn parsed(
    text: &str,
    dialect: Dialect,
    parameters: Option<&Parameters>,
) -> Result<ast::Statement> {
    let found = tokens(text, dialect)?;
    let levels = depth::check(text, &found)?;
    depth::parsed(levels, || {
        let mut statement = statement(text, &found, dialect)?;
        check(&mut statement, (text, &found), dialect)?;
        if let Some(parameters) = parameters {
            parameters::substitute(&mut statement, parameters, Text(text))?;
        }
        meaning::of_dialect(&mut statement, dialect, Text(text))?;
        Ok(statement)
    })
}

/// A statement of a script, with its tokens.
pub(crate) struct Parsed {
    pub(crate) statement: ast::Statement,
    pub(crate) tokens: Vec<TokenWithSpan>,
    /// Number of `?` before it.
    pub(crate) questions: usize,
}

/// The statements of a script, which semicolons separate; parameters are still in place.
pub(crate) fn script(text: &str, dialect: Dialect) -> Result<Vec<Parsed>> {
    let all = tokens(text, dialect)?;
    let mut found = Vec::new();
    let mut questions = 0;
    for part in all.split(|token| token.token == Token::SemiColon) {
        if part.is_empty() {
            continue;
        }
        let levels = depth::check(text, part)?;
        let statement = depth::parsed(levels, || {
            let tokens = rewritten(asof::marked(part.to_vec()), questions, dialect);
            let whole = read(&tokens, dialect, |parser| {
                let statement = parser.parse_statement()?;
                match parser.peek_token().token {
                    Token::EOF => Ok(statement),
                    _ => parser.expected("end of statement", parser.peek_token()),
                }
            });
            let mut statement = whole.map_err(|problem| syntax(text, part, &problem, true))?;
            check(&mut statement, (text, part), dialect)?;
            Ok(statement)
        })?;
        found.push(Parsed {
            statement,
            tokens: part.to_vec(),
            questions,
        });
        let is_question = |token: &&TokenWithSpan| matches!(&token.token, Token::Placeholder(name) if name == "?");
        questions += part.iter().filter(is_question).count();
    }
    match found.is_empty() {
        true => Err(Text(text).refused(
            SqlProblem::Query,
            None,
            "there is no statement; write one, such as SELECT .. FROM ..",
        )),
        false => Ok(found),
    }
}

/// The parse of tokens; with joins that nest without brackets where nothing is parsed without them.
fn read<T>(
    tokens: &[TokenWithSpan],
    dialect: Dialect,
    parse: impl Fn(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> std::result::Result<T, ParserError> {
    let operands = || Operands::at_most(OPERANDS + OPERANDS_A_TOKEN * tokens.len());
    let by = |of: &dyn dialect::Dialect, operands: &Operands| {
        let parser = Parser::new(of).with_recursion_limit(DEPTH);
        match parse(&mut parser.with_tokens_with_locations(tokens.to_vec())) {
            Ok(_) if operands.are_spent() => Err(ParserError::RecursionLimitExceeded),
            parsed => parsed,
        }
    };
    let (left, left_nested) = (operands(), operands());
    let plain = by(&*dialect.parser(&left), &left);
    let is_natural =
        |token: &TokenWithSpan| word(token).is_some_and(|of| of.keyword == Keyword::NATURAL);
    match dialect.parser_of_nested_joins(&left_nested) {
        // They would be read as parts of the right side of a NATURAL JOIN.
        Some(nested) if plain.is_err() && !tokens.iter().any(is_natural) => {
            by(&*nested, &left_nested)
        }
        _ => plain,
    }
}

/// Checks of a statement before other passes.
fn check(
    statement: &mut ast::Statement,
    (text, tokens): (&str, &[TokenWithSpan]),
    dialect: Dialect,
) -> Result<()> {
    // First, for all other passes recurse.
    depth::balance(statement);
    let _ = walk_mut(statement, &mut FromFirst);
    clauses::check(statement, text, tokens)?;
    if matches!(dialect, Dialect::DuckDb | Dialect::Postgres)
        && let Some(at) = join_without_condition(statement)
    {
        let what = "a JOIN says by what; write ON, USING, or CROSS JOIN for all pairs";
        return Err(Text(text).refused(SqlProblem::Query, at, what));
    }
    if let Some(at) = count_of_table(statement) {
        let what = "all columns of a table that may have no row here are not counted; count one of them that is never NULL";
        return Err(Text(text).refused(SqlProblem::Unsupported, at, what));
    }
    let is_inner =
        |named: &Named| named.of == Of::Function && is_inner_function(&named.name.to_lowercase());
    match names(statement).into_iter().find(is_inner) {
        Some(named) => Err(Text(text).refused(
            SqlProblem::Unsupported,
            Some(named.at),
            &unknown_function(&named.name),
        )),
        None => Ok(()),
    }
}

fn statement(text: &str, found: &[TokenWithSpan], dialect: Dialect) -> Result<ast::Statement> {
    let Some(first) = found.iter().find(|token| token.token != Token::SemiColon) else {
        let empty = "the text of the view is empty; write SELECT .. FROM ..";
        return Err(Text(text).refused(SqlProblem::Query, None, empty));
    };
    let tokens = rewritten(asof::marked(found.to_vec()), 0, dialect);
    let statements = read(&tokens, dialect, |parser| parser.parse_statements());
    let statements = statements.map_err(|problem| syntax(text, found, &problem, false))?;
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
        Some(statement) => match statement {
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

/// An error for a text that the parser refuses.
fn syntax(text: &str, found: &[TokenWithSpan], problem: &ParserError, is_script: bool) -> Error {
    let refused =
        |at: Option<Position>, what: &str| Text(text).refused(SqlProblem::Query, at, what);
    let message = match problem {
        ParserError::RecursionLimitExceeded => return depth::too_deep(text, None),
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
    };
    let (message, at) = located(message);
    // The parser stumbles behind a misspelt keyword: it takes it for a name.
    let behind = |token: &&TokenWithSpan| at.is_none_or(|at| token.span.start <= at);
    let before: Vec<&TokenWithSpan> = found.iter().filter(behind).collect();
    for token in before.iter().rev().take(4) {
        if let Some(near) = misspelt(token, is_script) {
            let what = format!("not SQL at \"{}\"; did you mean {near}?", token.token);
            return refused(position(token.span.start), &what);
        }
    }
    let expected = match message.split_once(", found: ") {
        Some((expected, _)) => expected.replacen("Expected: ", "expected ", 1),
        None => message.to_owned(),
    };
    let Some(at) = at else {
        let last = found.last().and_then(|token| position(token.span.start));
        let whole = if is_script { "statement" } else { "text" };
        let what = format!("not SQL: the {whole} ends too early; {expected}");
        return refused(last, &what);
    };
    let here = found.iter().find(|token| token.span.start == at);
    let what = match here {
        Some(token) if word(token).is_some() => {
            format!("not SQL at \"{}\"; {expected}", token.token)
        }
        Some(token) => format!("not SQL at {}; {expected}", quoted(&token.token)),
        None => format!("not SQL; {expected}"),
    };
    refused(position(at), &what)
}

/// A token in quotes, a text within its own.
fn quoted(token: &Token) -> String {
    match token {
        Token::SingleQuotedString(_) => token.to_string(),
        _ => format!("\"{token}\""),
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
