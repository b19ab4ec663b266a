//! Results of calls of Python, and the receivers of rows there.
//!
//! Invariant: an unexpected exception of Python is an internal error. Cost: nothing a row.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ringview_wire::backend::{Answer, CopyIn, Outcome, Rows, Sink, Status};
use ringview_wire::copy::format::Limits;

use super::copied::{PySource, format_of};
use super::values::{Report, batches, failure_of, schema_of, status_of, unasked};
use crate::ending::attach;
use crate::outgoing;
use crate::watch;

pub(super) fn answer_of(found: &Bound<'_, PyAny>, cancelled: &Arc<AtomicBool>) -> PyResult<Answer> {
    type Found<'py> = (
        Vec<Bound<'py, PyTuple>>,
        Option<Report>,
        Vec<Report>,
        Vec<(String, String)>,
        String,
    );
    let (outcomes, failure, warnings, settings, status): Found<'_> = found.extract()?;
    let outcomes = outcomes
        .iter()
        .map(|outcome| outcome_of(outcome, cancelled));
    Ok(Answer {
        outcomes: outcomes.collect::<PyResult<_>>()?,
        failure: failure.map(failure_of),
        warnings: warnings.into_iter().map(failure_of).collect(),
        settings,
        status: status_of(&status),
    })
}

/// `("empty",)`, `("done", tag)`, `("rows", tag, rows)`, `("copy", schema, format, source)` or what `copy_in_of` reads.
fn outcome_of(outcome: &Bound<'_, PyTuple>, cancelled: &Arc<AtomicBool>) -> PyResult<Outcome> {
    let kind: String = outcome.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "done" => Outcome::Done(outcome.get_item(1)?.extract()?),
        "rows" => {
            let (schema, batches) = batches(&outcome.get_item(2)?)?;
            let tag = outcome.get_item(1)?.extract()?;
            Outcome::Rows(Rows {
                schema,
                batches,
                tag,
            })
        }
        "copy" => {
            let schema = schema_of(&outcome.get_item(1)?)?;
            let format = format_of(&outcome.get_item(2)?)?;
            let source = PySource {
                source: outcome.get_item(3)?.unbind(),
                cancelled: Arc::clone(cancelled),
            };
            Outcome::Copy(schema.into(), format, Arc::new(source))
        }
        "copy_in" => Outcome::CopyIn(copy_in_of(outcome, cancelled)?),
        _ => Outcome::Empty,
    })
}

/// Receiver of rows in Python.
struct PySink {
    sink: Py<PyAny>,
    schema: SchemaRef,
    cancelled: Arc<AtomicBool>,
}

impl Sink for PySink {
    fn take(&self, rows: Vec<RecordBatch>) -> Answer {
        attach(|py| {
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
fn copy_in_of(outcome: &Bound<'_, PyTuple>, cancelled: &Arc<AtomicBool>) -> PyResult<CopyIn> {
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
