//! Rows of plain Python values: a dict, a tuple or a dataclass a row.
//!
//! Invariant: what is read here is what pyarrow would read. A value that is not exactly of Python's own
//! type for its column, and a row that has not exactly the table's columns, are left to pyarrow, which
//! converts them or says what is wrong; nothing of their row stays. Cost: some tens of nanoseconds a value.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray,
    new_null_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, Field, Schema as ArrowSchema, SchemaRef};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use ringview_core::{Schema, Type};

use super::Batches;
use crate::errors::named;

/// Names and types by which rows of one table are read.
#[derive(Debug)]
pub(crate) struct RowLayout {
    names: Vec<Py<PyString>>,
    types: Vec<Type>,
    schema: SchemaRef,
}

impl RowLayout {
    pub(crate) fn new(py: Python<'_>, schema: &Schema) -> RowLayout {
        let fields = schema.fields();
        let name = |name: &str| PyString::intern(py, name).unbind();
        // A NULL where none may be is refused with its place by whoever applies the rows.
        let arrow = |name: &str, ty: &Type| Field::new(name, ty.to_arrow(), true);
        let columns = fields.iter().map(|field| arrow(&field.name, &field.ty));
        RowLayout {
            names: fields.iter().map(|field| name(&field.name)).collect(),
            types: fields.iter().map(|field| field.ty.clone()).collect(),
            schema: Arc::new(ArrowSchema::new(columns.collect::<Vec<_>>())),
        }
    }
}

/// Whether all of a row, or of some rows, could be read.
type Read = PyResult<Option<()>>;

/// Result of a value outside the table's own columns or Python's own types.
const LEFT: Read = Ok(None);

/// Rows that are gathered, by column.
#[derive(Debug)]
struct Gathered {
    columns: Vec<Gathering>,
    rows: usize,
}

/// A column of them.
#[derive(Debug)]
struct Gathering {
    values: Values,
    valid: Vec<bool>,
}

#[derive(Debug)]
enum Values {
    Bools(Vec<bool>),
    /// Integers, and days since 1970.
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    /// The end of each text in all of them.
    Texts(String, Vec<i32>),
    /// Of a type of which only NULLs are read here.
    Nothing,
}

impl Values {
    fn of(ty: &Type) -> Values {
        match ty {
            Type::Bool => Values::Bools(Vec::new()),
            Type::Float32 | Type::Float64 => Values::Reals(Vec::new()),
            Type::Utf8 => Values::Texts(String::new(), vec![0]),
            Type::Decimal { .. }
            | Type::Timestamp { .. }
            | Type::List(_)
            | Type::Struct(_)
            | Type::Map(_) => Values::Nothing,
            _ => Values::Integers(Vec::new()),
        }
    }

    /// Pushes the placeholder of a NULL.
    fn push_null(&mut self) {
        match self {
            Values::Bools(all) => all.push(false),
            Values::Integers(all) => all.push(0),
            Values::Reals(all) => all.push(0.0),
            Values::Texts(all, ends) => ends.push(all.len() as i32),
            Values::Nothing => {}
        }
    }

    /// Whether it was of Python's own type for the column.
    fn push(&mut self, value: &Bound<'_, PyAny>, ty: &Type) -> PyResult<bool> {
        Ok(match self {
            Values::Bools(all) => {
                let found = value.cast_exact::<PyBool>().ok();
                all.extend(found.map(|value| value.is_true()));
                found.is_some()
            }
            Values::Integers(all) => {
                let found = match ty {
                    Type::Date32 => day(value)?,
                    _ => whole(value).filter(|&found| fits(found, ty)),
                };
                all.extend(found);
                found.is_some()
            }
            Values::Reals(all) => {
                let found = match value.cast_exact::<PyFloat>() {
                    Ok(real) => Some(real.value()),
                    Err(_) => exact(value),
                };
                all.extend(found);
                found.is_some()
            }
            Values::Texts(all, ends) => {
                // One with half a surrogate is no UTF-8.
                let text = value.cast_exact::<PyString>().ok();
                let text = text.and_then(|text| text.to_str().ok());
                let end = text.and_then(|text| i32::try_from(all.len() + text.len()).ok());
                ends.extend(end);
                all.extend(text.filter(|_| end.is_some()));
                end.is_some()
            }
            Values::Nothing => false,
        })
    }

    fn truncate(&mut self, rows: usize) {
        match self {
            Values::Bools(all) => all.truncate(rows),
            Values::Integers(all) => all.truncate(rows),
            Values::Reals(all) => all.truncate(rows),
            Values::Texts(all, ends) => {
                ends.truncate(rows + 1);
                all.truncate(ends[rows] as usize);
            }
            Values::Nothing => {}
        }
    }
}

