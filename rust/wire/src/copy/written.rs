//! Rows as lines of text and CSV, and as tuples.
//!
//! Invariant: as PostgreSQL writes them: a line or a tuple is a message, and the header before the first tuple is in
//! its message, as drivers expect. Cost: linear in the bytes.

use arrow_schema::{ArrowError, SchemaRef};
use bytes::{BufMut, Bytes, BytesMut};

use super::format::{Format, Header, Kind, is_said};
use super::tuples::SIGNATURE;
use crate::encode::column::Column;

/// The header in the message of the first row, and a message before it.
#[must_use]
pub fn opening(format: &Format, schema: &SchemaRef) -> (Bytes, Option<Bytes>) {
    if format.is_binary() {
        return ([&SIGNATURE[..], &[0; 8]].concat().into(), None);
    }
    if format.header == Header::Absent {
        return (Bytes::new(), None);
    }
    let mut line = BytesMut::new();
    for (at, field) in schema.fields().iter().enumerate() {
        if at > 0 {
            line.put_u8(format.delimiter);
        }
        let name = field.name().as_bytes();
        written(name, false, schema.fields().len(), format, &mut line);
    }
    line.put_u8(b'\n');
    (Bytes::new(), Some(message(&line)))
}

/// The message behind the last row, with a header that no row has carried.
#[must_use]
pub fn closing(format: &Format, opening: &[u8]) -> Option<Bytes> {
    let all = || message(&[opening, &[0xff; 2]].concat());
    format.is_binary().then(all)
}

fn message(body: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(body.len() + 5);
    out.put_u8(b'd');
    out.put_u32(body.len() as u32 + 4);
    out.put_slice(body);
    out.freeze()
}

/// Writes a row.
pub(crate) fn row(
    columns: &[Column],
    row: usize,
    format: &Format,
    out: &mut BytesMut,
) -> Result<(), ArrowError> {
    if format.is_binary() {
        out.put_i16(columns.len() as i16);
        return columns
            .iter()
            .try_for_each(|column| column.framed(row, true, out));
    }
    let mut value = BytesMut::new();
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            out.put_u8(format.delimiter);
        }
        if column.is_null(row) {
            out.put_slice(format.null.as_bytes());
            continue;
        }
        value.clear();
        column.text(row, &mut value)?;
        let forced = is_said(&format.force_quote, at);
        written(&value, forced, columns.len(), format, out);
    }
    out.put_u8(b'\n');
    Ok(())
}

/// Writes a field that is not NULL.
fn written(value: &[u8], forced: bool, columns: usize, format: &Format, out: &mut BytesMut) {
    if format.kind == Kind::Text {
        for byte in value {
            match byte {
                b'\\' => out.put_slice(b"\\\\"),
                8 => out.put_slice(b"\\b"),
                12 => out.put_slice(b"\\f"),
                b'\n' => out.put_slice(b"\\n"),
                b'\r' => out.put_slice(b"\\r"),
                b'\t' => out.put_slice(b"\\t"),
                11 => out.put_slice(b"\\v"),
                other if *other == format.delimiter => out.put_slice(&[b'\\', *other]),
                other => out.put_u8(*other),
            }
        }
        return;
    }
    let special = |byte: &u8| [format.delimiter, format.quote, b'\n', b'\r'].contains(byte);
    let is_quoted = forced
        || value == format.null.as_bytes()
        || value.iter().any(special)
        // Alone in its line it would end the rows.
        || columns == 1 && value == b"\\.";
    if !is_quoted {
        out.put_slice(value);
        return;
    }
    out.put_u8(format.quote);
    for byte in value {
        if *byte == format.quote || *byte == format.escape {
            out.put_u8(format.escape);
        }
        out.put_u8(*byte);
    }
    out.put_u8(format.quote);
}
