//! Rings when something has moved, for those who wait for it.
//!
//! Invariant: who waits from what it heard misses no ring. Cost: O(1) a ring.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Wakes the threads that wait for a change.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<u64>,
    wake: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.wake.notify_all();
    }

    pub(super) fn heard(&self) -> u64 {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it rings after `heard`, at most so long.
    pub(super) fn wait(&self, heard: u64, longest: Duration) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .wake
            .wait_timeout_while(rung, longest, |rung| *rung == heard);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
