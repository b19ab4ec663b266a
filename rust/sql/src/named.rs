//! Names in a text, read without tables: its tables, its tokens, the columns of a product.
//!
//! Invariant: only the text is read. Cost: linear in the text.

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, SelectItem};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::Token;
use ringview_core::{Error, Result};

use crate::dialect::Dialect;
use crate::find;
use crate::grammar::parsed;
use crate::tokens::{tokens, word};

/// The names that a text reads in FROM, in subqueries too: tables, views, names of WITH; sorted, each once.
///
/// # Errors
/// `Sql` for a text that is no SELECT of the dialect.
///
/// ```
/// # use ringview_sql::{Dialect, tables_named};
/// let text = "SELECT COUNT(*) FROM r JOIN (SELECT a FROM s) q USING (a)";
/// assert_eq!(tables_named(text, Dialect::DuckDb).unwrap(), ["r", "s"]);
/// ```
pub fn tables_named(text: &str, dialect: Dialect) -> Result<Vec<String>> {
    Ok(find::tables(&parsed(text, dialect, None)?)
        .into_iter()
        .collect())
}

/// The tokens of a text without blanks and comments. Keywords are in upper case; names and values are as they are
/// written, so two texts with equal tokens are one query.
///
/// # Errors
/// `Sql` for a text with a quote or comment left open.
///
/// ```
/// # use ringview_sql::sql_tokens;
/// assert_eq!(sql_tokens("select a -- one\nfrom r").unwrap(), ["SELECT", "a", "FROM", "r"]);
/// ```
pub fn sql_tokens(text: &str) -> Result<Vec<String>> {
    let shown = tokens(text, Dialect::DuckDb)?
        .into_iter()
        .map(|token| match word(&token) {
            Some(word) if word.keyword != Keyword::NoKeyword => word.value.to_uppercase(),
            _ => match &token.token {
                Token::Number(digits, _) => digits.to_uppercase(),
                other => other.to_string(),
            },
        });
    Ok(shown.collect())
}

/// The columns of a product such as `a * b * (c)`.
///
/// # Errors
/// `Sql` for a text that is no SQL, `Unsupported` for what is no product of columns.
///
/// ```
/// # use ringview_sql::product_columns;
/// assert_eq!(product_columns("price * (units)").unwrap(), ["price", "units"]);
/// ```
pub fn product_columns(text: &str) -> Result<Vec<String>> {
    let refused = || Error::Unsupported {
        what: format!("the weight {text:?}"),
        why: "it is no product of columns of the sample, which is all that can be added up by \
              table"
            .to_owned(),
        instead: "compute the weight into a column before the rows are inserted".to_owned(),
    };
    let statement = parsed(&format!("SELECT {text}"), Dialect::DuckDb, None)?;
    let [SelectItem::UnnamedExpr(product)] = find::outputs(&statement) else {
        return Err(refused());
    };
    let mut columns = Vec::new();
    let mut left = vec![product];
    while let Some(expr) = left.pop() {
        match expr {
            Expr::Nested(within) => left.push(within),
            Expr::BinaryOp {
                left: one,
                op: BinaryOperator::Multiply,
                right: other,
            } => left.extend([&**other, &**one]),
            Expr::Identifier(ident) => columns.push(ident.value.clone()),
            _ => return Err(refused()),
        }
    }
    Ok(columns)
}
