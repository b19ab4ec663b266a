//! Problems of the library as ours.
//!
//! Invariant: integers that do not fit are an `Overflow`. Cost: none.

use datafusion_common::DataFusionError;
use ringview_core::Error;

/// Something that the library refuses and no text should bring about.
pub(crate) fn broken(problem: &str) -> Error {
    Error::Value {
        place: "a row expression".to_owned(),
        problem: problem.to_owned(),
    }
}

/// A row that cannot be computed.
pub(crate) fn of_a_row(problem: &DataFusionError, place: &str) -> Error {
    let message = problem.find_root().strip_backtrace();
    let place = place.to_owned();
    if message.contains("verflow") || message.contains("exceeds the representable") {
        return Error::Overflow { place };
    }
    Error::Value {
        place,
        problem: format!("{message} in a row; nothing of this transaction was applied"),
    }
}
