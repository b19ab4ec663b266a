//! ASOF joins, as DuckDB and Snowflake write them.
//!
//! `a ASOF [LEFT] JOIN b ON a.k = b.k AND a.t >= b.t`, and USING, whose last column is the one of the inequality;
//! Snowflake's `ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k` keeps rows without a match. The parser supports
//! only the latter, and the binder neither: for both it becomes a join whose inequality is the argument of a call of
//! `asof_match`. Invariant: a join that is none has no such call. Cost: linear in the text.

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, TableFactor, TableWithJoins,
    Value,
};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use ringview_expr::call;

use crate::join_kind::constraint;

/// Function whose argument is the inequality.
pub(crate) const MATCH: &str = "asof_match";

/// First name in ON and USING of an ASOF join, until `rewrite`.
const MARK: &str = "asof match";

/// Takes ASOF away where DuckDB's form follows, and marks the condition.
pub(crate) fn marked(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Positions of the tokens that a mark follows.
    let mut behind: Vec<(usize, Token)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match word(token) {
            Some(Keyword::ASOF) => match condition(&tokens[at + 1..]) {
                Some((place, separator)) => behind.push((at + 1 + place, separator)),
                None => made.push(token.clone()),
            },
            _ => made.push(token.clone()),
        }
        let here = behind.iter().position(|(place, _)| *place == at);
        if let Some(found) = here {
            let (_, separator) = behind.swap_remove(found);
            for mark in [quoted(MARK), separator] {
                made.push(TokenWithSpan {
                    token: mark,
                    span: token.span,
                });
            }
        }
    }
    made
}

/// The token behind which the condition of DuckDB's form begins, and what separates its parts.
fn condition(behind: &[TokenWithSpan]) -> Option<(usize, Token)> {
    let mut words = behind.iter().filter_map(word);
    let is_join = loop {
        match words.next()? {
            Keyword::LEFT | Keyword::OUTER | Keyword::INNER => {}
            other => break other == Keyword::JOIN,
        }
    };
    let mut depth = 0_usize;
    for (at, token) in behind.iter().enumerate().filter(|_| is_join) {
        match (&token.token, word(token)) {
            (Token::LParen, _) => depth += 1,
            (Token::RParen, _) => depth = depth.checked_sub(1)?,
            (_, Some(Keyword::MATCH_CONDITION)) if depth == 0 => return None,
            (_, Some(Keyword::ON)) if depth == 0 => {
                return Some((at, keyword(Keyword::AND, "AND")));
            }
            (_, Some(Keyword::USING)) if depth == 0 => {
                let mut open = behind.iter().enumerate().skip(at);
                let open = open.find(|(_, token)| token.token == Token::LParen)?;
                return Some((open.0, Token::Comma));
            }
            _ => {}
        }
    }
    None
}

fn word(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn keyword(keyword: Keyword, text: &str) -> Token {
    Token::Word(Word {
        value: text.to_owned(),
        quote_style: None,
        keyword,
    })
}

fn quoted(name: &str) -> Token {
    Token::Word(Word {
        value: name.to_owned(),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    })
}

/// Puts the inequalities of the ASOF joins of a chain into calls.
pub(crate) fn rewrite(chain: &mut TableWithJoins) {
    nested(&mut chain.relation);
    for join in &mut chain.joins {
        nested(&mut join.relation);
        rewrite_join(join);
    }
}

fn nested(factor: &mut TableFactor) {
    if let TableFactor::NestedJoin {
        table_with_joins, ..
    } = factor
    {
        rewrite(table_with_joins);
    }
}

fn rewrite_join(join: &mut Join) {
    if let JoinOperator::AsOf {
        match_condition,
        constraint,
    } = join.join_operator.clone()
    {
        let matched = call(MATCH, vec![match_condition]);
        let on = match constraint {
            JoinConstraint::On(on) => conjoined(vec![Expr::Nested(Box::new(on)), matched]),
            // Refused by its name: which tables the columns are of is not known here.
            JoinConstraint::Using(_) | JoinConstraint::Natural => Expr::Identifier(mark()),
            JoinConstraint::None => matched,
        };
        join.join_operator = JoinOperator::LeftOuter(JoinConstraint::On(on));
    }
    let Some(JoinConstraint::On(on)) = constraint(&mut join.join_operator) else {
        return;
    };
    let mut parts = Vec::new();
    split(std::mem::replace(on, Expr::Identifier(mark())), &mut parts);
    if parts.len() > 1 && is_mark(&parts[0]) {
        parts.remove(0);
        let at = parts.iter().position(is_inequality);
        let matched = match at {
            Some(at) => parts.remove(at),
            None => Expr::value(Value::Boolean(true)),
        };
        parts.push(call(MATCH, vec![matched]));
    }
    *on = conjoined(parts);
}

/// The names of USING, and whether the last is that of an ASOF join's inequality.
pub(crate) fn unmarked(mut names: Vec<String>) -> (Vec<String>, bool) {
    let is_marked = names.first().is_some_and(|name| name == MARK);
    if is_marked {
        names.remove(0);
    }
    (names, is_marked)
}

fn mark() -> Ident {
    Ident::with_quote('"', MARK)
}

fn is_mark(of: &Expr) -> bool {
    matches!(of, Expr::Identifier(ident) if ident.value == MARK)
}

fn is_inequality(of: &Expr) -> bool {
    match of {
        Expr::Nested(of) => is_inequality(of),
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::Gt | BinaryOperator::GtEq | BinaryOperator::Lt | BinaryOperator::LtEq
        ),
        _ => false,
    }
}

fn split(of: Expr, parts: &mut Vec<Expr>) {
    match of {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            split(*left, parts);
            split(*right, parts);
        }
        other => parts.push(other),
    }
}

fn conjoined(parts: Vec<Expr>) -> Expr {
    let all = parts.into_iter().reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    });
    all.unwrap_or_else(|| Expr::value(Value::Boolean(true)))
}
