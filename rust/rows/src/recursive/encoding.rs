//! Rows of a recursion as bytes, and as columns again.
//!
//! Invariant: the bytes of two rows are equal exactly where DISTINCT holds the rows for equal: NULL is NULL, -0.0 is 0.0,
//! and NaN is NaN. Cost: O(bytes).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, Int64Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, SchemaRef};
use ringview_core::Result;

use crate::block::other_rows;
use crate::codec::{converter, encoded, refused};

/// See the module.
#[derive(Debug)]
pub(super) struct Encoding {
    converter: RowConverter,
    width: usize,
}

impl Encoding {
    pub(super) fn new(schema: &SchemaRef) -> Result<Self> {
        let fields = schema.fields().iter();
        let fields = fields.map(|field| SortField::new(field.data_type().clone()));
        Ok(Self {
            converter: converter(fields.collect())?,
            width: schema.fields().len(),
        })
    }

    /// The rows of columns; further ones are left alone.
    pub(super) fn encode(&self, columns: &[ArrayRef]) -> Result<Vec<Box<[u8]>>> {
        let own = columns.iter().take(self.width).map(canonical);
        encoded(&self.converter, &own.collect::<Vec<ArrayRef>>())
    }

    /// Rows as columns.
    pub(super) fn decode<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> Result<Vec<ArrayRef>> {
        let parser = self.converter.parser();
        let rows = rows.map(|row| parser.parse(row));
        self.converter.convert_rows(rows).map_err(refused)
    }

    /// The levels of rows that have them in a column behind their own.
    pub(super) fn levels<'c>(&self, columns: &'c [ArrayRef]) -> Result<&'c Int64Array> {
        let last = columns.get(self.width).map(|last| &**last);
        let levels = last.and_then(|last| last.as_primitive_opt::<Int64Type>());
        levels.ok_or_else(other_rows)
    }
}

/// A column of floats with one zero and one NaN; any other as it is.
fn canonical(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            let all = array.as_primitive::<Float64Type>();
            let one = |value: f64| {
                if value.is_nan() {
                    f64::NAN
                } else {
                    value + 0.0
                }
            };
            Arc::new(all.unary::<_, Float64Type>(one)) as Arc<Float64Array>
        }
        DataType::Float32 => {
            let all = array.as_primitive::<Float32Type>();
            let one = |value: f32| {
                if value.is_nan() {
                    f32::NAN
                } else {
                    value + 0.0
                }
            };
            Arc::new(all.unary::<_, Float32Type>(one)) as Arc<Float32Array>
        }
        _ => Arc::clone(array),
    }
}
