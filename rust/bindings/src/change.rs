//! Arguments of a call of `apply`: from Python's tuples to changes of the engine.
//!
//! Invariant: all that Python passes is read once, and its rows with it; the changes borrow them.
//! Cost: microseconds a change, nothing a row.

use std::ops::Range;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use ringview_engine::{ByKey, Change, Direction, Keyed, Op, Product, ProductFactor};

use crate::errors::named;

/// One change, its names still those of Python.
pub(crate) struct PyChange<'py> {
    table: Bound<'py, PyString>,
    rows: Data<'py>,
}

enum Data<'py> {
    Rows(Direction, RowSource<'py>),
    /// The product of factors.
    Product(Direction, Vec<RowSource<'py>>),
    /// Rows by their key; the name is that of the column of CDC operations.
    Keyed(KeyedChange, RowSource<'py>),
    /// Time that passes.
    Advance(i64),
}

/// A change of rows by their key.
#[derive(Clone, Copy, Debug)]
enum KeyedChange {
    Upsert,
    Update,
    /// Per row, by a column of CDC operations.
    Cdc,
}

/// Rows: a range of all batches of the call.
struct RowSource<'py> {
    multiplicity: Option<Bound<'py, PyString>>,
    batches: Range<usize>,
}

/// Rows that are read, and where in all batches of the call they then are.
type ReadRows<'a> = dyn FnMut(&Bound<'_, PyAny>) -> PyResult<Range<usize>> + 'a;

/// Reads the changes of a call; `rows` reads what they are made of.
pub(crate) fn read<'py>(
    ops: &[Bound<'py, PyTuple>],
    rows: &mut ReadRows<'_>,
) -> PyResult<Vec<PyChange<'py>>> {
    ops.iter().map(|op| PyChange::read(op, rows)).collect()
}

/// Direction of a change, from its sign.
fn direction(sign: &Bound<'_, PyAny>) -> PyResult<Direction> {
    match sign.extract()? {
        1_i64 => Ok(Direction::Insert),
        -1 => Ok(Direction::Delete),
        other => {
            let message = format!("the sign of a change is 1 or -1, not {other}");
            Err(named(sign.py(), "InvalidValueError", &message))
        }
    }
}

impl KeyedChange {
    fn named(py: Python<'_>, name: &str) -> PyResult<KeyedChange> {
        match name {
            "upsert" => Ok(KeyedChange::Upsert),
            "update" => Ok(KeyedChange::Update),
            "apply" => Ok(KeyedChange::Cdc),
            other => {
                let message = format!("no change is called {other:?}");
                Err(named(py, "InvalidValueError", &message))
            }
        }
    }
}

impl<'py> RowSource<'py> {
    fn read(
        data: &Bound<'py, PyAny>,
        multiplicity: Option<Bound<'py, PyString>>,
        rows: &mut ReadRows<'_>,
    ) -> PyResult<RowSource<'py>> {
        Ok(RowSource {
            multiplicity,
            batches: rows(data)?,
        })
    }

    fn rows<'a>(&'a self, batches: &'a [RecordBatch]) -> PyResult<ProductFactor<'a>> {
        let multiplicity = self.multiplicity.as_ref();
        Ok(ProductFactor {
            rows: &batches[self.batches.clone()],
            multiplicity: multiplicity.map(|name| name.to_str()).transpose()?,
        })
    }
}

impl<'py> PyChange<'py> {
    fn read(op: &Bound<'py, PyTuple>, rows: &mut ReadRows<'_>) -> PyResult<PyChange<'py>> {
        let (table, how) = (op.get_item(0)?.cast_into()?, op.get_item(1)?);
        let data = op.get_item(2)?;
        let advances = how.cast::<PyString>().is_ok_and(|how| how == "advance");
        let rows = if advances {
            Data::Advance(data.extract()?)
        } else if let Ok(change) = how.cast::<PyString>() {
            let change = KeyedChange::named(op.py(), change.to_str()?)?;
            let column = op.get_item(3)?.extract()?;
            Data::Keyed(change, RowSource::read(&data, column, rows)?)
        } else if op.len() == 3 {
            let factors: Vec<(Bound<'_, PyAny>, Option<Bound<'_, PyString>>)> = data.extract()?;
            let sources = factors
                .into_iter()
                .map(|(data, multiplicity)| RowSource::read(&data, multiplicity, rows));
            Data::Product(direction(&how)?, sources.collect::<PyResult<_>>()?)
        } else {
            let multiplicity = op.get_item(3)?.extract()?;
            Data::Rows(
                direction(&how)?,
                RowSource::read(&data, multiplicity, rows)?,
            )
        };
        Ok(PyChange { table, rows })
    }

    /// The factors of a product; none for other changes.
    pub(crate) fn factors<'a>(
        &'a self,
        batches: &'a [RecordBatch],
    ) -> PyResult<Vec<ProductFactor<'a>>> {
        match &self.rows {
            Data::Rows(..) | Data::Keyed(..) | Data::Advance(_) => Ok(Vec::new()),
            Data::Product(_, sources) => {
                sources.iter().map(|source| source.rows(batches)).collect()
            }
        }
    }

    /// The same for the engine, with its factors.
    pub(crate) fn op<'a>(
        &'a self,
        batches: &'a [RecordBatch],
        factors: &'a [ProductFactor<'a>],
    ) -> PyResult<Change<'a>> {
        let table = self.table.to_str()?;
        Ok(match &self.rows {
            Data::Advance(to) => Change::Advance(*to),
            Data::Rows(direction, source) => {
                let ProductFactor { rows, multiplicity } = source.rows(batches)?;
                Change::Rows(Op {
                    table,
                    direction: *direction,
                    rows,
                    multiplicity,
                })
            }
            Data::Product(direction, _) => Change::Product(Product {
                table,
                direction: *direction,
                factors,
            }),
            Data::Keyed(change, source) => {
                let ProductFactor { rows, multiplicity } = source.rows(batches)?;
                let by = match change {
                    KeyedChange::Upsert => ByKey::Upsert,
                    KeyedChange::Update => ByKey::Update,
                    KeyedChange::Cdc => ByKey::Cdc(multiplicity.unwrap_or_default()),
                };
                Change::Keyed(Keyed { table, by, rows })
            }
        })
    }
}
