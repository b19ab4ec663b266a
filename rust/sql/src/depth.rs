//! How deeply a text may be nested.
//!
//! The parser, the binder and the passes over a tree recurse. Conditions joined by AND or OR are balanced, so that
//! thousands of them are a shallow tree; all else that makes a tree deep is counted among the tokens, and refused beyond
//! a limit before anything recurses. Invariant: no text overflows the stack. Cost: linear in the text; O(n log n) in
//! the longest chain of conditions.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, Statement, VisitMut, VisitorMut};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use ringview_core::{Error, Position, Result, SqlProblem};

use crate::place::{Text, position};
use crate::tokens::word;

/// Conditions that one AND or OR may join.
const MOST_CONDITIONS: usize = 8000;
/// Operators in one expression, those in its brackets apart.
const MOST_OPERATORS: usize = 300;
/// SELECTs of a text, joins among them: each may read the one before.
const MOST_RELATIONS: usize = 400;
/// A chain this long is left as it is.
const SHORT: usize = 16;

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
            Role::Condition => {
                level.conditions += 1;
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
        if level.conditions > MOST_CONDITIONS {
            let what = format!(
                "more than {MOST_CONDITIONS} conditions are joined; write x IN (..), or put the \
                 values into a table and join it"
            );
            return Err(Text(text).refused(SqlProblem::Unsupported, at(), &what));
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
    operators: usize,
}

/// What a token does to the depth of an expression.
enum Role {
    Condition,
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
            Keyword::AND | Keyword::OR => Role::Condition,
            Keyword::SELECT | Keyword::JOIN | Keyword::UNION | Keyword::INTERSECT
            | Keyword::EXCEPT => Role::Relation,
            Keyword::FROM | Keyword::WHERE | Keyword::GROUP | Keyword::HAVING | Keyword::ORDER
            | Keyword::QUALIFY | Keyword::LIMIT | Keyword::ON | Keyword::USING | Keyword::WHEN
            | Keyword::THEN | Keyword::ELSE | Keyword::END => Role::End,
            Keyword::IS | Keyword::IN | Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR
            | Keyword::BETWEEN | Keyword::NOT | Keyword::AT | Keyword::COLLATE | Keyword::CASE
            | Keyword::NOTNULL | Keyword::DIV | Keyword::REGEXP
            | Keyword::XOR | Keyword::OVERLAPS | Keyword::ESCAPE => Role::Operator,
            _ => Role::Other,
        },
        // Every other sign is an operator, or rare.
        _ => Role::Operator,
    }
}

/// Makes chains of AND and OR shallow. Both are associative, so their values stay.
pub(crate) fn balance(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Balance);
}

struct Balance;

impl VisitorMut for Balance {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp {
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            ..
        } = expr
        {
            let op = op.clone();
            if length(expr, &op) > SHORT {
                let nothing = Expr::value(datafusion_sql::sqlparser::ast::Value::Null);
                let operands = operands(std::mem::replace(expr, nothing), &op);
                *expr = tree(operands, &op);
            }
        }
        ControlFlow::Continue(())
    }
}

/// How many operands a chain has on its left side.
fn length(mut expr: &Expr, op: &BinaryOperator) -> usize {
    let mut length = 1;
    while let Expr::BinaryOp {
        left, op: other, ..
    } = expr
        && other == op
    {
        length += 1;
        expr = left;
    }
    length
}

/// The operands of a chain, from left to right.
fn operands(mut expr: Expr, op: &BinaryOperator) -> Vec<Expr> {
    let mut found = Vec::new();
    loop {
        match expr {
            Expr::BinaryOp {
                left,
                op: other,
                right,
            } if other == *op => {
                found.push(*right);
                expr = *left;
            }
            last => {
                found.push(last);
                found.reverse();
                return found;
            }
        }
    }
}

/// Neighbours are joined, then their pairs, and so on.
fn tree(mut operands: Vec<Expr>, op: &BinaryOperator) -> Expr {
    while operands.len() > 1 {
        let mut left = operands.into_iter();
        let mut joined = Vec::with_capacity(left.len() / 2 + 1);
        while let Some(one) = left.next() {
            joined.push(match left.next() {
                Some(other) => Expr::BinaryOp {
                    left: Box::new(one),
                    op: op.clone(),
                    right: Box::new(other),
                },
                None => one,
            });
        }
        operands = joined;
    }
    operands
        .pop()
        .unwrap_or(Expr::value(datafusion_sql::sqlparser::ast::Value::Null))
}
