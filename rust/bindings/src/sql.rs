//! Names and tokens of SQL texts, without a database.
//!
//! Invariant: only the text is read. Cost: linear in it.

use pyo3::prelude::*;
use ringview_sql::Dialect;

use crate::errors::OrRaise;

/// Names in FROM of a text, in subqueries too: tables, views, names of WITH; sorted, each once.
///
/// >>> from ringview._native import tables_named
/// >>> tables_named("SELECT COUNT(*) FROM r JOIN (SELECT a FROM s) q USING (a)")
/// ['r', 's']
#[pyfunction]
#[pyo3(signature = (sql, dialect="duckdb"))]
pub(crate) fn tables_named(py: Python<'_>, sql: &str, dialect: &str) -> PyResult<Vec<String>> {
    let named = Dialect::named(dialect).and_then(|of| ringview_sql::tables_named(sql, of));
    named.or_raise(py)
}

/// The tokens of a text without blanks and comments, keywords in upper case: equal lists are equal queries.
///
/// >>> from ringview._native import sql_tokens
/// >>> sql_tokens("select a -- one")
/// ['SELECT', 'a']
#[pyfunction]
pub(crate) fn sql_tokens(py: Python<'_>, sql: &str) -> PyResult<Vec<String>> {
    ringview_sql::sql_tokens(sql).or_raise(py)
}

/// The columns of a product.
///
/// >>> from ringview._native import product_columns
/// >>> product_columns("price * (units)")
/// ['price', 'units']
#[pyfunction]
pub(crate) fn product_columns(py: Python<'_>, expression: &str) -> PyResult<Vec<String>> {
    ringview_sql::product_columns(expression).or_raise(py)
}
