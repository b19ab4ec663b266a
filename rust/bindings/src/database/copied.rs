//! Rows of some columns of a table, as an INSERT of them would have them.
//!
//! Invariant: columns that are not given have their defaults, or NULL, and a value is taken as INSERT takes it. Cost: a pass
//! over columns whose types differ from the table's; O(columns) else.

use arrow_array::{ArrayRef, UInt32Array, new_null_array};
use arrow_select::take::take;
use pyo3::prelude::*;
use ringview_core::{Field, Result};

use super::Database;
use crate::ending::detach;
use crate::errors::OrRaise;
use crate::incoming::{Batches, BufferMode};
use crate::planned::{Reader, broken};

#[pymethods]
impl Database {
    /// The rows of a table, from values of some of its columns, for a later change.
    fn copied(
        &self,
        py: Python<'_>,
        table: &str,
        columns: Vec<String>,
        rows: &Bound<'_, PyAny>,
    ) -> PyResult<Batches> {
        let mut given = Vec::new();
        self.rows(rows, BufferMode::Shared, &mut given)?;
        let mut held = self.engine(py)?;
        let database = held.value.readers();
        let filled = detach(py, || {
            let reader = Reader {
                database,
                functions: Vec::new(),
                pending: (&[], false),
                poll: &mut |_| Ok(()),
            };
            let (_, schema) = reader.database.table_schema(table)?;
            let defaults = reader.database.defaults(table)?;
            let places: Vec<usize> = columns
                .iter()
                .map(|name| schema.index_of(name))
                .collect::<Result<_>>()?;
            let whole = |batch: &arrow_array::RecordBatch| {
                let rows = batch.num_rows();
                let first = UInt32Array::from(vec![0; rows]);
                let other = |field: &Field| match defaults.get(&field.name) {
                    Some(value) => {
                        take(value, &first, None).map_err(|problem| broken(table, &problem))
                    }
                    None => Ok(new_null_array(&field.ty.to_arrow(), rows)),
                };
                let column = |(at, field): (usize, &Field)| match places
                    .iter()
                    .position(|place| *place == at)
                {
                    Some(given) => Ok(ArrayRef::clone(batch.column(given))),
                    None => other(field),
                };
                let all = schema.fields().iter().enumerate().map(column);
                reader.rows(table, &schema, all.collect::<Result<_>>()?, rows)
            };
            given.iter().map(whole).collect::<Result<Vec<_>>>()
        });
        Ok(Batches::new(filled.or_raise(py)?))
    }
}
