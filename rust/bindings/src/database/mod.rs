//! The class `Database`: names and capsules in, capsules and texts out.
//!
//! Invariant: one call at a time, whichever thread makes it; the interpreter is free while the engine works on more
//! than a few rows. Cost above the engine's: microseconds a call, nothing a row.
//!
//! | file | holds |
//! |---|---|
//! | `changes` | rows in |
//! | `copied` | rows of some columns of a table |
//! | `definitions` | views declared, and planned |
//! | `drafts` | what the statements of a transaction with definitions run on |
//! | `functions` | functions of the user |
//! | `views` | what is read of views |
//! | `files` | databases in files |
//! | `partials` | what a view over a part of the rows adds to that over all |
//! | `statements` | statements of a script |
//! | `follower`, `stream` | the classes of a reader of changes and of a stream of rows |

mod bell;
mod changes;
mod copied;
mod definitions;
mod drafts;
mod files;
mod follower;
mod functions;
mod partials;
mod statements;
mod stream;
mod views;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ringview_core::{Result, Schema};
use ringview_durable::{DurableDatabase as Engine, Group, TableDefinition};
use ringview_engine::{KeepFor, Options, Poll, TableStatus};

use crate::busy::{Busy, Hold};
use crate::ending::detach;
use crate::errors::{OrRaise, named};
use crate::function::Declared;
use crate::handle::Handle;
use crate::incoming::{BufferMode, RowLayout, Schemas, rows, schema};
use crate::outgoing::{Columns, Rows};
use crate::statement::Statement;
use crate::watch::Progress;

use bell::Bell;
pub(crate) use follower::Follower;
pub(crate) use stream::RowStream;

/// Tables, and views that are exact after every call of `apply`.
///
/// >>> import pyarrow as pa
/// >>> from ringview._native import Database
/// >>> db = Database()
/// >>> db.create_table("r", pa.schema({"a": pa.int64()}), None, False)
/// >>> db.apply([("r", 1, pa.record_batch({"a": [1, 2]}), None)])
/// True
/// >>> db.table_info("r")["rows"]
/// 2
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Database {
    engine: Busy<Engine>,
    closed: AtomicBool,
    bell: Bell,
    schemas: Mutex<Schemas>,
    /// By the number of a table, how plain rows are read.
    row_layouts: Mutex<Vec<(u64, Arc<RowLayout>)>>,
    /// The functions of the user, oldest first.
    functions: Mutex<Vec<Declared>>,
    /// Group commit, if each transaction is on disk when it returns.
    group: Option<Group>,
}

#[pymethods]
impl Database {
    #[new]
    #[pyo3(signature = (trust_deletes=false, memory_limit=None, share=true, threads=1))]
    fn new(
        trust_deletes: bool,
        memory_limit: Option<u64>,
        share: bool,
        threads: usize,
    ) -> Database {
        let options = Options {
            trust_deletes,
            memory_limit,
            unshared: !share,
            threads: NonZeroUsize::new(threads),
        };
        Database::of(Engine::new(options))
    }

    /// Declares a table with the columns of a schema (anything with `__arrow_c_schema__`). `keep_for` is a column and
    /// the text of an interval: how long rows stay; `defaults` the statement that has those of the columns.
    #[pyo3(signature = (name, schema, unique=None, r#static=false, keep_for=None, defaults=None))]
    #[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
    fn create_table(
        &self,
        py: Python<'_>,
        name: &str,
        schema: &Bound<'_, PyAny>,
        unique: Option<Vec<String>>,
        r#static: bool,
        keep_for: Option<(String, String)>,
        defaults: Option<&Statement>,
    ) -> PyResult<()> {
        let schema = Schema::from_arrow(&self::schema(schema)?).or_raise(py)?;
        let keep_for = keep_for.map(|(column, interval)| {
            let interval = interval.parse()?;
            Ok(KeepFor { column, interval })
        });
        let keep_for = keep_for.transpose().or_raise(py)?;
        let table = TableDefinition {
            name: name.to_owned(),
            schema,
            unique,
            is_static: r#static,
            keep_for,
        };
        let given = defaults.map(|of| self.defaults_of(py, of)).transpose()?;
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        detach(py, || {
            engine.create_table_from(table, &given.unwrap_or_default())
        })
        .or_raise(py)
    }

