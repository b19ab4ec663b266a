//! The class `Database`: names and capsules in, capsules and texts out.
//!
//! Invariant: one call at a time, whichever thread it comes from; the interpreter is free while the
//! engine works on more than a few rows. Cost above the engine's: microseconds a call, nothing a row.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use ringview_core::{Schema, Type};
use ringview_durable::{BatchId, Durability, DurableDatabase as Engine, SampleOf, ViewDefinition};
use ringview_engine::{JoinSize, Options, Poll, TableStatus};
use ringview_explain::Format;
use ringview_query::Query;

use crate::busy::{Busy, Hold};
use crate::change;
use crate::errors::{OrRaise, named};
use crate::follower::{Bell, Follower, hand_over};
use crate::handle::Handle;
use crate::incoming::{Batches, Keep, Schemas, rows, schema};
use crate::lookup::{self, Names};
use crate::outgoing::{Columns, Rows};
use crate::stream::RowStream;
use crate::watch::Progress;

/// Calls with fewer rows keep the interpreter: letting it go would take longer than they do.
const FEW: u64 = 64;

/// Tables, and views that are exact after every call of `apply`.
///
/// >>> import pyarrow as pa
/// >>> from ringview._native import Database
/// >>> db = Database()
/// >>> db.create_table("r", pa.schema({"a": pa.int64()}), None, False)
/// >>> db.apply([("r", 1, pa.record_batch({"a": [1, 2]}), None)])
/// >>> db.table_info("r")["rows"]
/// 2
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Database {
    engine: Busy<Engine>,
    closed: AtomicBool,
    bell: Bell,
    schemas: Mutex<Schemas>,
}

#[pymethods]
impl Database {
    #[new]
    #[pyo3(signature = (trust_deletes=false, memory_limit=None))]
    fn new(trust_deletes: bool, memory_limit: Option<u64>) -> Database {
        let options = Options {
            trust_deletes,
            memory_limit,
        };
        Database::of(Engine::new(options))
    }

