//! Memory that computing one result may take on this thread.
//!
//! Invariant: code whose allocations depend on a user's argument, as the texts of `repeat(t, n)`, checks here first. So
//! a limit of memory holds within expressions, and no argument ends the process. A result takes [`MOST`] at the most,
//! however large the limit, so that the next poll of the caller follows soon. Cost: two reads of a number of the
//! thread.

use std::cell::Cell;

use crate::{Error, Result};

/// Bytes that one result may take, whatever the limit is.
pub const MOST: u64 = 256 << 20;

thread_local! {
    /// Bytes that the database which computes may hold.
    static LIMIT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Room that a budget gives to results on this thread, until it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    before: Option<u64>,
}

impl Room {
    /// As much as there was before.
    pub(crate) const fn unchanged() -> Room {
        Room { before: None }
    }

    /// So many bytes.
    pub(crate) fn of(bytes: u64) -> Room {
        let before = Some(LIMIT.replace(bytes));
        Room { before }
    }

    /// So many bytes from here on.
    pub(crate) fn set(&self, bytes: u64) {
        if self.before.is_some() {
            LIMIT.set(bytes);
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            LIMIT.set(before);
        }
    }
}

/// Refuses a result of so many bytes if there is no room for it.
///
/// # Errors
/// `Memory`, with the words for the result.
pub fn check_room(bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
    let limit = LIMIT.get().min(MOST);
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::Memory {
        what: what(),
        needed: bytes,
        limit,
        instead: "make it shorter, or raise memory_limit",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_leaves_room_while_it_is_there() {
        let check = |bytes| check_room(bytes, || "a text".to_owned());
        assert!(check(MOST).is_ok() && check(MOST + 1).is_err());
        {
            let _outer = Room::of(100);
            assert!(check(100).is_ok() && check(101).is_err());
            drop(Room::of(5));
            assert!(check(100).is_ok());
            let _inner = Room::unchanged();
            assert!(check(101).is_err());
        }
        assert!(check(MOST).is_ok());
    }
}
