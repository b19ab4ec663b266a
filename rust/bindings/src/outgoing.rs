//! Schemas and rows returned by the Arrow C interface, for any library.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::named;

pub(crate) const SCHEMA: &CStr = c"arrow_schema";
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

/// The columns of a table: a schema by the Arrow C interface.
///
/// >>> import pyarrow as pa
/// >>> from ringview._native import Database
/// >>> db = Database()
/// >>> db.create_table("r", pa.schema({"a": pa.int64()}), None, False)
/// >>> pa.schema(db.table_schema("r")).names
/// ['a']
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Columns {
    schema: Schema,
}

impl Columns {
    pub(crate) fn new(schema: Schema) -> Columns {
        Columns { schema }
    }
}

#[pymethods]
impl Columns {
    /// The schema as an `arrow_schema` capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule(py, &self.schema)
    }

    fn __repr__(&self) -> String {
        format!("Columns({})", names(&self.schema))
    }
}

/// Rows of a view: a stream by the Arrow C interface, which can be read any number of times.
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Rows {
    pub(crate) fn new(batch: RecordBatch) -> Rows {
        Rows {
            schema: batch.schema(),
            batches: vec![batch],
        }
    }

    /// Batches of the same columns.
    pub(crate) fn of(schema: SchemaRef, batches: Vec<RecordBatch>) -> Rows {
        Rows { schema, batches }
    }

    fn count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[pymethods]
impl Rows {
    /// The rows as an `arrow_array_stream` capsule; `requested_schema` is not heeded, as the
    /// interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches: Vec<_> = self
            .batches
            .iter()
            .cloned()
            .map(Ok::<_, ArrowError>)
            .collect();
        let reader = Box::new(RecordBatchIterator::new(batches, Arc::clone(&self.schema)));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
    }

    /// The schema as an `arrow_schema` capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule(py, &self.schema)
    }

    fn __len__(&self) -> usize {
        self.count()
    }

    fn __repr__(&self) -> String {
        format!("Rows({}, rows={})", names(&self.schema), self.count())
    }
}

fn capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let exported = FFI_ArrowSchema::try_from(schema)
        .map_err(|problem| named(py, "TypeMismatchError", &problem.to_string()))?;
    PyCapsule::new_with_value(py, exported, SCHEMA)
}

fn names(schema: &Schema) -> String {
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    format!("[{}]", names.join(", "))
}
