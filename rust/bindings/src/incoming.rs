//! Arrow data from any library that speaks the Arrow C interface.
//!
//! Invariant: buffers are taken over, never copied, and given back when the batch is dropped.
//! Cost: O(columns) a batch. A schema that came before is recognised by its names and format strings
//! and yields the very same `SchemaRef`, so that whoever compares it afterwards compares pointers.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Schema, SchemaRef};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::errors::named;
use crate::outgoing::{SCHEMA, STREAM};

const ARRAY: &CStr = c"arrow_array";

/// Schemas that are remembered; more than a program has tables costs little.
const REMEMBERED: usize = 64;

/// The schemas that came before, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    shape: Shape,
    schema: SchemaRef,
    /// The schema as the type of a struct, which is how batches travel.
    ty: DataType,
}

/// What tells one C schema from another. Metadata does not: no type that tables hold depends on it.
#[derive(Debug)]
struct Shape {
    format: String,
    name: String,
    nullable: bool,
    dictionary: Option<Box<Shape>>,
    children: Vec<Shape>,
}

impl Shape {
    fn of(schema: &FFI_ArrowSchema) -> Shape {
        Shape {
            format: schema.format().to_owned(),
            name: schema.name().unwrap_or_default().to_owned(),
            nullable: schema.nullable(),
            dictionary: schema.dictionary().map(|d| Box::new(Shape::of(d))),
            children: schema.children().map(Shape::of).collect(),
        }
    }

    fn is_of(&self, schema: &FFI_ArrowSchema) -> bool {
        self.children.len() as i64 == schema.n_children
            && self.name == schema.name().unwrap_or_default()
            && self.format == schema.format()
            && self.nullable == schema.nullable()
            && match (&self.dictionary, schema.dictionary()) {
                (Some(shape), Some(schema)) => shape.is_of(schema),
                (None, None) => true,
                _ => false,
            }
            && self
                .children
                .iter()
                .zip(schema.children())
                .all(|(shape, child)| shape.is_of(child))
    }
}

impl Schemas {
    /// The schema behind a C schema, the same one each time. O(columns), without allocating if it
    /// came before.
    fn find(&mut self, py: Python<'_>, schema: &FFI_ArrowSchema) -> PyResult<&Known> {
        let found = self
            .known
            .iter()
            .rposition(|known| known.shape.is_of(schema));
        let at = match found {
            Some(at) => at,
            None => {
                let known = Known::new(py, schema)?;
                if self.known.len() == REMEMBERED {
                    self.known.remove(0);
                }
                self.known.push(known);
                self.known.len() - 1
            }
        };
        Ok(&self.known[at])
    }
}

impl Known {
    fn new(py: Python<'_>, schema: &FFI_ArrowSchema) -> PyResult<Known> {
        if schema.format() != "+s" {
            return Err(named(
                py,
                "TypeMismatchError",
                "the Arrow data is a single column; pass a table or a batch of named columns",
            ));
        }
        let parsed = parse(py, schema)?;
        Ok(Known {
            shape: Shape::of(schema),
            ty: DataType::Struct(parsed.fields().clone()),
            schema: Arc::new(parsed),
        })
    }

    /// Takes over a C array of this schema.
    fn batch(&self, py: Python<'_>, array: FFI_ArrowArray) -> PyResult<RecordBatch> {
        if array.num_children() != self.schema.fields().len() {
            return Err(refused(py, "its columns are not those of its schema"));
        }
        // SAFETY: the array comes from the producer of the schema that `self` was found by, who
        // vouches by the Arrow C interface that it is of that schema; we own it, as it was moved here.
        let data = unsafe { from_ffi_and_data_type(array, self.ty.clone()) }
            .map_err(|problem| refused(py, &problem.to_string()))?;
        let rows = StructArray::from(data);
        if rows.null_count() > 0 {
            return Err(refused(py, "whole rows of it are NULL; drop them"));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let (_, columns, _) = rows.into_parts();
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|problem| refused(py, &problem.to_string()))
    }
}

