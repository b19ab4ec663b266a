//! Definitions: what Python says of a view, as the front end takes it.
//!
//! Invariant: nothing is left out; a value that has no meaning is refused with those that have one. Cost: O(text).

use std::collections::BTreeMap;

use pyo3::prelude::*;
use ringview_query::{Exponents, Nulls, Representation};
use ringview_sql::{Dialect, Named, Options};

use crate::errors::{OrRaise, named};

/// A variable order: names of columns, each with what is below it.
#[derive(FromPyObject)]
struct Order(String, Vec<Order>);

impl Order {
    fn named(self) -> Named {
        let Self(name, below) = self;
        let below = below.into_iter().map(Order::named).collect();
        Named { name, below }
    }
}

/// Thresholds of heavy values: one for all relations, or by alias.
#[derive(FromPyObject)]
enum Epsilon {
    All(f64),
    Of(BTreeMap<String, f64>),
}

/// A text and its options, as a dict. `order` is a variable order, `only_joins` marks rows without a partner by
/// conditions, `in_blocks` leaves no condition to an engine that compares across tables or with subqueries,
/// `parameters` are the values of `$1`, `?` (a sequence), `$name` and `:name` (a mapping), `dialect` is that of the
/// text, `refresh` limits the rows that a change may recompute: "incremental" none, "part" the partitions that it
/// touches, "full" all rows;
/// `errors_as_null` makes casts and calls that fail NULL.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given<'py> {
    sql: String,
    dialect: String,
    parameters: Option<Bound<'py, PyAny>>,
    order: Option<Vec<Order>>,
    in_blocks: bool,
    only_joins: bool,
    representation: Option<Bound<'py, PyAny>>,
    nulls: Option<Bound<'py, PyAny>>,
    epsilon: Option<Epsilon>,
    refresh: String,
    errors_as_null: bool,
}

impl Given<'_> {
    /// The text, and what is said beside it.
    pub(crate) fn read(self, py: Python<'_>) -> PyResult<(String, Options)> {
        let parameters = self.parameters.as_ref().map(crate::parameters::of);
        let order = self.order;
        let representations = [
            ("factorised", Representation::Factorised),
            ("listing", Representation::Listing),
        ];
        let nulls = [("refuse", Nulls::Refuse), ("skip", Nulls::Skip)];
        let options = Options {
            dialect: Dialect::named(&self.dialect).or_raise(py)?,
            parameters: parameters.transpose()?.unwrap_or_default(),
            order: order.map(|order| order.into_iter().map(Order::named).collect()),
            in_blocks: self.in_blocks,
            only_joins: self.only_joins,
            once: false,
            on_read: false,
            representation: one_of("representation", self.representation, representations)?,
            nulls: one_of("nulls", self.nulls, nulls)?,
            epsilon: self.epsilon.map(|epsilon| match epsilon {
                Epsilon::All(epsilon) => Exponents::All(epsilon),
                Epsilon::Of(epsilon) => Exponents::Of(epsilon),
            }),
            refresh: self.refresh.parse().or_raise(py)?,
            errors_as_null: self.errors_as_null,
            functions: Vec::new(),
        };
        Ok((self.sql, options))
    }
}

/// The meaning of one of two words.
fn one_of<T>(
    what: &str,
    given: Option<Bound<'_, PyAny>>,
    words: [(&str, T); 2],
) -> PyResult<Option<T>> {
    let Some(given) = given else {
        return Ok(None);
    };
    let [(one, _), (other, _)] = words;
    let message = format!(
        "{what} is '{one}', '{other}' or None, not {}",
        given.repr()?
    );
    let refused = || named(given.py(), "InvalidValueError", &message);
    let word: String = given.extract().map_err(|_| refused())?;
    let found = words.into_iter().find(|(known, _)| *known == word);
    found.map(|(_, meaning)| Some(meaning)).ok_or_else(refused)
}
