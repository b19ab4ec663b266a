//! The tokens of a text.
//!
//! Invariant: a text whose tokens are read is quoted as SQL quotes; comments and blanks are left out. Cost: linear in
//! the text.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};
use ringview_core::{Error, Result, SqlProblem};

use crate::dialect::{Dialect, Operands};
use crate::near::nearest;
use crate::source_text::{Text, position};

/// The tokens of a text, without blanks and comments.
pub(crate) fn tokens(text: &str, dialect: Dialect) -> Result<Vec<TokenWithSpan>> {
    let mut found = Vec::new();
    let of = dialect.parser(&Operands::default());
    let read = Tokenizer::new(&*of, text).tokenize_with_location_into_buf(&mut found);
    if let Err(problem) = read {
        // It begins where the last whole token ends.
        let begin = found
            .last()
            .map_or(Location { line: 1, column: 1 }, |last: &TokenWithSpan| {
                last.span.end
            });
        return Err(unreadable(text, &problem.message, begin));
    }
    found.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let backtick = found
        .iter()
        .filter(|_| dialect == Dialect::DuckDb)
        .find(|token| matches!(word(token), Some(word) if word.quote_style == Some('`')));
    if let Some(token) = backtick {
        return Err(Text(text).refused(
            SqlProblem::Query,
            position(token.span.start),
            "a backtick is not SQL; quote names like this: \"name\"",
        ));
    }
    Ok(found)
}

fn unreadable(text: &str, problem: &str, begin: Location) -> Error {
    let lower = problem.to_lowercase();
    let what = if lower.contains("comment") {
        "not SQL: a comment is left open; end it with */"
    } else if lower.contains("untermin") || lower.contains("expected close delimiter") {
        let rest = after(text, begin);
        if rest.starts_with('`') {
            "a backtick is not SQL; quote names like this: \"name\""
        } else if rest.starts_with('"') {
            "not SQL: a quoted name is left open; end it with \""
        } else {
            "not SQL: a quote is left open; end it with '"
        }
    } else {
        return Text(text).refused(
            SqlProblem::Query,
            position(begin),
            &format!("not SQL: {problem}"),
        );
    };
    Text(text).refused(SqlProblem::Query, position(begin), what)
}

/// The rest of a text from a place on.
pub(crate) fn after(text: &str, at: Location) -> &str {
    let line = usize::try_from(at.line).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(at.column).unwrap_or(1).saturating_sub(1);
    let begin: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(begin..).unwrap_or_default();
    let skipped: usize = rest.chars().take(column).map(char::len_utf8).sum();
    rest.get(skipped..).unwrap_or_default()
}

/// The word that a token is.
pub(crate) fn word(token: &TokenWithSpan) -> Option<&Word> {
    match &token.token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

/// Keywords that are misspelt.
const WORDS: [&str; 22] = [
    "SELECT",
    "DISTINCT",
    "FROM",
    "NATURAL",
    "INNER",
    "CROSS",
    "JOIN",
    "USING",
    "WHERE",
    "GROUP",
    "HAVING",
    "BETWEEN",
    "AND",
    "LIKE",
    "NULL",
    "ORDER",
    "LIMIT",
    "UNION",
    "QUALIFY",
    "PARTITION",
    "OFFSET",
    "OVER",
];

/// The same, of statements that are no queries.
const STATEMENTS: [&str; 14] = [
    "CREATE", "TABLE", "VIEW", "INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE", "TRUNCATE",
    "ALTER", "BEGIN", "COMMIT", "ROLLBACK",
];

/// The keyword that a token looks like, but is not; of any statement if `of_any`, else of a query.
pub(crate) fn misspelt(token: &TokenWithSpan, of_any: bool) -> Option<&'static str> {
    let word = word(token)?;
    if word.quote_style.is_some() || word.keyword != Keyword::NoKeyword {
        return None;
    }
    let others = STATEMENTS.into_iter().filter(|_| of_any);
    nearest(&word.value, WORDS.into_iter().chain(others), 0.7)
        .filter(|near| !near.eq_ignore_ascii_case(&word.value))
}
