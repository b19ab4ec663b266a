//! The class `Follower`: the changes of a view, for one reader; and its wait for more.
//!
//! Invariant: rows are forgotten only when they are in the caller's hands: made, taken in by the library that reads
//! them, and no Ctrl-C pending. A thread that waits has released the interpreter and the database, and checks for
//! Ctrl-C every `SLICE`. Cost above the engine's: microseconds a call.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use ringview_durable::{DurableDatabase, NamedFollower};
use ringview_engine::{Database as Engine, ViewFollower};

use super::Database;
use crate::ending::{detach, within};
use crate::errors::{OrRaise, named};
use crate::outgoing::Rows;
use crate::watch;

/// Between two looks for Ctrl-C.
const SLICE: Duration = Duration::from_millis(50);

/// Gives what moved since a follower was last given something to `into`, and only then forgets it.
pub(crate) fn hand_over<'py>(
    engine: &mut Engine,
    follower: &ViewFollower,
    into: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = into.py();
    let rows = detach(py, || engine.changes(follower)).or_raise(py)?;
    let given = within(|| into.call1((Rows::new(rows),)))?;
    py.check_signals()?;
    detach(py, || engine.advance(follower)).or_raise(py)?;
    Ok(given)
}

/// The position of a follower in the changes of a view.
#[derive(Clone, Debug)]
pub(crate) enum ChangeCursor {
    Own(ViewFollower),
    /// That of all who follow under this name.
    Named(NamedFollower),
}

impl ChangeCursor {
    fn has_changes(&self, database: &mut DurableDatabase) -> ringview_core::Result<bool> {
        match self {
            Self::Own(cursor) => database.has_changes(cursor),
            Self::Named(cursor) => database.has_changes_as(cursor),
        }
    }
}

/// The same for a follower with a name: what it is given is kept until it commits.
fn hand_over_as<'py>(
    database: &mut DurableDatabase,
    follower: &NamedFollower,
    into: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = into.py();
    let rows = detach(py, || database.changes_as(follower)).or_raise(py)?;
    let given = within(|| into.call1((Rows::new(rows),)))?;
    py.check_signals()?;
    database.given(follower).or_raise(py)?;
    Ok(given)
}

/// A reader with a place of its own in the changes of a view.
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Follower {
    database: Py<Database>,
    /// `None` once it is closed.
    cursor: Mutex<Option<ChangeCursor>>,
}

impl Follower {
    pub(crate) fn new(database: Py<Database>, cursor: ChangeCursor) -> Follower {
        Follower {
            database,
            cursor: Mutex::new(Some(cursor)),
        }
    }

    fn cursor(&self) -> Option<ChangeCursor> {
        let cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        cursor.clone()
    }

    fn open(&self, py: Python<'_>) -> PyResult<ChangeCursor> {
        self.cursor().ok_or_else(|| {
            let message = "this follower is closed; view.follow() makes another";
            named(py, "RingviewError", message)
        })
    }
}

#[pymethods]
impl Follower {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.database)
    }

    /// Changes since the last call, passed to `into`; kept for the next call if that raises.
    fn changes<'py>(&self, into: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = into.py();
        let mut engine = self.database.get().engine(py)?;
        let cursor = self.open(py)?;
        match &cursor {
            ChangeCursor::Own(cursor) => hand_over(engine.value.readers(), cursor, into),
            ChangeCursor::Named(cursor) => hand_over_as(&mut engine.value, cursor, into),
        }
    }

    /// Says that all that it was given is done with: it is never given again. Only a follower with a name can.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let mut engine = self.database.get().engine(py)?;
        match self.open(py)? {
            ChangeCursor::Own(_) => {
                let message = "a follower without a name has no place that is kept; \
                    view.follow(name=..) makes one that has";
                Err(named(py, "UnsupportedError", message))
            }
            ChangeCursor::Named(cursor) => {
                let engine = &mut *engine.value;
                detach(py, || engine.commit_cursor(&cursor)).or_raise(py)
            }
        }
    }

    /// Waits until something has moved, at most `seconds`; for ever if None. Whether it has.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let longest =
            seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok());
        let end = longest.and_then(|longest| Instant::now().checked_add(longest));
        let bell = self.database.get().bell();
        loop {
            let heard = bell.heard();
            let cursor = self.open(py)?;
            let mut engine = self.database.get().engine(py)?;
            if cursor.has_changes(&mut engine.value).or_raise(py)? {
                return Ok(true);
            }
            drop(engine);
            while bell.heard() == heard {
                let now = Instant::now();
                let left = end.map_or(SLICE, |end| end.saturating_duration_since(now));
                if left.is_zero() {
                    return Ok(false);
                }
                detach(py, || bell.wait(heard, left.min(SLICE)));
                watch::check(py)?;
            }
        }
    }

    /// Whether it was closed, or the database was.
    fn is_closed(&self) -> bool {
        self.cursor().is_none() || self.database.get().is_closed()
    }

    /// Ends it, and frees what was kept for it alone; a name keeps its place.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let take = || {
            let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
            cursor.take()
        };
        if self.database.get().is_closed() {
            drop(take());
        } else {
            let mut engine = self.database.get().engine(py)?;
            if let Some(ChangeCursor::Own(cursor)) = take() {
                engine.value.readers().unfollow(cursor);
            }
        }
        self.database.get().bell().ring();
        Ok(())
    }

    fn __repr__(&self) -> &'static str {
        "Follower()"
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // If the database is busy, the next change of the view sees that nobody follows.
        let cursor = self
            .cursor
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(ChangeCursor::Own(cursor)) = cursor.take() {
            let unfollow = |engine: &mut Engine| engine.unfollow(cursor);
            self.database.get().if_idle(unfollow);
        }
    }
}
