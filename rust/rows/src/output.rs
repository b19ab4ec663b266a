//! Columns of partitions: computed, encoded and read again.
//!
//! Invariant: the bytes of two rows are equal exactly where the rows are. Cost: O(rows), and that of the functions.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use ringview_core::{Result, Schema};
use ringview_expr::Calls;
use ringview_query::{Bound, Parted as Definition};

use crate::codec::{converter, encoded, refused, schema_of};

/// A row, encoded, and how often it is shown.
pub(crate) type Shown = (Box<[u8]>, i64);

/// Adjacent rows, and the range of them that is shown, counted from the first of these.
pub(crate) struct Piece {
    pub(crate) rows: Range<usize>,
    pub(crate) shown: Range<usize>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Output {
    calls: Calls,
    /// Number of columns of the rows that are shown: the first ones.
    plain: usize,
    /// Whether a partition is one row.
    grouped: bool,
    schema: SchemaRef,
    encoding: RowConverter,
}

impl Output {
    /// Of rows of one schema, shown in columns of another.
    fn new(definition: &Definition, of: &Schema, schema: SchemaRef) -> Result<Self> {
        let fields = schema.fields().iter();
        let fields = fields.map(|field| SortField::new(field.data_type().clone()));
        Ok(Self {
            calls: Calls::bind(&definition.calls, &definition.order, of)?,
            plain: definition.names.len(),
            grouped: definition.grouped,
            encoding: converter(fields.collect())?,
            schema,
        })
    }

    /// That of a bound query.
    pub(crate) fn of(query: &Bound, definition: &Definition) -> Result<Self> {
        let schema = schema_of(query);
        let of = definition.schema(&query.atoms[0].schema)?;
        Self::new(definition, &of, schema)
    }

    /// Encoded rows of each partition: their input rows are adjacent, up to these ends. A partition without rows shows
    /// one only if `empty_is_shown`.
    pub(crate) fn compute(
        &self,
        rows: &RecordBatch,
        ends: &[usize],
        empty_is_shown: bool,
    ) -> Result<Vec<Vec<Shown>>> {
        let mut from = 0;
        let piece = |&end: &usize| {
            let rows = std::mem::replace(&mut from, end)..end;
            let shown = match (rows.is_empty() && !empty_is_shown, self.grouped) {
                (true, _) => 0,
                (_, true) => 1,
                _ => rows.len(),
            };
            Piece {
                rows,
                shown: 0..shown,
            }
        };
        let pieces: Vec<Piece> = ends.iter().map(piece).collect();
        let mut encoded = self.encoded(&self.columns(rows, &pieces)?)?.into_iter();
        let of_one = |piece: &Piece| {
            let mut shown: Vec<Shown> = Vec::new();
            for row in encoded.by_ref().take(piece.shown.len()) {
                match shown.last_mut() {
                    Some((last, copies)) if *last == row => *copies += 1,
                    _ => shown.push((row, 1)),
                }
            }
            shown
        };
        Ok(pieces.iter().map(of_one).collect())
    }

    /// Columns of some rows; none if nothing is shown.
    pub(crate) fn columns(&self, rows: &RecordBatch, pieces: &[Piece]) -> Result<Vec<ArrayRef>> {
        let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.schema.fields().len()];
        for piece in pieces.iter().filter(|piece| !piece.shown.is_empty()) {
            let own = rows.slice(piece.rows.start, piece.rows.len());
            let (from, len) = (piece.shown.start, piece.shown.len());
            let plain = own.columns()[..self.plain].iter().cloned();
            for (part, column) in parts
                .iter_mut()
                .zip(plain.chain(self.calls.evaluate(&own)?))
            {
                part.push(column.slice(from, len));
            }
        }
        if parts.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let column = |part: &Vec<ArrayRef>| {
            let arrays: Vec<_> = part.iter().map(|array| &**array).collect();
            concat(&arrays).map_err(refused)
        };
        parts.iter().map(column).collect()
    }

    /// Columns of what is shown as rows.
    pub(crate) fn batch(&self, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        if columns.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(refused)
    }

    /// The rows of such columns, as bytes.
    pub(crate) fn encoded(&self, columns: &[ArrayRef]) -> Result<Vec<Box<[u8]>>> {
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        encoded(&self.encoding, columns)
    }

    /// Rows as columns.
    pub(crate) fn decode<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> Result<RecordBatch> {
        let parser = self.encoding.parser();
        let rows = rows.map(|row| parser.parse(row));
        let columns = self.encoding.convert_rows(rows).map_err(refused)?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(refused)
    }
}
