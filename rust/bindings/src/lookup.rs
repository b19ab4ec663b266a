//! Keys of groups from Python values, and a row of a view as a dict.
//!
//! A key or a row is a handful of values, so none of this uses Arrow: that would take longer than the look-up. Cost:
//! O(columns).

use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyNotImplemented, PyString};
use ringview_engine::{Cell, KeyValue};

use crate::errors::named;

/// Columns by name, each with a value.
pub(crate) struct Names<'py>(Vec<Entry<'py>>);

/// A name, its value, and that as a text if it is one.
type Entry<'py> = (PyBackedStr, Bound<'py, PyAny>, Option<PyBackedStr>);

impl<'py> Names<'py> {
    /// The names and values of a dict.
    pub(crate) fn read(key: &Bound<'py, PyDict>) -> PyResult<Self> {
        let mut all = Vec::with_capacity(key.len());
        for (name, value) in key.iter() {
            let text = match value.cast::<PyString>() {
                Ok(text) => Some(PyBackedStr::try_from(text.clone())?),
                Err(_) => None,
            };
            all.push((name.extract()?, value, text));
        }
        Ok(Self(all))
    }

    /// The same for the engine. NotImplementedError for a value that is none of Python's own.
    pub(crate) fn values(&self) -> PyResult<Vec<(&str, KeyValue<'_>)>> {
        let mut all = Vec::with_capacity(self.0.len());
        for (name, value, text) in &self.0 {
            let found = match text {
                Some(text) => KeyValue::Text(text),
                None => key_value(name, value)?,
            };
            all.push((&**name, found));
        }
        Ok(all)
    }
}

fn key_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<KeyValue<'static>> {
    let py = value.py();
    if value.is_none() {
        return Ok(KeyValue::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(KeyValue::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(KeyValue::Integer(value.extract().map_err(|_| {
            let message = format!("column {name:?}: {value} does not fit 128 bits");
            named(py, "InvalidValueError", &message)
        })?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(KeyValue::Real(value.extract()?));
    }
    Err(PyNotImplementedError::new_err(name.to_owned()))
}

/// A row as a dict; `NotImplemented` if a value is none of Python's own.
pub(crate) fn dict<'py, 'a>(
    py: Python<'py>,
    names: impl Iterator<Item = &'a str>,
    row: Vec<Cell>,
) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (name, cell) in names.zip(row) {
        match cell {
            Cell::Null => dict.set_item(name, py.None())?,
            Cell::Bool(value) => dict.set_item(name, value)?,
            Cell::Integer(value) => match i64::try_from(value) {
                Ok(value) => dict.set_item(name, value)?,
                Err(_) => dict.set_item(name, value)?,
            },
            Cell::Real(value) => dict.set_item(name, value)?,
            Cell::Text(value) => dict.set_item(name, value)?,
            Cell::Decimal(units, scale) => dict.set_item(name, decimal(py, units, scale)?)?,
            Cell::Other => return Ok(PyNotImplemented::get(py).to_owned().into_any()),
        }
    }
    Ok(dict.into_any())
}

/// A `decimal.Decimal` with exactly these digits; an int where none is behind the point.
fn decimal<'py>(py: Python<'py>, units: i128, scale: i8) -> PyResult<Bound<'py, PyAny>> {
    if scale == 0 {
        return Ok(units.into_pyobject(py)?.into_any());
    }
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let class = py.import("decimal")?.getattr("Decimal")?;
        Ok::<_, PyErr>(class.unbind())
    })?;
    let places = usize::try_from(scale).unwrap_or(0);
    let text = if scale < 0 {
        format!("{units}e{}", -i32::from(scale))
    } else {
        let (sign, digits) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, rest) = padded.split_at(padded.len() - places);
        format!("{sign}{whole}.{rest}")
    };
    class.bind(py).call1((text,))
}
