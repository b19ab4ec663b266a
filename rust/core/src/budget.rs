//! Budget of a long call: it polls for an interruption, and checks the memory limit, as the call
//! works.
//!
//! Invariant: between two polls lies at most [`PERIOD`] of work and one block more, wherever it is
//! done: a unit is a row, a pair of a join, an entry of a result, or sixteen words of a wide
//! payload. An error from a poll stops the call, and its effects are undone. A thread that helps
//! the call has a budget of its own, made of a [`Share`]: it does not poll, and stops when a flag
//! is set. Cost: a subtraction a block of work; a call of few rows has no other cost.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::room::Room;
use crate::{Error, Result};

/// Units of work between two polls.
pub const PERIOD: u64 = 1 << 16;

/// Callback with the number of rows that are done: an error stops the call.
type Poll<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// The budget of one call.
pub struct Budget<'a> {
    poll: Option<RefCell<Poll<'a>>>,
    /// Set by the thread that this one helps.
    stop: Option<&'a AtomicBool>,
    /// Whether a poll returned an error.
    refused: Cell<bool>,
    rows: Cell<u64>,
    left: Cell<u64>,
    asked: Cell<bool>,
    limit: u64,
    /// Bytes beyond the limit that may be held for a time.
    beyond: Cell<u64>,
    held: Cell<u64>,
    /// Memory that is left for single results.
    room: Room,
    /// Number of the count in `held`, once it was read; else 0.
    counted: Cell<u64>,
}

/// Part of the budget of a call that a helping thread reads.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    stop: &'a AtomicBool,
    limit: u64,
    beyond: u64,
    held: u64,
    counted: u64,
}

impl<'a> Share<'a> {
    /// The budget of one thread. Growth counted in it is not visible to others until the helpers have ended.
    #[must_use]
    pub fn budget(self) -> Budget<'a> {
        Budget {
            stop: Some(self.stop),
            limit: self.limit,
            beyond: Cell::new(self.beyond),
            held: Cell::new(self.held),
            room: Room::of(self.limit.saturating_add(self.beyond)),
            counted: Cell::new(self.counted),
            ..Budget::free()
        }
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("rows", &self.rows)
            .field("left", &self.left)
            .field("limit", &self.limit)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl<'a> Budget<'a> {
    /// A budget of a call that nobody stops.
    #[must_use]
    pub fn free() -> Budget<'a> {
        Budget {
            poll: None,
            stop: None,
            refused: Cell::new(false),
            rows: Cell::new(0),
            left: Cell::new(PERIOD),
            asked: Cell::new(false),
            limit: u64::MAX,
            beyond: Cell::new(0),
            held: Cell::new(0),
            room: Room::unchanged(),
            counted: Cell::new(0),
        }
    }

    /// A budget that calls `poll`.
    pub fn new(poll: &'a mut dyn FnMut(u64) -> Result<()>) -> Budget<'a> {
        Budget {
            poll: Some(RefCell::new(poll)),
            ..Budget::free()
        }
    }

    /// The same with a limit of memory, in bytes, of which so many are held.
    #[must_use]
    pub fn limited(self, limit: u64, held: u64) -> Budget<'a> {
        let room = Room::of(limit);
        let budget = Budget {
            limit,
            room,
            ..self
        };
        budget.recount(held);
        budget
    }

