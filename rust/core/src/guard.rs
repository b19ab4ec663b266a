//! Work that panics, as an error.
//!
//! Invariant: the work changes nothing that outlives it, or its caller puts back what it took, so whatever holds the data
//! stays usable. Cost: none where nothing panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Error, Result};

/// Result of some work; an error where it panics.
///
/// # Errors
/// Those of the work; `Unsupported` where it panics.
///
/// ```
/// # std::panic::set_hook(Box::new(|_| {}));
/// let found = ringview_core::guarded::<u32>(|| panic!("a bug"));
/// assert!(found.unwrap_err().to_string().contains("nothing was changed"));
/// ```
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::Unsupported {
            what: "this query".to_owned(),
            why: "it failed in a way that should be impossible, and nothing was changed".to_owned(),
            instead: "write it in another way, and please report the bug".to_owned(),
        })
    })
}
