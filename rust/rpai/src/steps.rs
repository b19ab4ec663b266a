//! Counted work: what tests of complexity read instead of a clock.
//!
//! A step is a node visited, or an entry looked at where entries are looked at one by one. Readers
//! that run at the same time may lose counts to each other, never more. Cost: a load and a store.

use std::sync::atomic::{AtomicU64, Ordering};

/// Steps since something was made.
#[derive(Debug, Default)]
pub(crate) struct Steps(AtomicU64);

impl Steps {
    #[inline(always)]
    pub(crate) fn count(&self, steps: usize) {
        let before = self.0.load(Ordering::Relaxed);
        (self.0).store(before.wrapping_add(steps as u64), Ordering::Relaxed);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for Steps {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.total()))
    }
}
