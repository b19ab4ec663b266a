//! Values that PostgreSQL has no type for, as JSON.
//!
//! Invariant: numbers are written with all their digits; what JSON has no form for is a string of its text. Cost: linear in the
//! text.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType};
use bytes::{BufMut, BytesMut};

/// Writes the value of a row.
pub(super) fn write(array: &ArrayRef, row: usize, out: &mut BytesMut) -> Result<(), ArrowError> {
    if array.is_null(row) {
        out.put_slice(b"null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            let held = array.as_struct();
            out.put_u8(b'{');
            for (at, (field, column)) in fields.iter().zip(held.columns()).enumerate() {
                if at > 0 {
                    out.put_u8(b',');
                }
                string(field.name(), out);
                out.put_u8(b':');
                write(column, row, out)?;
            }
            out.put_u8(b'}');
        }
        DataType::List(_) => list(&array.as_list::<i32>().value(row), out)?,
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row), out)?,
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row), out)?,
        other => {
            let options = FormatOptions::default();
            let text = ArrayFormatter::try_new(array, &options)?
                .value(row)
                .to_string();
            let bare = other.is_numeric() && text.parse::<f64>().is_ok_and(f64::is_finite);
            match bare || *other == DataType::Boolean {
                true => out.put_slice(text.as_bytes()),
                false => string(&text, out),
            }
        }
    }
    Ok(())
}

fn list(items: &ArrayRef, out: &mut BytesMut) -> Result<(), ArrowError> {
    out.put_u8(b'[');
    for row in 0..items.len() {
        if row > 0 {
            out.put_u8(b',');
        }
        write(items, row, out)?;
    }
    out.put_u8(b']');
    Ok(())
}

fn string(text: &str, out: &mut BytesMut) {
    out.put_u8(b'"');
    for one in text.chars() {
        // Writing to memory never fails.
        let _ = match one {
            '"' | '\\' => write!(out, "\\{one}"),
            '\n' => out.write_str("\\n"),
            '\t' => out.write_str("\\t"),
            '\r' => out.write_str("\\r"),
            one if one < ' ' => write!(out, "\\u{:04x}", one as u32),
            one => out.write_char(one),
        };
    }
    out.put_u8(b'"');
}
