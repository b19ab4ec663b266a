//! Record batches to encoded batches.
//!
//! Invariant: columns are matched by name, and every value is kept exactly or the whole batch is
//! refused, with the row counted as the user counts it. Names, types and NULLs of all columns are
//! checked first, also of those that nobody needs; only then are values read. Cost: one tight loop
//! a column. Names and types are looked at once a schema: batches of one stream share it, so a
//! batch of one row pays little more than its values.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, SchemaRef};

use super::fill::{Fault, fill};
use super::fix::{Fix, Unrepresentable, fix_for};
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
/// let mut encoder = Encoder::new("orders", &schema);
/// encoder.encode(&rows.unwrap(), 0, &[true], &mut dict, None, &mut batch)?;
/// assert_eq!(batch.column(0).words, [3, -1_i64 as u64]);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    table: String,
    schema: Schema,
    /// The match with the schema of the last batch.
    last: Option<Match>,
}

/// Mapping of the columns of one Arrow schema to those of the table.
#[derive(Clone, Debug)]
struct Match {
    arrow: SchemaRef,
    /// By column of the table: its position in the data, and the conversion of its values.
    columns: Vec<(usize, Fix)>,
    multiplicity: Option<Multiplicity>,
}

#[derive(Clone, Debug)]
struct Multiplicity {
    field: Field,
    index: usize,
    fix: Fix,
}

impl Encoder {
    /// An encoder for rows of `schema`; `table` names them in messages.
    pub fn new(table: &str, schema: &Schema) -> Encoder {
        Encoder {
            table: table.to_owned(),
            schema: schema.clone(),
            last: None,
        }
    }

    /// Refills `into` with the rows of `batch`, in the columns that are `needed`.
    ///
    /// `first_row` is the number of the first row in messages: its position in all data of the
    /// user. `multiplicity` names an integer column with the multiplicity of each row. After an
    /// error `into` is empty; new strings may have entered `dict`, until it is rolled back.
    pub fn encode(
        &mut self,
        batch: &RecordBatch,
        first_row: usize,
        needed: &[bool],
        dict: &mut Dictionary,
        multiplicity: Option<&str>,
        into: &mut Batch,
    ) -> Result<()> {
        into.reset(needed);
        let known = match self.last.take() {
            Some(last) if last.serves(batch.schema_ref(), multiplicity) => last,
            _ => self.match_schema(batch.schema_ref(), multiplicity)?,
        };
        let done = self.encode_columns(&known, batch, first_row, dict, into);
        self.last = Some(known);
        if done.is_err() {
            into.clear();
        }
        done
    }

    fn encode_columns(
        &self,
        known: &Match,
        batch: &RecordBatch,
        first_row: usize,
        dict: &mut Dictionary,
        into: &mut Batch,
    ) -> Result<()> {
        let columns = || self.schema.fields().iter().zip(&known.columns);
        let source = |index: usize| Source {
            array: batch.column(index),
            ty: known.arrow.field(index).data_type(),
        };
        for (field, (index, _)) in columns() {
            self.check_nulls(source(*index), field, first_row)?;
        }
        for ((field, (index, fix)), column) in columns().zip(&mut into.columns) {
            if let Some(column) = column {
                self.read(source(*index), fix, field, first_row, dict, column)?;
            }
        }
        if let Some(multiplicity) = &known.multiplicity {
            let source = source(multiplicity.index);
            into.multiplicity = Some(self.multiplicities(source, multiplicity, first_row, dict)?);
        }
        into.rows = batch.num_rows();
        Ok(())
    }

    fn match_schema(&self, arrow: &SchemaRef, multiplicity: Option<&str>) -> Result<Match> {
        self.check_names(arrow, multiplicity)?;
        if let Some(name) = multiplicity.filter(|name| self.schema.index_of(name).is_ok()) {
            return Err(Error::Value {
                place: self.place(name),
                problem: "belongs to the rows; give the multiplicities a column of their own"
                    .to_owned(),
            });
        }
        let find = |field: &Field, what: &str| {
            let index = arrow.index_of(&field.name).map_err(|_| Error::Value {
                place: self.place(&field.name),
                problem: format!("is missing from the data; {what}"),
            })?;
            let found = arrow.field(index).data_type();
            let fix = fix_for(found, &field.ty).ok_or_else(|| Error::Type {
                place: self.place(&field.name),
                expected: field.ty.to_string(),
                found: Type::from_arrow(found)
                    .map_or_else(|_| found.to_string(), |ty| ty.to_string()),
            })?;
            Ok((index, fix))
        };
        let every = "every column must be given: NULL for what is unknown when a row is inserted, the \
             row as it was inserted when it is deleted";
        let columns = self.schema.fields().iter().map(|field| find(field, every));
        let columns = columns.collect::<Result<_>>()?;
        let multiplicity = match multiplicity {
            None => None,
            Some(name) => {
                let field = Field::new(name, Type::Int64, false);
                let (index, fix) = find(&field, "it was to hold the multiplicities")?;
                Some(Multiplicity { field, index, fix })
            }
        };
        Ok(Match {
            arrow: arrow.clone(),
            columns,
            multiplicity,
        })
    }