/// An integer of 64 bits; one that needs more is left to pyarrow.
fn whole(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// The day of a `datetime.date`.
fn day(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let class = value.get_type();
    if class.name()? != "date" || class.module()? != "datetime" {
        return Ok(None);
    }
    let ordinal = value.call_method0(intern!(value.py(), "toordinal"))?;
    Ok(Some(ordinal.extract::<i64>()? - DAY_0))
}

/// The ordinal of 1970-01-01.
const DAY_0: i64 = 719_163;

/// Whether an integer is one of a type.
fn fits(value: i64, ty: &Type) -> bool {
    match ty {
        Type::Int8 => i8::try_from(value).is_ok(),
        Type::Int16 => i16::try_from(value).is_ok(),
        Type::Int32 => i32::try_from(value).is_ok(),
        Type::UInt8 => u8::try_from(value).is_ok(),
        Type::UInt16 => u16::try_from(value).is_ok(),
        Type::UInt32 => u32::try_from(value).is_ok(),
        Type::UInt64 => value >= 0,
        _ => true,
    }
}

/// An integer that a double holds.
fn exact(value: &Bound<'_, PyAny>) -> Option<f64> {
    const MOST: i64 = 1 << 53;
    let whole = whole(value)?;
    (-MOST..=MOST).contains(&whole).then_some(whole as f64)
}

impl Gathered {
    fn new(row_layout: &RowLayout) -> Gathered {
        let column = |ty| Gathering {
            values: Values::of(ty),
            valid: Vec::new(),
        };
        Gathered {
            columns: row_layout.types.iter().map(column).collect(),
            rows: 0,
        }
    }

    /// Adds a row, of which `value` gives each column.
    fn push<'py>(
        &mut self,
        row_layout: &RowLayout,
        value: impl Fn(usize) -> PyResult<Option<Bound<'py, PyAny>>>,
    ) -> Read {
        let columns = self.columns.iter_mut().zip(&row_layout.types).enumerate();
        for (at, (Gathering { values, valid }, ty)) in columns {
            match value(at)? {
                Some(value) if value.is_none() => {
                    values.push_null();
                    valid.push(false);
                }
                Some(value) if values.push(&value, ty)? => valid.push(true),
                _ => return LEFT,
            }
        }
        self.rows += 1;
        Ok(Some(()))
    }

    /// Forgets what was read of a row that was left.
    fn take_back(&mut self) {
        for Gathering { values, valid } in &mut self.columns {
            values.truncate(self.rows);
            valid.truncate(self.rows);
        }
    }

    /// Adds what may be a row in any of their forms.
    fn push_row(&mut self, row_layout: &RowLayout, row: &Bound<'_, PyAny>) -> Read {
        let (py, columns) = (row.py(), row_layout.names.len());
        if let Ok(row) = row.cast_exact::<PyDict>() {
            return match row.len() == columns {
                true => self.push(row_layout, |at| row.get_item(row_layout.names[at].bind(py))),
                false => LEFT,
            };
        }
        if let Ok(row) = row.cast_exact::<PyTuple>() {
            return match row.len() == columns {
                true => self.push(row_layout, |at| row.get_item(at).map(Some)),
                false => LEFT,
            };
        }
        let fields = row
            .get_type()
            .getattr_opt(intern!(py, "__dataclass_fields__"))?;
        match fields.map(|fields| fields.len()).transpose()? == Some(columns) {
            true => self.push(row_layout, |at| {
                row.getattr_opt(row_layout.names[at].bind(py))
            }),
            false => LEFT,
        }
    }

    /// The rows as Arrow; none are left.
    fn take(&mut self, row_layout: &RowLayout) -> Result<RecordBatch, ArrowError> {
        let taken = std::mem::replace(self, Gathered::new(row_layout));
        let columns = taken.columns.into_iter().zip(&row_layout.types);
        let arrays = columns.map(|(column, ty)| column.array(ty, taken.rows));
        let arrays = arrays.collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(taken.rows));
        RecordBatch::try_new_with_options(Arc::clone(&row_layout.schema), arrays, &options)
    }
}

