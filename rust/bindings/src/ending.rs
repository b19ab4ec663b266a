//! The end of the interpreter, for which it does not wait until daemon threads are done.
//!
//! A thread that takes the interpreter once that ends is ended in the middle: of this extension, with guards on its
//! stack that would take the interpreter again, or of a library behind it whose destructors would, which aborts the
//! process. Invariant: the end waits until no thread runs Python within a call of this extension, or is about to return
//! there. From then on a thread that returns from a call rests until the process ends, and holds what its call held.
//! Other threads that have made calls get a moment to reach this code and rest. All calls release the interpreter and
//! take it through this file. Cost: two atomic additions a call.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

/// Whether the interpreter ends.
static ENDING: AtomicBool = AtomicBool::new(false);
/// A count of threads that run Python within a call, or are about to take the interpreter.
static BUSY: AtomicUsize = AtomicUsize::new(0);
/// Threads that have made calls and are still there.
static CALLERS: AtomicUsize = AtomicUsize::new(0);
/// Those of them that rest.
static RESTING: AtomicUsize = AtomicUsize::new(0);
/// The thread that ends the interpreter.
static LAST: OnceLock<ThreadId> = OnceLock::new();

/// The end waits so long for busy threads.
const PATIENCE: Duration = Duration::from_secs(5);
/// Its wait for threads that may rest here but need not.
const MOMENT: Duration = Duration::from_millis(100);

thread_local! {
    static THIS: Caller = Caller::new();
}

/// A thread that makes calls.
struct Caller {
    /// Its part of `BUSY`.
    busy: Cell<usize>,
}

impl Caller {
    fn new() -> Self {
        CALLERS.fetch_add(1, Ordering::SeqCst);
        let busy = Cell::new(0);
        Self { busy }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        CALLERS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the interpreter ends.
pub(crate) fn has_begun() -> bool {
    ENDING.load(Ordering::SeqCst)
}

/// Sees to it that the end is noticed.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    let begin = PyCFunction::new_closure(py, None, None, |args, _| begin(args.py()))?;
    py.import("atexit")?.call_method1("register", (begin,))?;
    Ok(())
}

/// The interpreter ends: whoever is about to take it still does, and nobody else.
fn begin(py: Python<'_>) {
    LAST.get_or_init(|| thread::current().id());
    ENDING.store(true, Ordering::SeqCst);
    let own = THIS.with(|this| this.busy.get());
    py.detach(|| {
        wait(PATIENCE, || BUSY.load(Ordering::SeqCst) <= own);
        // This thread is one of the callers.
        wait(MOMENT, || {
            RESTING.load(Ordering::SeqCst) + 1 >= CALLERS.load(Ordering::SeqCst)
        });
    });
}

/// Waits until something holds, at most so long.
fn wait(most: Duration, holds: impl Fn() -> bool) {
    let end = Instant::now() + most;
    while !holds() && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Counts what this thread does as busy until the end of a scope, also where that panics.
struct Busy;

impl Busy {
    /// Of a thread that has the interpreter.
    fn attached() -> Self {
        BUSY.fetch_add(1, Ordering::SeqCst);
        // The last values of a thread may be dropped behind its own.
        let _ = THIS.try_with(|this| this.busy.set(this.busy.get() + 1));
        Self
    }

    /// Of a thread that is about to take the interpreter; it rests where that is too late.
    fn returning() -> Self {
        let busy = Self::attached();
        if has_begun() && !is_last() {
            rest();
        }
        busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = THIS.try_with(|this| this.busy.set(this.busy.get().saturating_sub(1)));
        BUSY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Rests for ever, within whatever calls it was.
fn rest() -> ! {
    let busy = THIS.try_with(|this| this.busy.get()).unwrap_or(1);
    BUSY.fetch_sub(busy, Ordering::SeqCst);
    RESTING.fetch_add(1, Ordering::SeqCst);
    loop {
        thread::park();
    }
}

/// Whether this thread ends the interpreter.
fn is_last() -> bool {
    LAST.get() == Some(&thread::current().id())
}

/// Releases the interpreter while something runs.
pub(crate) fn detach<T: Send>(py: Python<'_>, run: impl Send + FnOnce() -> T) -> T {
    struct Returns<'b>(&'b mut Option<Busy>);

    impl Drop for Returns<'_> {
        fn drop(&mut self) {
            *self.0 = Some(Busy::returning());
        }
    }

    let mut behind = None;
    let before = &mut behind;
    py.detach(move || {
        let _before = Returns(before);
        run()
    })
}

/// Takes the interpreter on a thread that released it, or never had it.
pub(crate) fn attach<T>(run: impl FnOnce(Python<'_>) -> T) -> T {
    let _busy = Busy::returning();
    Python::attach(run)
}

/// Runs what calls Python that others wrote, on a thread that has the interpreter: the end waits for it.
pub(crate) fn within<T>(run: impl FnOnce() -> T) -> T {
    let _busy = Busy::attached();
    run()
}

/// Takes the interpreter back by the state of this thread that `PyEval_SaveThread` gave.
///
/// # Safety
/// The state is this thread's, and was not given back.
// Test: tests/python/test_ends.py::test_the_interpreter_ends_while_daemon_threads_are_in_calls
pub(crate) unsafe fn restore(state: *mut ffi::PyThreadState) {
    let _busy = Busy::returning();
    // SAFETY: as the caller promises.
    // Test: tests/python/test_ends.py::test_the_interpreter_ends_while_daemon_threads_are_in_calls
    unsafe { ffi::PyEval_RestoreThread(state) }
}
