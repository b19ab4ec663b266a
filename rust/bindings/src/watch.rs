//! Ctrl-C and progress during long calls, and the interpreter for the others.
//!
//! A call that looks small begins with the interpreter in its hands, as releasing it would take longer than the call;
//! if it turns out not to be small, it is released after all, at the second look.
//!
//! A thread that is not the main one hears no Ctrl-C. It can be given a flag instead (`cancellable`), by which another thread
//! ends its call: a look hears that, too.
//!
//! Cost: a call that handles few rows never looks; a long one looks once in `EVERY` rows, and whenever a poll has no
//! row more done: one row, or one chunk of them, takes long then.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::prelude::*;
use ringview_core::Error;

use crate::ending::{attach, restore, within};
use crate::errors::OrRaise;

/// Rows between two looks.
const EVERY: u64 = 1 << 16;

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs what ends soon after the flag is raised, as on Ctrl-C.
pub(crate) fn cancellable<T>(flag: &Arc<AtomicBool>, run: impl FnOnce() -> T) -> T {
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            FLAG.set(self.0.take());
        }
    }
    let _before = Before(FLAG.replace(Some(Arc::clone(flag))));
    run()
}

/// Raises KeyboardInterrupt if Ctrl-C was pressed, or the flag of this thread was raised.
pub(crate) fn check(py: Python<'_>) -> PyResult<()> {
    let raised = FLAG.with_borrow(|flag| {
        flag.as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    });
    match raised {
        true => Err(PyKeyboardInterrupt::new_err("the call was cancelled")),
        false => py.check_signals(),
    }
}

/// Watches over one call.
#[derive(Debug)]
pub(crate) struct Progress {
    progress: Option<Py<PyAny>>,
    /// Rows of the whole call, if known.
    total: u64,
    seen: u64,
    /// Rows done at the last poll.
    asked: u64,
    raised: Option<PyErr>,
    /// Whether the call began with the interpreter in its hands.
    attached: bool,
    looks: u32,
    /// The state of this thread while the interpreter is released.
    away: Option<NonNull<ffi::PyThreadState>>,
}

// SAFETY: the state of a thread is passed for the time of a call that runs in that same thread: `Python::detach`
// requires `Send` though nothing is sent.
// Test: tests/python/test_long_calls.py::test_progress_is_reported
unsafe impl Send for Progress {}

impl Progress {
    pub(crate) fn new(progress: Option<Py<PyAny>>, total: u64) -> Progress {
        Progress {
            progress,
            total,
            seen: 0,
            asked: 0,
            raised: None,
            attached: false,
            looks: 0,
            away: None,
        }
    }

    /// Whether there is a callback of progress.
    pub(crate) fn is_followed(&self) -> bool {
        self.progress.is_some()
    }

    /// Runs a call that is likely to be small without releasing the interpreter beforehand.
    pub(crate) fn attached<T>(
        &mut self,
        _py: Python<'_>,
        run: impl FnOnce(&mut Progress) -> T,
    ) -> T {
        self.attached = true;
        let done = run(self);
        self.come_back();
        self.attached = false;
        done
    }

    /// Releases the interpreter until `come_back`.
    fn leave(&mut self) {
        // SAFETY: this thread holds the interpreter, as `attached` has a token of it, and nothing
        // of Python is touched before `come_back` but by `look`, which calls that first.
        // Test: tests/python/test_long_calls.py::test_progress_is_reported
        self.away = NonNull::new(unsafe { ffi::PyEval_SaveThread() });
    }

    fn come_back(&mut self) {
        if let Some(state) = self.away.take() {
            // SAFETY: it is what `PyEval_SaveThread` gave to this thread, once.
            // Test: tests/python/test_long_calls.py::test_progress_is_reported
            unsafe { restore(state.as_ptr()) }
        }
    }

    /// Notes that so many rows are done. An error means that the caller wants to stop.
    #[inline]
    pub(crate) fn poll(&mut self, done: u64) -> ringview_core::Result<()> {
        let last = self.progress.is_some() && done == self.total;
        let again = std::mem::replace(&mut self.asked, done) == done;
        // A call that fills several things counts each from 0.
        if done.abs_diff(self.seen) < EVERY && !last && !again {
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
        self.come_back();
        let look = |py: Python<'_>| {
            check(py)?;
            match &self.progress {
                Some(progress) => progress.call1(py, (done,)).map(drop),
                None => Ok(()),
            }
        };
        let looked = match self.attached {
            true => within(|| Python::attach(look)),
            false => attach(look),
        };
        self.looks += 1;
        if self.attached && self.looks > 1 {
            self.leave();
        }
        looked.map_err(|error| {
            self.raised = Some(error);
            Error::Interrupted
        })
    }

    /// Result of a watched call: the exception that stopped it precedes the engine's own error.
    pub(crate) fn finish<T>(
        mut self,
        py: Python<'_>,
        done: ringview_core::Result<T>,
    ) -> PyResult<T> {
        match (done, self.raised.take()) {
            (Ok(done), _) => Ok(done),
            (Err(_), Some(raised)) => Err(raised),
            (Err(error), None) => Err(error).or_raise(py),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Only where a call panicked.
        self.come_back();
    }
}
