//! Changes: rows in, all or none, each identity once.

use std::sync::{Arc, PoisonError};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};
use ringview_durable::{BatchId, Group, Prepared};
use ringview_engine::Change;

use super::Database;
use crate::change;
use crate::ending::detach;
use crate::errors::{OrRaise, named};
use crate::incoming::{Batches, BufferMode, RowBuffer, RowLayout, hears, plain_rows};
use crate::watch::Progress;

/// Tables of which it is remembered how plain rows are read.
const ROW_LAYOUTS: usize = 64;

/// Calls with fewer rows keep the interpreter: releasing it would take longer than they do.
const FEW: u64 = 64;

#[pymethods]
impl Database {
    /// Applies changes, all or none: (table, 1 to insert or -1 to delete, Arrow data, the name of a
    /// column of multiplicities or None); or (table, 1 or -1, factors), the product of rows over
    /// disjoint columns, each factor a pair of Arrow data and such a name; or (table, "upsert",
    /// "update" or "apply", Arrow data, for "apply" the name of a column of words, else None), rows by
    /// their key; or ("", "advance", microseconds since 1970), time that passes. `progress` is called with the number of rows done. `done`, a list, gets that number
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
        self.with_changes(&ops, |ops, batches| {
            self.applied(py, (ops, batches), (net, id), (progress, done))
        })
    }

    /// Whether changes of this identity were applied.
    fn is_applied(&self, batch_id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = read_id(batch_id)?;
        Ok(self.engine(batch_id.py())?.value.is_applied(&id))
    }

    /// Reads a dict, a tuple of all columns or a dataclass as a row, or a list of those, where all
    /// values are of Python's own types for the columns; None where they are not, for pyarrow to try.
    fn plain_rows(
        &self,
        py: Python<'_>,
        table: &str,
        rows: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Batches>> {
        plain_rows(&*self.row_layout(py, table)?, rows)
    }

    /// Gathers rows of a table one at a time, as `plain_rows` reads them.
    fn row_buffer(&self, py: Python<'_>, table: &str) -> PyResult<RowBuffer> {
        Ok(RowBuffer::new(self.row_layout(py, table)?))
    }

    /// Reads rows, for a later change; the caller may write to their memory after that.
    fn take(&self, data: &Bound<'_, PyAny>) -> PyResult<Batches> {
        let mut batches = Vec::new();
        self.rows(data, BufferMode::Copied, &mut batches)?;
        Ok(Batches::new(batches))
    }
}

impl Database {
    /// Reads changes and hands them on, with their rows.
    pub(super) fn with_changes<T>(
        &self,
        ops: &[Bound<'_, PyTuple>],
        then: impl FnOnce(&[Change<'_>], &[RecordBatch]) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut batches = Vec::with_capacity(ops.len());
        let changes = change::read(ops, &mut |data| {
            let start = batches.len();
            self.rows(data, BufferMode::Shared, &mut batches)?;
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
        then(&ops, &batches)
    }

    fn applied(
        &self,
        py: Python<'_>,
        (ops, batches): (&[Change<'_>], &[RecordBatch]),
        (net, id): (bool, Option<BatchId>),
        (progress, done): (Option<Py<PyAny>>, Option<&Bound<'_, PyList>>),
    ) -> PyResult<bool> {
        let total = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let watch = Progress::new(progress, total);
        let applied = match &self.group {
            Some(group) if !watch.is_followed() => {
                let run = || Prepared::new(ops, (net, id));
                let prepared = detach(py, run).or_raise(py)?;
                self.apply_with_others(py, group, prepared, watch)
            }
            _ => self.apply_alone(py, ops, (net, id), (total, watch)),
        };
        self.bell.ring();
        let applied = applied?;
        done.map_or(Ok(()), |done| done.append(total))?;
        Ok(applied)
    }

    /// Layout in which plain rows of a table are read.
    fn row_layout(&self, py: Python<'_>, table: &str) -> PyResult<Arc<RowLayout>> {
        let (id, schema) = self.engine(py)?.value.table_schema(table).or_raise(py)?;
        let lock = || {
            self.row_layouts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some((_, row_layout)) = lock().iter().find(|(known, _)| *known == id) {
            return Ok(Arc::clone(row_layout));
        }
        let row_layout = Arc::new(RowLayout::new(py, &schema));
        let mut row_layouts = lock();
        if row_layouts.len() == ROW_LAYOUTS {
            row_layouts.remove(0);
        }
        row_layouts.push((id, Arc::clone(&row_layout)));
        Ok(row_layout)
    }

    /// Forgets how plain rows are read, as columns of a table changed.
    pub(super) fn forget_row_layouts(&self) {
        let row_layouts = self.row_layouts.lock();
        row_layouts.unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn apply_alone(
        &self,
        py: Python<'_>,
        ops: &[Change<'_>],
        (net, id): (bool, Option<BatchId>),
        (total, mut watch): (u64, Progress),
    ) -> PyResult<bool> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        let is_in_memory = engine.path().is_none();
        let run = |watch: &mut Progress| engine.apply(ops, (net, id), &mut |done| watch.poll(done));
        // A file is written without the interpreter, however little it is; and functions of the user take it themselves, on
        // whichever thread.
        let applied = match total < FEW && is_in_memory && !self.calls_python() {
            true => watch.attached(py, run),
            false => detach(py, || run(&mut watch)),
        };
        watch.finish(py, applied)
    }

    /// Changes of threads that wait while one writes are written together.
    fn apply_with_others(
        &self,
        py: Python<'_>,
        group: &Group,
        prepared: Prepared,
        mut watch: Progress,
    ) -> PyResult<bool> {
        // Ctrl-C as it waits must find the main thread's change undone, so nobody does it meanwhile.
        let (own, mut engine) = match hears(py)? {
            true => {
                let engine = self.engine(py)?;
                (group.join(prepared), engine)
            }
            false => {
                let own = group.join(prepared);
                match (self.engine(py), own.outcome()) {
                    (Ok(engine), _) => (own, engine),
                    (Err(_), Some(done)) => return done.or_raise(py),
                    (Err(problem), None) => {
                        group.leave(&own);
                        return Err(problem);
                    }
                }
            }
        };
        let engine = &mut *engine.value;
        let done = detach(py, || group.run(engine, &own, &mut |done| watch.poll(done)));
        watch.finish(py, done)
    }
}

/// Identity of changes: an integer or a text.
pub(super) fn read_id(id: &Bound<'_, PyAny>) -> PyResult<BatchId> {
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