    /// Declares a table with the columns of a schema (anything with `__arrow_c_schema__`).
    #[pyo3(signature = (name, schema, unique=None, r#static=false))]
    fn create_table(
        &self,
        py: Python<'_>,
        name: &str,
        schema: &Bound<'_, PyAny>,
        unique: Option<Vec<String>>,
        r#static: bool,
    ) -> PyResult<()> {
        let schema = Schema::from_arrow(&self::schema(schema)?).or_raise(py)?;
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        py.detach(|| engine.create_table(name, schema, unique.as_deref(), r#static))
            .or_raise(py)
    }

    /// Forgets a table that no view reads.
    fn drop_table(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        py.detach(|| engine.drop_table(name)).or_raise(py)
    }

    /// Declares a view by a query in JSON, and fills it from the rows that are there; `sql` is what
    /// `view_sql` tells. If `replace`, in the place of a view of this name. `engine` names the one that
    /// keeps it; if None, the cheapest.
    #[pyo3(signature = (name, query_json, sql=None, replace=false, engine=None))]
    fn create_view(
        &self,
        py: Python<'_>,
        name: &str,
        query_json: &str,
        sql: Option<&str>,
        replace: bool,
        engine: Option<&str>,
    ) -> PyResult<()> {
        let definition = ViewDefinition {
            name: name.to_owned(),
            query: Query::from_json(query_json).or_raise(py)?,
            text: sql.map(str::to_owned),
            engine: engine.map(str::to_owned),
            sample: None,
        };
        self.define(py, definition, replace)
    }

    /// Declares a sample of k rows of a join.
    fn create_sample(
        &self,
        py: Python<'_>,
        name: &str,
        query_json: &str,
        sql: &str,
        k: u64,
        seed: u64,
    ) -> PyResult<()> {
        let definition = ViewDefinition {
            name: name.to_owned(),
            query: Query::from_json(query_json).or_raise(py)?,
            text: Some(sql.to_owned()),
            engine: None,
            sample: Some(SampleOf { k, seed }),
        };
        self.define(py, definition, false)
    }

    /// How many rows the join of a sample has: at least, at most, and the largest key held, which tells about how
    /// many where these differ.
    fn sample_join_size(&self, py: Python<'_>, view: Handle) -> PyResult<(u128, u128, f64)> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let size = py.detach(|| engine.sample_join_size(view.name()));
        size.or_raise(py).map(|size| match size {
            JoinSize::Exact(size) => (size, size, 1.0),
            JoinSize::Between(least, most, w) => (least, most, w),
        })
    }

    /// Rows drawn from the whole join of a sample, with replacement or without, in proportion to the product of
    /// some columns or with equal chances.
    fn sample_draw(
        &self,
        py: Python<'_>,
        view: Handle,
        rows: u64,
        seed: u64,
        replacement: bool,
        weight: Option<Vec<String>>,
    ) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let drawn = (rows, seed, replacement);
        let weight = weight.as_deref();
        read(py, |poll| {
            engine.sample_draw(view.name(), drawn, weight, poll)
        })
    }

    /// Forgets a view.
    fn drop_view(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        let done = py.detach(|| engine.drop_view(name)).or_raise(py);
        self.bell.ring();
        done
    }

    /// Applies changes, all or none: (table, 1 to insert or -1 to delete, Arrow data, the name of a
    /// column of multiplicities or None); or (table, 1 or -1, factors), the product of rows over
    /// disjoint columns, each factor a pair of Arrow data and such a name; or (table, "upsert",
    /// "update" or "apply", Arrow data, for "apply" the name of a column of words, else None), rows by
    /// their key. `progress` is called with the number of rows done. `done`, a list, gets that number
    /// once everything is applied: what is raised after that has undone nothing. If `net`, the net
    /// effect counts. False, and nothing done, if changes of this identity, an integer or a text, were
    /// applied before.
    #[pyo3(signature = (ops, progress=None, done=None, net=false, batch_id=None))]
    fn apply(
        &self,
        py: Python<'_>,
        ops: Vec<Bound<'_, PyTuple>>,
        progress: Option<Py<PyAny>>,
        done: Option<&Bound<'_, PyList>>,
        net: bool,
        batch_id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let id = batch_id.map(read_id).transpose()?;
        let mut batches = Vec::with_capacity(ops.len());
        let changes = change::read(&ops, &mut |data| {
            let start = batches.len();
            self.rows(data, Keep::Shared, &mut batches)?;
            Ok(start..batches.len())
        })?;
        let factors = changes
            .iter()
            .map(|change| change.factors(&batches))
            .collect::<PyResult<Vec<_>>>()?;
        let ops = changes
            .iter()
            .zip(&factors)
            .map(|(change, factors)| change.op(&batches, factors))
            .collect::<PyResult<Vec<_>>>()?;
        let total = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let mut watch = Progress::new(progress, total);
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        let engine_is_in_memory = engine.path().is_none();
        let run =
            |watch: &mut Progress| engine.apply(&ops, (net, id), &mut |done| watch.poll(done));
        // A file is written without the interpreter, however little it is.
        let applied = match total < FEW && engine_is_in_memory {
            true => watch.attached(py, run),
            false => py.detach(|| run(&mut watch)),
        };
        self.bell.ring();
        let applied = watch.finish(py, applied)?;
        done.map_or(Ok(()), |done| done.append(total))?;
        Ok(applied)
    }

    /// Whether changes of this identity were applied.
    fn is_applied(&self, batch_id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = read_id(batch_id)?;
        Ok(self.engine(batch_id.py())?.value.is_applied(&id))
    }

    /// Reads rows, for a change that comes later; the caller may write to its memory after that.
    fn take(&self, data: &Bound<'_, PyAny>) -> PyResult<Batches> {
        let mut batches = Vec::new();
        self.rows(data, Keep::Copied, &mut batches)?;
        Ok(Batches::new(batches))
    }

    /// The names of the tables, oldest first.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.engine(py)?.value.tables())
    }