    /// The moment that the clock is at, in microseconds since 1970 in UTC; None before it was first set.
    fn now(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        Ok(self.engine(py)?.value.now())
    }

    /// Forgets a table that no view reads; if `cascade`, with the views that do.
    #[pyo3(signature = (name, cascade=false))]
    fn drop_table(&self, py: Python<'_>, name: &str, cascade: bool) -> PyResult<()> {
        self.dropped_by(py, |engine| {
            // A view of the name is none of its business.
            engine.table_schema(name)?;
            match cascade {
                true => engine.drop_with_readers(name),
                false => engine.drop_table(name),
            }
        })
    }

    /// Forgets a view that no other reads; if `cascade`, with those that do.
    #[pyo3(signature = (name, cascade=false))]
    fn drop_view(&self, py: Python<'_>, name: &str, cascade: bool) -> PyResult<()> {
        self.dropped_by(py, |engine| {
            engine.view_id(name)?;
            match cascade {
                true => engine.drop_with_readers(name),
                false => engine.drop_view(name),
            }
        })
    }

    /// The names of the tables, oldest first.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.engine(py)?.value.tables())
    }

    /// The names and numbers of the tables, oldest first: all as they are at one moment.
    fn table_ids(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        Ok(self.engine(py)?.value.table_ids())
    }

    /// The number of a table.
    fn table_id(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        Ok(self.engine(py)?.value.table_schema(name).or_raise(py)?.0)
    }

    /// The columns of a table, as an object with `__arrow_c_schema__`.
    fn table_schema(&self, py: Python<'_>, table: Handle) -> PyResult<Columns> {
        let engine = self.engine(py)?;
        table.check_table(&engine.value).or_raise(py)?;
        let (_, schema) = engine.value.table_schema(table.name()).or_raise(py)?;
        Ok(Columns::new(schema.to_arrow()))
    }

    /// The rows of a table, each as often as it is there; or each once, with a last column of this name
    /// that says how often.
    fn table_rows(
        &self,
        py: Python<'_>,
        table: Handle,
        multiplicity: Option<&str>,
    ) -> PyResult<Rows> {
        let engine = self.engine(py)?;
        table.check_table(&engine.value).or_raise(py)?;
        let engine = &*engine.value;
        let read = || engine.table_rows(table.name(), multiplicity);
        Ok(Rows::new(detach(py, read).or_raise(py)?))
    }

    /// The defaults of a table's columns, as one row of those that have one.
    fn table_defaults(&self, py: Python<'_>, table: Handle) -> PyResult<Rows> {
        let engine = self.engine(py)?;
        table.check_table(&engine.value).or_raise(py)?;
        let defaults = engine.value.defaults(table.name()).or_raise(py)?;
        let (_, schema) = engine.value.table_schema(table.name()).or_raise(py)?;
        let given = schema.fields().iter().filter_map(|field| {
            let value = defaults.get(&field.name)?;
            Some((field.name.as_str(), Arc::clone(value), true))
        });
        let row = RecordBatch::try_from_iter_with_nullable(given);
        let row =
            row.unwrap_or_else(|_| RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty())));
        Ok(Rows::new(row))
    }

    /// Status of a table: `rows`, `unique`, `static`, `bytes` and `id`, its number; `keep_for`, a column and how long
    /// rows stay; `oldest`, the time of the oldest row, in microseconds since 1970; `expired`, how many rows left for
    /// their age.
    fn table_info<'py>(&self, py: Python<'py>, table: Handle) -> PyResult<Bound<'py, PyDict>> {
        let status = self.table_status(py, &table)?;
        let info = PyDict::new(py);
        info.set_item("rows", status.rows)?;
        info.set_item("unique", status.unique)?;
        info.set_item("static", status.is_static)?;
        info.set_item("bytes", status.bytes)?;
        info.set_item("id", status.id)?;
        let keep_for = status
            .keep_for
            .map(|one| (one.column, one.interval.to_string()));
        info.set_item("keep_for", keep_for)?;
        info.set_item("oldest", status.oldest)?;
        info.set_item("expired", status.expired)?;
        Ok(info)
    }

    /// The names of the views, oldest first.
    fn views(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.engine(py)?.value.views())
    }

    /// The names and numbers of the views, oldest first: all as they are at one moment.
    fn view_ids(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        Ok(self.engine(py)?.value.view_ids())
    }

    /// Panics in a call that reads, or in one that changes; only where every check is on, for tests.
    #[cfg(debug_assertions)]
    fn panic_for_tests(&self, py: Python<'_>, changes: bool) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        match changes {
            true => engine.value.readers().check(),
            false => engine.value.check(),
        }
        panic!("a panic that was asked for");
    }

    /// Bytes held, part by part.
    fn memory_usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        for (part, bytes) in detach(py, || engine.memory_usage()) {
            parts.set_item(part, bytes)?;
        }
        Ok(parts)
    }

    /// Whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if self.is_closed() {
            return Ok("Database(closed)".to_owned());
        }
        let engine = self.engine(py)?;
        let (tables, views) = (engine.value.tables(), engine.value.views());
        Ok(format!("Database(tables={tables:?}, views={views:?})"))
    }
}

