//! Databases and files: opened, copied, rewritten, closed.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use pyo3::prelude::*;
use ringview_durable::{Bind, Durability, DurableDatabase as Engine, FileStatus, Group, Opening};
use ringview_engine::{Options, Poll};
use ringview_sql::Definition;

use super::Database;
use super::functions::resolved_functions;
use crate::ending::detach;
use crate::errors::OrRaise;
use crate::function::Given;
use crate::watch::Progress;

#[pymethods]
impl Database {
    /// Opens the database of a file, or makes one; with `each`, every transaction is on disk when it
    /// returns, else each snapshot; with `tell_last`, `view_changes` begins with what the last one moved.
    /// The file is written anew when its log is `compact_at` times what a snapshot is. `functions`, given the name of a
    /// function that a view calls, the types of its arguments and its result, its kind and how it handles NULL, returns a
    /// `ringview.Function`, or None.
    #[staticmethod]
    #[pyo3(signature = (path, each, tell_last, trust_deletes, memory_limit=None, progress=None, compact_at=None, share=true, threads=1, functions=None))]
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        each: bool,
        tell_last: bool,
        trust_deletes: bool,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
        compact_at: Option<f64>,
        share: bool,
        threads: usize,
        functions: Option<Py<PyAny>>,
    ) -> PyResult<Database> {
        let options = Options {
            trust_deletes,
            memory_limit,
            unshared: !share,
            threads: NonZeroUsize::new(threads),
        };
        let mut database = Self::opened(py, progress, functions, |bind, poll| {
            let opening = Opening {
                bind,
                durability: match each {
                    true => Durability::Transaction,
                    false => Durability::Snapshot,
                },
                tell_last,
                compact_at,
            };
            Engine::open(&path, options, opening, poll)
        })?;
        database.group = each.then(Group::default);
        Ok(database)
    }

    /// Reads a database from a file into memory; `functions` as of `open`.
    #[staticmethod]
    #[pyo3(signature = (path, memory_limit=None, progress=None, share=true, threads=1, functions=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        memory_limit: Option<u64>,
        progress: Option<Py<PyAny>>,
        share: bool,
        threads: usize,
        functions: Option<Py<PyAny>>,
    ) -> PyResult<Database> {
        let options = Options {
            trust_deletes: false,
            memory_limit,
            unshared: !share,
            threads: NonZeroUsize::new(threads),
        };
        Self::opened(py, progress, functions, |bind, poll| {
            Engine::load(&path, options, bind, poll)
        })
    }

    /// Writes a copy to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let engine = self.engine(py)?;
        let engine = &*engine.value;
        detach(py, || engine.save(&path)).or_raise(py)
    }

    /// Writes the file anew.
    fn snapshot(&self, py: Python<'_>) -> PyResult<()> {
        let mut engine = self.engine(py)?;
        let engine = &mut *engine.value;
        detach(py, || engine.snapshot()).or_raise(py)
    }

    /// Path of the file; None in memory.
    fn path(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        Ok(self.engine(py)?.value.path().map(Path::to_owned))
    }

    /// Forgets all tables and views, for good, but for what is in the file; later calls raise an
    /// error.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut held = self.engine.hold(py)?;
        let engine = &mut *held.value;
        let done = detach(py, || engine.close());
        // If snapshots alone are durable, and none could be taken, it stays open.
        if done.is_ok() || engine.path().is_none() {
            self.closed.store(true, Ordering::Relaxed);
            self.bell.ring();
        }
        done.or_raise(py)
    }

    /// Status of the file: bytes of it, of its snapshot, of its log; the time of the snapshot, in
    /// seconds since 1970; commits since it was opened; bytes of its pages that may be in memory; what kept
    /// it from being written anew. None in memory.
    fn file_status(&self, py: Python<'_>) -> PyResult<Option<Status>> {
        let engine = self.engine(py)?;
        let status = engine.value.file_status().or_raise(py)?;
        Ok(status.map(|status| {
            let FileStatus {
                bytes,
                snapshot_bytes,
                log_bytes,
                snapshot_at,
                commits,
                cache_bytes,
                problem,
            } = status;
            let sizes = (bytes, snapshot_bytes, log_bytes);
            (sizes, snapshot_at, (commits, cache_bytes), problem)
        }))
    }
}

/// Status of a file, for Python.
type Status = ((u64, u64, u64), Option<u64>, (u64, u64), Option<String>);

impl Database {
    /// A database of a file that is being read.
    fn opened(
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        functions: Option<Py<PyAny>>,
        read: impl FnOnce(Bind<'_>, Poll<'_>) -> ringview_core::Result<Engine> + Send,
    ) -> PyResult<Database> {
        let mut watch = Progress::new(progress, 0);
        let given = Given::new(functions);
        let bind = |text: &str, environment: &str| {
            let definition = Definition::read(text, environment)?;
            definition
                .with_functions(|signature| given.find(signature))?
                .bind()
        };
        let opened = detach(py, || read(&bind, &mut |done| watch.poll(done)));
        let declared = resolved_functions(py, given, &opened)?;
        let database = Database::of(watch.finish(py, opened)?);
        *database.declared() = declared;
        Ok(database)
    }
}
