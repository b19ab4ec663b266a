//! The class `RowStream`: the rows of a view, a block a call.
//!
//! Invariant: it holds no lock between calls, so the database may change or lose the view meanwhile;
//! the next call says so. Cost above the engine's: microseconds a block.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use ringview_engine::ViewStream;

use super::Database;
use crate::ending::detach;
use crate::errors::OrRaise;
use crate::outgoing::Rows;

/// The rows that a view had when the stream was made.
///
/// >>> import pyarrow as pa
/// >>> from ringview._native import Database
/// >>> db = Database()
/// >>> db.create_table("r", pa.schema({"a": pa.int64()}), None, False)
/// >>> column = '{"atom": 0, "column": "a"}'
/// >>> db.create_view("v", '{"atoms": [{"table": "r", "alias": "r"}], "bag": {}, '
/// ...     '"group_by": [%s], "outputs": [{"kind": "group", "name": "a", "column": %s}]}'
/// ...     % (column, column))
/// >>> rows = pa.record_batch({"a": pa.array(range(7, 8))})
/// >>> db.apply([("r", 1, rows, None)])
/// >>> stream = db.view_stream("v")
/// >>> len(stream.next()), stream.next()
/// (1, None)
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct RowStream {
    database: Py<Database>,
    stream: Mutex<ViewStream>,
}

impl RowStream {
    pub(crate) fn new(database: Py<Database>, stream: ViewStream) -> RowStream {
        RowStream {
            database,
            stream: Mutex::new(stream),
        }
    }
}

#[pymethods]
impl RowStream {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.database)
    }

    /// The next rows; None behind the last.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Rows>> {
        let engine = self.database.get().engine(py)?;
        let engine = &*engine.value;
        // Taken under the database's lock, so two threads never wait for each other here.
        let read = || {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            engine.next_rows(&mut stream)
        };
        Ok(detach(py, read).or_raise(py)?.map(Rows::new))
    }

    fn __repr__(&self) -> &'static str {
        "RowStream()"
    }
}
