//! The class `PostgresServer`: a server of PostgreSQL's wire protocol whose database is an object of Python.
//!
//! Invariant: the interpreter is held while Python decides what to do, and not while clients are waited for or rows are
//! written. An unexpected exception of Python is sent to the client as an internal error, and ends nothing else. A call
//! of a session can be cancelled from any thread: whatever it does in this extension ends soon. Cost: of a statement,
//! one call into Python.
//!
//! | file | holds |
//! |---|---|
//! | `session` | calls of Python by a connection |
//! | `outcome` | results of these calls |
//! | `copied` | the rows that COPY brings and takes |

mod copied;
mod outcome;
mod session;
mod values;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use ringview_wire::encode::kind::Kind;
use ringview_wire::{Options, Server};

use self::session::PyBackend;
use self::values::schema_of;
use crate::ending::detach;
use crate::errors::named;

/// The longest that a client may take to be let in, as PostgreSQL has it.
const LOGIN: Duration = Duration::from_secs(60);

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
    #[pyo3(signature = (backend, host, port, *, password, settings, connections, message, statement, idle, certificate, plain))]
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
        plain: bool,
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
            login: LOGIN,
            idle: seconds(idle),
            certificate,
            plain,
        };
        let place = format!("{}:{}", options.host, options.port);
        let backend = Arc::new(PyBackend(backend));
        let server = detach(py, || Server::start(backend, options)).map_err(|problem| {
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

    /// Number of connections.
    #[getter]
    fn connections(&self) -> usize {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.as_ref().map_or(0, Server::connections)
    }

    /// Ends all statements and connections; twice does nothing.
    fn close(&self, py: Python<'_>) {
        detach(py, || {
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
