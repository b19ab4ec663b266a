//! What is logged of a node, for those who follow it: rows that moved, and partials.
//!
//! Invariant: a log is there once somebody followed, and is open while somebody is to be told. Cost: that of `log`.

use super::log::Log;
use super::moved_partials::MovedPartials;
use super::moved_rows::MovedRows;

/// The logs of a node.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    pub(crate) rows: Option<Log<MovedRows>>,
    pub(crate) partials: Option<Log<MovedPartials>>,
}

impl Logs {
    /// Whether somebody followed.
    pub(crate) fn are_there(&self) -> bool {
        self.rows.is_some() || self.partials.is_some()
    }

    /// Whether rows that move are to be told.
    pub(crate) fn tell_rows(&self) -> bool {
        self.rows.as_ref().is_some_and(Log::is_open)
    }

    /// Whether partials are.
    pub(crate) fn tell_partials(&self) -> bool {
        self.partials.as_ref().is_some_and(Log::is_open)
    }

    /// As [`Log::forget_lost`].
    pub(crate) fn forget_lost(&mut self) {
        self.rows.iter_mut().for_each(Log::forget_lost);
        self.partials.iter_mut().for_each(Log::forget_lost);
    }

    /// As [`Log::tidy`].
    pub(crate) fn tidy(&mut self) {
        self.rows.iter_mut().for_each(Log::tidy);
        self.partials.iter_mut().for_each(Log::tidy);
    }

    /// Bytes of what is logged.
    pub(crate) fn memory_usage(&self) -> usize {
        let rows = self.rows.as_ref().map_or(0, Log::memory_usage);
        rows + self.partials.as_ref().map_or(0, Log::memory_usage)
    }
}
