//! One call at a time on a value, whichever threads call.
//!
//! Invariant: a thread that waits for another's call has released the interpreter, so the two cannot
//! wait for each other; the main thread hears Ctrl-C as it waits; a call from within a call (from a
//! progress callback, or a function of the user) is an error, not a wait without end. So is a call in a forked process on a value
//! that a thread of the parent was using: that thread is not there, and what it left half done is
//! neither used nor dropped. A value that nobody used is the child's own copy. A call that panics after it began
//! to change the value leaves it broken, and every later call says so; one that only read leaves it as it was.
//! A thread that waits takes its turn before the value, so whoever calls again and again does not overtake it.
//! Cost: some nanoseconds where nobody else calls.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::ending::{detach, has_begun};
use crate::errors::named;
use crate::incoming::hears;

/// Number of forks between the process that loaded the module and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Time between two checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(20);

thread_local! {
    static HERE: u8 = const { 0 };
    /// Number of functions of the user that this thread is in.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Runs code of the user that an engine calls, on whichever of its threads: a call that holds a value waits for it.
pub(crate) fn called<T>(run: impl FnOnce() -> T) -> T {
    struct CallDepth;
    impl Drop for CallDepth {
        fn drop(&mut self) {
            CALLS.set(CALLS.get() - 1);
        }
    }
    CALLS.set(CALLS.get() + 1);
    let _depth = CallDepth;
    run()
}

/// A lock that was taken while the interpreter was released.
struct SameThread<T>(T);

// SAFETY: it is passed from a closure to its caller in one thread: `detach` requires `Send` though nothing is sent.
// Test: tests/python/test_long_calls.py::test_threads_see_whole_transactions
unsafe impl<T> Send for SameThread<T> {}

/// A number that no other living thread has.
fn this_thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// Sees to it that forks are counted, where there are any.
pub(crate) fn count_forks(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let count = PyCFunction::new_closure(py, None, None, |_, _| {
        FORKS.fetch_add(1, Ordering::Relaxed);
    })?;
    let options = pyo3::types::PyDict::new(py);
    options.set_item("after_in_child", count)?;
    os.call_method("register_at_fork", (), Some(&options))?;
    Ok(())
}

/// A value that one call at a time may use.
#[derive(Debug)]
pub(crate) struct Busy<T> {
    value: Mutex<ManuallyDrop<T>>,
    /// Held by the thread that gets the value next, while it waits for it.
    turn: Mutex<()>,
    /// Its name in messages.
    name: &'static str,
    /// The thread whose call is running; 0 if none is.
    holder: AtomicUsize,
    /// Whether a call panicked that changed it.
    broken: AtomicBool,
    /// The `FORKS` of the process that used it last.
    process: AtomicU32,
    /// Lock of the main thread's wait, and its signal; a thread that finds it taken looks again
    /// later.
    bench: Mutex<()>,
    bell: Condvar,
}

/// The value, for the time of a call.
#[derive(Debug)]
pub(crate) struct Hold<'a, T> {
    pub(crate) value: Guard<'a, T>,
    _ring: Ring<'a>,
}

/// Exclusive access to the value; dropping it ends the call.
#[derive(Debug)]
pub(crate) struct Guard<'a, T> {
    guard: MutexGuard<'a, ManuallyDrop<T>>,
    holder: &'a AtomicUsize,
    broken: &'a AtomicBool,
    /// Whether the call has taken the value to change it.
    changes: bool,
}

/// Wakes the main thread after the guard before it is dropped.
#[derive(Debug)]
struct Ring<'a>(&'a Condvar);

