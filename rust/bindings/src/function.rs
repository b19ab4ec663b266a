//! Functions of the user: Python computes them over Arrow arrays.
//!
//! The engine calls them from whichever of its threads, without the interpreter in its hands; each call takes it. Invariant:
//! what Python returns is checked, types, lengths and buffers, before anything reads it; a function is not called while a
//! thread that holds the interpreter waits for the engine. Cost: a call, tens of microseconds above what the function
//! takes, for a batch of rows or for a group.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use ringview_core::{Cause, Error, Result};
use ringview_expr::{Compute, Failure, Kind, Nulls, Signature, UserFunction};

use crate::busy::called;
use crate::incoming::{BufferMode, Schemas, rows};
use crate::outgoing::Rows;

/// Letters of an exception's own message that ours has; it has all of them itself.
const MOST_LETTERS: usize = 300;

/// A `ringview.Function`.
#[derive(Debug)]
struct OfPython(Py<PyAny>);

impl Compute for OfPython {
    fn compute(&self, arguments: &[ArrayRef]) -> std::result::Result<ArrayRef, Failure> {
        Python::attach(|py| {
            let found = called(|| self.call(py, arguments));
            found.unwrap_or_else(|error| Err(failure(py, error)))
        })
    }
}

impl OfPython {
    fn call(
        &self,
        py: Python<'_>,
        arguments: &[ArrayRef],
    ) -> PyResult<std::result::Result<ArrayRef, Failure>> {
        let returned = |problem: String| Ok(Err(Failure::Returned(problem)));
        let named = arguments.iter().enumerate();
        let named = named.map(|(at, one)| (at.to_string(), Arc::clone(one), true));
        let batch = match RecordBatch::try_from_iter_with_nullable(named) {
            Ok(batch) => batch,
            Err(problem) => return returned(format!("takes no such arguments: {problem}")),
        };
        let evaluate = intern!(py, "_evaluate");
        let found = self
            .0
            .bind(py)
            .call_method1(evaluate, (Rows::new(batch),))?;
        if let Ok(problem) = found.cast::<PyString>() {
            return returned(problem.to_str()?.to_owned());
        }
        let mut batches = Vec::new();
        rows(
            &found,
            BufferMode::Shared,
            &mut Schemas::default(),
            &mut batches,
        )?;
        let [batch] = &batches[..] else {
            return returned("returned nothing".to_owned());
        };
        let column = Arc::clone(batch.column(0));
        match column.to_data().validate_full() {
            Ok(()) => Ok(Ok(column)),
            Err(problem) => returned(format!("returned an array that is broken: {problem}")),
        }
    }
}

/// The exception of a function.
fn failure(py: Python<'_>, error: PyErr) -> Failure {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Failure::Interrupted;
    }
    let class = error.get_type(py).name().map(|name| name.to_string());
    let mut problem = format!("raised {}", class.unwrap_or_default());
    let message = error.value(py).to_string();
    if !message.is_empty() {
        problem.push_str(": ");
        problem.extend(message.chars().take(MOST_LETTERS));
    }
    Failure::Raised(problem, Cause(Arc::new(error)))
}

/// A function that was declared, and what declared it.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) function: Arc<UserFunction>,
    /// The `ringview.Function`.
    pub(crate) of_python: Py<PyAny>,
}

impl Declared {
    /// The same for another database.
    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Self {
            function: Arc::clone(&self.function),
            of_python: self.of_python.clone_ref(py),
        }
    }

    pub(crate) fn new(signature: Signature, of_python: Py<PyAny>, py: Python<'_>) -> Self {
        let compute = OfPython(of_python.clone_ref(py));
        Self {
            function: UserFunction::new(signature, Arc::new(compute)),
            of_python,
        }
    }
}

/// What a function is declared to take and return, from Python's words and schemas.
pub(crate) fn signature(
    name: &str,
    (kind, special): (&str, bool),
    (takes, returns): (&ArrowSchema, &ArrowSchema),
) -> Result<Signature> {
    let ty = |field: &Arc<Field>| ringview_core::Type::from_arrow(field.data_type());
    let kind = match kind {
        "scalar" => Kind::Scalar,
        "aggregate" => Kind::Aggregate,
        other => {
            return Err(Error::Value {
                place: format!("kind={other:?}"),
                problem: "a function is \"scalar\" or \"aggregate\"".to_owned(),
            });
        }
    };
    let returned = returns.fields().iter().map(ty).next();
    let made = Signature {
        name: name.to_owned(),
        kind,
        takes: takes.fields().iter().map(ty).collect::<Result<_>>()?,
        returns: returned.unwrap_or_else(|| ringview_core::Type::from_arrow(&DataType::Null))?,
        nulls: match special {
            true => Nulls::Special,
            false => Nulls::Default,
        },
    };
    made.check()?;
    Ok(made)
}

