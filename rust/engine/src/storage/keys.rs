//! Reading of rows by the unique key of their table: columns, CDC operations, and refusals.
//!
//! Invariant: a key is never NULL, and every column that a change needs is given. Cost: that of encoding the rows; a
//! reader is kept from batch to batch, as they mostly have the same schema.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Dictionary, Encoder, Error, Field, Result, Schema};
use ringview_relation::Action;

use crate::cdc;
use crate::op::ByKey;

/// Reader of rows of one Arrow schema; kept from batch to batch, as they mostly have the same.
#[derive(Debug)]
pub(crate) struct KeyReader {
    arrow: SchemaRef,
    /// The column of CDC operations.
    operations: Option<String>,
    /// Columns of the table that are given.
    pub(crate) columns: Vec<usize>,
    /// Those of them, any of which may be NULL as far as the encoder is concerned.
    encoder: Encoder,
    /// Without the operations: the positions of the columns in the data, and their schema.
    data: Option<(Vec<usize>, SchemaRef)>,
}

impl KeyReader {
    pub(crate) fn new(
        (table, own): (&str, &Schema),
        by: ByKey<'_>,
        arrow: &SchemaRef,
    ) -> Result<KeyReader> {
        let operations = match by {
            ByKey::Cdc(name) => Some(name),
            _ => None,
        };
        let columns = columns_of((table, own), arrow, operations)?;
        let field = |&column: &usize| Field {
            nullable: true,
            ..own.fields()[column].clone()
        };
        let given = Schema::new(columns.iter().map(field).collect())?;
        let data = match operations {
            None => None,
            Some(name) => Some(other_columns((table, own), arrow, name)?),
        };
        Ok(KeyReader {
            arrow: arrow.clone(),
            operations: operations.map(str::to_owned),
            columns,
            encoder: Encoder::new(table, &given),
            data,
        })
    }

    pub(crate) fn serves(&self, by: ByKey<'_>, arrow: &SchemaRef) -> bool {
        let operations = match by {
            ByKey::Cdc(name) => Some(name),
            _ => None,
        };
        SchemaRef::ptr_eq(&self.arrow, arrow) && self.operations.as_deref() == operations
    }

    /// Refills `into` with rows and returns their actions, if the rows contain them.
    pub(crate) fn read(
        &mut self,
        table: &str,
        rows: &RecordBatch,
        first: usize,
        dict: &mut Dictionary,
        into: &mut Batch,
    ) -> Result<Option<Vec<Action>>> {
        let needed = vec![true; self.columns.len()];
        let (Some(name), Some((data, schema))) = (&self.operations, &self.data) else {
            self.encoder
                .encode(rows, first, &needed, dict, None, into)?;
            return Ok(None);
        };
        let arrow = |problem: arrow_schema::ArrowError| Error::Value {
            place: format!("the rows of table {table:?}"),
            problem: problem.to_string(),
        };
        let at = rows.schema_ref().index_of(name).map_err(arrow)?;
        let actions = cdc::actions(table, &rows.project(&[at]).map_err(arrow)?, first)?;
        let arrays = data.iter().map(|&at| rows.column(at).clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let rows = RecordBatch::try_new_with_options(schema.clone(), arrays, &options);
        let rows = rows.map_err(arrow)?;
        self.encoder
            .encode(&rows, first, &needed, dict, None, into)?;
        Ok(Some(actions))
    }
}

/// The positions of the columns other than the operations, and their schema.
fn other_columns(
    (table, own): (&str, &Schema),
    arrow: &SchemaRef,
    name: &str,
) -> Result<(Vec<usize>, SchemaRef)> {
    let wrong = |problem: &str| Error::Value {
        place: format!("column {name:?} of table {table:?}"),
        problem: problem.to_owned(),
    };
    if own.index_of(name).is_ok() {
        let problem = "belongs to the rows; give the words that say what they do another";
        return Err(wrong(problem));
    }
    let fields = arrow.fields().iter();
    let data: Vec<usize> = (0..fields.len())
        .filter(|&at| arrow.field(at).name() != name)
        .collect();
    if data.len() == fields.len() {
        return Err(wrong(
            "is missing from the data; it was to say what each row does",
        ));
    }
    let schema = arrow.project(&data).map_err(|error| Error::Value {
        place: format!("the rows of table {table:?}"),
        problem: error.to_string(),
    })?;
    Ok((data, SchemaRef::new(schema)))
}

/// The columns of the table that some data holds beside a further one, ascending.
pub(crate) fn columns_of(
    (table, own): (&str, &Schema),
    schema: &SchemaRef,
    auxiliary: Option<&str>,
) -> Result<Vec<usize>> {
    let mut columns = Vec::new();
    for field in schema.fields() {
        if auxiliary == Some(field.name().as_str()) {
            continue;
        }
        let found = own.index_of(field.name());
        columns.push(found.map_err(|error| match error {
            Error::UnknownColumn { column, known, .. } => Error::UnknownColumn {
                table: table.to_owned(),
                column,
                known,
            },
            other => other,
        })?);
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}
