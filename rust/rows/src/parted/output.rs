//! What is shown of partitions: computed, encoded and read again.
//!
//! Invariant: the bytes of two rows are equal exactly where the rows are. Cost: O(rows), and that of the functions.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use ringview_core::{Result, Schema};
use ringview_expr::Calls;
use ringview_query::Parted as Definition;

use crate::codec::{converter, refused};

/// A row, encoded, and how often it is shown.
pub(crate) type Shown = (Box<[u8]>, i64);

/// See the module.
#[derive(Debug)]
pub(crate) struct Output {
    calls: Calls,
    /// How many columns of the rows are shown: the first ones.
    plain: usize,
    /// Whether a partition is one row.
    grouped: bool,
    schema: SchemaRef,
    encoding: RowConverter,
}

impl Output {
    /// Of rows of one schema, shown in columns of another.
    pub(crate) fn new(definition: &Definition, of: &Schema, schema: SchemaRef) -> Result<Self> {
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

    /// The columns that are shown.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What is shown of each partition: their rows stand one behind the other, up to these ends. A partition without rows
    /// shows one only where that is said.
    pub(crate) fn compute(
        &self,
        rows: &RecordBatch,
        ends: &[usize],
        empty_is_shown: bool,
    ) -> Result<Vec<Vec<Shown>>> {
        let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.schema.fields().len()];
        let mut lengths = Vec::with_capacity(ends.len());
        let mut from = 0;
        for &end in ends {
            let own = rows.slice(from, end - from);
            from = end;
            if own.num_rows() == 0 && !empty_is_shown {
                lengths.push(0);
                continue;
            }
            let shown = if self.grouped { 1 } else { own.num_rows() };
            let plain = own.columns()[..self.plain].iter();
            let plain = plain.map(|column| column.slice(0, shown));
            for (part, column) in parts
                .iter_mut()
                .zip(plain.chain(self.calls.evaluate(&own)?))
            {
                part.push(column);
            }
            lengths.push(shown);
        }
        let mut encoded = self.encoded(&parts)?.into_iter();
        let of_one = |rows: usize| {
            let mut shown: Vec<Shown> = Vec::new();
            for row in encoded.by_ref().take(rows) {
                match shown.last_mut() {
                    Some((last, copies)) if *last == row => *copies += 1,
                    _ => shown.push((row, 1)),
                }
            }
            shown
        };
        Ok(lengths.into_iter().map(of_one).collect())
    }

    fn encoded(&self, parts: &[Vec<ArrayRef>]) -> Result<Vec<Box<[u8]>>> {
        if parts.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let column = |part: &Vec<ArrayRef>| {
            let arrays: Vec<_> = part.iter().map(|array| &**array).collect();
            concat(&arrays).map_err(refused)
        };
        let columns = parts
            .iter()
            .map(column)
            .collect::<Result<Vec<ArrayRef>>>()?;
        let rows = self.encoding.convert_columns(&columns).map_err(refused)?;
        Ok(rows.iter().map(|row| Box::from(row.data())).collect())
    }

    /// Rows as columns.
    pub(crate) fn decode<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> Result<RecordBatch> {
        let parser = self.encoding.parser();
        let rows = rows.map(|row| parser.parse(row));
        let columns = self.encoding.convert_rows(rows).map_err(refused)?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(refused)
    }
}
