//! Aggregates whose values are lists and maps.
//!
//! Invariant: their types are those that columns of a view have: inner values may be NULL. Cost: O(rows).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, ListArray, MapArray, StructArray, UInt32Array};
use arrow_schema::{DataType, Field, Fields};
use datafusion_common::arrow::buffer::OffsetBuffer;
use datafusion_common::arrow::compute::{partition, take};
use datafusion_common::{Result, ScalarValue};

/// Of values of a type.
pub(super) fn list_type(of: &DataType) -> DataType {
    DataType::List(item(of))
}

/// All values, in their order.
pub(super) fn list(values: &ArrayRef) -> Result<ScalarValue> {
    let whole = OffsetBuffer::from_lengths([values.len()]);
    let list = ListArray::try_new(item(values.data_type()), whole, Arc::clone(values), None)?;
    Ok(ScalarValue::List(Arc::new(list)))
}

/// From values of a type to how often they are there.
pub(super) fn histogram_type(of: &DataType) -> DataType {
    DataType::Map(entries(of), false)
}

/// Number of occurrences of each value, sorted by value.
pub(super) fn histogram(values: &ArrayRef) -> Result<ScalarValue> {
    let runs = partition(std::slice::from_ref(values))?.ranges();
    let starts = runs.iter().map(|run| run.start as u32);
    let keys = take(values, &UInt32Array::from_iter_values(starts), None)?;
    let counts = runs.iter().map(|run| run.len() as i64);
    let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(counts));
    let whole = OffsetBuffer::from_lengths([keys.len()]);
    let pairs = StructArray::try_new(pair(values.data_type()), vec![keys, counts], None)?;
    let map = MapArray::try_new(entries(values.data_type()), whole, pairs, None, false)?;
    Ok(ScalarValue::Map(Arc::new(map)))
}

fn item(of: &DataType) -> Arc<Field> {
    Arc::new(Field::new("item", of.clone(), true))
}

fn pair(of: &DataType) -> Fields {
    Fields::from(vec![
        Field::new("key", of.clone(), false),
        Field::new("value", DataType::Int64, true),
    ])
}

fn entries(of: &DataType) -> Arc<Field> {
    Arc::new(Field::new("entries", DataType::Struct(pair(of)), false))
}
