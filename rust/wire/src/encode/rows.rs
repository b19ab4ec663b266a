//! Rows as messages, of queries and of COPY.
//!
//! Invariant: a piece is whole messages. Cost: linear in what is written; memory for one piece, `PIECE` bytes and a row.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use bytes::{BufMut, Bytes, BytesMut};

use super::column::Column;
use super::kind::{Kind, cast};
use crate::copy::format::Format;
use crate::copy::written;

/// Number of bytes that are sent at a time.
const PIECE: usize = 1 << 16;

/// Layout of rows.
#[derive(Clone, Debug)]
pub enum Layout {
    /// As messages of rows: in the binary format those columns that are named so; one for all, or one a column.
    Rows(Vec<bool>),
    /// As lines or tuples of COPY, each a message.
    Copy(Arc<Format>),
}

/// The rows of a batch, piece by piece.
#[derive(Debug)]
pub struct Pieces {
    columns: Vec<Column>,
    layout: Layout,
    /// The header of COPY in the next message before its row.
    opening: Bytes,
    next: usize,
    end: usize,
}

impl Pieces {
    /// The rows of a batch from one place to another.
    ///
    /// # Errors
    /// A column that cannot be cast to the type that it is sent as.
    pub fn of(
        batch: &RecordBatch,
        rows: std::ops::Range<usize>,
        layout: Layout,
    ) -> Result<Pieces, ArrowError> {
        Ok(Pieces {
            columns: batch
                .columns()
                .iter()
                .map(Column::of)
                .collect::<Result<_, _>>()?,
            layout,
            opening: Bytes::new(),
            next: rows.start,
            end: rows.end,
        })
    }

    /// The same rows of COPY behind the header in the message of the first one.
    #[must_use]
    pub fn behind(self, opening: Bytes) -> Pieces {
        Pieces { opening, ..self }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// A value that cannot be written.
    pub fn piece(&mut self) -> Result<Option<Bytes>, ArrowError> {
        if self.next == self.end {
            return Ok(None);
        }
        let mut out = BytesMut::with_capacity(PIECE);
        while self.next < self.end && out.len() < PIECE {
            let start = out.len() + 1;
            match &self.layout {
                Layout::Rows(binary) => {
                    out.put_u8(b'D');
                    out.put_i32(0);
                    out.put_i16(self.columns.len() as i16);
                    for (at, column) in self.columns.iter().enumerate() {
                        column.framed(self.next, is_binary(binary, at), &mut out)?;
                    }
                }
                Layout::Copy(format) => {
                    out.put_u8(b'd');
                    out.put_i32(0);
                    out.put_slice(&std::mem::take(&mut self.opening));
                    written::row(&self.columns, self.next, format, &mut out)?;
                }
            }
            let length = (out.len() - start) as i32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
            self.next += 1;
        }
        Ok(Some(out.freeze()))
    }
}

/// Whether a column is written in the binary format.
#[must_use]
pub fn is_binary(binary: &[bool], column: usize) -> bool {
    match binary {
        [] => false,
        [one] => *one,
        more => more.get(column).copied().unwrap_or(false),
    }
}

/// The rows of a batch with columns of the types that were said before, where those differ.
///
/// # Errors
/// A value that is none of the type.
pub fn as_described(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let same = batch.schema_ref().fields().iter().zip(schema.fields());
    if batch.num_columns() != schema.fields().len() {
        let what = "the columns of a prepared statement changed; prepare it again".to_owned();
        return Err(ArrowError::SchemaError(what));
    }
    let as_said = same
        .clone()
        .all(|(is, said)| is.data_type() == said.data_type());
    if as_said {
        return Ok(batch.clone());
    }
    let columns = batch
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, said)| match said.data_type() {
            // All JSON is one type.
            other
                if Kind::of(other) == Kind::Json && Kind::of(column.data_type()) == Kind::Json =>
            {
                Ok(ArrayRef::clone(column))
            }
            DataType::Null => cast(column, &DataType::Utf8),
            other => cast(column, other),
        });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let fields = schema.fields().iter().zip(&columns).map(|(field, column)| {
        field
            .as_ref()
            .clone()
            .with_data_type(column.data_type().clone())
            .with_nullable(true)
    });
    let schema = arrow_schema::Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(schema.into(), columns)
}
