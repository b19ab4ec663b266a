//! Rows that have given values in some of their columns.
//!
//! Invariant: NULL is found by NULL, and 0.0 by -0.0; NaN by nothing. Cost: O(rows).

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::DataType;
use arrow_select::filter::filter_record_batch;
use ringview_core::{Error, Result};
use ringview_view::{Key, KeyValue};

use crate::codec::refused;
use crate::numbers::{reals, scaled};

/// The rows of a batch that have these values.
pub(crate) fn rows_with(key: &Key<'_>, rows: &RecordBatch) -> Result<RecordBatch> {
    let mut agree = vec![true; rows.num_rows()];
    for &(name, value) in key {
        let column = rows
            .column_by_name(name)
            .ok_or_else(|| Error::UnknownColumn {
                table: String::new(),
                column: name.to_owned(),
                known: rows
                    .schema()
                    .fields()
                    .iter()
                    .map(|field| field.name().clone())
                    .collect(),
            })?;
        let own = matching(name, column, value)?;
        for (agree, own) in agree.iter_mut().zip(own) {
            *agree &= own;
        }
    }
    filter_record_batch(rows, &BooleanArray::from(agree)).map_err(refused)
}

/// By row, whether a column has a value.
fn matching(name: &str, column: &ArrayRef, value: KeyValue<'_>) -> Result<Vec<bool>> {
    let ty = column.data_type();
    let real =
        |real: f64| reals(column).map(|all| all.iter().map(|one| *one == Some(real)).collect());
    let found: Option<Vec<bool>> = match value {
        KeyValue::Null => Some((0..column.len()).map(|row| column.is_null(row)).collect()),
        KeyValue::Text(text) => column
            .as_string_opt::<i32>()
            .map(|all| all.iter().map(|one| one == Some(text)).collect()),
        KeyValue::Bool(is_true) => column
            .as_boolean_opt()
            .map(|all| all.iter().map(|one| one == Some(is_true)).collect()),
        KeyValue::Real(value) => real(value),
        KeyValue::Integer(value) if ty.is_floating() => {
            let near = value as f64;
            real(if near as i128 == value {
                near
            } else {
                f64::NAN
            })
        }
        KeyValue::Integer(_) if *ty == DataType::Boolean => None,
        KeyValue::Integer(value) => {
            scaled(column).map(|all| all.iter().map(|one| *one == Some(value)).collect())
        }
    };
    found.ok_or_else(|| Error::Type {
        place: format!("column {name:?}"),
        expected: ty.to_string(),
        found: match value {
            KeyValue::Bool(_) => "bool",
            KeyValue::Integer(_) => "an integer",
            KeyValue::Real(_) => "a float",
            _ => "string",
        }
        .to_owned(),
    })
}
