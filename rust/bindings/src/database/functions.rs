//! Functions of the user: declared, listed, dropped while no view calls them; those that the views of a file call.
//!
//! Invariant: names differ, in any case; a function that a view calls is there. Cost: O(views) to drop one.

use std::sync::{Arc, PoisonError};

use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use ringview_core::{Error, Result};
use ringview_durable::{DurableDatabase as Engine, ViewDefinition};
use ringview_expr::{Signature, UserFunction};
use ringview_sql::{Definition, check_function_name};

use super::Database;
use crate::errors::{OrRaise, named};
use crate::function::{Declared, Given, signature, signature_text};
use crate::incoming::schema;

#[pymethods]
impl Database {
    /// Declares a function: `function` is a `ringview.Function`, `takes` and `returns` are schemas (anything with
    /// `__arrow_c_schema__`) of its arguments and its one result.
    #[expect(clippy::too_many_arguments, reason = "named in Python")]
    fn create_function(
        &self,
        py: Python<'_>,
        name: &str,
        function: Py<PyAny>,
        kind: &str,
        takes: &Bound<'_, PyAny>,
        returns: &Bound<'_, PyAny>,
        special: bool,
    ) -> PyResult<()> {
        let types = (&schema(takes)?, &schema(returns)?);
        let made = signature(name, (kind, special), types);
        let made = made.and_then(|made| check_function_name(name).map(|()| made));
        let made = Declared::new(made.or_raise(py)?, function);
        // One at a time, as all that declares something.
        let _engine = self.engine(py)?;
        let mut declared = self.declared();
        let mut known = declared.iter();
        if known.any(|one| one.function.signature().is_called(name)) {
            let (kind, name) = ("function", name.to_owned());
            return Err(Error::Exists { kind, name }).or_raise(py);
        }
        declared.push(made);
        Ok(())
    }

    /// Forgets a function that no view calls.
    fn drop_function(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let engine = self.engine(py)?;
        let mut declared = self.declared();
        let at = declared
            .iter()
            .position(|one| one.function.signature().is_called(name));
        let Some(at) = at else {
            let known = declared.iter().map(|one| one.function.signature());
            return Err(Error::UnknownFunction {
                name: name.to_owned(),
                known: known.map(|one| one.name.clone()).collect(),
            })
            .or_raise(py);
        };
        let mut views = Vec::new();
        for view in engine.value.definitions() {
            if called_by(view)
                .or_raise(py)?
                .iter()
                .any(|one| one.is_called(name))
            {
                views.push(view.name.clone());
            }
        }
        if !views.is_empty() {
            return Err(Error::InUse {
                kind: "function",
                name: name.to_owned(),
                views,
            })
            .or_raise(py);
        }
        let gone = declared.remove(at);
        // Dropping its content may run Python.
        drop((declared, engine));
        drop(gone);
        Ok(())
    }

    /// The functions by name, oldest first, as they were given.
    fn functions(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        let _engine = self.engine(py)?;
        let declared = self.declared();
        let one = |one: &Declared| {
            let name = one.function.signature().name.clone();
            Some((name, one.of_python.get(py)?))
        };
        Ok(declared.iter().filter_map(one).collect())
    }

    /// Shows the collector the functions, which may refer to the database that calls them. Views refer to none by themselves.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        match self.functions.try_lock() {
            // A function that another database calls, too, is kept by that one.
            Ok(declared) => (declared.iter())
                .filter(|one| one.is_of_one())
                .try_for_each(|one| one.of_python.traverse(&visit)),
            // A call runs, so the database is no garbage.
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let declared = std::mem::take(&mut *self.declared());
        declared.iter().for_each(|one| one.of_python.clear());
    }
}

impl Database {
    /// The functions that a text may call.
    pub(super) fn callable(&self) -> Vec<Arc<UserFunction>> {
        let declared = self.declared();
        declared
            .iter()
            .map(|one| Arc::clone(&one.function))
            .collect()
    }

    /// Whether the engine may call Python as it works.
    pub(super) fn calls_python(&self) -> bool {
        !self.declared().is_empty()
    }

    pub(super) fn declared(&self) -> std::sync::MutexGuard<'_, Vec<Declared>> {
        self.functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signatures of the functions that a view calls.
pub(super) fn called_by(view: &ViewDefinition) -> Result<Vec<Signature>> {
    match (&view.text, &view.environment) {
        (Some(text), Some(environment)) => {
            Ok(Definition::read(text, environment)?.functions().to_vec())
        }
        _ => Ok(Vec::new()),
    }
}

/// The lines of an explanation about functions.
pub(super) fn trusted(functions: &[Signature]) -> Vec<String> {
    functions.iter().map(|one| one.name.clone()).collect()
}

/// The functions of a database that was opened, or an exception that names those that its views call and are not given.
pub(super) fn resolved_functions(
    py: Python<'_>,
    given: Given,
    opened: &Result<Engine>,
) -> PyResult<Vec<Declared>> {
    if let Some(raised) = given.raised() {
        return Err(raised);
    }
    let (mut declared, mut missing) = given.done();
    let mut called = Vec::new();
    match opened {
        Ok(engine) => {
            for view in engine.definitions() {
                called.extend(called_by(view).or_raise(py)?);
            }
            // Views that were dropped since may have called others.
            declared.retain(|one| called.contains(one.function.signature()));
            missing.retain(|one| called.contains(one));
        }
        Err(Error::Snapshot { .. }) => {}
        Err(_) => missing.clear(),
    }
    if missing.is_empty() {
        return Ok(declared);
    }
    let signatures: Vec<String> = missing.iter().map(signature_text).collect();
    let first = &missing[0].name;
    let message = format!(
        "its views call functions that are not given, or given with other types: {}; give them as it is opened, as in \
         functions={{{first:?}: {first}}}",
        signatures.join("; ")
    );
    Err(named(py, "UnknownFunctionError", &message))
}
