//! Result of binding a query over computed rows.
//!
//! Invariant: none beyond its shape. Cost: none.

use ringview_core::Error;

use super::bound::PlanOutput;

/// The columns that are read, by atom, and what is shown.
pub(super) type Shown = (Vec<Vec<usize>>, Vec<PlanOutput>);

/// The error for a definition that does not fit its atoms.
pub(super) fn shape(problem: &str) -> Error {
    Error::Value {
        place: "the rows of the query".to_owned(),
        problem: problem.to_owned(),
    }
}
