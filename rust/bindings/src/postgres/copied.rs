//! The rows that COPY brings and takes, on their way to and from Python.
//!
//! Invariant: as of a session. Cost: of a piece of rows, one call into Python, and nothing a row.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ringview_wire::backend::{Answer, CopyIn, Failure, Sink, Source, Status};
use ringview_wire::copy::format::{Format, Header, Kind};
use ringview_wire::copy::reader::Limits;

use super::outcome::{Report, answer_of, batches, failure_of, schema_of, status_of, unasked};
use crate::outgoing;
use crate::watch;

/// A format as Python says it; columns by their places.
#[derive(FromPyObject)]
struct PyFormat {
    kind: String,
    delimiter: String,
    null: String,
    header: String,
    quote: String,
    escape: String,
    force_quote: Vec<bool>,
    force_not_null: Vec<bool>,
    force_null: Vec<bool>,
}

/// The format that an object of Python says.
pub(super) fn format_of(found: &Bound<'_, PyAny>) -> PyResult<Arc<Format>> {
    let said: PyFormat = found.extract()?;
    let byte = |text: &str| text.bytes().next().unwrap_or_default();
    Ok(Arc::new(Format {
        kind: match said.kind.as_str() {
            "csv" => Kind::Csv,
            "binary" => Kind::Binary,
            _ => Kind::Text,
        },
        delimiter: byte(&said.delimiter),
        null: said.null,
        header: match said.header.as_str() {
            "line" => Header::Line,
            "match" => Header::Match,
            _ => Header::Absent,
        },
        quote: byte(&said.quote),
        escape: byte(&said.escape),
        force_quote: said.force_quote,
        force_not_null: said.force_not_null,
        force_null: said.force_null,
    }))
}

/// Rows that Python hands out bit by bit.
pub(super) struct PySource {
    pub(super) source: Py<PyAny>,
    pub(super) cancelled: Arc<AtomicBool>,
}

impl Source for PySource {
    fn next(&self) -> Result<Option<Vec<RecordBatch>>, Failure> {
        Python::attach(|py| {
            let found = watch::cancellable(&self.cancelled, || {
                watch::check(py)?;
                let found = self.source.bind(py).call_method0(intern!(py, "next"))?;
                let (rows, failure): (Option<Bound<'_, PyAny>>, Option<Report>) =
                    found.extract()?;
                match (rows, failure) {
                    (_, Some(failure)) => Ok(Err(failure_of(failure))),
                    (Some(rows), None) => Ok(Ok(Some(batches(&rows)?.1))),
                    (None, None) => Ok(Ok(None)),
                }
            });
            found.unwrap_or_else(|raised| Err(unasked(py, &raised)))
        })
    }

    fn close(&self) {
        Python::attach(|py| {
            // Whatever it says, nobody reads on.
            let _ = self.source.call_method0(py, intern!(py, "close"));
        });
    }
}

/// Who takes rows in Python.
struct PySink {
    sink: Py<PyAny>,
    schema: SchemaRef,
    cancelled: Arc<AtomicBool>,
}

impl Sink for PySink {
    fn take(&self, rows: Vec<RecordBatch>) -> Answer {
        Python::attach(|py| {
            let taken = watch::cancellable(&self.cancelled, || {
                watch::check(py)?;
                let rows = outgoing::Rows::of(SchemaRef::clone(&self.schema), rows);
                let sink = self.sink.bind(py);
                let found = sink.call_method1(intern!(py, "take"), (rows,))?;
                answer_of(&found, &self.cancelled)
            });
            taken.unwrap_or_else(|raised| {
                let status = self.sink.getattr(py, intern!(py, "status"));
                let letter = status.and_then(|letter| letter.extract::<String>(py));
                Answer {
                    failure: Some(unasked(py, &raised)),
                    status: letter.map_or(Status::Failed, |letter| status_of(&letter)),
                    ..Answer::default()
                }
            })
        })
    }
}

/// `("copy_in", schema, format, (bytes, rows), sink)`.
pub(super) fn copy_in_of(
    outcome: &Bound<'_, PyTuple>,
    cancelled: &Arc<AtomicBool>,
) -> PyResult<CopyIn> {
    let schema: SchemaRef = schema_of(&outcome.get_item(1)?)?.into();
    let (bytes, rows) = outcome.get_item(3)?.extract()?;
    Ok(CopyIn {
        format: format_of(&outcome.get_item(2)?)?,
        limits: Limits { bytes, rows },
        sink: Arc::new(PySink {
            sink: outcome.get_item(4)?.unbind(),
            schema: SchemaRef::clone(&schema),
            cancelled: Arc::clone(cancelled),
        }),
        schema,
    })
}
