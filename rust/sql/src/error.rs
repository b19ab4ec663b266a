//! What is wrong with a text.
//!
//! Invariant: every problem of the library becomes one of ours. Cost: none.

use datafusion_common::DataFusionError;
use ringview_core::Error;

/// A problem of the library as an error.
pub(crate) fn refusal(problem: &DataFusionError) -> Error {
    let problem = problem.find_root();
    if let DataFusionError::SchemaError(inner, _) = problem
        && let datafusion_common::SchemaError::FieldNotFound {
            field,
            valid_fields,
        } = &**inner
    {
        return Error::UnknownColumn {
            table: field
                .relation
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            column: field.name.clone(),
            known: valid_fields
                .iter()
                .map(|field| field.name.clone())
                .collect(),
        };
    }
    let message = problem.strip_backtrace();
    let message = message.lines().next().unwrap_or_default();
    let message = message.split_once(": ").map_or(message, |(_, rest)| rest);
    unsupported(message)
}

/// The name that several columns have, if that is the problem.
pub(crate) fn ambiguous(problem: &DataFusionError) -> Option<String> {
    match problem.find_root() {
        DataFusionError::SchemaError(inner, _) => match &**inner {
            datafusion_common::SchemaError::AmbiguousReference { field } => {
                Some(field.name.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

/// What cannot be kept.
pub(crate) fn unsupported(what: &str) -> Error {
    Error::Unsupported {
        what: "this SQL".to_owned(),
        why: what.to_owned(),
        instead: "compute that part from what you read".to_owned(),
    }
}
