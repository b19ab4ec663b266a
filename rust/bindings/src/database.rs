//! The class `Database`: names and capsules in, capsules and texts out.
//!
//! Invariant: one call at a time, whichever thread it comes from; the interpreter is free while the
//! engine works on more than a few rows. Cost above the engine's: microseconds a call, nothing a row.

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use ringview_core::Schema;
use ringview_engine::{
    Change as EngineChange, Database as Engine, Direction, Op, Options, Product, Rows as FactorRows,
};
use ringview_explain::Format;
use ringview_query::Query;

use crate::busy::{Busy, Hold};
use crate::errors::{OrRaise, named};
use crate::incoming::{Batches, Keep, Schemas, rows, schema};
use crate::outgoing::{Columns, Rows};
use crate::stream::RowStream;
use crate::watch::Watch;

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
    schemas: Mutex<Schemas>,
}

/// One change, its names still those of Python.
struct Change<'py> {
    table: Bound<'py, PyString>,
    direction: Direction,
    rows: Data<'py>,
}

enum Data<'py> {
    Rows(Part<'py>),
    /// The product of factors.
    Product(Vec<Part<'py>>),
}

/// Rows: a range of all batches of the call.
struct Part<'py> {
    multiplicity: Option<Bound<'py, PyString>>,
    batches: std::ops::Range<usize>,
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
        Database {
            engine: Busy::new(Engine::new(options), "the database"),
            schemas: Mutex::default(),
        }
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
        engine
            .value
            .create_table(name, schema, unique.as_deref(), r#static)
            .or_raise(py)
    }

    /// Forgets a table that no view reads.
    fn drop_table(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        py.detach(|| engine.drop_table(name)).or_raise(py)
    }

    /// Declares a view by a query in JSON, and fills it from the rows that are there.
    fn create_view(&self, py: Python<'_>, name: &str, query_json: &str) -> PyResult<()> {
        let query = Query::from_json(query_json).or_raise(py)?;
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        let mut watch = Watch::new(None, 0);
        let done = py.detach(|| engine.create_view(name, &query, &mut |done| watch.poll(done)));
        watch.finish(py, done)
    }

    /// Forgets a view.
    fn drop_view(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        py.detach(|| engine.drop_view(name)).or_raise(py)
    }

    /// Applies changes, all or none: (table, 1 to insert or -1 to delete, Arrow data, the name of a
    /// column of multiplicities or None); or (table, 1 or -1, factors), the product of rows over
    /// disjoint columns, each factor a pair of Arrow data and such a name. `progress` is called
    /// with the number of rows done. `done`, a list, gets that number once everything is applied:
    /// what is raised after that has undone nothing.
    #[pyo3(signature = (ops, progress=None, done=None))]
    fn apply(
        &self,
        py: Python<'_>,
        ops: Vec<Bound<'_, PyTuple>>,
        progress: Option<Py<PyAny>>,
        done: Option<&Bound<'_, PyList>>,
    ) -> PyResult<()> {
        let mut batches = Vec::with_capacity(ops.len());
        let changes = self.read(&ops, &mut batches)?;
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
        let mut watch = Watch::new(progress, total);
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        let mut run = |watch: &mut Watch| engine.apply(&ops, &mut |done| watch.poll(done));
        let applied = match total < FEW {
            true => watch.attached(py, run),
            false => py.detach(|| run(&mut watch)),
        };
        watch.finish(py, applied)?;
        done.map_or(Ok(()), |done| done.append(total))
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
    fn table_schema(&self, py: Python<'_>, name: &str) -> PyResult<Columns> {
        let status = self.engine(py)?.value.table(name).or_raise(py)?;
        Ok(Columns::new(status.schema.to_arrow()))
    }

    /// What is known of a table: `rows`, `unique`, `static` and `bytes`.
    fn table_info<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let status = self.engine(py)?.value.table(name).or_raise(py)?;
        let info = PyDict::new(py);
        info.set_item("rows", status.rows)?;
        info.set_item("unique", status.unique)?;
        info.set_item("static", status.is_static)?;
        info.set_item("bytes", status.bytes)?;
        Ok(info)
    }

    /// The names of the views, oldest first.
    fn views(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.engine(py)?.value.views())
    }

    /// The rows of a view, as an object with `__arrow_c_stream__`.
    fn view_result(&self, py: Python<'_>, name: &str) -> PyResult<Rows> {
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        let batch = py.detach(|| engine.view_result(name)).or_raise(py)?;
        Ok(Rows::new(batch))
    }

    /// What moved in a view since the last call, with a last column `multiplicity`.
    fn view_changes(&self, py: Python<'_>, name: &str) -> PyResult<Rows> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        let batch = py.detach(|| engine.view_changes(name)).or_raise(py)?;
        Ok(Rows::new(batch))
    }

    /// The columns of a view, as an object with `__arrow_c_schema__`.
    fn view_schema(&self, py: Python<'_>, name: &str) -> PyResult<Columns> {
        let schema = self.engine(py)?.value.view_schema(name).or_raise(py)?;
        Ok(Columns::new((*schema).clone()))
    }

    /// The rows `start .. stop` of a view, as far as there are any.
    fn view_slice(&self, py: Python<'_>, name: &str, start: u64, stop: u64) -> PyResult<Rows> {
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        let slice = || engine.view_slice(name, start, stop);
        Ok(Rows::new(py.detach(slice).or_raise(py)?))
    }

    /// Rows of a view drawn with replacement.
    fn view_draw(&self, py: Python<'_>, name: &str, rows: u64, seed: u64) -> PyResult<Rows> {
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        let draw = || engine.view_draw(name, rows, seed);
        Ok(Rows::new(py.detach(draw).or_raise(py)?))
    }

    /// A stream of the rows that a view has now.
    fn view_stream(slf: &Bound<'_, Self>, name: &str) -> PyResult<RowStream> {
        let py = slf.py();
        let engine = slf.get().engine(py)?;
        let held = &*engine.value;
        let stream = py.detach(|| held.view_stream(name)).or_raise(py)?;
        Ok(RowStream::new(slf.clone().unbind(), stream))
    }

    /// How many rows a view has.
    fn view_len(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        py.detach(|| engine.view_len(name)).or_raise(py)
    }

    /// How a view is maintained, with what each node holds, in a form of `Explanation`.
    fn view_explain(&self, py: Python<'_>, name: &str, format: &str) -> PyResult<String> {
        let format = Format::from_str(format).or_raise(py)?;
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        let explained = || engine.view_explanation(name)?.render(format);
        py.detach(explained).or_raise(py)
    }

    /// The query of a view, in JSON.
    fn view_query(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let engine = self.engine(py)?;
        let query = engine.value.view_query(name).or_raise(py)?;
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

    /// How a view of a query in JSON would be maintained, in a form of `Explanation`.
    fn plan(&self, py: Python<'_>, query_json: &str, format: &str) -> PyResult<String> {
        let format = Format::from_str(format).or_raise(py)?;
        let query = Query::from_json(query_json).or_raise(py)?;
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        let explained = || engine.explanation(&query)?.render(format);
        py.detach(explained).or_raise(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let engine = self.engine(py)?;
        let (tables, views) = (engine.value.tables(), engine.value.views());
        Ok(format!("Database(tables={tables:?}, views={views:?})"))
    }
}

impl Database {
    pub(crate) fn engine(&self, py: Python<'_>) -> PyResult<Hold<'_, Engine>> {
        self.engine.hold(py)
    }

    /// Reads the changes of a call; their rows go to `batches`.
    fn read<'py>(
        &self,
        ops: &[Bound<'py, PyTuple>],
        batches: &mut Vec<RecordBatch>,
    ) -> PyResult<Vec<Change<'py>>> {
        let mut changes = Vec::with_capacity(ops.len());
        for op in ops {
            let py = op.py();
            let (table, sign): (_, i64) =
                (op.get_item(0)?.cast_into()?, op.get_item(1)?.extract()?);
            let direction = match sign {
                1 => Direction::Insert,
                -1 => Direction::Delete,
                _ => {
                    let message = format!("the sign of a change is 1 or -1, not {sign}");
                    return Err(named(py, "InvalidValueError", &message));
                }
            };
            let data = op.get_item(2)?;
            let rows = if op.len() == 3 {
                let factors: Vec<(Bound<'_, PyAny>, Option<Bound<'_, PyString>>)> =
                    data.extract()?;
                let parts = factors
                    .into_iter()
                    .map(|(data, multiplicity)| self.part(&data, multiplicity, batches));
                Data::Product(parts.collect::<PyResult<_>>()?)
            } else {
                let multiplicity = op.get_item(3)?.extract()?;
                Data::Rows(self.part(&data, multiplicity, batches)?)
            };
            changes.push(Change {
                table,
                direction,
                rows,
            });
        }
        Ok(changes)
    }

    /// Reads rows to `batches`.
    fn part<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        multiplicity: Option<Bound<'py, PyString>>,
        batches: &mut Vec<RecordBatch>,
    ) -> PyResult<Part<'py>> {
        let start = batches.len();
        self.rows(data, Keep::Shared, batches)?;
        Ok(Part {
            multiplicity,
            batches: start..batches.len(),
        })
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

impl Part<'_> {
    fn rows<'a>(&'a self, batches: &'a [RecordBatch]) -> PyResult<FactorRows<'a>> {
        let multiplicity = self.multiplicity.as_ref();
        Ok(FactorRows {
            rows: &batches[self.batches.clone()],
            multiplicity: multiplicity.map(|name| name.to_str()).transpose()?,
        })
    }
}

impl Change<'_> {
    fn factors<'a>(&'a self, batches: &'a [RecordBatch]) -> PyResult<Vec<FactorRows<'a>>> {
        match &self.rows {
            Data::Rows(_) => Ok(Vec::new()),
            Data::Product(parts) => parts.iter().map(|part| part.rows(batches)).collect(),
        }
    }

    fn op<'a>(
        &'a self,
        batches: &'a [RecordBatch],
        factors: &'a [FactorRows<'a>],
    ) -> PyResult<EngineChange<'a>> {
        let (table, direction) = (self.table.to_str()?, self.direction);
        Ok(match &self.rows {
            Data::Rows(part) => {
                let FactorRows { rows, multiplicity } = part.rows(batches)?;
                EngineChange::Rows(Op {
                    table,
                    direction,
                    rows,
                    multiplicity,
                })
            }
            Data::Product(_) => EngineChange::Product(Product {
                table,
                direction,
                factors,
            }),
        })
    }
}
