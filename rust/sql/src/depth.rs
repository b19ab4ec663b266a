//! How deeply a text may be nested.
//!
//! The parser, the binder and the passes over a tree recurse. Conditions joined by AND or OR are balanced, so that
//! thousands of them are a shallow tree; all else that makes a tree deep is counted among the tokens, and refused beyond
//! a limit before anything recurses. Invariant: no text overflows the stack. Cost: linear in the text; O(n log n) in
//! the longest chain of conditions.

use datafusion_sql::sqlparser::ast::{Statement, VisitMut};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use ringview_core::{Error, Position, Result, SqlProblem};
use ringview_expr::Balance;

use crate::place::{Text, position};
use crate::tokens::word;

/// Conditions that one AND or OR may join.
const MOST_CONDITIONS: usize = 8000;
/// Conditions that one AND may join: the lowering keeps them one below the other.
const MOST_RESTRICTIONS: usize = 400;
/// Operators in one expression, those in its brackets apart.
const MOST_OPERATORS: usize = 200;
/// SELECTs of a text, joins among them: each may read the one before.
const MOST_RELATIONS: usize = 400;

/// The error for a text that is nested too deeply.
pub(crate) fn too_deep(text: &str, at: Option<Position>) -> Error {
    Text(text).refused(
        SqlProblem::Unsupported,
        at,
        "the query is nested too deeply; compute parts of it into columns",
    )
}

/// Refuses what would be nested too deeply.
pub(crate) fn check(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    let mut levels = vec![Level::default()];
    let mut relations = 0;
    for token in tokens {
        let at = || position(token.span.start);
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => levels.push(Level::default()),
            Token::RParen | Token::RBracket | Token::RBrace if levels.len() > 1 => {
                levels.pop();
            }
            _ => {}
        }
        let Some(level) = levels.last_mut() else {
            continue;
        };
        match role(token) {
            Role::Condition { restricts } => {
                level.conditions += 1;
                level.restrictions = if restricts { level.restrictions + 1 } else { 0 };
                level.operators = 0;
            }
            Role::Operator => level.operators += 1,
            Role::Relation => {
                relations += 1;
                *level = Level::default();
            }
            Role::End => *level = Level::default(),
            Role::Other => {}
        }
        if level.conditions > MOST_CONDITIONS || level.restrictions > MOST_RESTRICTIONS {
            let what = "too many conditions are joined; write x IN (..), or put the values into a \
                        table and join it";
            return Err(Text(text).refused(SqlProblem::Unsupported, at(), what));
        }
        if level.operators > MOST_OPERATORS || relations > MOST_RELATIONS {
            return Err(too_deep(text, at()));
        }
    }
    Ok(())
}

/// What one pair of brackets holds so far.
#[derive(Default)]
struct Level {
    conditions: usize,
    restrictions: usize,
    operators: usize,
}

/// What a token does to the depth of an expression.
enum Role {
    Condition { restricts: bool },
    Operator,
    Relation,
    End,
    Other,
}

fn role(token: &TokenWithSpan) -> Role {
    match &token.token {
        Token::Comma | Token::SemiColon => Role::End,
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Period
        | Token::LParen
        | Token::RParen => Role::Other,
        Token::Word(_) => match word(token).map_or(Keyword::NoKeyword, |word| word.keyword) {
            Keyword::AND => Role::Condition { restricts: true },
            Keyword::OR => Role::Condition { restricts: false },
            Keyword::SELECT
            | Keyword::JOIN
            | Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT => Role::Relation,
            Keyword::FROM
            | Keyword::WHERE
            | Keyword::GROUP
            | Keyword::HAVING
            | Keyword::ORDER
            | Keyword::QUALIFY
            | Keyword::LIMIT
            | Keyword::ON
            | Keyword::USING
            | Keyword::WHEN
            | Keyword::THEN
            | Keyword::ELSE
            | Keyword::END => Role::End,
            Keyword::IS
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::NOT
            | Keyword::AT
            | Keyword::COLLATE
            | Keyword::CASE
            | Keyword::NOTNULL
            | Keyword::DIV
            | Keyword::REGEXP
            | Keyword::XOR
            | Keyword::OVERLAPS
            | Keyword::ESCAPE => Role::Operator,
            _ => Role::Other,
        },
        // Every other sign is an operator, or rare.
        _ => Role::Operator,
    }
}

/// Makes chains of AND and OR shallow.
pub(crate) fn balance(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Balance);
}
