//! Values as a column of a table takes them.
//!
//! Invariant: what is assigned is cast as DuckDB casts what is inserted: numbers to the nearest, texts that say a value to
//! it, never a number to a moment; a value that does not fit is refused with its row, and none wraps. Cost: a pass of
//! vector kernels; O(rows log rows) more for a message.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::DataType;
use datafusion_common::arrow::row::{RowConverter, SortField};
use datafusion_common::arrow::util::display::array_value_to_string;
use datafusion_expr::{cast, col};
use ringview_core::{Error, Field, Result, Schema, Type};

use crate::projection::Projection;

/// Name of the values in their projection.
const VALUES: &str = "value";

/// The values of some rows as a column of a table takes them; NULL stays NULL.
///
/// # Errors
/// `Type` for values of another kind than the column's; `Value` for one that the column cannot hold, which says in which
/// row, from 0.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int8Array, StringArray};
/// # use ringview_core::{Field, Type};
/// use ringview_expr::assigned;
/// let column = Field::new("n", Type::Int8, true);
/// let texts: ArrayRef = Arc::new(StringArray::from(vec!["7", "300"]));
/// let taken = assigned(&texts.slice(0, 1), &column, "r")?;
/// assert_eq!(taken.as_ref(), &Int8Array::from(vec![7]));
/// let refusal = assigned(&texts, &column, "r").unwrap_err().to_string();
/// assert!(refusal.contains("row 1") && refusal.contains("300"));
/// # Ok::<(), ringview_core::Error>(())
/// ```
pub fn assigned(values: &ArrayRef, column: &Field, table: &str) -> Result<ArrayRef> {
    let to = column.ty.to_arrow();
    if *values.data_type() == to {
        return Ok(Arc::clone(values));
    }
    if values.null_count() == values.len() {
        return Ok(new_null_array(&to, values.len()));
    }
    let place = format!("column {:?} of table {table:?}", column.name);
    let wrong = |from: &DataType| Error::Type {
        place: place.clone(),
        expected: column.ty.to_string(),
        found: from.to_string(),
    };
    let from = Type::from_arrow(values.data_type()).map_err(|_| wrong(values.data_type()))?;
    if !goes(&from, &column.ty) {
        return Err(wrong(values.data_type()));
    }
    let schema = Schema::new(vec![Field::new(VALUES, from, true)])?;
    let of = Projection::of(None, vec![(cast(col(VALUES), to), place.clone())], &schema)?;
    let done = |from: usize, rows: usize| -> Result<ArrayRef> {
        let part = values.slice(from, rows);
        let found = of.evaluate(vec![Arc::clone(&part)], rows)?.columns;
        let found = found
            .into_iter()
            .next()
            .ok_or_else(|| wrong(values.data_type()))?;
        match is_infinite(&found) > is_infinite(&part) {
            true => Err(Error::Overflow {
                place: place.clone(),
            }),
            false => Ok(found),
        }
    };
    done(0, values.len()).map_err(|_| {
        // The first row that cannot be cast: all before it can.
        let (mut good, mut bad) = (0, values.len());
        while bad - good > 1 {
            let half = good.midpoint(bad);
            match done(good, half - good) {
                Ok(_) => good = half,
                Err(_) => bad = half,
            }
        }
        let shown = array_value_to_string(values, good).unwrap_or_default();
        Error::Value {
            place: format!("row {good}, {place}"),
            problem: format!("'{shown}' is no {}", column.ty),
        }
    })
}

/// Whether values of one type are ever taken by a column of another.
fn goes(from: &Type, to: &Type) -> bool {
    let is_moment = |of: &Type| matches!(of, Type::Date32 | Type::Timestamp { .. });
    match (from, to) {
        (Type::Utf8, _) | (_, Type::Utf8) => true,
        _ => is_moment(from) == is_moment(to),
    }
}

/// Number of infinite values.
fn is_infinite(values: &ArrayRef) -> usize {
    if let Some(single) = values.as_primitive_opt::<Float32Type>() {
        return single
            .iter()
            .flatten()
            .filter(|value| value.is_infinite())
            .count();
    }
    match values.as_primitive_opt::<Float64Type>() {
        Some(double) => double
            .iter()
            .flatten()
            .filter(|value| value.is_infinite())
            .count(),
        None => 0,
    }
}

/// Of some rows, by their columns, those that are equal to one before them.
///
/// # Errors
/// `Value` for columns that are not compared.
pub fn repeated(columns: &[ArrayRef]) -> Result<Vec<bool>> {
    let refused = |problem: arrow_schema::ArrowError| Error::Value {
        place: "the key of the rows".to_owned(),
        problem: problem.to_string(),
    };
    let field = |column: &ArrayRef| SortField::new(column.data_type().clone());
    let converter = RowConverter::new(columns.iter().map(field).collect()).map_err(refused)?;
    let rows = converter.convert_columns(columns).map_err(refused)?;
    let mut seen = HashSet::with_capacity(rows.num_rows());
    Ok(rows.iter().map(|row| !seen.insert(row)).collect())
}