    /// The part for helping threads; `stop` stops them.
    #[must_use]
    pub fn share<'s>(&self, stop: &'s AtomicBool) -> Share<'s> {
        Share {
            stop,
            limit: self.limit,
            beyond: self.beyond.get(),
            held: self.held.get(),
            counted: self.counted(),
        }
    }

    /// Bytes that something kept has grown by under the budget of a helping thread, as far as it noted.
    #[must_use]
    pub fn grown_since(&self, share: &Share<'_>) -> u64 {
        self.held.get().saturating_sub(share.held)
    }

    /// Counts `rows` more rows as done. Polls.
    ///
    /// # Errors
    /// The error of the poll.
    pub fn done(&self, rows: u64) -> Result<()> {
        self.rows.set(self.rows.get() + rows);
        // Work on a row besides its own is counted by `work`.
        self.left.set(self.left.get().saturating_sub(rows));
        self.poll()
    }

    /// Counts work, and polls if it is due.
    ///
    /// # Errors
    /// The error of the poll.
    #[inline]
    pub fn work(&self, units: u64) -> Result<()> {
        if self.is_due(units) {
            return self.ask();
        }
        Ok(())
    }

    /// Counts work; returns whether a poll is due.
    #[inline]
    #[must_use]
    pub fn is_due(&self, units: u64) -> bool {
        let left = self.left.get().checked_sub(units);
        self.left.set(left.unwrap_or(0));
        left.is_none()
    }

    /// Polls at once.
    ///
    /// # Errors
    /// The error of the poll.
    #[cold]
    pub fn ask(&self) -> Result<()> {
        self.left.set(PERIOD);
        self.asked.set(true);
        self.poll()
    }

    fn poll(&self) -> Result<()> {
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::Interrupted);
        }
        let Some(poll) = &self.poll else {
            return Ok(());
        };
        let answer = (poll.borrow_mut())(self.rows.get());
        self.refused.set(answer.is_err());
        answer
    }

    /// Whether the last poll returned an error.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused.get()
    }

    /// Whether it polled, other than by `done`, since the last call of this.
    pub fn has_asked(&self) -> bool {
        self.asked.take()
    }

    /// From here on so many bytes beyond the limit may be held: those that are given back at the end, by which a change is
    /// undone; `u64::MAX` for a change that only frees.
    pub fn allow(&self, beyond: u64) {
        self.beyond.set(beyond);
        self.room.set(self.limit.saturating_add(beyond));
    }

    /// Whether so many bytes may be held.
    #[must_use]
    pub fn has_room(&self, held: u64) -> bool {
        held <= self.limit.saturating_add(self.beyond.get())
    }

    /// Whether there is a limit of memory.
    #[must_use]
    pub fn has_limit(&self) -> bool {
        self.limit != u64::MAX
    }

    /// A number that identifies one count of the memory in use.
    #[must_use]
    pub fn counted(&self) -> u64 {
        static COUNTS: AtomicU64 = AtomicU64::new(1);
        if self.counted.get() == 0 {
            self.counted.set(COUNTS.fetch_add(1, Ordering::Relaxed));
        }
        self.counted.get()
    }

    /// All that is held was counted anew.
    pub fn recount(&self, held: u64) {
        self.held.set(held);
        self.counted.set(0);
    }

    /// Something that is kept has grown.
    ///
    /// # Errors
    /// `Memory` if that exceeds the limit.
    pub fn grown(&self, bytes: u64) -> Result<()> {
        self.held.set(self.held.get().saturating_add(bytes));
        if bytes == 0 || self.has_room(self.held.get()) {
            return Ok(());
        }
        Err(self.too_much())
    }

    /// The error for a database that exceeds its limit.
    #[cold]
    #[must_use]
    pub fn too_much(&self) -> Error {
        Error::Memory {
            what: "what the database would keep".to_owned(),
            needed: self.held.get(),
            limit: self.limit,
            instead: "drop views, delete rows, or raise memory_limit; \
                      nothing of this transaction was applied",
        }
    }

    /// Whether there is room for something that is about to be made, known by its words.
    ///
    /// # Errors
    /// `Memory`.
    pub fn reserve(
        &self,
        bytes: u64,
        what: impl FnOnce() -> String,
        instead: &'static str,
    ) -> Result<()> {
        let needed = self.held.get().saturating_add(bytes);
        if self.has_room(needed) && bytes <= isize::MAX as u64 {
            return Ok(());
        }
        Err(Error::Memory {
            what: format!("{}, beside what is held,", what()),
            needed,
            limit: self.limit,
            instead,
        })
    }
}

/// Room for so many elements, or the error that says that there is none.
///
/// # Errors
/// `Memory`.
pub fn reserve<T>(vec: &mut Vec<T>, more: usize, what: impl FnOnce() -> String) -> Result<()> {
    vec.try_reserve_exact(more).map_err(|_| Error::Memory {
        what: what(),
        needed: (more as u64).saturating_mul(size_of::<T>() as u64),
        limit: u64::MAX,
        instead: "ask for less at a time",
    })
}

/// The memory that this process may use, as far as the system reports it: that of the machine, or
/// of its control group.
#[must_use]
pub fn available() -> Option<u64> {
    let number = |path: &str| -> Option<u64> {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse().ok()
    };
    let machine = std::fs::read_to_string("/proc/meminfo").ok().map(|text| {
        let of = |name: &str| -> u64 {
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.strip_prefix(name));
            let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            kilobytes.unwrap_or(0)
        };
        (of("MemTotal:") + of("SwapTotal:")) * 1024
    });
    let groups = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limits = groups.into_iter().filter_map(number).chain(machine);
    limits.filter(|&limit| limit > 0).min()
}
