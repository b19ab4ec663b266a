//! The rows that COPY brings and takes, on their way to and from Python.
//!
//! Invariant: as of a session. Cost: of a piece of rows, one call into Python, and nothing a row.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use pyo3::intern;
use pyo3::prelude::*;
use ringview_wire::backend::{Failure, Source};
use ringview_wire::copy::format::{Format, Header, Kind};

use super::values::{Report, batches, failure_of, unasked};
use crate::ending::attach;
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
        attach(|py| {
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
        attach(|py| {
            // An error is ignored: nobody reads on.
            let _ = self.source.call_method0(py, intern!(py, "close"));
        });
    }
}