    /// The columns of a table, as an object with `__arrow_c_schema__`.
    fn table_schema(&self, py: Python<'_>, table: Handle) -> PyResult<Columns> {
        let status = self.table_status(py, &table)?;
        Ok(Columns::new(status.schema.to_arrow()))
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
        Ok(Rows::new(py.detach(read).or_raise(py)?))
    }

    /// What is known of a table: `rows`, `unique`, `static`, `bytes` and `id`, its number.
    fn table_info<'py>(&self, py: Python<'py>, table: Handle) -> PyResult<Bound<'py, PyDict>> {
        let status = self.table_status(py, &table)?;
        let info = PyDict::new(py);
        info.set_item("rows", status.rows)?;
        info.set_item("unique", status.unique)?;
        info.set_item("static", status.is_static)?;
        info.set_item("bytes", status.bytes)?;
        info.set_item("id", status.id)?;
        Ok(info)
    }

    /// The names of the views, oldest first.
    fn views(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.engine(py)?.value.views())
    }

    /// The rows of a view, as an object with `__arrow_c_stream__`.
    fn view_result(&self, py: Python<'_>, view: Handle) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        read(py, |poll| engine.view_result_with(view.name(), poll))
    }

    /// What moved in a view since the last call, with a last column of multiplicities, given to
    /// `into`; kept for the next call if that raises.
    fn view_changes<'py>(
        &self,
        view: Handle,
        into: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut engine = self.engine_with_view(into.py(), &view)?;
        let place = engine
            .value
            .readers()
            .own_follower(view.name())
            .or_raise(into.py())?;
        hand_over(engine.value.readers(), &place, into)
    }

    /// Ends what `view_changes` began.
    fn forget_changes(&self, py: Python<'_>, view: Handle) -> PyResult<()> {
        let mut engine = self.engine_with_view(py, &view)?;
        engine
            .value
            .readers()
            .forget_changes(view.name())
            .or_raise(py)
    }

    /// A reader with a place of its own in the changes of a view.
    fn follow(slf: &Bound<'_, Self>, view: Handle, from_now: bool) -> PyResult<Follower> {
        let py = slf.py();
        let mut engine = slf.get().engine_with_view(py, &view)?;
        let place = engine
            .value
            .readers()
            .follow(view.name(), from_now)
            .or_raise(py)?;
        Ok(Follower::new(slf.clone().unbind(), place))
    }

    /// The number of the view that has a name now.
    fn view_id(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        self.engine(py)?.value.view_id(name).or_raise(py)
    }

    /// The columns of a view, as an object with `__arrow_c_schema__`.
    fn view_schema(&self, py: Python<'_>, view: Handle) -> PyResult<Columns> {
        let schema = self
            .engine_with_view(py, &view)?
            .value
            .view_schema(view.name())
            .or_raise(py)?;
        Ok(Columns::new((*schema).clone()))
    }

    /// The rows `start .. stop` of a view, as far as there are any.
    fn view_slice(&self, py: Python<'_>, view: Handle, start: u64, stop: u64) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let rows = (start, stop);
        read(py, |poll| engine.view_slice_with(view.name(), rows, poll))
    }

    /// Rows of a view drawn with replacement.
    fn view_draw(&self, py: Python<'_>, view: Handle, rows: u64, seed: u64) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let drawn = (rows, seed);
        read(py, |poll| engine.view_draw_with(view.name(), drawn, poll))
    }

    /// A stream of the rows that a view has now.
    fn view_stream(slf: &Bound<'_, Self>, view: Handle) -> PyResult<RowStream> {
        let py = slf.py();
        let engine = slf.get().engine_with_view(py, &view)?;
        let held = &*engine.value;
        let stream = py.detach(|| held.view_stream(view.name())).or_raise(py)?;
        Ok(RowStream::new(slf.clone().unbind(), stream))
    }

    /// How many rows a view has.
    fn view_len(&self, py: Python<'_>, view: Handle) -> PyResult<usize> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        py.detach(|| engine.view_len(view.name())).or_raise(py)
    }

    /// How a view is maintained, with what each node holds, in a form of `Explanation`.
    fn view_explain(&self, py: Python<'_>, view: Handle, format: &str) -> PyResult<String> {
        let format = Format::from_str(format).or_raise(py)?;
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let explained = || engine.view_explanation(view.name())?.render(format);
        py.detach(explained).or_raise(py)
    }

    /// The SQL of a view, if it was created with any.
    fn view_sql(&self, py: Python<'_>, view: Handle) -> PyResult<Option<String>> {
        let engine = self.engine_with_view(py, &view)?;
        let text = engine.value.view_text(view.name()).or_raise(py)?;
        Ok(text.map(str::to_owned))
    }

    /// The columns that tell the groups of a view, with the names of their types.
    fn view_key(&self, py: Python<'_>, view: Handle) -> PyResult<Vec<(String, String)>> {
        let engine = self.engine_with_view(py, &view)?;
        let key = engine.value.view_key(view.name()).or_raise(py)?;
        let column = |(name, ty): &(&str, &Type)| ((*name).to_owned(), ty.to_string());
        Ok(key.iter().map(column).collect())
    }

    /// The row of the group of a key, a dict of values by name; None if there is none. `NotImplemented`
    /// if a value of the row is none of Python's own.
    fn view_get<'py>(&self, view: Handle, key: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let key = Names::read(key)?;
        let engine = self.engine_with_view(py, &view)?;
        let row = engine
            .value
            .view_get(view.name(), &key.values()?)
            .or_raise(py)?;
        let Some(row) = row else {
            return Ok(py.None().into_bound(py));
        };
        let names = engine.value.view_columns(view.name()).or_raise(py)?;
        lookup::dict(py, names, row)
    }

    /// The rows of the groups of some keys, and the place of each among them.
    fn view_get_rows(
        &self,
        py: Python<'_>,
        view: Handle,
        keys: Vec<Bound<'_, PyDict>>,
    ) -> PyResult<(Rows, Vec<usize>)> {
        let keys: Vec<Names<'_>> = keys.iter().map(Names::read).collect::<PyResult<_>>()?;
        let keys: Vec<Vec<_>> = keys.iter().map(Names::values).collect::<PyResult<_>>()?;
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let get = || engine.view_get_rows(view.name(), &keys);
        let (rows, places) = py.detach(get).or_raise(py)?;
        Ok((Rows::new(rows), places))
    }

    /// The rows that have some values in columns that tell the groups of a view.
    fn view_where(&self, view: Handle, key: &Bound<'_, PyDict>) -> PyResult<Rows> {
        let py = key.py();
        let key = Names::read(key)?;
        let key = key.values()?;
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let found = || engine.view_where(view.name(), &key);
        Ok(Rows::new(py.detach(found).or_raise(py)?))
    }

    /// The query of a view, in JSON.
    fn view_query(&self, py: Python<'_>, view: Handle) -> PyResult<String> {
        let engine = self.engine_with_view(py, &view)?;
        let query = engine.value.view_query(view.name()).or_raise(py)?;
        query.to_json().or_raise(py)
    }

    /// Bytes held, part by part.
    fn memory_usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        for (part, bytes) in py.detach(|| engine.memory_usage()) {
            parts.set_item(part, bytes)?;
        }
        Ok(parts)
    }

    /// How a view of a query in JSON would be maintained, in a form of `Explanation`. `engine` names the one
    /// that is to keep it; if None, the cheapest.
    #[pyo3(signature = (query_json, format, engine=None))]
    fn plan(
        &self,
        py: Python<'_>,
        query_json: &str,
        format: &str,
        engine: Option<&str>,
    ) -> PyResult<String> {
        let format = Format::from_str(format).or_raise(py)?;
        let query = Query::from_json(query_json).or_raise(py)?;
        let held = self.engine(py)?;
        let database = &*held.value;
        let explained = || {
            let explained = database.explanation_with(&query, engine)?;
            explained.render(format)
        };
        py.detach(explained).or_raise(py)
    }

    /// Opens the database of a file, or makes one; with `each`, every transaction is on disk when it
    /// returns, else each snapshot.
    #[staticmethod]
    #[pyo3(signature = (path, each, trust_deletes, memory_limit=None, progress=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        each: bool,
        trust_deletes: bool,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Database> {
        let options = Options {
            trust_deletes,
            memory_limit,
        };
        let durability = match each {
            true => Durability::Transaction,
            false => Durability::Snapshot,
        };
        Self::opened(py, progress, |poll| {
            Engine::open(&path, options, durability, poll)
        })
    }

    /// Reads a database from a file into memory.
    #[staticmethod]
    #[pyo3(signature = (path, memory_limit=None, progress=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Database> {
        Self::opened(py, progress, |poll| Engine::load(&path, memory_limit, poll))
    }

    /// Writes a copy to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        py.detach(|| engine.save(&path)).or_raise(py)
    }

    /// Writes the file anew.
    fn snapshot(&self, py: Python<'_>) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        py.detach(|| engine.snapshot()).or_raise(py)
    }

    /// Where the file is; None in memory.
    fn path(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        Ok(self.engine(py)?.value.path().map(Path::to_owned))
    }

    /// Forgets all tables and views, for good, but for what is in the file; whoever asks for them
    /// afterwards is told.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut engine = self.engine.hold(py)?;
        let engine = &mut *engine.value;
        py.detach(|| engine.close()).or_raise(py)?;
        self.closed.store(true, Ordering::Relaxed);
        self.bell.ring();
        Ok(())
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
    /// A database of a file that is being read.
    fn opened(
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        read: impl FnOnce(Poll<'_>) -> ringview_core::Result<Engine> + Send,
    ) -> PyResult<Database> {
        let mut watch = Progress::new(progress, 0);
        let opened = py.detach(|| read(&mut |done| watch.poll(done)));
        Ok(Database::of(watch.finish(py, opened)?))
    }

    fn of(engine: Engine) -> Database {
        Database {
            engine: Busy::new(engine, "the database"),
            closed: AtomicBool::new(false),
            bell: Bell::default(),
            schemas: Mutex::default(),
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

    /// What is rung after each change.
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    fn define(&self, py: Python<'_>, definition: ViewDefinition, replace: bool) -> PyResult<()> {
        let mut held = self.engine(py)?;
        let database = &mut *held.value;
        let mut watch = Progress::new(None, 0);
        let mut poll = |done| watch.poll(done);
        let done = py.detach(|| match replace {
            true => database.replace_view(definition, &mut poll),
            false => database.create_view(definition, &mut poll),
        });
        self.bell.ring();
        watch.finish(py, done)
    }

    fn rows(
        &self,
        data: &Bound<'_, PyAny>,
        keep: Keep,
        batches: &mut Vec<RecordBatch>,
    ) -> PyResult<()> {
        // A stream may run Python code, so the lock is not held while it is read.
        let lock = || self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let mut schemas = std::mem::take(&mut *lock());
        let read = rows(data, keep, &mut schemas, batches);
        *lock() = schemas;
        read
    }
}

/// What tells changes from others: an integer or a text.
fn read_id(id: &Bound<'_, PyAny>) -> PyResult<BatchId> {
    if let Ok(text) = id.cast::<PyString>() {
        return Ok(BatchId::Name(text.to_str()?.to_owned()));
    }
    let number = !id.is_instance_of::<PyBool>();
    let read = number.then(|| id.extract().ok()).flatten();
    read.map(BatchId::Number).ok_or_else(|| {
        let message = format!("batch_id is an integer of 64 bits or a text, not {id}");
        named(id.py(), "InvalidValueError", &message)
    })
}

/// Rows that take long to make: made without the interpreter, and given up at Ctrl-C.
fn read(
    py: Python<'_>,
    make: impl FnOnce(Poll<'_>) -> ringview_core::Result<RecordBatch> + Send,
) -> PyResult<Rows> {
    let mut watch = Progress::new(None, 0);
    let made = py.detach(|| make(&mut |done| watch.poll(done)));
    Ok(Rows::new(watch.finish(py, made)?))
}
