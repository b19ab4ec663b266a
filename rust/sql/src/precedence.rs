//! Precedence of operators in DuckDB and PostgreSQL, which share a grammar.
//!
//! From the weakest: OR, AND, NOT, IS, comparisons, LIKE with IN and BETWEEN, all other operators (`||`, `|`, `&`, `<<`,
//! `~`, ..), `+ -`, `* / // %`, `^`, a sign, `::`. A prefix `~` is one of the other operators: `~a + b` is `~(a + b)`.
//! DuckDB has one level more, between these and LIKE: `+` and its kin in front of a `~`. So `a | b * ~c | d` is
//! `(a | b) * ((~c) | d)` there.
//! Invariant: operators of one level are read from the left. Cost: none. Source: PostgreSQL's manual, "Lexical
//! Structure", operator precedence.

use datafusion_sql::sqlparser::ast::{Expr, UnaryOperator};
use datafusion_sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

/// The level of a kind of operators.
pub(crate) fn level(of: Precedence) -> u8 {
    PostgreSqlDialect {}.prec_value(of)
}

/// The level of the next operator, where it is not that of its kind.
pub(crate) fn of_operator(parser: &Parser, is_duckdb: bool) -> Option<Result<u8, ParserError>> {
    let is_arithmetic = matches!(
        parser.peek_token_ref().token,
        Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::DuckIntDiv
            | Token::Mod
            | Token::Caret
    );
    if is_duckdb && is_arithmetic && parser.peek_nth_token_ref(1).token == Token::Tilde {
        return Some(Ok(level(Precedence::PgOther) - 1));
    }
    match parser.peek_token_ref().token {
        Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::DoubleTilde
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk => Some(Ok(level(Precedence::PgOther))),
        _ => PostgreSqlDialect {}.get_next_precedence(parser),
    }
}

/// An operand with its sign, if the next token is a sign.
pub(crate) fn sign(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let (op, level) = match parser.peek_token_ref().token {
        Token::Minus => (UnaryOperator::Minus, level(Precedence::Caret)),
        Token::Plus => (UnaryOperator::Plus, level(Precedence::Caret)),
        Token::Tilde => (UnaryOperator::BitwiseNot, level(Precedence::PgOther)),
        _ => return None,
    };
    parser.advance_token();
    let operand = parser.parse_subexpr(level);
    Some(operand.map(|expr| Expr::UnaryOp {
        op,
        expr: Box::new(expr),
    }))
}
