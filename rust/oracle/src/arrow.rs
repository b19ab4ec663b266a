//! Rows in and out of Arrow: 64-bit integers and their sums, doubles and strings.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use ringview_core::Type;

use crate::value::{Row, Value};

/// Rows over some columns, and with a column `n` of multiplicities if there are any.
#[must_use]
pub fn to_arrow(
    columns: &[(&str, Type)],
    rows: &[Row],
    multiplicities: Option<&[i64]>,
) -> RecordBatch {
    let array = |(at, (name, ty)): (usize, &(&str, Type))| {
        let values = rows.iter().map(|row| &row[at]);
        ((*name).to_owned(), array(ty, values))
    };
    let mut arrays: Vec<(String, ArrayRef)> = columns.iter().enumerate().map(array).collect();
    if let Some(all) = multiplicities {
        arrays.push(("n".to_owned(), Arc::new(Int64Array::from(all.to_vec()))));
    }
    let field =
        |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let schema = Schema::new(arrays.iter().map(field).collect::<Vec<_>>());
    let arrays = arrays.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of one length")
}

fn array<'r>(ty: &Type, values: impl Iterator<Item = &'r Value>) -> ArrayRef {
    match ty {
        Type::Int64 => Arc::new(Int64Array::from_iter(values.map(|value| match value {
            Value::Int(value) => Some(*value),
            _ => None,
        }))),
        Type::Float64 => Arc::new(Float64Array::from_iter(values.map(|value| match value {
            Value::Real(value) => Some(*value),
            _ => None,
        }))),
        Type::Utf8 => Arc::new(StringArray::from_iter(values.map(|value| match value {
            Value::Text(value) => Some(value.clone()),
            _ => None,
        }))),
        other => panic!("{other} is not among the tests' types"),
    }
}

/// The rows of a batch, sorted.
#[must_use]
pub fn from_arrow(batch: &RecordBatch) -> Vec<Row> {
    let row = |row: usize| {
        batch
            .columns()
            .iter()
            .map(|array| value(array, row))
            .collect()
    };
    let mut rows: Vec<Row> = (0..batch.num_rows()).map(row).collect();
    rows.sort();
    rows
}

fn value(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        // A sum of integers. The oracle's own stay small.
        DataType::Decimal128(_, 0) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            Value::Int(i64::try_from(value).expect("a sum of 64 bits"))
        }
        DataType::Float64 => Value::Real(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        other => panic!("{other} is not among the tests' types"),
    }
}
