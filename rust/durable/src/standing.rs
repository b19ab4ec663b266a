//! Position of a named follower.
//!
//! Invariant: delivered parts precede the others. Cost: the rows that it has not committed.

use std::collections::{BTreeMap, VecDeque};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use ringview_core::{Error, Result};
use ringview_engine::ViewFollower;

use crate::cursors::FollowerCursor;
use crate::record::write_part;

/// By view and name.
pub(crate) type Named = BTreeMap<(String, String), Standing>;

/// Position of a follower, and its pending changes.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Behind all parts.
    pub(crate) cursor: ViewFollower,
    /// Number of records whose changes the cursor has; `None` if the follower is to receive the
    /// whole view first.
    pub(crate) at: Option<u64>,
    /// The same, as it was last committed.
    pub(crate) committed: Option<u64>,
    /// Parts delivered and not committed, then the following ones.
    pub(crate) parts: VecDeque<RecordBatch>,
    /// Number of delivered parts.
    pub(crate) given: usize,
}

impl Standing {
    /// Its cursor for the file, without the first `done` parts, which are not delivered again.
    pub(crate) fn cursor(
        &self,
        (view, name): &(String, String),
        done: usize,
    ) -> Result<FollowerCursor> {
        let written =
            |part: &RecordBatch| write_part(part).map_err(|problem| unwritten(view, &problem));
        Ok(FollowerCursor {
            view: view.clone(),
            name: name.clone(),
            at: self.at,
            parts: self
                .parts
                .range(done..)
                .map(written)
                .collect::<Result<_>>()?,
        })
    }
}

pub(crate) fn unwritten(view: &str, problem: &ArrowError) -> Error {
    Error::Value {
        place: format!("what moved in view {view:?}"),
        problem: problem.to_string(),
    }
}
