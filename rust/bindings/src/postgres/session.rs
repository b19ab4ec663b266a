//! Calls of Python by a connection: a session, its statements, its end.
//!
//! Invariant: each call can be cancelled from any thread. Cost: of a statement, one call into Python.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use ringview_wire::backend::{Answer, Backend, Client, Failure, Prepared, Session, Status, Value};

use super::outcome::answer_of;
use super::values::{Report, failure_of, schema_of, status_of, unasked};
use crate::ending::attach;
use crate::watch;

/// A database as Python has it.
pub(super) struct PyBackend(pub(super) Py<PyAny>);

impl Backend for PyBackend {
    fn open(&self, client: &Client) -> Result<Arc<dyn Session>, Failure> {
        let Client {
            user,
            database,
            application,
        } = client;
        attach(|py| {
            let of = (user, database, application);
            let opened = self.0.call_method1(py, intern!(py, "open"), of);
            let (session, failure): (Py<PyAny>, Option<Report>) = opened
                .and_then(|opened| opened.extract(py))
                .map_err(|raised| unasked(py, &raised))?;
            match failure {
                Some(failure) => Err(failure_of(failure)),
                None => Ok(Arc::new(PySession {
                    session,
                    cancelled: Arc::default(),
                }) as Arc<dyn Session>),
            }
        })
    }

    fn warn(&self, what: &str) {
        attach(|py| {
            // A log that fails has nobody to report it to.
            let _ = self.0.call_method1(py, intern!(py, "warn"), (what,));
        });
    }
}

struct PySession {
    session: Py<PyAny>,
    /// Whether the call that runs is to end.
    cancelled: Arc<AtomicBool>,
}

impl PySession {
    /// Calls a method, which can be cancelled, and reads what it returns.
    fn call<T>(
        &self,
        read: impl FnOnce(&Bound<'_, PyAny>, &Arc<AtomicBool>) -> PyResult<T>,
    ) -> Result<T, Failure> {
        attach(|py| {
            watch::cancellable(&self.cancelled, || {
                read(self.session.bind(py), &self.cancelled)
            })
            .map_err(|raised| unasked(py, &raised))
        })
    }
}

impl Session for PySession {
    fn prepare(&self, sql: &str) -> Result<Prepared, Failure> {
        let found = self.call(|session, _| {
            let found = session.call_method1(intern!(session.py(), "prepare"), (sql,))?;
            found.extract::<(bool, bool, usize, Option<Report>)>()
        })?;
        match found {
            (.., Some(failure)) => Err(failure_of(failure)),
            (is_query, changes, parameters, None) => Ok(Prepared {
                is_query,
                changes,
                parameters,
            }),
        }
    }

    fn describe(&self, sql: &str, oids: &[u32]) -> Result<SchemaRef, Failure> {
        self.call(|session, _| {
            let py = session.py();
            columns(&session.call_method1(intern!(py, "describe"), (sql, oids.to_vec()))?)
        })?
    }

    fn cursor(&self, name: &str) -> Result<SchemaRef, Failure> {
        self.call(|session, _| {
            columns(&session.call_method1(intern!(session.py(), "cursor"), (name,))?)
        })?
    }

    fn run(&self, sql: &str, parameters: Option<&[Value]>) -> Answer {
        let answer = self.call(|session, cancelled| {
            let py = session.py();
            watch::check(py)?;
            let values = parameters.map(|all| {
                let values = all.iter().map(|value| python_of(py, value));
                PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
            });
            let found = session.call_method1(intern!(py, "run"), (sql, values.transpose()?))?;
            answer_of(&found, cancelled)
        });
        answer.unwrap_or_else(|failure| {
            self.notify("fail");
            Answer {
                failure: Some(failure),
                status: self.status(),
                ..Answer::default()
            }
        })
    }

    fn fail(&self) {
        self.notify("fail");
    }

    fn begin(&self) {
        self.cancelled.store(false, Ordering::Relaxed);
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    fn close(&self) {
        self.begin();
        self.notify("close");
    }
}

/// Columns, or why there are none.
fn columns(found: &Bound<'_, PyAny>) -> PyResult<Result<SchemaRef, Failure>> {
    let (schema, failure): (Bound<'_, PyAny>, Option<Report>) = found.extract()?;
    match failure {
        Some(failure) => Ok(Err(failure_of(failure))),
        None => Ok(Ok(SchemaRef::new(schema_of(&schema)?))),
    }
}

impl PySession {
    fn status(&self) -> Status {
        let letter = self.call(|session, _| session.getattr("status")?.extract::<String>());
        letter.map_or(Status::Failed, |letter| status_of(&letter))
    }

    fn notify(&self, what: &str) {
        // It has nothing to say, and nobody to say it to.
        let _ = self.call(|session, _| session.call_method0(what).map(drop));
    }
}

fn python_of<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    let parsed = |module: &str, class: &str, text: &str| {
        py.import(module)?
            .getattr(class)?
            .call_method1("fromisoformat", (text,))
    };
    let found = match value {
        Value::Null => return Ok(py.None().into_bound(py)),
        Value::Bool(truth) => {
            return truth
                .into_pyobject(py)
                .map(|t| t.to_owned().into_any())
                .map_err(Into::into);
        }
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Decimal(digits) => py.import("decimal")?.getattr("Decimal")?.call1((digits,))?,
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        Value::Date(day) => parsed("datetime", "date", day)?,
        Value::Timestamp(moment) => parsed("datetime", "datetime", moment)?,
    };
    Ok(found)
}
