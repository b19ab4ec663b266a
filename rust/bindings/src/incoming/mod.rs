//! Rows from Python: Arrow data from any library that speaks the Arrow C interface, and plain values.
//!
//! | file | holds |
//! |---|---|
//! | `schemas` | C schemas, walked before they are believed, to those of the `arrow` crates |
//! | `array` | a C array to a record batch, checked |
//! | `plain` | rows of plain Python values |
//! | `reader` | streams, with Ctrl-C and the producer's own exceptions |
//!
//! Invariant: the content of a capsule is moved out and marked as released, so that it is read once; a capsule that was
//! read is refused. No structure can crash the process, whatever it says, but for pointers to absent memory, which
//! nobody can detect.
//! Cost: O(columns) a batch. A schema that was seen before is recognised by its names and format strings and yields the
//! very same `SchemaRef`, so that later comparisons compare pointers.

mod array;
mod plain;
mod reader;
mod schemas;

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{Schema, SchemaRef};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

pub(crate) use self::array::BufferMode;
pub(crate) use self::plain::{RowBuffer, RowLayout, rows as plain_rows};
pub(crate) use self::reader::hears;
use self::reader::{Item, Source};
pub(crate) use self::schemas::Schemas;
use self::schemas::refused;
use crate::ending::within;
use crate::errors::named;
use crate::outgoing::{SCHEMA, STREAM};

const ARRAY: &CStr = c"arrow_array";

/// Rows that were read, for later changes.
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Batches {
    batches: Vec<RecordBatch>,
}

impl Batches {
    pub(crate) fn new(batches: Vec<RecordBatch>) -> Batches {
        Batches { batches }
    }
}

#[pymethods]
impl Batches {
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("Batches(rows={})", self.__len__())
    }
}

/// The schema of anything with `__arrow_c_schema__`.
pub(crate) fn schema(source: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let capsule = source.call_method0(intern!(source.py(), "__arrow_c_schema__"))?;
    schemas::read(source.py(), schema_in(&capsule.cast_into()?)?)
}

/// The rows of anything with `__arrow_c_array__` or `__arrow_c_stream__`, or of [`Batches`]. A stream is
/// read to its end.
pub(crate) fn rows(
    source: &Bound<'_, PyAny>,
    buffers: BufferMode,
    schemas: &mut Schemas,
    into: &mut Vec<RecordBatch>,
) -> PyResult<()> {
    within(|| of_any(source, buffers, schemas, into))
}

fn of_any(
    source: &Bound<'_, PyAny>,
    buffers: BufferMode,
    schemas: &mut Schemas,
    into: &mut Vec<RecordBatch>,
) -> PyResult<()> {
    let (py, class) = (source.py(), source.get_type());
    if let Ok(taken) = source.cast_exact::<Batches>() {
        into.extend(taken.get().batches.iter().cloned());
        return Ok(());
    }
    if let Some(export) = source.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        into.push(exported(&export, buffers, schemas)?);
        return Ok(());
    }
    if reader::is_reader(&class) {
        let schema = source.getattr(intern!(py, "schema"))?;
        let capsule = schema.call_method0(intern!(py, "__arrow_c_schema__"))?;
        let schema = schemas.find(py, schema_in(&capsule.cast_into()?)?)?;
        let source = Source::Reader(source.clone().unbind());
        return stream(py, (source, false), Some(schema), buffers, schemas, into);
    }
    if let Some(export) = source.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
        let source = Source::of(stream_in(&export.call0()?.cast_into()?)?);
        let in_memory = reader::in_memory(&class);
        return stream(py, (source, in_memory), None, buffers, schemas, into);
    }
    let kind = class.name()?;
    let message = format!("no Arrow data in a {kind}; it has no __arrow_c_stream__");
    Err(named(py, "TypeMismatchError", &message))
}

/// The rows of a call of `__arrow_c_array__`.
fn exported(
    export: &Bound<'_, PyAny>,
    buffers: BufferMode,
    schemas: &mut Schemas,
) -> PyResult<RecordBatch> {
    let py = export.py();
    let pair = export.call0()?.cast_into::<PyTuple>()?;
    let (schema, array) = (
        pair.get_item(0)?.cast_into()?,
        pair.get_item(1)?.cast_into()?,
    );
    let schema = schemas.find(py, schema_in(&schema)?)?;
    batch(py, array_in(&array)?, &schema, buffers)
}

/// The rows of a stream, and whether those are in memory; none have the schema alone.
fn stream(
    py: Python<'_>,
    (source, in_memory): (Source, bool),
    schema: Option<SchemaRef>,
    buffers: BufferMode,
    schemas: &mut Schemas,
    into: &mut Vec<RecordBatch>,
) -> PyResult<()> {
    let (mut known, before) = (schema, into.len());
    reader::read(py, source, in_memory, |item| {
        match (item, &known) {
            (Item::Schema(schema), _) => known = Some(schemas.find(py, &schema)?),
            (Item::Batch(rows), _) => {
                let export = rows.bind(py).getattr(intern!(py, "__arrow_c_array__"))?;
                into.push(exported(&export, buffers, schemas)?);
            }
            (Item::Array(array), Some(schema)) => into.push(batch(py, array, schema, buffers)?),
            (Item::Array(_), None) => {}
        }
        Ok(())
    })?;
    // Names and types are checked even where there are no rows.
    if let Some(schema) = known.filter(|_| into.len() == before) {
        into.push(RecordBatch::new_empty(Arc::clone(&schema)));
    }
    Ok(())
}

fn batch(
    py: Python<'_>,
    array: FFI_ArrowArray,
    schema: &SchemaRef,
    buffers: BufferMode,
) -> PyResult<RecordBatch> {
    array::batch(array, schema, buffers).map_err(|why| refused(py, &why))
}

/// The schema of a capsule.
pub(crate) fn schema_in<'a>(capsule: &'a Bound<'_, PyCapsule>) -> PyResult<&'a FFI_ArrowSchema> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?;
    // SAFETY: by its name the capsule holds a C schema, which lives as long as the capsule.
    // Test: tests/python/test_arrow_edge.py::test_a_capsule_is_read_once
    Ok(unsafe { pointer.cast::<FFI_ArrowSchema>().as_ref() })
}

fn array_in(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArray> {
    let pointer = capsule.pointer_checked(Some(ARRAY))?;
    // SAFETY: by its name the capsule holds a C array; it is moved out and marked as released.
    // Test: tests/python/test_arrow_edge.py::test_a_capsule_is_read_once
    let array = unsafe { FFI_ArrowArray::from_raw(pointer.cast().as_ptr()) };
    match array.is_released() {
        true => Err(refused(capsule.py(), &consumed("array"))),
        false => Ok(array),
    }
}

/// The stream of a capsule, which is read once.
pub(crate) fn stream_in(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: by its name the capsule holds a C stream; it is moved out and marked as released.
    // Test: tests/python/test_arrow_edge.py::test_a_capsule_is_read_once
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
    match stream.release.is_none() {
        true => Err(refused(capsule.py(), &consumed("stream"))),
        false => Ok(stream),
    }
}

fn consumed(what: &str) -> String {
    format!("its {what} was read already, and a capsule is read once; export the data again")
}
