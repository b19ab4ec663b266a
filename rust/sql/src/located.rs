//! An error of a text, with its position in the text.
//!
//! The binder gives the place of most names. Otherwise the names in quotes and the keywords of a message are looked for
//! in the text. Invariant: what is not found, or found more than once, is given no place rather than a wrong one. Cost:
//! linear in the text, only for an error.

use datafusion_sql::sqlparser::ast::Statement;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::Token;
use ringview_core::{Error, Position, SqlProblem};
use ringview_expr::as_written;

use crate::dialect::Dialect;
use crate::error::plain;
use crate::find::{Named, Of, names};
use crate::near::did_you_mean;
use crate::source_text::{Text, position};
use crate::special::{in_quotes, special};
use crate::tokens::{tokens, word};

/// The error with its position; `statement` is the text as it was parsed.
pub(crate) fn located(error: Error, text: &str, statement: &Statement) -> Error {
    let (mut problem, mut what, mut at) = match error {
        Error::Sql {
            problem,
            message,
            position,
        } => (problem, message, position),
        Error::UnknownTable {
            ref name,
            ref known,
        }
        | Error::UnknownView {
            ref name,
            ref known,
        } => {
            let near = did_you_mean(name, known.iter().map(String::as_str));
            (SqlProblem::UnknownTable, format!("{error}{near}"), None)
        }
        // The binder found it: a query around has it.
        Error::UnknownColumn { ref column, .. }
            if names(statement)
                .iter()
                .any(|of| of.of == Of::Column && of.is(column)) =>
        {
            (
                SqlProblem::Unsupported,
                format!(
                    "the column \"{column}\" of a query around is not read here; join its table in FROM"
                ),
                None,
            )
        }
        Error::UnknownColumn {
            ref column,
            ref known,
            ..
        } => {
            let near = did_you_mean(column, known.iter().map(String::as_str));
            (SqlProblem::UnknownColumn, format!("{error}{near}"), None)
        }
        Error::Type { .. } => (SqlProblem::Type, error.to_string(), None),
        Error::Value { .. } => (SqlProblem::Query, error.to_string(), None),
        Error::Unsupported { .. } => (SqlProblem::Unsupported, error.to_string(), None),
        other => return other,
    };
    let names = names(statement);
    what = as_written(&of_columns(plain(&what)));
    if what.contains("are encoded differently")
        || what.contains("not compared with")
        || what.contains("common type")
        || what.contains("is no condition")
    {
        problem = SqlProblem::Type;
    }
    at = match at {
        Some(found) => Some(refined(found, problem, &what, &names)),
        None => special(&what, statement, &names),
    };
    let at = at
        .or_else(|| by_literal(text, &what))
        .or_else(|| by_names(&what, &names))
        .or_else(|| by_token(text, &what))
        .or_else(|| by_keyword(text, &what))
        .or_else(|| by_function(&what, &names));
    if let Some(spelt) = at.and_then(|at| names.iter().find(|named| named.at == at)) {
        what = respelt(&what, spelt);
    }
    Text(text).refused(problem, at, &what)
}

/// `0.b = 1.c: ..`, as the binder of queries names columns, as the text does.
fn of_columns(what: String) -> String {
    let column = |of: &str| {
        let (atom, name) = of.split_once('.')?;
        atom.parse::<usize>().ok().map(|_| name.to_owned())
    };
    let renamed = || {
        let (sides, rest) = what.split_once(": ")?;
        let (left, right) = sides.split_once(" = ")?;
        Some(format!(
            "\"{}\" = \"{}\": {rest}",
            column(left)?,
            column(right)?
        ))
    };
    renamed().unwrap_or(what)
}

/// A constant text of a refused expression, or the number of an output.
fn by_literal(text: &str, what: &str) -> Option<Position> {
    let found = tokens(text, Dialect::DuckDb).ok()?;
    let number = what.strip_prefix("there is no output number ");
    if let Some(number) = number {
        let mut last = found.iter().rev();
        let token = last.find(|token| token.token.to_string() == number)?;
        return position(token.span.start);
    }
    if !what.starts_with("the expression ") && !what.starts_with("the constant ") {
        return None;
    }
    in_quotes(what).find_map(|literal| {
        let mut same = found.iter().filter(
            |token| matches!(&token.token, Token::SingleQuotedString(value) if value == literal),
        );
        let first = same.next()?;
        same.next().is_none().then(|| position(first.span.start))?
    })
}

