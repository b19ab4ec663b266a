//! Rows of an answer with multiplicities, as they travel to a view over more rows.
//!
//! Invariant: the columns are those of the answer, no two of one name, then the multiplicities. Cost: O(rows).

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use ringview_core::{Budget, Dictionary, Error, Field, Result, Schema, Type};

use super::Answer;

/// A name that none of some fields has.
#[must_use]
pub fn fresh(name: &str, fields: &[Field]) -> String {
    let mut name = name.to_owned();
    while fields.iter().any(|field| field.name == name) {
        name.push('_');
    }
    name
}

/// The columns of the rows of an answer, and the name of that of multiplicities.
///
/// # Errors
/// `Unsupported` for columns that no table could have.
pub fn row_columns(shown: &SchemaRef) -> Result<(Schema, String)> {
    let mut fields: Vec<Field> = Vec::with_capacity(shown.fields().len());
    for field in shown.fields() {
        let ty = Type::from_arrow(field.data_type())?;
        let name = fresh(field.name(), &fields);
        fields.push(Field::new(name, ty, field.is_nullable()));
    }
    let multiplicity = fresh("multiplicity", &fields);
    Ok((Schema::new(fields)?, multiplicity))
}

/// All these columns in Arrow.
///
/// # Errors
/// As `row_columns`.
pub fn row_schema(shown: &SchemaRef) -> Result<SchemaRef> {
    let (columns, multiplicity) = row_columns(shown)?;
    let columns = columns.to_arrow();
    let mut fields: Vec<_> = columns.fields().iter().cloned().collect();
    let multiplicity = ArrowField::new(multiplicity, DataType::Int64, false);
    fields.push(Arc::new(multiplicity));
    Ok(Arc::new(ArrowSchema::new(fields)))
}

/// Rows in the columns of such a schema.
///
/// # Errors
/// `Value` for rows of other columns.
pub fn weighed(schema: &SchemaRef, rows: &RecordBatch, counts: Vec<i64>) -> Result<RecordBatch> {
    let mut columns = rows.columns().to_vec();
    columns.push(Arc::new(Int64Array::from(counts)) as ArrayRef);
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|problem| Error::Value {
        place: "the rows of a partial".to_owned(),
        problem: problem.to_string(),
    })
}

/// All rows of an answer, each by itself; one batch at least.
///
/// # Errors
/// As `row_columns`; what the answer cannot read; what the budget says.
pub fn each_once(
    answer: &dyn Answer,
    dictionary: &Dictionary,
    budget: &Budget<'_>,
) -> Result<Vec<RecordBatch>> {
    let schema = row_schema(&answer.schema())?;
    let mut cursor = answer.cursor(dictionary)?;
    let mut batches = Vec::new();
    while let Some(rows) = answer.next(&mut cursor, dictionary)? {
        budget.work(rows.num_rows() as u64)?;
        batches.push(weighed(&schema, &rows, vec![1; rows.num_rows()])?);
    }
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Ok(batches)
}