impl<T: Send> Busy<T> {
    pub(crate) fn new(value: T, name: &'static str) -> Busy<T> {
        Busy {
            value: Mutex::new(ManuallyDrop::new(value)),
            turn: Mutex::new(()),
            name,
            holder: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            process: AtomicU32::new(FORKS.load(Ordering::Relaxed)),
            bench: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Waits until no other thread's call is running.
    pub(crate) fn hold(&self, py: Python<'_>) -> PyResult<Hold<'_, T>> {
        self.check_process(py)?;
        // Only this thread can have stored its own number, so order does not matter.
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            return Err(self.reentrant_error(py));
        }
        let free = free(&self.turn).and_then(|_turn| free(&self.value));
        let guard = match free {
            Some(guard) => guard,
            // The call may be that which waits for this thread.
            None if CALLS.get() > 0 => return Err(self.reentrant_error(py)),
            // The thread that uses it rests for ever.
            None if has_begun() => return Err(self.ended_error(py)),
            None => self.wait(py)?,
        };
        if self.broken.load(Ordering::Relaxed) {
            return Err(self.broken_error(py));
        }
        self.value.clear_poison();
        self.holder.store(this_thread(), Ordering::Relaxed);
        Ok(Hold {
            value: Guard {
                guard,
                holder: &self.holder,
                broken: &self.broken,
                changes: false,
            },
            _ring: Ring(&self.bell),
        })
    }

    /// Uses the value now, unless a call is running.
    pub(crate) fn if_idle(&self, use_it: impl FnOnce(&mut T)) {
        if let Ok(mut value) = self.value.try_lock() {
            use_it(&mut **value);
        }
    }

    /// In a forked process, the first call finds out whether the value is whole: as long as nobody
    /// here has used it, the holder of its lock is a thread of the parent. Attached throughout, so
    /// that no other thread of this process interferes.
    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        let forks = FORKS.load(Ordering::Relaxed);
        if self.process.load(Ordering::Relaxed) == forks {
            return Ok(());
        }
        let is_own = self.holder.load(Ordering::Relaxed) == this_thread();
        let is_free = || free(&self.turn).is_some() && free(&self.value).is_some();
        if !is_own && !is_free() {
            let message = format!(
                "this process was forked while a thread was using {}, so it is half changed here; \
                 make a new one, fork while no call is running, or start processes by spawn",
                self.name
            );
            return Err(named(py, "RingviewError", &message));
        }
        self.process.store(forks, Ordering::Relaxed);
        Ok(())
    }

    fn wait(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, ManuallyDrop<T>>> {
        if !hears(py)? {
            let locked = detach(py, || {
                let turn = self.turn.lock();
                let locked = self.value.lock().unwrap_or_else(PoisonError::into_inner);
                drop(turn);
                SameThread(locked)
            });
            return Ok(locked.0);
        }
        let mut turn = None;
        loop {
            detach(py, || match self.bench.try_lock() {
                Ok(seat) => drop(self.bell.wait_timeout(seat, LOOK)),
                Err(_) => std::thread::sleep(LOOK / 20),
            });
            py.check_signals()?;
            turn = turn.or_else(|| free(&self.turn));
            if turn.is_some()
                && let Some(guard) = free(&self.value)
            {
                return Ok(guard);
            }
        }
    }

    fn ended_error(&self, py: Python<'_>) -> PyErr {
        let message = format!(
            "the interpreter ends while a thread that it does not wait for uses {}",
            self.name
        );
        named(py, "RingviewError", &message)
    }

    fn reentrant_error(&self, py: Python<'_>) -> PyErr {
        let message = format!(
            "{} is in the middle of a call that reports its progress, or calls a function; \
             use it when that call is done",
            self.name
        );
        named(py, "RingviewError", &message)
    }

    fn broken_error(&self, py: Python<'_>) -> PyErr {
        let message = format!(
            "an earlier call on {} failed in a way that should be impossible, \
             so its contents cannot be relied on; create a new one, and please report the bug",
            self.name
        );
        named(py, "RingviewError", &message)
    }
}

/// The value of a lock, if nobody holds it.
fn free<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match lock.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
    }
}

impl<T> Drop for Busy<T> {
    fn drop(&mut self) {
        // Nobody of this process can hold it any more. A thread of another left it as it was.
        if matches!(self.value.try_lock(), Err(TryLockError::WouldBlock)) {
            return;
        }
        let value = match self.value.get_mut() {
            Ok(value) => value,
            Err(broken) => broken.into_inner(),
        };
        // SAFETY: it is dropped here alone, and not used again.
        // Test: tests/python/test_forks.py::test_a_thread_in_the_engine_is_told_and_what_it_left_is_not_touched
        unsafe { ManuallyDrop::drop(value) }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changes = true;
        &mut self.guard
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.changes && std::thread::panicking() {
            self.broken.store(true, Ordering::Relaxed);
        }
        self.holder.store(0, Ordering::Relaxed);
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
