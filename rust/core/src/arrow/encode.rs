//! Record batches to encoded batches.
//!
//! Invariant: columns are matched by name, and every value is kept exactly or the whole batch is
//! refused, with the row counted as the user counts it. Names, types and NULLs of all columns are
//! checked first, also of those that nobody needs; only then are values read.
//! Cost: one tight loop a column, one look at names and types a batch.

use std::borrow::Cow;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::fill::{Fault, fill};
use super::fix::{Fix, Misfit, fix_for};
use crate::{Batch, Column, Dictionary, Error, Field, Result, Schema, Type};

/// Encodes the rows of one table.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int32Array, RecordBatch};
/// use ringview_core::{Batch, Dictionary, Encoder, Field, Schema, Type};
///
/// let schema = Schema::new(vec![Field::new("id", Type::Int64, false)])?;
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int32Array::from(vec![3, -1])) as _)]);
/// let (mut dict, mut batch) = (Dictionary::new(), Batch::new());
/// let encoder = Encoder::new("orders", &schema);
/// encoder.encode(&rows.unwrap(), 0, &[true], &mut dict, None, &mut batch)?;
/// assert_eq!(batch.column(0).words, [3, -1_i64 as u64]);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    table: String,
    schema: Schema,
}

/// One column of the table, found in the data.
struct Source<'a> {
    array: &'a dyn Array,
    nulls: Option<Cow<'a, NullBuffer>>,
    fix: Fix,
}

impl Encoder {
    /// An encoder for rows of `schema`; `table` names them in messages.
    pub fn new(table: &str, schema: &Schema) -> Encoder {
        Encoder {
            table: table.to_owned(),
            schema: schema.clone(),
        }
    }

    /// Refills `into` with the rows of `batch`, in the columns that are `needed`.
    ///
    /// `first_row` is what messages call the first row: where it stands in all that the user
    /// handed in. `multiplicity` names an integer column that says how often each row counts.
    /// After an error `into` is empty; new strings may have entered `dict`, which is harmless.
    pub fn encode(
        &self,
        batch: &RecordBatch,
        first_row: usize,
        needed: &[bool],
        dict: &mut Dictionary,
        multiplicity: Option<&str>,
        into: &mut Batch,
    ) -> Result<()> {
        into.reset(needed);
        let done = self.encode_columns(batch, first_row, dict, multiplicity, into);
        if done.is_err() {
            into.clear();
        }
        done
    }

    fn encode_columns(
        &self,
        batch: &RecordBatch,
        first_row: usize,
        dict: &mut Dictionary,
        multiplicity: Option<&str>,
        into: &mut Batch,
    ) -> Result<()> {
        self.check_names(batch, multiplicity)?;
        let mut sources = Vec::with_capacity(self.schema.len());
        for (index, field) in self.schema.fields().iter().enumerate() {
            let array = batch.column(self.find(batch, index)?);
            sources.push(self.check(array.as_ref(), field, first_row)?);
        }
        for ((field, source), column) in self
            .schema
            .fields()
            .iter()
            .zip(&sources)
            .zip(&mut into.columns)
        {
            if let Some(column) = column {
                self.read(source, field, first_row, dict, column)?;
            }
        }
        if let Some(name) = multiplicity {
            into.multiplicity = Some(self.multiplicities(batch, name, first_row, dict)?);
        }
        into.rows = batch.num_rows();
        Ok(())
    }

    /// Every column of the data belongs to the table, once.
    fn check_names(&self, batch: &RecordBatch, multiplicity: Option<&str>) -> Result<()> {
        let schema = batch.schema_ref();
        for (index, field) in schema.fields().iter().enumerate() {
            let name = field.name();
            let known = self
                .schema
                .fields()
                .get(index)
                .is_some_and(|field| field.name == *name)
                || self.schema.index_of(name).is_ok()
                || multiplicity == Some(name);
            if !known {
                return Err(self.unknown_column(name));
            }
        }
        let expected = self.schema.len() + usize::from(multiplicity.is_some());
        if schema.fields().len() > expected {
            let mut names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            names.sort_unstable();
            let twice = names
                .windows(2)
                .find(|pair| pair[0] == pair[1])
                .map_or("", |pair| pair[0]);
            return Err(Error::Value {
                place: self.place(twice),
                problem: "appears more than once in the data; keep one of them".to_owned(),
            });
        }
        Ok(())
    }

