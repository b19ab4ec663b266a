//! Rows of an answer as rows of a table: how a view that reads another is filled at its birth.
//!
//! Invariant: the columns are those that a table could have, in their order; a COFACTOR is none. Cost:
//! that of encoding the rows.

use arrow_array::RecordBatch;
use ringview_core::{Batch, Dictionary, Encoder, Field, Result, Schema, Type};

/// The rows in the columns that can be read, those that are needed.
///
/// # Errors
/// `Overflow` for more strings than the dictionary can know.
pub fn encoded(rows: &RecordBatch, needed: &[bool], dictionary: &mut Dictionary) -> Result<Batch> {
    let schema = rows.schema_ref();
    let field = |field: &arrow_schema::FieldRef| {
        let ty = Type::from_arrow(field.data_type()).ok()?;
        Some(Field::new(field.name(), ty, true))
    };
    let readable: Vec<Option<Field>> = schema.fields().iter().map(field).collect();
    let shown = (0..readable.len()).filter(|&at| readable[at].is_some());
    let rows = rows.project(&shown.collect::<Vec<usize>>());
    let rows = rows.map_err(|problem| ringview_core::Error::Value {
        place: "the rows of a view".to_owned(),
        problem: problem.to_string(),
    })?;
    let schema = Schema::new(readable.into_iter().flatten().collect())?;
    let mut batch = Batch::new();
    let mut encoder = Encoder::new("the rows of a view", &schema);
    encoder.encode(&rows, 0, needed, dictionary, None, &mut batch)?;
    Ok(batch)
}
