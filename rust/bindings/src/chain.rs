//! The class `MatrixChain`: arrays in and out by the buffer protocol.
//!
//! Invariant: an array that was handed out never changes. It shares its memory with the chain until
//! the chain's next change of that matrix, which works on a copy if someone still holds the array.
//! Cost above the engine's: a copy of the arrays received.

use std::ffi::{CStr, c_int, c_void};
use std::str::FromStr;
use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;
use ringview_engine::{Matrix, MatrixChain as Engine, chain_explanation};
use ringview_explain::Format;

use crate::busy::Busy;
use crate::ending::detach;
use crate::errors::{OrRaise, named};
use crate::watch::Progress;

/// The product of a chain of matrices, fresh under changes of any of them.
///
/// >>> import numpy as np
/// >>> from ringview._native import MatrixChain
/// >>> chain = MatrixChain([np.eye(2), np.ones((2, 2))], None)
/// >>> chain.update_row(0, 0, np.array([0.0, 1.0]))
/// >>> np.asarray(chain.product()).tolist()
/// [[2.0, 2.0], [1.0, 1.0]]
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct MatrixChain {
    engine: Busy<Engine>,
}

#[pymethods]
impl MatrixChain {
    /// Two-dimensional arrays of doubles, and the positions of those that change or None for all.
    #[new]
    #[pyo3(signature = (matrices, changing=None))]
    fn new(
        py: Python<'_>,
        matrices: Vec<Bound<'_, PyAny>>,
        changing: Option<Vec<usize>>,
    ) -> PyResult<MatrixChain> {
        let matrices = (matrices.iter().enumerate())
            .map(|(at, array)| matrix(array, &format!("matrix {at} of the chain")))
            .collect::<PyResult<Vec<_>>>()?;
        let mut watch = Progress::new(None, 0);
        let made = detach(py, || {
            Engine::new(matrices, changing.as_deref(), &mut || watch.look_now())
        });
        let engine = watch.finish(py, made)?;
        Ok(MatrixChain {
            engine: Busy::new(engine, "the chain"),
        })
    }

    /// Adds the sum of `u[c] v[c]^T` to a matrix, over the rows c of `u` and `v`. `done`, here and below,
    /// is a list that gets an entry once the matrix is changed: what is raised after that undoes nothing.
    #[pyo3(signature = (at, u, v, done=None))]
    fn update(
        &self,
        py: Python<'_>,
        at: usize,
        u: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
        done: Option<&Bound<'_, PyList>>,
    ) -> PyResult<()> {
        let (u, v) = (matrix(u, "the factor u")?, matrix(v, "the factor v")?);
        self.change(py, done, |engine, watch| {
            engine.update(at, u, v, &mut || watch.look_now())
        })
    }

    /// Adds to one row of a matrix.
    #[pyo3(signature = (at, row, delta, done=None))]
    fn update_row(
        &self,
        py: Python<'_>,
        at: usize,
        row: usize,
        delta: &Bound<'_, PyAny>,
        done: Option<&Bound<'_, PyList>>,
    ) -> PyResult<()> {
        let delta = values(delta, 1)?.1;
        self.change(py, done, |engine, watch| {
            engine.update_row(at, row, delta, &mut || watch.look_now())
        })
    }

    /// Adds to one column of a matrix.
    #[pyo3(signature = (at, column, delta, done=None))]
    fn update_column(
        &self,
        py: Python<'_>,
        at: usize,
        column: usize,
        delta: &Bound<'_, PyAny>,
        done: Option<&Bound<'_, PyList>>,
    ) -> PyResult<()> {
        let delta = values(delta, 1)?.1;
        self.change(py, done, |engine, watch| {
            engine.update_column(at, column, delta, &mut || watch.look_now())
        })
    }

    /// Adds a matrix of the same shape.
    #[pyo3(signature = (at, delta, done=None))]
    fn update_dense(
        &self,
        py: Python<'_>,
        at: usize,
        delta: &Bound<'_, PyAny>,
        done: Option<&Bound<'_, PyList>>,
    ) -> PyResult<()> {
        let delta = matrix(delta, "the delta")?;
        self.change(py, done, |engine, watch| {
            engine.update_dense(at, delta, &mut || watch.look_now())
        })
    }

