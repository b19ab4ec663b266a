//! A text to its one SELECT, in a dialect, with parameters in their places.
//!
//! Invariant: tokens keep their positions in the text. `**` is a power, `(FROM t ..)` selects all of t, and each `?` is
//! numbered. Cost: linear in the text.

use datafusion_common::DataFusionError;
use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};
use ringview_core::{Error, Result};

use crate::dialect::Dialect;
use crate::error::{refusal, unsupported};
use crate::meaning;
use crate::parameters::{self, Parameters};

/// How deep a text may be nested.
const DEPTH: usize = 100;

/// The SELECT of a text.
pub(crate) fn parsed(
    text: &str,
    dialect: Dialect,
    parameters: &Parameters,
) -> Result<ast::Statement> {
    let failed = |problem: DataFusionError| refusal(&problem);
    let read = dialect.parser();
    let tokens = Tokenizer::new(&*read, text).tokenize_with_location();
    let tokens =
        tokens.map_err(|problem| failed(DataFusionError::SQL(Box::new(problem.into()), None)))?;
    let statements = Parser::new(&*read)
        .with_recursion_limit(DEPTH)
        .with_tokens_with_locations(rewritten(tokens))
        .parse_statements();
    let statements =
        statements.map_err(|problem| failed(DataFusionError::SQL(Box::new(problem), None)))?;
    let mut statements = statements.into_iter();
    match (statements.next(), statements.next()) {
        (Some(mut statement @ ast::Statement::Query(_)), None) => {
            if let ast::Statement::Query(query) = &statement
                && let Some(name) = twice(&query.body)
            {
                return Err(unsupported(&format!(
                    "two columns are called {name:?}; name one of them with AS"
                )));
            }
            parameters::substitute(&mut statement, parameters)?;
            meaning::of_dialect(&mut statement, dialect);
            Ok(statement)
        }
        _ => Err(Error::Value {
            place: "the text".to_owned(),
            problem: "a view is one SELECT; write SELECT .. FROM ..".to_owned(),
        }),
    }
}

/// A name that two outputs have.
fn twice(body: &ast::SetExpr) -> Option<String> {
    let select = match body {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { left, .. } => return twice(left),
        ast::SetExpr::Query(query) => return twice(&query.body),
        _ => return None,
    };
    let name = |item: &ast::SelectItem| match item {
        ast::SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(ident)) => Some(ident.value.clone()),
        ast::SelectItem::UnnamedExpr(ast::Expr::CompoundIdentifier(idents)) => {
            idents.last().map(|ident| ident.value.clone())
        }
        _ => None,
    };
    let names: Vec<String> = select.projection.iter().filter_map(name).collect();
    let found = (0..names.len()).find(|&at| names[..at].contains(&names[at]));
    found.map(|at| names[at].clone())
}

/// The tokens as the parser understands them.
fn rewritten(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let word = |token: &TokenWithSpan, keyword: Keyword| matches!(&token.token, Token::Word(word) if word.keyword == keyword);
    let mut made: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut questions = 0;
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
            _ if word(&token, Keyword::FROM) && begins_query(&made) && !selects(&tokens[at..]) => {
                let span = token.span;
                for token in [keyword(Keyword::SELECT, "SELECT"), Token::Mul] {
                    made.push(TokenWithSpan { token, span });
                }
            }
            _ => {}
        }
        made.push(token);
    }
    made
}

fn keyword(keyword: Keyword, text: &str) -> Token {
    Token::Word(Word {
        value: text.to_owned(),
        quote_style: None,
        keyword,
    })
}

/// Whether what comes next is the first word within parentheses.
fn begins_query(before: &[TokenWithSpan]) -> bool {
    let mut before = before.iter().rev();
    let last = before.find(|token| !matches!(token.token, Token::Whitespace(_)));
    last.is_some_and(|token| token.token == Token::LParen)
}

/// Whether a SELECT stands before the parenthesis closes.
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
