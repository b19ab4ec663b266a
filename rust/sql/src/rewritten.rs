//! Tokens as the parser understands them.
//!
//! Invariant: tokens keep their positions in the text. `**` is a power, `(FROM t ..)` selects all of t, `FILTER (..)` of an
//! aggregate has its WHERE, `x ISNULL` is `x IS NULL`, and each `?` is numbered. Cost: linear in the text.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::dialect::Dialect;

/// The tokens as the parser understands them; before them in their text are so many `?`.
pub(crate) fn rewritten(
    tokens: Vec<TokenWithSpan>,
    mut questions: usize,
    dialect: Dialect,
) -> Vec<TokenWithSpan> {
    let word = |token: &TokenWithSpan, keyword: Keyword| matches!(&token.token, Token::Word(word) if word.keyword == keyword);
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let mut token = token.clone();
        match &token.token {
            Token::Mul if at > 0 && tokens[at - 1].token == Token::Mul => {
                if let Some(last) = made.last_mut() {
                    last.token = Token::Caret;
                }
                continue;
            }
            Token::Placeholder(name) if name == "?" => {
                questions += 1;
                token.token = Token::Placeholder(format!("${questions}"));
            }
            Token::Word(word) if is_null_test(word, dialect) && is_operator(&tokens, at) => {
                let span = token.span;
                for token in [keyword(Keyword::IS, "IS"), keyword(Keyword::NULL, "NULL")] {
                    made.push(TokenWithSpan { token, span });
                }
                continue;
            }
            // The planner chooses whether to materialise a name of WITH.
            _ if word(&token, Keyword::MATERIALIZED)
                && tokens
                    .get(at + 1)
                    .is_some_and(|next| next.token == Token::LParen) =>
            {
                if made.last().is_some_and(|last| word(last, Keyword::NOT)) {
                    made.pop();
                }
                continue;
            }
            _ if word(&token, Keyword::FROM) && begins_query(&made) && !selects(&tokens[at..]) => {
                let span = token.span;
                for token in [keyword(Keyword::SELECT, "SELECT"), Token::Mul] {
                    made.push(TokenWithSpan { token, span });
                }
            }
            Token::LParen if is_filter(&made) && !starts_with_where(&tokens[at + 1..]) => {
                let span = token.span;
                made.push(token);
                let token = keyword(Keyword::WHERE, "WHERE");
                made.push(TokenWithSpan { token, span });
                continue;
            }
            _ => {}
        }
        made.push(token);
    }
    made
}

/// Whether a word is ISNULL where that is no name: the grammar of DuckDB and PostgreSQL reserves it.
fn is_null_test(word: &Word, dialect: Dialect) -> bool {
    matches!(dialect, Dialect::DuckDb | Dialect::Postgres)
        && word.quote_style.is_none()
        && word.value.eq_ignore_ascii_case("ISNULL")
}

/// Whether a word follows an operand, and neither calls a function nor is a name behind AS or a dot.
fn is_operator(tokens: &[TokenWithSpan], at: usize) -> bool {
    let calls = tokens
        .get(at + 1)
        .is_some_and(|next| matches!(next.token, Token::LParen | Token::Period));
    let before = at.checked_sub(1).map(|before| &tokens[before].token);
    let names = match before {
        Some(Token::Word(word)) => word.keyword == Keyword::AS,
        Some(other) => *other == Token::Period,
        None => true,
    };
    !calls && !names
}

/// Whether the last words are those of a call and FILTER behind it.
fn is_filter(before: &[TokenWithSpan]) -> bool {
    let mut last = before.iter().rev().filter(|token| !is_space(token));
    let is_word = last.next().is_some_and(
        |token| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::FILTER),
    );
    is_word
        && last
            .next()
            .is_some_and(|token| token.token == Token::RParen)
}

fn starts_with_where(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens.iter().find(|token| !is_space(token));
    first.is_some_and(
        |token| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::WHERE),
    )
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

fn keyword(keyword: Keyword, text: &str) -> Token {
    Token::Word(Word {
        value: text.to_owned(),
        quote_style: None,
        keyword,
    })
}

/// Whether the next token is the first word of the text, within parentheses, or behind the tables of a WITH.
fn begins_query(before: &[TokenWithSpan]) -> bool {
    match before.iter().rposition(|token| !is_space(token)) {
        None => true,
        Some(at) => match before[at].token {
            Token::LParen => true,
            Token::RParen => is_table_of_with(&before[..at]),
            _ => false,
        },
    }
}

/// Whether a parenthesis that closes here was opened behind AS.
fn is_table_of_with(within: &[TokenWithSpan]) -> bool {
    let mut depth = 0;
    let opens = within.iter().rposition(|token| {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    let before = &within[..opens.unwrap_or(0)];
    let mut last = before.iter().rev().filter(|token| !is_space(token));
    last.next().is_some_and(
        |token| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::AS),
    )
}

/// Whether a SELECT occurs before the parenthesis closes.
fn selects(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0;
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 0 && word.keyword == Keyword::SELECT => return true,
            _ => {}
        }
    }
    false
}
