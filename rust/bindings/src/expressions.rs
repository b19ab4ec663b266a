//! The columns that expressions of the JSON of a query name, and its filters as conditions of Spark.
//!
//! Invariant: only the text is read. Cost: linear in it.

use pyo3::prelude::*;
use ringview_core::Schema;
use ringview_expr::Scalar;
use ringview_query::Named;

use crate::errors::OrRaise;
use crate::incoming::schema;

/// A column: how far out its query is, its atom there, its name.
type Column = (usize, usize, String);

fn column(named: Named) -> Option<Column> {
    match named {
        Named::Column {
            depth,
            atom,
            column,
        } => Some((depth, atom, column)),
        Named::Subquery(_) => None,
    }
}

/// The columns that an expression of a query names: how far out, of which atom, and the name.
///
/// >>> from ringview._native import expression_columns
/// >>> expression_columns('sum("0"."x" * "1"."y")')
/// [(0, 0, 'x'), (0, 1, 'y')]
#[pyfunction]
pub(crate) fn expression_columns(py: Python<'_>, text: &str) -> PyResult<Vec<Column>> {
    let named = Scalar::read(text)
        .and_then(|of| Named::all(&of))
        .or_raise(py)?;
    Ok(named.into_iter().filter_map(column).collect())
}

/// The columns that the filter of an atom names.
///
/// >>> from ringview._native import filter_columns
/// >>> filter_columns("x > 3 AND y IS NULL")
/// ['x', 'y']
#[pyfunction]
pub(crate) fn filter_columns(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
    let of = Scalar::read(text).or_raise(py)?;
    Ok(of.columns().map(|column| column.name.clone()).collect())
}

/// The pairs of columns that a condition says to be equal: alone, or under AND.
///
/// >>> from ringview._native import equalities
/// >>> equalities('"0"."k" = "outer 1.0"."k" AND "0"."x" > 3')
/// [((0, 0, 'k'), (1, 0, 'k'))]
#[pyfunction]
pub(crate) fn equalities(py: Python<'_>, text: &str) -> PyResult<Vec<(Column, Column)>> {
    let conjuncts = Scalar::read(text).or_raise(py)?.conjuncts();
    let pairs = conjuncts.iter().filter_map(Named::equality);
    let pairs = pairs.filter_map(|(left, right)| column(left).zip(column(right)));
    Ok(pairs.collect())
}

/// The part of a filter over columns of a schema that Spark can evaluate, as its SQL: it is implied by the filter.
///
/// >>> import pyarrow as pa
/// >>> from ringview._native import spark_filter
/// >>> spark_filter("x > 3 AND length(s) > 1", pa.schema({"x": pa.int64(), "s": pa.string()}))
/// '`x` > 3'
#[pyfunction]
pub(crate) fn spark_filter(
    py: Python<'_>,
    text: &str,
    columns: &Bound<'_, PyAny>,
) -> PyResult<Option<String>> {
    let columns = schema(columns)?;
    let pushed = || ringview_sql::pushed(text, &Schema::from_arrow(&columns)?);
    pushed().or_raise(py)
}
