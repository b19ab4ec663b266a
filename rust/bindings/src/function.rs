//! Functions of the user: Python computes them over Arrow arrays.
//!
//! The engine calls them from whichever of its threads, without the interpreter in its hands; each call takes it. Invariant:
//! what Python returns is checked, types, lengths and buffers, before anything reads it; a function is not called while a
//! thread that holds the interpreter waits for the engine. Cost: a call, tens of microseconds above what the function
//! takes, for a batch of rows or for a group.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use pyo3::types::PyString;
use ringview_core::{Cause, Error, Result};
use ringview_expr::{Compute, Failure, Kind, Nulls, Signature, UserFunction};

use crate::busy::called;
use crate::ending::attach;
use crate::incoming::{BufferMode, Schemas, rows};
use crate::outgoing::Rows;

/// Letters of an exception's own message that ours has; it has all of them itself.
const MOST_LETTERS: usize = 300;

/// A `ringview.Function`, referred to once by all that calls it, so that the garbage collector finds what refers to it.
#[derive(Debug)]
pub(crate) struct OfPython {
    /// None once the collector broke a cycle.
    function: Mutex<Option<Py<PyAny>>>,
}

/// The function itself, as its declaration and the engine hold it.
#[derive(Debug)]
struct Called(Arc<OfPython>);

impl Compute for Called {
    fn compute(&self, arguments: &[ArrayRef]) -> std::result::Result<ArrayRef, Failure> {
        attach(|py| {
            let found = called(|| match self.0.get(py) {
                Some(function) => OfPython::call(function.bind(py), arguments),
                None => Ok(Err(Failure::Returned("is not there any more".to_owned()))),
            });
            found.unwrap_or_else(|error| Err(failure(py, error)))
        })
    }
}

impl OfPython {
    fn new(function: Py<PyAny>) -> Self {
        let function = Mutex::new(Some(function));
        Self { function }
    }

    fn held(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The function, if it is there.
    pub(crate) fn get(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.held().as_ref().map(|function| function.clone_ref(py))
    }

    /// Shows the collector what is referred to.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        match self.function.try_lock() {
            Ok(function) => visit.call(&*function),
            // The thread that holds it keeps it.
            Err(_) => Ok(()),
        }
    }

    /// Breaks a cycle.
    pub(crate) fn clear(&self) {
        let function = self.held().take();
        drop(function);
    }

    fn call(
        function: &Bound<'_, PyAny>,
        arguments: &[ArrayRef],
    ) -> PyResult<std::result::Result<ArrayRef, Failure>> {
        let returned = |problem: String| Ok(Err(Failure::Returned(problem)));
        let named = arguments.iter().enumerate();
        let named = named.map(|(at, one)| (at.to_string(), Arc::clone(one), true));
        let batch = match RecordBatch::try_from_iter_with_nullable(named) {
            Ok(batch) => batch,
            Err(problem) => return returned(format!("takes no such arguments: {problem}")),
        };
        let evaluate = intern!(function.py(), "_evaluate");
        let found = function.call_method1(evaluate, (Rows::new(batch),))?;
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
    pub(crate) of_python: Arc<OfPython>,
}

impl Declared {
    /// The same for another database.
    pub(crate) fn copy(&self) -> Self {
        Self {
            function: Arc::clone(&self.function),
            of_python: Arc::clone(&self.of_python),
        }
    }

    /// Whether one database alone has declared it: this, and the function that it calls, refer to what computes it.
    pub(crate) fn is_of_one(&self) -> bool {
        Arc::strong_count(&self.of_python) == 2
    }

    pub(crate) fn new(signature: Signature, of_python: Py<PyAny>) -> Self {
        let of_python = Arc::new(OfPython::new(of_python));
        let compute = Called(Arc::clone(&of_python));
        Self {
            function: UserFunction::new(signature, Arc::new(compute)),
            of_python,
        }
    }
}

/// Declared types of the arguments and values of a function, from Python's words and schemas.
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
    /// Those that views called for; without the declared function where none is given.
    found: Mutex<Vec<Found>>,
    /// The exception of `find`.
    raised: Mutex<Option<PyErr>>,
}

/// A function that a view calls, and the function of Python that declares it.
type Found = (Arc<UserFunction>, Option<Arc<OfPython>>);

/// Placeholder of a function that is not given, until all of the file is read: a later entry may drop the views that
/// call it.
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
        let asked = attach(|py| match &self.find {
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
        Ok(given.map(|given| Declared::new(signature.clone(), given)))
    }

    /// The exception of `find`.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The functions that views call: those that are given, and the signatures of the others.
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