/// The text of a signature.
pub(crate) fn signature_text(of: &Signature) -> String {
    let takes: Vec<String> = of.takes.iter().map(ToString::to_string).collect();
    let aggregate = match of.kind {
        Kind::Scalar => "",
        Kind::Aggregate => "aggregate ",
    };
    let nulls = match of.nulls {
        Nulls::Default => "",
        Nulls::Special => " with null_handling=\"special\"",
    };
    format!(
        "{aggregate}{}({}) -> {}{nulls}",
        of.name,
        takes.join(", "),
        of.returns
    )
}

/// The functions that whoever opens a file gives for its views.
#[derive(Debug)]
pub(crate) struct Given {
    /// Given what a signature says, a `ringview.Function`, or None.
    find: Option<Py<PyAny>>,
    /// Those that were asked for; without what declared them where they are not given.
    found: Mutex<Vec<Found>>,
    /// The exception of `find`.
    raised: Mutex<Option<PyErr>>,
}

/// A function that was asked for, and what declared it.
type Found = (Arc<UserFunction>, Option<Py<PyAny>>);

/// Stands for a function that is not given, until all of the file is read: the views that call it may be gone by then.
#[derive(Debug)]
struct NotGiven(Signature);

impl Compute for NotGiven {
    fn compute(&self, arguments: &[ArrayRef]) -> std::result::Result<ArrayRef, Failure> {
        let values = match self.0.kind {
            Kind::Scalar => arguments[0].len(),
            Kind::Aggregate => 1,
        };
        Ok(new_null_array(&self.0.returns.to_arrow(), values))
    }
}

impl Given {
    pub(crate) fn new(find: Option<Py<PyAny>>) -> Self {
        Self {
            find,
            found: Mutex::default(),
            raised: Mutex::default(),
        }
    }

    /// The function of a signature: the same one each time.
    pub(crate) fn find(&self, signature: &Signature) -> Result<Arc<UserFunction>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = found.iter();
        if let Some((function, _)) = known.find(|(one, _)| one.signature() == signature) {
            return Ok(Arc::clone(function));
        }
        let asked = Python::attach(|py| match &self.find {
            None => Ok(None),
            Some(find) => self.ask(py, find, signature),
        });
        let given = asked.map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Interrupted
        })?;
        let entry = match given {
            Some(Declared {
                function,
                of_python,
            }) => (function, Some(of_python)),
            None => {
                let nobody = Arc::new(NotGiven(signature.clone()));
                (UserFunction::new(signature.clone(), nobody), None)
            }
        };
        let function = Arc::clone(&entry.0);
        found.push(entry);
        Ok(function)
    }

    fn ask(
        &self,
        py: Python<'_>,
        find: &Py<PyAny>,
        signature: &Signature,
    ) -> PyResult<Option<Declared>> {
        let takes: Vec<String> = signature.takes.iter().map(ToString::to_string).collect();
        let kind = match signature.kind {
            Kind::Scalar => "scalar",
            Kind::Aggregate => "aggregate",
        };
        let nulls = match signature.nulls {
            Nulls::Default => "default",
            Nulls::Special => "special",
        };
        let returns = signature.returns.to_string();
        let given = find.call1(py, (&signature.name, takes, returns, kind, nulls))?;
        let given = (!given.is_none(py)).then_some(given);
        Ok(given.map(|given| Declared::new(signature.clone(), given, py)))
    }

    /// The exception of `find`.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The functions that were asked for: those that are given, and the signatures of the others.
    pub(crate) fn done(self) -> (Vec<Declared>, Vec<Signature>) {
        let (mut given, mut missing) = (Vec::new(), Vec::new());
        let found = self.found.into_inner();
        for (function, of_python) in found.unwrap_or_else(PoisonError::into_inner) {
            match of_python {
                Some(of_python) => given.push(Declared {
                    function,
                    of_python,
                }),
                None => missing.push(function.signature().clone()),
            }
        }
        (given, missing)
    }
}
