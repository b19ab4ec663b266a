//! Parameters of a text: Python values as constants of SQL.
//!
//! Invariant: a value is the constant that it is equal to; a type without one is refused. Cost: O(values).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use ringview_sql::{Parameter, Parameters};

/// The parameters of a text: a mapping by name, or a sequence by number.
pub(crate) fn of(values: &Bound<'_, PyAny>) -> PyResult<Parameters> {
    let mut parameters = Parameters::default();
    if let Ok(named) = values.cast::<PyDict>() {
        for (name, value) in named {
            let name: String = name.extract()?;
            parameters.named.insert(name, parameter(&value)?);
        }
        return Ok(parameters);
    }
    for value in values.try_iter()? {
        parameters.positional.push(parameter(&value?)?);
    }
    Ok(parameters)
}

fn parameter(value: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    if value.is_none() {
        return Ok(Parameter::Null);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Parameter::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Parameter::Int(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Parameter::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Parameter::Text(value.extract()?));
    }
    let kind = value.get_type().name()?.to_string();
    let text =
        |spec: &str| -> PyResult<String> { value.call_method1("__format__", (spec,))?.extract() };
    match kind.as_str() {
        "Decimal" => Ok(Parameter::Decimal(text("f")?)),
        "datetime" => Ok(Parameter::Timestamp(text("%Y-%m-%d %H:%M:%S.%f")?)),
        "date" => Ok(Parameter::Date(text("%Y-%m-%d")?)),
        _ => Err(PyTypeError::new_err(format!(
            "a parameter is None, a bool, a number, a text, a date or a datetime, not {kind}"
        ))),
    }
}