    fn unknown_column(&self, name: &str) -> Error {
        Error::UnknownColumn {
            table: self.table.clone(),
            column: name.to_owned(),
            known: self
                .schema
                .fields()
                .iter()
                .map(|field| field.name.clone())
                .collect(),
        }
    }

    /// Where column `index` of the table stands in the data: most often in the same place.
    fn find(&self, batch: &RecordBatch, index: usize) -> Result<usize> {
        let name = &self.schema.fields()[index].name;
        let fields = batch.schema_ref().fields();
        if fields.get(index).is_some_and(|field| field.name() == name) {
            return Ok(index);
        }
        fields
            .iter()
            .position(|field| field.name() == name)
            .ok_or_else(|| Error::Value {
                place: self.place(name),
                problem:
                    "is missing from the data; every column must be given, NULLs where unknown"
                        .to_owned(),
            })
    }

    fn check<'a>(&self, array: &'a dyn Array, field: &Field, first: usize) -> Result<Source<'a>> {
        let fix = fix_for(array.data_type(), &field.ty).ok_or_else(|| Error::Type {
            place: self.place(&field.name),
            expected: field.ty.to_string(),
            found: array.data_type().to_string(),
        })?;
        let nulls = match array.data_type() {
            DataType::Null | DataType::Dictionary(..) => array.logical_nulls().map(Cow::Owned),
            _ => array.nulls().map(Cow::Borrowed),
        };
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if let (Some(nulls), false) = (&nulls, field.nullable) {
            return Err(Error::Null {
                table: self.table.clone(),
                column: field.name.clone(),
                row: (first + nulls.iter().take_while(|&valid| valid).count()) as u64,
            });
        }
        Ok(Source { array, nulls, fix })
    }

    fn read(
        &self,
        source: &Source<'_>,
        field: &Field,
        first: usize,
        dict: &mut Dictionary,
        column: &mut Column,
    ) -> Result<()> {
        let at_row = |Misfit { row, problem }| Error::Value {
            place: format!("row {}, {}", first + row, self.place(&field.name)),
            problem,
        };
        fill(source.array, source.nulls.as_deref(), dict, column).map_err(|fault| match fault {
            Fault::Row(misfit) => at_row(misfit),
            Fault::Other(error) => error,
        })?;
        if matches!(field.ty, Type::Decimal { .. }) {
            column.high.resize(column.words.len(), 0);
        }
        source
            .fix
            .apply(source.array.data_type(), &field.ty, column)
            .map_err(at_row)
    }

    fn multiplicities(
        &self,
        batch: &RecordBatch,
        name: &str,
        first: usize,
        dict: &mut Dictionary,
    ) -> Result<Vec<i64>> {
        let array = batch.column_by_name(name).ok_or_else(|| Error::Value {
            place: self.place(name),
            problem: "is missing from the data, and was to hold the multiplicities".to_owned(),
        })?;
        let field = Field::new(name, Type::Int64, false);
        let source = self.check(array.as_ref(), &field, first)?;
        let mut column = Column::default();
        self.read(&source, &field, first, dict, &mut column)?;
        let all: Vec<i64> = column.words.into_iter().map(|word| word as i64).collect();
        // Its negation would overflow, and a delete negates.
        match all.iter().position(|&one| one == i64::MIN) {
            None => Ok(all),
            Some(row) => Err(Error::Value {
                place: format!("row {}, {}", first + row, self.place(name)),
                problem: format!("{} is too large for a multiplicity", i64::MIN),
            }),
        }
    }

    fn place(&self, column: &str) -> String {
        format!("column {column:?} of table {:?}", self.table)
    }
}
