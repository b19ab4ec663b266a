//! Where a named follower stands.
//!
//! Invariant: parts that were given stand before those that were not. Cost: the rows that it has not committed.

use std::collections::{BTreeMap, VecDeque};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use ringview_core::{Error, Result};
use ringview_engine::ViewFollower;

use crate::cursors::FollowerCursor;
use crate::record::write_part;

/// By view and name.
pub(crate) type Named = BTreeMap<(String, String), Standing>;

/// Where a follower stands.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Behind all parts.
    pub(crate) cursor: ViewFollower,
    /// How many records that has seen; `None` if it is to be given the whole view first.
    pub(crate) at: Option<u64>,
    /// The same, as it was last committed.
    pub(crate) committed: Option<u64>,
    /// What it was given and has not committed, then what it is to be given next.
    pub(crate) parts: VecDeque<RecordBatch>,
    /// How many of them it was given.
    pub(crate) given: usize,
}

impl Standing {
    /// Its place in a file, of which some parts are not to be told again.
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
