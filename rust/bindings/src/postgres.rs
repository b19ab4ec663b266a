//! The class `PostgresServer`: a server of PostgreSQL's wire protocol whose database is an object of Python.
//!
//! Invariant: the interpreter is held while Python decides what to do, and not while clients are waited for or rows are
//! written. What Python raises unasked is told to the client as an internal error, and ends nothing else. A call of a session
//! can be cancelled from any thread: whatever it does in this extension ends soon. Cost: of a statement, one call into Python.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::ArrowArrayStreamReader;
use arrow_schema::{Schema, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use ringview_wire::backend::{
    Answer, Backend, Client, Failure, Outcome, Prepared, Rows, Session, Source, Status, Value,
};
use ringview_wire::encode::kind::Kind;
use ringview_wire::{Options, Server};

use crate::errors::named;
use crate::incoming;
use crate::watch;

/// A failure as Python says it: code, message, hint, position.
type Report = (String, String, Option<String>, Option<usize>);

/// The types that PostgreSQL has for the columns of a schema: number, bytes of a value, modifier.
///
/// >>> import pyarrow as pa
/// >>> from ringview._native import postgres_types
/// >>> postgres_types(pa.schema({"a": pa.int64(), "b": pa.string()}))
/// [(20, 8, -1), (25, -1, -1)]
#[pyfunction]
pub(crate) fn postgres_types(schema: &Bound<'_, PyAny>) -> PyResult<Vec<(u32, i16, i32)>> {
    let schema = schema_of(schema)?;
    let kinds = schema
        .fields()
        .iter()
        .map(|field| Kind::of(field.data_type()));
    Ok(kinds
        .map(|kind| (kind.oid(), kind.size(), kind.modifier()))
        .collect())
}

/// A server; it runs until it is closed.
#[pyclass(frozen, module = "ringview._native")]
pub(crate) struct PostgresServer {
    server: Mutex<Option<Server>>,
    address: (String, u16),
}

#[pymethods]
impl PostgresServer {
    #[new]
    #[pyo3(signature = (backend, host, port, *, password, settings, connections, message, statement, idle, certificate))]
    #[expect(
        clippy::too_many_arguments,
        reason = "by their names, and by Python alone"
    )]
    fn new(
        py: Python<'_>,
        backend: Py<PyAny>,
        host: String,
        port: u16,
        password: Option<String>,
        settings: Vec<(String, String)>,
        connections: usize,
        message: usize,
        statement: Option<f64>,
        idle: Option<f64>,
        certificate: Option<(PathBuf, PathBuf)>,
    ) -> PyResult<PostgresServer> {
        let seconds = |limit: Option<f64>| limit.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let options = Options {
            host,
            port,
            password,
            settings,
            connections,
            message,
            statement: seconds(statement),
            idle: seconds(idle),
            certificate,
        };
        let place = format!("{}:{}", options.host, options.port);
        let backend = Arc::new(PyBackend(backend));
        let server = py
            .detach(|| Server::start(backend, options))
            .map_err(|problem| {
                let class = match problem.kind() {
                    std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::InvalidInput => {
                        "InvalidValueError"
                    }
                    _ => "StorageError",
                };
                named(py, class, &format!("cannot serve at {place}: {problem}"))
            })?;
        let address = server.address();
        Ok(PostgresServer {
            address: (address.ip().to_string(), address.port()),
            server: Mutex::new(Some(server)),
        })
    }

    /// The number of the address, and the port.
    #[getter]
    fn address(&self) -> (String, u16) {
        self.address.clone()
    }

    /// How many connections there are.
    #[getter]
    fn connections(&self) -> usize {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().map_or(0, Server::connections)
    }

    /// Ends all statements and connections; twice does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let taken = self
                .server
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(mut server) = taken {
                server.stop();
            }
        });
    }

    fn __repr__(&self) -> String {
        format!("PostgresServer({}:{})", self.address.0, self.address.1)
    }
}

struct PyBackend(Py<PyAny>);

impl Backend for PyBackend {
    fn open(&self, client: &Client) -> Result<Arc<dyn Session>, Failure> {
        let Client {
            user,
            database,
            application,
        } = client;
        Python::attach(|py| {
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
        Python::attach(|py| {
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
            found.extract::<(bool, usize, Option<Report>)>()
        })?;
        match found {
            (_, _, Some(failure)) => Err(failure_of(failure)),
            (is_query, parameters, None) => Ok(Prepared {
                is_query,
                parameters,
            }),
        }
    }

    fn describe(&self, sql: &str, oids: &[u32]) -> Result<SchemaRef, Failure> {
        self.call(|session, _| {
            let py = session.py();
            let found = session.call_method1(intern!(py, "describe"), (sql, oids.to_vec()))?;
            let (schema, failure): (Bound<'_, PyAny>, Option<Report>) = found.extract()?;
            match failure {
                Some(failure) => Ok(Err(failure_of(failure))),
                None => Ok(Ok(SchemaRef::new(schema_of(&schema)?))),
            }
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

/// PostgreSQL's letters.
fn status_of(letter: &str) -> Status {
    match letter {
        "T" => Status::Open,
        "E" => Status::Failed,
        _ => Status::Idle,
    }
}

/// Rows that Python hands out bit by bit.
struct PySource {
    source: Py<PyAny>,
    cancelled: Arc<AtomicBool>,
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

fn answer_of(found: &Bound<'_, PyAny>, cancelled: &Arc<AtomicBool>) -> PyResult<Answer> {
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

/// `("empty",)`, `("done", tag)`, `("rows", tag, rows)` or `("copy", schema, source)`.
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
            let source = PySource {
                source: outcome.get_item(2)?.unbind(),
                cancelled: Arc::clone(cancelled),
            };
            Outcome::Copy(schema.into(), Arc::new(source))
        }
        _ => Outcome::Empty,
    })
}

/// A schema of whatever types, also those that no table holds.
fn schema_of(source: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let py = source.py();
    let capsule = source.call_method0(intern!(py, "__arrow_c_schema__"))?;
    Schema::try_from(incoming::schema_in(&capsule.cast_into()?)?)
        .map_err(|problem| named(py, "TypeMismatchError", &problem.to_string()))
}

fn batches(rows: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = rows.py();
    let capsule = rows.call_method0(intern!(py, "__arrow_c_stream__"))?;
    let refused = |problem| named(py, "TypeMismatchError", &format!("{problem}"));
    let stream = incoming::stream_in(&capsule.cast_into()?)?;
    let reader = ArrowArrayStreamReader::try_new(stream).map_err(refused)?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let batches = reader.collect::<Result<_, _>>().map_err(refused)?;
    Ok((schema, batches))
}

fn failure_of((code, message, hint, position): Report) -> Failure {
    Failure {
        code,
        message,
        hint,
        position,
    }
}

/// What a client is told of an exception that nobody there dealt with.
fn unasked(py: Python<'_>, raised: &PyErr) -> Failure {
    if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Failure::new("57014", "canceling statement due to user request");
    }
    Failure::new("XX000", raised.to_string())
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