    /// Computes every view anew.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, None, |engine, watch| {
            engine.refresh(&mut || watch.look_now())
        })
    }

    /// The product as it is now, an array that is not written again.
    fn product(&self, py: Python<'_>) -> PyResult<Dense> {
        Ok(Dense::new(self.engine.hold(py)?.value.product()))
    }

    /// A matrix as it is now, an array that is not written again.
    fn matrix(&self, py: Python<'_>, at: usize) -> PyResult<Dense> {
        let found = self.engine.hold(py)?.value.matrix(at).or_raise(py)?;
        Ok(Dense::new(found))
    }

    /// The bracketing.
    fn order(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.engine.hold(py)?.value.order())
    }

    /// The tree of views, with bytes and costs, in a form of `Explanation`.
    fn explain(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let format = Format::from_str(format).or_raise(py)?;
        let explanation = chain_explanation(&self.engine.hold(py)?.value);
        explanation.render(format).or_raise(py)
    }

    /// Bytes held.
    fn memory_usage(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.engine.hold(py)?.value.memory_usage())
    }

    /// Multiply-adds so far.
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.engine.hold(py)?.value.steps())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.engine.hold(py)?.value.matrices())
    }
}

impl MatrixChain {
    fn change(
        &self,
        py: Python<'_>,
        done: Option<&Bound<'_, PyList>>,
        run: impl FnOnce(&mut Engine, &mut Progress) -> ringview_core::Result<()> + Send,
    ) -> PyResult<()> {
        let mut engine = self.engine.hold(py)?;
        let engine = &mut *engine.value;
        let mut watch = Progress::new(None, 0);
        let changed = detach(py, || run(engine, &mut watch));
        watch.finish(py, changed)?;
        done.map_or(Ok(()), |done| done.append(true))
    }
}

/// The shape and values of an array of doubles, row by row.
fn values(array: &Bound<'_, PyAny>, dimensions: usize) -> PyResult<(Vec<usize>, Vec<f64>)> {
    let py = array.py();
    let buffer = PyBuffer::<f64>::get(array)?;
    if buffer.dimensions() != dimensions {
        let message = format!(
            "an array of {dimensions} dimensions is needed, not of {}",
            buffer.dimensions()
        );
        return Err(named(py, "InvalidValueError", &message));
    }
    Ok((buffer.shape().to_vec(), buffer.to_vec(py)?))
}

fn matrix(array: &Bound<'_, PyAny>, place: &str) -> PyResult<Matrix> {
    let (shape, values) = values(array, 2)?;
    let made = Matrix::new(shape[0], shape[1], values);
    made.map_err(|error| match error {
        ringview_core::Error::Value { place: at, problem } => ringview_core::Error::Value {
            place: format!("{place}, {at}"),
            problem,
        },
        other => other,
    })
    .or_raise(array.py())
}

/// A matrix, for any reader of the buffer protocol.
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Dense {
    part: Arc<Matrix>,
    shape: [ffi::Py_ssize_t; 2],
    strides: [ffi::Py_ssize_t; 2],
}

/// The name of a double in the buffer protocol.
const DOUBLE: &CStr = c"d";

impl Dense {
    fn new(part: Arc<Matrix>) -> Dense {
        let word = size_of::<f64>();
        Dense {
            shape: [part.rows() as isize, part.columns() as isize],
            strides: [(part.columns() * word) as isize, word as isize],
            part,
        }
    }
}

#[pymethods]
impl Dense {
    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.part.rows(), self.part.columns())
    }

    /// Hands the values out, to be read alone.
    ///
    /// # Safety
    /// `view` is null or points to a buffer to be filled, as the protocol says.
    // Test: tests/python/test_matrix_chain.py::test_an_array_handed_out_keeps_its_state
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no buffer to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("a matrix of a chain is read alone"));
        }
        let dense = slf.get();
        let asked = |flag: c_int| flags & flag == flag;
        let shaped = asked(ffi::PyBUF_ND);
        // SAFETY: `view` is the caller's buffer. It will point to values in the frozen object that `obj` keeps alive,
        // and these are not written while that shares them.
        // Test: tests/python/test_matrix_chain.py::test_an_array_handed_out_keeps_its_state
        unsafe {
            (*view).buf = dense.part.values().as_ptr().cast_mut().cast::<c_void>();
            (*view).len = size_of_val(dense.part.values()) as isize;
            (*view).readonly = 1;
            (*view).itemsize = size_of::<f64>() as isize;
            (*view).format = if asked(ffi::PyBUF_FORMAT) {
                DOUBLE.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*view).ndim = if shaped { 2 } else { 1 };
            (*view).shape = if shaped {
                dense.shape.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*view).strides = if asked(ffi::PyBUF_STRIDES) {
                dense.strides.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }
}