/// The first name that the message has in quotes and the text once, wherever.
fn by_token(text: &str, what: &str) -> Option<Position> {
    let found = tokens(text, Dialect::DuckDb).ok()?;
    let (problem, _) = what.split_once("; known").unwrap_or((what, ""));
    in_quotes(problem).find_map(|name| {
        let mut same = found.iter().filter(
            |token| matches!(word(token), Some(word) if word.value.eq_ignore_ascii_case(name)),
        );
        let first = same.next()?;
        same.next().is_none().then(|| position(first.span.start))?
    })
}

/// The one function of the text whose name is a word of the message; the one aggregate, if a sum is refused.
fn by_function(what: &str, names: &[Named]) -> Option<Position> {
    let words: Vec<&str> = what
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .collect();
    let is_sum = what.starts_with("a sum needs");
    let called = |named: &&Named| {
        let lower = named.name.to_lowercase();
        named.of == Of::Function
            && (words.iter().any(|word| word.eq_ignore_ascii_case(&lower))
                || is_sum && ringview_expr::AGGREGATES.contains(&lower.as_str()))
    };
    let mut found = names.iter().filter(called);
    let first = found.next()?;
    found.next().is_none().then_some(first.at)
}

/// The binder gives the whole of `t.x`; what is unknown is `x`.
fn refined(at: Position, problem: SqlProblem, what: &str, names: &[Named]) -> Position {
    let starts = names
        .iter()
        .position(|named| named.at == at && named.of == Of::Qualifier);
    let Some(qualifier) = starts else {
        return at;
    };
    match names.get(qualifier + 1) {
        Some(column)
            if problem == SqlProblem::UnknownColumn
                && in_quotes(what).any(|name| column.is(name)) =>
        {
            column.at
        }
        _ => at,
    }
}

/// A name as the text spells it, where the message begins with it in another case.
fn respelt(what: &str, named: &Named) -> String {
    let Some(first) = in_quotes(what).next() else {
        return what.to_owned();
    };
    let mut quoted = ['"', '\'']
        .iter()
        .filter_map(|mark| what.find(&format!("{mark}{first}{mark}")));
    match quoted.next() {
        Some(at) if first.eq_ignore_ascii_case(&named.name) => {
            let (before, behind) = (&what[..=at], &what[at + 1 + first.len()..]);
            format!("{before}{}{behind}", named.name)
        }
        _ => what.to_owned(),
    }
}

/// The first name that the message has in quotes and the text once.
fn by_names(what: &str, names: &[Named]) -> Option<Position> {
    let (problem, _) = what.split_once("; known").unwrap_or((what, ""));
    let dotted = problem.split([' ', '(', ')', ',', ';']).filter(|word| {
        let mut parts = word.split('.');
        parts.clone().count() == 2 && parts.all(|part| part.chars().any(char::is_alphabetic))
    });
    in_quotes(problem).chain(dotted).find_map(|name| {
        let (qualifier, name) = match name.rsplit_once('.') {
            Some((table, column)) => (Some(table), column),
            None => (None, name),
        };
        let is = |named: &&Named| {
            let fits = match (qualifier, &named.qualifier) {
                (Some(table), Some(other)) => table.eq_ignore_ascii_case(other),
                _ => true,
            };
            fits && named.is(name)
        };
        let mut found = names.iter().filter(is);
        let first = found.next()?;
        found.next().is_none().then_some(first.at)
    })
}

/// The first word in capitals that the text has once, as a keyword or a name.
fn by_keyword(text: &str, what: &str) -> Option<Position> {
    let found = tokens(text, Dialect::DuckDb).ok()?;
    let (problem, _) = what.split_once("; ").unwrap_or((what, ""));
    let words = problem.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let capitals = words.filter(|word| {
        word.len() > 1
            && word
                .chars()
                .all(|letter| letter.is_ascii_uppercase() || letter == '_')
    });
    for keyword in capitals {
        let mut same = found.iter().filter(|token| {
            word(token).is_some_and(|word| {
                word.quote_style.is_none()
                    && word.value.eq_ignore_ascii_case(keyword)
                    && (word.keyword != Keyword::NoKeyword || keyword.len() > 2)
            })
        });
        if let (Some(token), None) = (same.next(), same.next()) {
            return position(token.span.start);
        }
    }
    None
}
