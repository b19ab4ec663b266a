//! Ctrl-C and progress during long calls.
//!
//! Cost: a call that handles few rows never looks; a long one looks once in `EVERY` rows, and when it
//! is asked again with no row more done: what one row, or one chunk of them, means takes long.

use pyo3::prelude::*;
use ringview_core::Error;

use crate::errors::OrRaise;

/// Rows between two looks.
const EVERY: u64 = 1 << 16;

/// Watches over one call.
#[derive(Debug)]
pub(crate) struct Watch {
    progress: Option<Py<PyAny>>,
    /// Rows of the whole call, if known.
    total: u64,
    seen: u64,
    /// Rows done when it was last asked.
    asked: u64,
    raised: Option<PyErr>,
}

impl Watch {
    pub(crate) fn new(progress: Option<Py<PyAny>>, total: u64) -> Watch {
        Watch {
            progress,
            total,
            seen: 0,
            asked: 0,
            raised: None,
        }
    }

    /// Notes that so many rows are done. An error means that the caller wants to stop.
    #[inline]
    pub(crate) fn poll(&mut self, done: u64) -> ringview_core::Result<()> {
        let last = self.progress.is_some() && done == self.total;
        let again = std::mem::replace(&mut self.asked, done) == done;
        if done - self.seen < EVERY && !last && !again {
            return Ok(());
        }
        self.seen = done;
        self.look(done)
    }

    /// Looks at once: for calls whose steps take long.
    pub(crate) fn look_now(&mut self) -> ringview_core::Result<()> {
        self.look(0)
    }

    #[cold]
    fn look(&mut self, done: u64) -> ringview_core::Result<()> {
        let looked = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (done,)).map(drop),
                None => Ok(()),
            }
        });
        looked.map_err(|error| {
            self.raised = Some(error);
            Error::Interrupted
        })
    }

    /// What a watched call comes to: what stopped it goes before the engine's own words for it.
    pub(crate) fn finish<T>(self, py: Python<'_>, done: ringview_core::Result<T>) -> PyResult<T> {
        match (done, self.raised) {
            (Ok(done), _) => Ok(done),
            (Err(_), Some(raised)) => Err(raised),
            (Err(error), None) => Err(error).or_raise(py),
        }
    }
}
