//! One call at a time on a database, whichever threads call.
//!
//! Invariant: a thread that waits for another's call has let go of the interpreter, so the two cannot
//! wait for each other; a call from within a call (from a progress callback) is an error, not a wait
//! without end. Cost: a few nanoseconds where nobody else calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::errors::named;

thread_local! {
    static HERE: u8 = const { 0 };
}

/// A number that no other living thread has.
fn this_thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// A value that one call at a time may use.
#[derive(Debug)]
pub(crate) struct Busy<T> {
    value: Mutex<T>,
    /// The thread whose call is running; 0 if none is.
    holder: AtomicUsize,
}

/// The value, for the time of a call.
#[derive(Debug)]
pub(crate) struct Hold<'a, T> {
    pub(crate) value: MutexGuard<'a, T>,
    holder: &'a AtomicUsize,
}

impl<T> Busy<T> {
    pub(crate) fn new(value: T) -> Busy<T> {
        Busy {
            value: Mutex::new(value),
            holder: AtomicUsize::new(0),
        }
    }

    /// Waits until no other thread's call is running.
    pub(crate) fn hold(&self, py: Python<'_>) -> PyResult<Hold<'_, T>> {
        // Only this thread can have stored its own number, so order does not matter.
        if self.holder.load(Ordering::Relaxed) == this_thread() {
            return Err(named(
                py,
                "RingviewError",
                "the database is in the middle of a call that reports its progress; \
                 use it when that call is done",
            ));
        }
        let Ok(value) = self.value.lock_py_attached(py) else {
            return Err(named(
                py,
                "RingviewError",
                "an earlier call on this database failed in a way that should be impossible, \
                 so its contents cannot be relied on; create a new one, and please report the bug",
            ));
        };
        self.holder.store(this_thread(), Ordering::Relaxed);
        Ok(Hold {
            value,
            holder: &self.holder,
        })
    }

    /// Uses the value now, unless a call is running.
    pub(crate) fn if_idle(&self, use_it: impl FnOnce(&mut T)) {
        if let Ok(mut value) = self.value.try_lock() {
            use_it(&mut value);
        }
    }
}

impl<T> Drop for Hold<'_, T> {
    fn drop(&mut self) {
        self.holder.store(0, Ordering::Relaxed);
    }
}
