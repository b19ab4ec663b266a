//! Memory limit of a database, and the check whether a change stays within it.
//!
//! Invariant: a change that makes what is held grow beyond the limit is undone; one that makes it shrink never is,
//! though it holds the more for a time, to be undone, the more it frees. Without a limit of its own a database has that
//! of the machine or of the control group, so that it returns an error before the system ends the process. Cost: with a
//! limit, O(tables and nodes of views) a chunk of rows; else the same once in [`EVERY`] rows.

use ringview_core::available;

/// Rows between two counts where no limit was set.
pub(crate) const EVERY: u64 = 1 << 16;

/// Memory use of a database, and its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// The limit, in bytes; `u64::MAX` if there is none, not even the machine's.
    pub(crate) limit: u64,
    /// Whether the user set it, and not the system.
    pub(crate) is_set: bool,
    /// Bytes held when they were last counted.
    pub(crate) held: u64,
    /// Whether what runs is read for a change that only frees.
    pub(crate) frees: bool,
    /// Bytes held when the running call began.
    pub(crate) start: u64,
    /// Bytes of those held that are room which changes that were undone have left behind: the next
    /// ones use it, so it does not count.
    pub(crate) spare: u64,
    /// Rows since.
    pub(crate) since: u64,
    /// Bytes that whoever keeps the database holds beside it.
    pub(crate) other_columns: u64,
}

impl Memory {
    pub(crate) fn new(limit: Option<u64>) -> Memory {
        Memory {
            limit: limit.or_else(available).unwrap_or(u64::MAX),
            is_set: limit.is_some(),
            held: 0,
            frees: false,
            start: 0,
            spare: 0,
            since: 0,
            other_columns: 0,
        }
    }
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new(None)
    }
}
