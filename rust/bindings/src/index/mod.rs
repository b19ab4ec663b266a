//! The classes `RpaiTree` (`tree`) and `PaiMap` (`map`): numbers of Python in and out of indexes.
//!
//! Invariant: a number is an integer of 128 bits or a finite double, as the index was made for; anything else is an
//! error before anything changed. Cost above the index's: two conversions and a virtual call.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use ringview_core::{Error, Result};
use ringview_engine::{Expansion, Real};

use crate::errors::named;

mod map;
mod tree;

pub(crate) use map::PaiMap;
pub(crate) use tree::RpaiTree;

/// A number of Python.
#[derive(Clone, Copy, Debug, IntoPyObject)]
enum Figure {
    Integer(i128),
    Real(f64),
}

impl<'py> FromPyObject<'_, 'py> for Figure {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = value.py();
        if value.is_instance_of::<PyFloat>() {
            return Ok(Figure::Real(value.extract()?));
        }
        let refused = |class: &str, problem: &str| {
            let said = value
                .repr()
                .map_or_else(|_| "it".to_owned(), |text| text.to_string());
            named(
                py,
                class,
                &format!("a number of an index: {said} {problem}"),
            )
        };
        if value.is_instance_of::<PyBool>() {
            return Err(refused(
                "TypeMismatchError",
                "is a bool; give an int or a float",
            ));
        }
        match value.extract::<i128>() {
            Ok(number) => Ok(Figure::Integer(number)),
            Err(_) if value.is_instance_of::<PyInt>() => {
                Err(refused("InvalidValueError", "does not fit 128 bits"))
            }
            Err(_) => Err(refused(
                "TypeMismatchError",
                "is neither an int nor a float",
            )),
        }
    }
}

/// Conversion of numbers to those of an index.
trait Of: Sized {
    fn of(number: Figure) -> Result<Self>;
    fn number(self) -> Figure;
}

impl Of for i128 {
    fn of(number: Figure) -> Result<Self> {
        match number {
            Figure::Integer(number) => Ok(number),
            Figure::Real(value) => Err(Error::Type {
                place: "a number of an index of integers".to_owned(),
                expected: "an int".to_owned(),
                found: format!("the float {value}"),
            }),
        }
    }

    fn number(self) -> Figure {
        Figure::Integer(self)
    }
}

/// A double; an int must be one.
fn double(number: Figure) -> Result<f64> {
    match number {
        Figure::Real(value) => Ok(value),
        Figure::Integer(number) if (number as f64) as i128 == number => Ok(number as f64),
        Figure::Integer(number) => Err(Error::Value {
            place: "a number of an index of floats".to_owned(),
            problem: format!("{number} is no double; round it, or make the index of integers"),
        }),
    }
}

impl Of for Real {
    fn of(number: Figure) -> Result<Self> {
        Real::new(double(number)?)
    }

    fn number(self) -> Figure {
        Figure::Real(self.value())
    }
}

impl Of for Expansion {
    fn of(number: Figure) -> Result<Self> {
        Ok(Real::new(double(number)?)?.expansion())
    }

    fn number(self) -> Figure {
        Figure::Real(self.value())
    }
}
