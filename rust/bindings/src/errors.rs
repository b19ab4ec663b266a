//! Errors to exceptions, in one place: a variant of `Error` is a class of `ringview.errors`.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use ringview_core::{Error, SqlProblem};

/// The exception for an error of the engine.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::UnknownTable { .. } | Error::Stale { kind: "table", .. } => "UnknownTableError",
        Error::UnknownView { .. } | Error::Stale { .. } => "UnknownViewError",
        Error::UnknownColumn { .. } => "UnknownColumnError",
        Error::UnknownFunction { .. } => "UnknownFunctionError",
        Error::Function { .. } => "FunctionError",
        Error::Exists { .. } => "ExistsError",
        Error::InUse { .. } => "InUseError",
        Error::Type { .. } => "TypeMismatchError",
        Error::Value { .. } | Error::NullFeature { .. } => "InvalidValueError",
        Error::Null { .. } | Error::NullKey { .. } | Error::NotANumber { .. } => "NullKeyError",
        Error::OverDelete { .. } => "OverDeleteError",
        Error::Duplicate { .. } => "DuplicateKeyError",
        Error::UnknownKey { .. } => "UnknownKeyError",
        Error::Overflow { .. } => "ArithmeticOverflowError",
        Error::Static { .. } => "StaticTableError",
        Error::Unsupported { .. } => "UnsupportedError",
        Error::Sql { problem, .. } => match problem {
            SqlProblem::Query => "QueryError",
            SqlProblem::UnknownTable => "UnknownTableError",
            SqlProblem::UnknownColumn => "UnknownColumnError",
            SqlProblem::Type => "TypeMismatchError",
            SqlProblem::Value => "InvalidValueError",
            SqlProblem::Unsupported => "UnsupportedError",
        },
        Error::Changed { .. } => "ViewChangedError",
        Error::Suspended { .. } => "SuspendedError",
        Error::Snapshot { .. } => "SnapshotError",
        Error::Storage { .. } => "StorageError",
        Error::Memory { .. } => "OutOfMemoryError",
        Error::Interrupted => return PyKeyboardInterrupt::new_err(error.to_string()),
        _ => "RingviewError",
    };
    let mut message = ringview_expr::shown(&error.to_string());
    if let Error::UnknownTable { name, known }
    | Error::UnknownView { name, known }
    | Error::UnknownFunction { name, known }
    | Error::UnknownColumn {
        column: name,
        known,
        ..
    } = error
    {
        message.push_str(&did_you_mean(py, name, known));
    }
    let made = named(py, class, &message);
    if let Error::Function {
        cause: Some(cause), ..
    } = error
        && let Some(raised) = cause.0.downcast_ref::<PyErr>()
    {
        made.set_cause(py, Some(raised.clone_ref(py)));
    }
    made
}

/// Text that suggests a known name which looks like the unknown one.
fn did_you_mean(py: Python<'_>, name: &str, known: &[String]) -> String {
    let module = py.import("ringview.errors");
    let said = module.and_then(|m| {
        m.getattr("did_you_mean")?
            .call1((name, known.to_vec()))?
            .extract()
    });
    // Without it the message is still right.
    said.unwrap_or_default()
}

/// An exception of `ringview.errors`, by the name of its class.
pub(crate) fn named(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py
        .import("ringview.errors")
        .and_then(|module| module.getattr(class)?.call1((message,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(problem) => problem,
    }
}

/// Turns the error of a result of the engine into its exception.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for ringview_core::Result<T> {
    #[inline]
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
