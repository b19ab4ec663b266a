//! One side of an ASOF join: its rows by key and time.
//!
//! Invariant: the bytes of keys and of times are those of the types that both sides have in common; NULL precedes all
//! times. Cost: O(bytes) a row to encode, O(log n) to change.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SortOptions;
use ringview_core::{Result, Schema};
use ringview_expr::Projection;
use ringview_query::LatestSide;
use ringview_view::RowDelta;

use crate::codec::{PartitionKey, Row, array, converter, encoded, refused};
use crate::partitions::PartitionedRows;

/// See the module.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) rows: PartitionedRows,
    schema: Arc<Schema>,
    /// The keys, then the time.
    key: Projection,
    keys: RowConverter,
    time: RowConverter,
    shown: Vec<usize>,
    values: RowConverter,
}

impl Side {
    /// A side without rows; `backwards` turns the order of time around.
    pub(super) fn new(
        side: &LatestSide,
        key: Projection,
        schema: Arc<Schema>,
        backwards: bool,
    ) -> Result<Self> {
        let mut fields: Vec<SortField> = key
            .types()
            .iter()
            .map(|ty| SortField::new(ty.to_arrow()))
            .collect();
        let time = key.types().last().map(|ty| {
            let options = SortOptions {
                descending: backwards,
                nulls_first: true,
            };
            SortField::new_with_options(ty.to_arrow(), options)
        });
        fields.pop();
        let shown = side.shown.iter().map(|name| schema.index_of(name));
        let shown = shown.collect::<Result<Vec<usize>>>()?;
        let values = shown
            .iter()
            .map(|&at| SortField::new(schema.fields()[at].ty.to_arrow()));
        Ok(Self {
            rows: PartitionedRows::default(),
            keys: converter(fields)?,
            time: converter(time.into_iter().collect())?,
            values: converter(values.collect())?,
            key,
            schema,
            shown,
        })
    }

    /// The rows of a batch by key, and whether each has a key and a time.
    pub(super) fn encode(&self, rows: &RowDelta<'_>) -> Result<Vec<(PartitionKey, Row, bool)>> {
        let read = |places: &[usize]| -> Result<Vec<ArrayRef>> {
            let arrays = places.iter().map(|&at| array(rows, &self.schema, at));
            arrays.collect()
        };
        let mut keys = self
            .key
            .evaluate(read(self.key.inputs())?, rows.batch.rows)?
            .columns;
        let is_comparable: Vec<bool> = (0..rows.batch.rows)
            .map(|row| keys.iter().all(|column| column.is_valid(row)))
            .collect();
        let times = encoded(&self.time, &keys.split_off(keys.len() - 1))?;
        let bytes = |converter: &RowConverter, columns: &[ArrayRef]| match columns {
            [] => Ok(vec![Box::default(); rows.batch.rows]),
            _ => encoded(converter, columns),
        };
        let keys = bytes(&self.keys, &keys)?;
        let shown = bytes(&self.values, &read(&self.shown)?)?;
        let rows = times.into_iter().zip(shown);
        let rows = rows.map(|(order, shown)| Row { order, shown });
        let keyed = keys.into_iter().zip(rows).zip(is_comparable);
        Ok(keyed
            .map(|((key, row), is_comparable)| (key, row, is_comparable))
            .collect())
    }

    /// Columns of some rows, decoded.
    pub(super) fn decode(&self, rows: &[&[u8]]) -> Result<Vec<ArrayRef>> {
        let parser = self.values.parser();
        let rows = rows.iter().map(|row| parser.parse(row));
        self.values.convert_rows(rows).map_err(refused)
    }
}
