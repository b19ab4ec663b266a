//! The logs of a node, for those who follow it: its deltas as rows, and as partials.
//!
//! Invariant: a log is kept once somebody followed, and is open while somebody has begun to read. Cost: that of `log`.

use super::log::Log;
use super::partial_deltas::PartialDeltas;
use super::row_deltas::RowDeltas;

/// The logs of a node.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    pub(crate) rows: Option<Log<RowDeltas>>,
    pub(crate) partials: Option<Log<PartialDeltas>>,
}

impl Logs {
    /// Whether somebody follows it, or did.
    pub(crate) fn were_followed(&self) -> bool {
        self.rows.is_some() || self.partials.is_some()
    }

    /// Whether somebody follows its rows.
    pub(crate) fn logs_rows(&self) -> bool {
        self.rows.as_ref().is_some_and(Log::is_open)
    }

    /// Whether somebody follows its partials.
    pub(crate) fn logs_partials(&self) -> bool {
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