/// The schema of anything with `__arrow_c_schema__`.
pub(crate) fn schema(source: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let py = source.py();
    let capsule = source.call_method0(intern!(py, "__arrow_c_schema__"))?;
    let capsule = capsule.cast_into::<PyCapsule>()?;
    parse(py, schema_in(&capsule)?)
}

/// The rows of anything with `__arrow_c_array__` or `__arrow_c_stream__`. A stream is read to its end.
pub(crate) fn rows(
    source: &Bound<'_, PyAny>,
    schemas: &mut Schemas,
    into: &mut Vec<RecordBatch>,
) -> PyResult<()> {
    let py = source.py();
    if let Some(export) = source.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let pair = export.call0()?.cast_into::<PyTuple>()?;
        let schema = pair.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = pair.get_item(1)?.cast_into::<PyCapsule>()?;
        let known = schemas.find(py, schema_in(&schema)?)?;
        into.push(known.batch(py, array_in(&array)?)?);
        return Ok(());
    }
    if let Some(export) = source.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
        let capsule = export.call0()?.cast_into::<PyCapsule>()?;
        return read_stream(py, stream_in(&capsule)?, schemas, into);
    }
    let kind = source.get_type().name()?;
    let message = format!("no Arrow data in a {kind}; it has no __arrow_c_stream__");
    Err(named(py, "TypeMismatchError", &message))
}

fn read_stream(
    py: Python<'_>,
    mut stream: FFI_ArrowArrayStream,
    schemas: &mut Schemas,
    into: &mut Vec<RecordBatch>,
) -> PyResult<()> {
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(refused(py, "its stream was read already"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, so its callbacks may be called with it; `schema` is ours.
    if unsafe { get_schema(&raw mut stream, &raw mut schema) } != 0 {
        return Err(last_error(py, &mut stream));
    }
    let known = schemas.find(py, &schema)?;
    let before = into.len();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above; `array` is ours, and empty.
        if unsafe { get_next(&raw mut stream, &raw mut array) } != 0 {
            return Err(last_error(py, &mut stream));
        }
        if array.is_released() {
            // Names and types are checked even where there are no rows.
            if into.len() == before {
                into.push(RecordBatch::new_empty(Arc::clone(&known.schema)));
            }
            return Ok(());
        }
        into.push(known.batch(py, array)?);
    }
}

/// What a stream says of its failure.
fn last_error(py: Python<'_>, stream: &mut FFI_ArrowArrayStream) -> PyErr {
    if let Some(raised) = PyErr::take(py) {
        return raised;
    }
    let text = stream.get_last_error.and_then(|get| {
        // SAFETY: the stream is not released; the text is NULL or lives until its next call.
        let text = unsafe { get(stream) };
        if text.is_null() {
            return None;
        }
        // SAFETY: it is not NULL, and the interface promises a C string.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    });
    refused(py, &text.unwrap_or_else(|| "its stream failed".to_owned()))
}

fn refused(py: Python<'_>, why: &str) -> PyErr {
    named(
        py,
        "InvalidValueError",
        &format!("cannot read the Arrow data: {why}"),
    )
}

fn parse(py: Python<'_>, schema: &FFI_ArrowSchema) -> PyResult<Schema> {
    Schema::try_from(schema).map_err(|problem| named(py, "TypeMismatchError", &problem.to_string()))
}

fn schema_in<'a>(capsule: &'a Bound<'_, PyCapsule>) -> PyResult<&'a FFI_ArrowSchema> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?;
    // SAFETY: by its name the capsule holds a C schema, which lives as long as the capsule.
    Ok(unsafe { pointer.cast::<FFI_ArrowSchema>().as_ref() })
}

fn array_in(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArray> {
    let pointer = capsule.pointer_checked(Some(ARRAY))?;
    // SAFETY: by its name the capsule holds a C array; it is moved out and marked as released.
    Ok(unsafe { FFI_ArrowArray::from_raw(pointer.cast().as_ptr()) })
}

fn stream_in(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: by its name the capsule holds a C stream; it is moved out and marked as released.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) })
}