    /// Every column of the data belongs to the table, once.
    fn check_names(&self, arrow: &SchemaRef, multiplicity: Option<&str>) -> Result<()> {
        let mut names: Vec<&str> = arrow
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        for &name in &names {
            if multiplicity != Some(name) && self.schema.index_of(name).is_err() {
                return Err(self.unknown_column(name));
            }
        }
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(twice) => Err(Error::Value {
                place: self.place(twice[0]),
                problem: "appears more than once in the data; keep one of them".to_owned(),
            }),
        }
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

    fn check_nulls(&self, source: Source<'_>, field: &Field, first: usize) -> Result<()> {
        if field.nullable || !source.has_nulls() {
            return Ok(());
        }
        let valid = source.nulls();
        let valid = valid.iter().flat_map(|nulls| nulls.iter());
        Err(Error::Null {
            table: self.table.clone(),
            column: field.name.clone(),
            row: (first + valid.take_while(|&valid| valid).count()) as u64,
        })
    }

    /// Reads a column whose NULLs are checked.
    fn read(
        &self,
        source: Source<'_>,
        fix: &Fix,
        field: &Field,
        first: usize,
        dict: &mut Dictionary,
        column: &mut Column,
    ) -> Result<()> {
        let at_row = |Unrepresentable { row, problem }| Error::Value {
            place: format!("row {}, {}", first + row, self.place(&field.name)),
            problem,
        };
        let Source { array, ty } = source;
        let nulls = field.nullable.then(|| source.nulls()).flatten();
        fill(array, ty, nulls.as_deref(), dict, column).map_err(|fault| match fault {
            Fault::Row(unrepresentable) => at_row(unrepresentable),
            Fault::Other(error) => error,
        })?;
        if matches!(field.ty, Type::Decimal { .. }) {
            column.high.resize(column.words.len(), 0);
        }
        fix.apply(ty, &field.ty, column).map_err(at_row)
    }

    fn multiplicities(
        &self,
        source: Source<'_>,
        Multiplicity { field, fix, .. }: &Multiplicity,
        first: usize,
        dict: &mut Dictionary,
    ) -> Result<Vec<i64>> {
        self.check_nulls(source, field, first)?;
        let mut column = Column::default();
        self.read(source, fix, field, first, dict, &mut column)?;
        let all: Vec<i64> = column.words.into_iter().map(|word| word as i64).collect();
        // Its negation would overflow, and a delete negates.
        match all.iter().position(|&one| one == i64::MIN) {
            None => Ok(all),
            Some(row) => Err(Error::Value {
                place: format!("row {}, {}", first + row, self.place(&field.name)),
                problem: format!("{} is too large for a multiplicity", i64::MIN),
            }),
        }
    }

    fn place(&self, column: &str) -> String {
        format!("column {column:?} of table {:?}", self.table)
    }
}

impl Match {
    fn serves(&self, arrow: &SchemaRef, multiplicity: Option<&str>) -> bool {
        let name = self
            .multiplicity
            .as_ref()
            .map(|multiplicity| multiplicity.field.name.as_str());
        Arc::ptr_eq(&self.arrow, arrow) && name == multiplicity
    }
}

/// An array of a batch, and its type from the batch's schema. With that type at hand, a batch of
/// one row need not look up the type of each array again and again.
#[derive(Clone, Copy)]
struct Source<'a> {
    array: &'a dyn Array,
    ty: &'a DataType,
}

impl<'a> Source<'a> {
    /// Whether there are NULLs.
    #[inline]
    fn has_nulls(&self) -> bool {
        match self.ty {
            DataType::Null | DataType::Dictionary(..) => self.nulls().is_some(),
            _ => self.array.null_count() > 0,
        }
    }

    /// The NULLs, those inside a dictionary too; `None` if there are none.
    fn nulls(&self) -> Option<Cow<'a, NullBuffer>> {
        let nulls = match self.ty {
            DataType::Null | DataType::Dictionary(..) => self.array.logical_nulls().map(Cow::Owned),
            _ => self.array.nulls().map(Cow::Borrowed),
        };
        nulls.filter(|nulls| nulls.null_count() > 0)
    }
}