impl Database {
    /// Drops something, and wakes those who wait for its changes.
    fn dropped_by(
        &self,
        py: Python<'_>,
        drop: impl FnOnce(&mut Engine) -> Result<()> + Send,
    ) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        let done = detach(py, || drop(engine)).or_raise(py);
        self.bell.ring();
        done
    }

    fn of(engine: Engine) -> Database {
        Database {
            engine: Busy::new(engine, "the database"),
            closed: AtomicBool::new(false),
            bell: Bell::default(),
            schemas: Mutex::default(),
            row_layouts: Mutex::default(),
            functions: Mutex::default(),
            group: None,
        }
    }

    pub(crate) fn engine(&self, py: Python<'_>) -> PyResult<Hold<'_, Engine>> {
        let engine = self.engine.hold(py)?;
        if self.closed.load(Ordering::Relaxed) {
            let message = "the database is closed; create another";
            return Err(named(py, "RingviewError", message));
        }
        Ok(engine)
    }

    /// The engine, where the view of a handle is still there.
    fn engine_with_view(&self, py: Python<'_>, view: &Handle) -> PyResult<Hold<'_, Engine>> {
        let engine = self.engine(py)?;
        view.check_view(&engine.value).or_raise(py)?;
        Ok(engine)
    }

    fn table_status(&self, py: Python<'_>, table: &Handle) -> PyResult<TableStatus> {
        let engine = self.engine(py)?;
        table.check_table(&engine.value).or_raise(py)?;
        engine.value.table(table.name()).or_raise(py)
    }

    /// Uses the engine now, unless a call is running.
    pub(crate) fn if_idle(&self, use_it: impl FnOnce(&mut ringview_engine::Database)) {
        self.engine.if_idle(|engine| use_it(engine.readers()));
    }

    /// The bell that rings after each change.
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    fn change_views(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Engine, Poll<'_>) -> Result<()> + Send,
    ) -> PyResult<()> {
        let mut held = self.engine(py)?;
        let database = &mut *held.value;
        let mut watch = Progress::new(None, 0);
        let done = detach(py, || change(database, &mut |done| watch.poll(done)));
        self.bell.ring();
        watch.finish(py, done)
    }

    fn rows(
        &self,
        data: &Bound<'_, PyAny>,
        buffers: BufferMode,
        batches: &mut Vec<RecordBatch>,
    ) -> PyResult<()> {
        // A stream may run Python code, so the lock is not held while it is read.
        let lock = || self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let mut schemas = std::mem::take(&mut *lock());
        let read = rows(data, buffers, &mut schemas, batches);
        *lock() = schemas;
        read
    }
}
