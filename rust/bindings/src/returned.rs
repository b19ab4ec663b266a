//! Rows and columns that RETURNING shows of the rows that a statement changed.
//!
//! Invariant: the rows as they are when it was done, or deleted ones as they were, in the order in which they were
//! given. Cost: nothing a row for columns; that of a query over these rows for computed ones.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{ArrowError, Schema as ArrowSchema};
use arrow_select::take::take_record_batch;
use ringview_core::{Field, Result, Schema, Type};
use ringview_durable::DurableDatabase;
use ringview_engine::{Change, Direction, Op};
use ringview_sql::{Returning, Shown};

use crate::planned::{Reader, broken};

/// A name for the places of rows, until a column has it.
const PLACE: &str = "place";

impl Reader<'_> {
    /// Columns of RETURNING over rows of a table, if there is one.
    pub(crate) fn returned(
        &mut self,
        of: Option<&Returning>,
        (table, schema): (&str, &Schema),
        rows: &RecordBatch,
    ) -> Result<Option<RecordBatch>> {
        let Some(of) = of else {
            return Ok(None);
        };
        let mut place = PLACE.to_owned();
        while schema.index_of(&place).is_ok() {
            place.push('_');
        }
        let found = match of.of(table, schema, &place)? {
            Shown::Columns(columns) => {
                let field = |(at, name): &(usize, String)| {
                    rows.schema_ref().field(*at).clone().with_name(name)
                };
                let fields: Vec<_> = columns.iter().map(field).collect();
                let arrays = columns.iter().map(|(at, _)| Arc::clone(rows.column(*at)));
                let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
                RecordBatch::try_new_with_options(
                    Arc::new(ArrowSchema::new(fields)),
                    arrays.collect(),
                    &options,
                )
                .map_err(|problem| broken(table, &problem))?
            }
            Shown::Query(name, select) => {
                let mut beside = DurableDatabase::default();
                let mut fields: Vec<Field> = schema.fields().to_vec();
                fields.push(Field::new(&place, Type::Int64, false));
                let schema = Schema::new(fields)?;
                let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
                columns.push(Arc::new(Int64Array::from_iter_values(
                    0..rows.num_rows() as i64,
                )));
                let rows = RecordBatch::try_new(Arc::new(schema.to_arrow()), columns)
                    .map_err(|problem| broken(table, &problem))?;
                beside.create_table(&name, schema, None, false)?;
                let insert = Change::Rows(Op {
                    table: &name,
                    direction: Direction::Insert,
                    rows: std::slice::from_ref(&rows),
                    multiplicity: None,
                });
                beside.apply(&[insert], (false, None), &mut *self.poll)?;
                let found = Reader {
                    database: beside.readers(),
                    functions: self.functions.clone(),
                    pending: (&[], false),
                    poll: &mut *self.poll,
                }
                .select(&select)?;
                in_order(&found).map_err(|problem| broken(table, &problem))?
            }
        };
        Ok(Some(found))
    }
}

/// Rows in the order that their last column says, without it.
fn in_order(rows: &RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
    let last = rows.num_columns() - 1;
    let places = rows.column(last).as_primitive::<Int64Type>();
    let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
    order.sort_unstable_by_key(|row| places.value(*row as usize));
    let columns: Vec<usize> = (0..last).collect();
    take_record_batch(&rows.project(&columns)?, &UInt32Array::from(order))
}
