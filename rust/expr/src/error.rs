//! Problems of the library as ours.
//!
//! Invariant: integers that do not fit are an `Overflow`. Cost: none.

use datafusion_common::DataFusionError;
use ringview_core::Error;

use crate::registry::as_written;

/// Something that the library refuses and no text should bring about.
pub(crate) fn broken(problem: &str) -> Error {
    Error::Value {
        place: "a row expression".to_owned(),
        problem: problem.to_owned(),
    }
}

/// An error of ours that the library hands on.
pub(crate) fn own(problem: &DataFusionError) -> Option<Error> {
    match problem.find_root() {
        DataFusionError::External(inner) => inner.downcast_ref::<Error>().cloned(),
        _ => None,
    }
}

/// A row that cannot be computed.
pub(crate) fn of_a_row(problem: &DataFusionError, place: &str) -> Error {
    uncomputed(
        problem,
        place,
        " in a row; nothing of this transaction was applied",
    )
}

/// A constant that cannot be computed.
pub(crate) fn of_a_constant(problem: &DataFusionError, place: &str) -> Error {
    uncomputed(problem, place, "")
}

fn uncomputed(problem: &DataFusionError, place: &str, told: &str) -> Error {
    if let Some(own) = own(problem) {
        return own;
    }
    let place = as_written(place);
    let message = problem.find_root().strip_backtrace();
    if message.contains("verflow") || message.contains("exceeds the representable") {
        return Error::Overflow { place };
    }
    let message = message.lines().next().unwrap_or_default();
    let message = message.split_once(": ").map_or(message, |(_, rest)| rest);
    Error::Value {
        place,
        problem: as_written(message) + told,
    }
}