impl Gathering {
    fn array(self, ty: &Type, rows: usize) -> Result<ArrayRef, ArrowError> {
        let nulls = self.valid.contains(&false);
        let nulls = nulls.then(|| NullBuffer::from(self.valid));
        Ok(match (self.values, ty) {
            (Values::Bools(all), _) => Arc::new(BooleanArray::new(all.into(), nulls)),
            (Values::Texts(all, ends), _) => {
                let (ends, bytes) = (
                    OffsetBuffer::new(ends.into()),
                    Buffer::from(all.into_bytes()),
                );
                Arc::new(StringArray::try_new(ends, bytes, nulls)?)
            }
            (Values::Reals(all), Type::Float32) => {
                primitive::<Float32Type>(all.into_iter().map(|value| value as f32).collect(), nulls)
            }
            (Values::Reals(all), _) => primitive::<Float64Type>(all, nulls),
            (Values::Integers(all), Type::Int8) => narrow::<Int8Type>(all, nulls),
            (Values::Integers(all), Type::Int16) => narrow::<Int16Type>(all, nulls),
            (Values::Integers(all), Type::Int32) => narrow::<Int32Type>(all, nulls),
            (Values::Integers(all), Type::UInt8) => narrow::<UInt8Type>(all, nulls),
            (Values::Integers(all), Type::UInt16) => narrow::<UInt16Type>(all, nulls),
            (Values::Integers(all), Type::UInt32) => narrow::<UInt32Type>(all, nulls),
            (Values::Integers(all), Type::UInt64) => narrow::<UInt64Type>(all, nulls),
            (Values::Integers(all), Type::Date32) => narrow::<Date32Type>(all, nulls),
            (Values::Integers(all), _) => primitive::<Int64Type>(all, nulls),
            (Values::Nothing, ty) => new_null_array(&ty.to_arrow(), rows),
        })
    }
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

/// Integers that fit a type, which was checked at their push.
fn narrow<T>(values: Vec<i64>, nulls: Option<NullBuffer>) -> ArrayRef
where
    T: ArrowPrimitiveType<Native: TryFrom<i64>>,
{
    let fitting = |value: i64| T::Native::try_from(value).unwrap_or_default();
    primitive::<T>(values.into_iter().map(fitting).collect(), nulls)
}

/// A row, or a list of rows, in one batch; `None` if pyarrow is to read them.
pub(crate) fn rows(row_layout: &RowLayout, rows: &Bound<'_, PyAny>) -> PyResult<Option<Batches>> {
    let mut gathered = Gathered::new(row_layout);
    if let Ok(all) = rows.cast_exact::<PyList>() {
        for row in all.iter() {
            if gathered.push_row(row_layout, &row)?.is_none() {
                return Ok(None);
            }
        }
    } else if gathered.push_row(row_layout, rows)?.is_none() {
        return Ok(None);
    }
    match gathered.rows {
        0 => Ok(None),
        _ => gathered.batches(row_layout, rows.py()).map(Some),
    }
}

impl Gathered {
    fn batches(&mut self, row_layout: &RowLayout, py: Python<'_>) -> PyResult<Batches> {
        let taken = self.take(row_layout);
        let taken = taken.map_err(|why| named(py, "InvalidValueError", &why.to_string()))?;
        Ok(Batches::new(vec![taken]))
    }
}

/// Rows that are gathered one at a time, to be applied together.
///
/// >>> import pyarrow as pa
/// >>> from ringview._native import Database
/// >>> db = Database()
/// >>> db.create_table("r", pa.schema({"a": pa.int64(), "b": pa.string()}), None, False)
/// >>> rows = db.row_buffer("r")
/// >>> rows.append({"a": 1, "b": "x"}), rows.append((2, None)), rows.append({"a": "no"})
/// (1, 2, 0)
/// >>> rows.take()
/// Batches(rows=2)
#[pyclass(module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct RowBuffer {
    row_layout: Arc<RowLayout>,
    gathered: Gathered,
}

impl RowBuffer {
    pub(crate) fn new(row_layout: Arc<RowLayout>) -> RowBuffer {
        let gathered = Gathered::new(&row_layout);
        RowBuffer {
            row_layout,
            gathered,
        }
    }
}

#[pymethods]
impl RowBuffer {
    /// Adds a row; the number of rows then, or 0 if it was not added: pyarrow is to read it.
    fn append(&mut self, row: &Bound<'_, PyAny>) -> PyResult<usize> {
        match self.gathered.push_row(&self.row_layout, row) {
            Ok(Some(())) => Ok(self.gathered.rows),
            left => {
                self.gathered.take_back();
                left.map(|_| 0)
            }
        }
    }

    /// The rows, for a later change; none are left.
    fn take(&mut self, py: Python<'_>) -> PyResult<Batches> {
        self.gathered.batches(&self.row_layout, py)
    }

    fn __len__(&self) -> usize {
        self.gathered.rows
    }
}
