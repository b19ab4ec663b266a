//! Nesting depth of a text.
//!
//! The parser, the binder and the passes over a tree recurse. Conditions joined by AND or OR are balanced, so that
//! thousands of them are a shallow tree; all else that makes a tree deep is counted among the tokens, and refused beyond
//! a limit before anything recurses, and parsing and planning have a stack for what is within it. Invariant: no text
//! overflows the stack. Cost: linear in the text; O(n log n) in the longest chain of conditions; a thread for a text that may be deep.

use std::panic::resume_unwind;

use datafusion_sql::sqlparser::ast::Statement;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use ringview_core::{Error, Position, Result, SqlProblem};
use ringview_expr::{Balance, walk_mut};

use crate::source_text::{Text, position};
use crate::tokens::word;

/// Conditions that one AND or OR may join.
const MOST_CONDITIONS: usize = 8000;
/// Conditions that one AND may join: the lowering keeps them one below the other.
const MOST_RESTRICTIONS: usize = 400;
/// Operators in one expression, those in its brackets apart.
const MOST_OPERATORS: usize = 200;
/// Operators and brackets on one way into an expression, whatever brackets they are in.
const MOST_DEPTH: usize = 300;
/// Levels of brackets, those behind a word and each NOT twice, as the parser counts them. Beyond, it would read each level
/// again in another way: exponentially often.
const MOST_LEVELS: usize = 96;
/// As many levels a CASE counts for.
const DEPTH_OF_CASE: usize = 4;
/// As many more a call within a CASE: the library computes the type of a branch twice.
const DEPTH_IN_CASE: usize = 6;
/// Levels that the parser, whose frames are large, reads on any stack.
const SHALLOW: usize = 12;
/// Letters of a text that cannot be deep.
const SHORT: usize = 64;
/// Bytes of stack for parsing and planning a text that may be.
const STACK: usize = 256 << 20;
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

/// Refuses what would be nested too deeply; the deepest level of what is not.
pub(crate) fn check(text: &str, tokens: &[TokenWithSpan]) -> Result<usize> {
    let mut levels = vec![Level::default()];
    let mut deepest = 0;
    let mut relations = 0;
    let mut before: Option<&TokenWithSpan> = None;
    for token in tokens {
        let at = || position(token.span.start);
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                let around = levels.last().map_or(0, Level::depth);
                let is_call = before
                    .and_then(word)
                    .is_some_and(|word| word.keyword != Keyword::NOT);
                let in_case = is_call && levels.last().is_some_and(|level| level.is_case);
                levels.push(Level {
                    around: around
                        + 1
                        + usize::from(is_call)
                        + usize::from(in_case) * DEPTH_IN_CASE,
                    ..Level::default()
                });
            }
            Token::RParen | Token::RBracket | Token::RBrace if levels.len() > 1 => {
                close(&mut levels);
            }
            Token::Word(_) => match word(token).map_or(Keyword::NoKeyword, |word| word.keyword) {
                Keyword::CASE => {
                    let around = levels.last().map_or(0, Level::depth);
                    levels.push(Level {
                        around: around + DEPTH_OF_CASE,
                        is_case: true,
                        ..Level::default()
                    });
                }
                Keyword::END if levels.last().is_some_and(|level| level.is_case) => {
                    close(&mut levels);
                }
                _ => {}
            },
            _ => {}
        }
        let Some(level) = levels.last_mut() else {
            continue;
        };
        if !matches!(token.token, Token::Whitespace(_)) {
            before = Some(token);
        }
        if word(token).is_some_and(|word| word.keyword == Keyword::NOT) {
            level.nots += 1;
        }
        match role(token) {
            Role::Condition { restricts } => {
                level.conditions += 1;
                level.restrictions = if restricts { level.restrictions + 1 } else { 0 };
                level.end_chain();
                level.nots = 0;
            }
            Role::Operator => level.operators += 1,
            Role::Relation => {
                relations += 1;
                level.restart();
            }
            Role::End => level.restart(),
            Role::Other => {}
        }
        deepest = deepest.max(level.depth());
        if level.conditions > MOST_CONDITIONS || level.restrictions > MOST_RESTRICTIONS {
            let what = "too many conditions are joined; write x IN (..), or put the values into a \
                        table and join it";
            return Err(Text(text).refused(SqlProblem::Unsupported, at(), what));
        }
        if level.operators > MOST_OPERATORS
            || level.height() > MOST_DEPTH
            || level.depth() > MOST_LEVELS
            || relations > MOST_RELATIONS
        {
            return Err(too_deep(text, at()));
        }
    }
    Ok(deepest)
}

/// Counts of one pair of brackets so far.
#[derive(Default)]
struct Level {
    conditions: usize,
    restrictions: usize,
    operators: usize,
    nots: usize,
    /// The greatest height of brackets in the chain of operators at hand; of all that ended.
    within: usize,
    ended: usize,
    /// The depth of what is around.
    around: usize,
    is_case: bool,
}

impl Level {
    fn depth(&self) -> usize {
        self.around + self.nots
    }

    /// The most operators and brackets on one way into it.
    fn height(&self) -> usize {
        self.ended.max(self.operators + self.within)
    }

    /// Ends a chain: following tokens are no operands of its operators.
    fn end_chain(&mut self) {
        self.ended = self.height();
        (self.operators, self.within) = (0, 0);
    }

    fn restart(&mut self) {
        self.end_chain();
        *self = Self {
            ended: self.ended,
            around: self.around,
            is_case: self.is_case,
            ..Self::default()
        };
    }
}

/// A bracket ends, and counts for the chain around it.
fn close(levels: &mut Vec<Level>) {
    let height = levels.pop().map_or(0, |level| level.height());
    if let Some(around) = levels.last_mut() {
        around.within = around.within.max(height + 1);
    }
}

/// Plans a text on a stack that is deep enough for whatever `check` passes. A thread of the caller may have little.
pub(crate) fn planned<T: Send>(text: &str, plan: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    match text.len() <= SHORT {
        true => plan(),
        false => on_deep_stack(plan),
    }
}

/// The same for parsing what has so many levels.
pub(crate) fn parsed<T: Send>(
    levels: usize,
    parse: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    match levels <= SHALLOW {
        true => parse(),
        false => on_deep_stack(parse),
    }
}

fn on_deep_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let mut work = Some(work);
    let mut done = None;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let run = || done = work.take().map(|work| work());
        // If the system gives no thread, the work runs on the caller's stack.
        if let Ok(thread) = thread.spawn_scoped(scope, run)
            && let Err(panic) = thread.join()
        {
            resume_unwind(panic);
        }
    });
    match (done, work) {
        (Some(done), _) => done,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("work that was begun has ended or panicked"),
    }
}

/// Effect of a token on the depth of an expression.
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
    let _ = walk_mut(statement, &mut Balance);
}
