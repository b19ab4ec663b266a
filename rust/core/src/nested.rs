//! Values of lists, structs and maps as texts of the dictionary.
//!
//! Invariant: equal values are equal texts, and texts compare as the values do, NULLs behind all else. A text has a
//! character for each byte of arrow-row's encoding. Cost: O(bytes of a value) to write and to read.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, UInt32Array, make_array, new_null_array};
use arrow_cast::cast;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, SortOptions};

use crate::{Error, Result, Type};

/// The text of each value of an array; of a NULL anything.
pub(crate) fn texts(array: &dyn Array, ty: &Type) -> Result<Vec<String>> {
    let data = array.to_data();
    // The array may have been made without any check.
    data.validate_full().map_err(refused)?;
    let values = cast(&make_array(data), &ty.to_arrow()).map_err(refused)?;
    let rows = converter(ty)?.convert_columns(&[values]).map_err(refused)?;
    let text = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect();
    Ok(rows.iter().map(|row| text(row.data())).collect())
}

/// The array of the values of some texts; of none NULL.
pub(crate) fn array<'t>(
    texts: impl Iterator<Item = Option<&'t str>>,
    ty: &Type,
) -> Result<ArrayRef> {
    let converter = converter(ty)?;
    let mut bytes: Vec<u8> = Vec::new();
    let mut ends = Vec::new();
    let mut places = Vec::new();
    for text in texts {
        let Some(text) = text else {
            places.push(None);
            continue;
        };
        places.push(Some(ends.len() as u32));
        bytes.extend(text.chars().map(|character| u32::from(character) as u8));
        ends.push(bytes.len());
    }
    if ends.is_empty() {
        return Ok(new_null_array(&ty.to_arrow(), places.len()));
    }
    let parser = converter.parser();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let rows = starts
        .zip(&ends)
        .map(|(start, &end)| parser.parse(&bytes[start..end]));
    let values = converter.convert_rows(rows).map_err(refused)?.remove(0);
    if places.len() == ends.len() {
        return Ok(values);
    }
    arrow_select::take::take(&values, &UInt32Array::from(places), None).map_err(refused)
}

/// An array whose order is that of another's values, NULLs inside them behind all else in either direction: what
/// libraries order by has them where NULL itself is. Of what is not nested, the array.
///
/// # Errors
/// `Value` where the type has no order.
pub fn sortable(array: &ArrayRef) -> Result<ArrayRef> {
    if !array.data_type().is_nested() {
        return Ok(Arc::clone(array));
    }
    let converter = encoding(array.data_type().clone())?;
    let rows = converter.convert_columns(std::slice::from_ref(array));
    let rows = rows.map_err(refused)?;
    let bytes = rows.iter().enumerate();
    let bytes = bytes.map(|(at, row)| array.is_valid(at).then(|| row.data()));
    Ok(Arc::new(bytes.collect::<BinaryArray>()))
}

fn converter(ty: &Type) -> Result<RowConverter> {
    encoding(ty.to_arrow())
}

fn encoding(ty: DataType) -> Result<RowConverter> {
    let nulls_last = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let field = SortField::new_with_options(ty, nulls_last);
    RowConverter::new(vec![field]).map_err(refused)
}

fn refused(problem: ArrowError) -> Error {
    malformed(&problem.to_string())
}

fn malformed(problem: &str) -> Error {
    Error::Value {
        place: "a nested value".to_owned(),
        problem: problem.to_owned(),
    }
}
