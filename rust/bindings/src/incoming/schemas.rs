//! C schemas to those of the `arrow` crates, the same one each time.
//!
//! Invariant: a structure is believed once it was walked: not released, no pointer missing, names in UTF-8, no deeper
//! and no wider than a schema is. Metadata is not read: no type that tables hold depends on it. Cost: O(columns),
//! without allocating for a schema that was seen before.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use ringview_core::Type;

use super::array::is_bytes;
use crate::errors::named;

/// Schemas that are remembered; more than a program has tables costs little.
const REMEMBERED: usize = 64;

/// Fields of a schema, those within others too; a circle has more.
const MOST: usize = 1 << 16;

/// Fields within fields.
const DEEPEST: usize = 64;

/// The schemas that were seen before, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    cached: Vec<CachedSchema>,
    /// Whether columns of bytes are accepted.
    bytes: bool,
}

#[derive(Debug)]
struct CachedSchema {
    shape: Shape,
    schema: SchemaRef,
}

impl Schemas {
    /// Those of partials, which have a column of bytes.
    pub(crate) fn of_partials() -> Self {
        Self {
            bytes: true,
            ..Self::default()
        }
    }

    /// The schema behind a C schema, whose columns are all of types that tables hold.
    pub(super) fn find(&mut self, py: Python<'_>, schema: &FFI_ArrowSchema) -> PyResult<SchemaRef> {
        let found = self
            .cached
            .iter()
            .rfind(|cached| schema.release.is_some() && cached.shape.is_of(schema));
        if let Some(cached) = found {
            return Ok(Arc::clone(&cached.schema));
        }
        let shape = shape(py, schema)?;
        let parsed = Arc::new(parse(py, schema, &shape)?);
        let fields = parsed.fields().iter();
        for field in fields.filter(|field| !self.bytes || !is_bytes(field.data_type())) {
            check(py, field)?;
        }
        if self.cached.len() == REMEMBERED {
            self.cached.remove(0);
        }
        let schema = Arc::clone(&parsed);
        self.cached.push(CachedSchema { shape, schema });
        Ok(parsed)
    }
}

/// The schema behind a C schema, of whatever types.
pub(super) fn read(py: Python<'_>, schema: &FFI_ArrowSchema) -> PyResult<Schema> {
    parse(py, schema, &shape(py, schema)?)
}

fn shape(py: Python<'_>, schema: &FFI_ArrowSchema) -> PyResult<Shape> {
    Shape::of(schema, DEEPEST, &mut 0).map_err(|why| refused(py, &format!("its schema {why}")))
}

fn parse(py: Python<'_>, schema: &FFI_ArrowSchema, shape: &Shape) -> PyResult<Schema> {
    if shape.format != "+s" {
        return Err(named(
            py,
            "TypeMismatchError",
            "the Arrow data is a single column; pass a table or a batch of named columns",
        ));
    }
    let columns = shape.children.iter().zip(schema.children());
    let fields = columns.map(|(shape, column)| {
        let refuse = |why: &str| {
            let message = format!("column {:?}: {why}", shape.name);
            named(py, "TypeMismatchError", &message)
        };
        if let Some(kind) = shape.nested() {
            return Err(refuse(&format!(
                "tables do not hold values of {kind}; give each part a column, or a table, of its own"
            )));
        }
        let ty = DataType::try_from(column).map_err(|problem| refuse(&problem.to_string()))?;
        Ok(Field::new(&shape.name, ty, shape.nullable))
    });
    Ok(Schema::new(fields.collect::<PyResult<Vec<_>>>()?))
}

/// Refuses a column that no table can hold, before any of its rows is taken.
fn check(py: Python<'_>, field: &Field) -> PyResult<()> {
    let ty = field.data_type();
    if *ty == DataType::Null {
        return Ok(());
    }
    Type::from_arrow(ty).map(drop).map_err(|problem| {
        let message = format!("column {:?}: {problem}", field.name());
        named(py, "TypeMismatchError", &message)
    })
}

/// Properties by which C schemas are compared.
#[derive(Debug)]
struct Shape {
    format: String,
    name: String,
    nullable: bool,
    dictionary: Option<Box<Shape>>,
    children: Vec<Shape>,
}

impl Shape {
    /// Walks a schema down to `depth`; `seen` counts its fields.
    fn of(schema: &FFI_ArrowSchema, depth: usize, seen: &mut usize) -> Result<Shape, &'static str> {
        *seen += 1;
        if schema.release.is_none() {
            return Err("was released before it came");
        }
        if depth == 0 || *seen > MOST {
            return Err("is nested too deeply, or has too many fields");
        }
        if schema.n_children < 0 {
            return Err("lacks a column");
        }
        let mut inner = |schema| Shape::of(schema, depth - 1, seen);
        let dictionary = schema.dictionary().map(&mut inner).transpose()?;
        let mut children = Vec::new();
        for at in 0..schema.n_children {
            children.push(inner(child(schema, at).ok_or("lacks a column")?)?);
        }
        Ok(Shape {
            format: text(schema.format).ok_or("has no types")?.to_owned(),
            name: name(schema)
                .ok_or("has a name that is not UTF-8")?
                .to_owned(),
            nullable: schema.nullable(),
            dictionary: dictionary.map(Box::new),
            children,
        })
    }

    /// The kind of a type that is made from others, which is not one of a table.
    fn nested(&self) -> Option<&'static str> {
        Some(match self.format.get(..2) {
            Some("+l" | "+L" | "+v" | "+w") => "lists",
            Some("+s") => "structs",
            Some("+m") => "maps",
            Some("+u") => "unions",
            Some("+r") => "run-end encoding",
            _ => return self.dictionary.as_ref()?.nested(),
        })
    }

    /// Whether this is what was walked. Walks no further than that.
    fn is_of(&self, schema: &FFI_ArrowSchema) -> bool {
        self.children.len() as i64 == schema.n_children
            && name(schema) == Some(&self.name)
            && text(schema.format) == Some(&self.format)
            && self.nullable == schema.nullable()
            && match (&self.dictionary, schema.dictionary()) {
                (Some(shape), Some(schema)) => shape.is_of(schema),
                (None, None) => true,
                _ => false,
            }
            && (0..)
                .zip(&self.children)
                .all(|(at, shape)| child(schema, at).is_some_and(|child| shape.is_of(child)))
    }
}

fn child(schema: &FFI_ArrowSchema, at: i64) -> Option<&FFI_ArrowSchema> {
    if schema.children.is_null() {
        return None;
    }
    // SAFETY: `children` points to as many pointers as there are, by the interface, and `at` is
    // one of them; each is null or a schema that lives as long as this one.
    // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
    unsafe {
        let child = schema.children.add(usize::try_from(at).ok()?);
        child.read_unaligned().as_ref()
    }
}

/// A name; the empty one where there is none.
fn name(schema: &FFI_ArrowSchema) -> Option<&str> {
    match schema.name.is_null() {
        true => Some(""),
        false => text(schema.name),
    }
}

fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is not null, so by the interface it is a C string, which lives as long as the schema.
    // Test: tests/python/test_arrow_edge.py::test_odd_data_is_read_and_wrong_data_refused
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

pub(super) fn refused(py: Python<'_>, why: &str) -> PyErr {
    let message = format!("cannot read the Arrow data: {why}");
    named(py, "InvalidValueError", &message)
}
