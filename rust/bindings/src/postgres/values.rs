//! Failures, states, schemas and rows as Python says them.
//!
//! Invariant: what Python raises unasked is an internal error. Cost: nothing a row.

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::ArrowArrayStreamReader;
use arrow_schema::{Schema, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use ringview_wire::backend::{Failure, Status};

use crate::errors::named;
use crate::incoming;

/// A failure as Python says it: code, message, hint, position.
pub(super) type Report = (String, String, Option<String>, Option<usize>);

/// PostgreSQL's letters.
pub(super) fn status_of(letter: &str) -> Status {
    match letter {
        "T" => Status::Open,
        "E" => Status::Failed,
        _ => Status::Idle,
    }
}

/// A schema of whatever types, also those that no table holds.
pub(super) fn schema_of(source: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let py = source.py();
    let capsule = source.call_method0(intern!(py, "__arrow_c_schema__"))?;
    Schema::try_from(incoming::schema_in(&capsule.cast_into()?)?)
        .map_err(|problem| named(py, "TypeMismatchError", &problem.to_string()))
}

pub(super) fn batches(rows: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = rows.py();
    let capsule = rows.call_method0(intern!(py, "__arrow_c_stream__"))?;
    let refused = |problem| named(py, "TypeMismatchError", &format!("{problem}"));
    let stream = incoming::stream_in(&capsule.cast_into()?)?;
    let reader = ArrowArrayStreamReader::try_new(stream).map_err(refused)?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let batches = reader.collect::<Result<_, _>>().map_err(refused)?;
    Ok((schema, batches))
}

pub(super) fn failure_of((code, message, hint, position): Report) -> Failure {
    Failure {
        code,
        message,
        hint,
        position,
    }
}

/// The failure for a client of an exception that Python did not handle.
pub(super) fn unasked(py: Python<'_>, raised: &PyErr) -> Failure {
    if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Failure::new("57014", "canceling statement due to user request");
    }
    Failure::new("XX000", raised.to_string())
}
