//! A table: its schema, how its rows are encoded, and the rows themselves.
//!
//! Invariant: `rows` is there unless deletes are trusted and the table may change; then `total` alone is kept. `needed`
//! marks the columns that a batch is encoded in: all if rows are kept, else those that some view reads. `readers` are
//! the leaves at which views read the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use ringview_core::{Batch, Column, Dictionary, Encoder, Error, Result, Schema, decode};
use ringview_relation::RowStore;

use super::keys::KeyReader;
use super::retention::{KeepFor, Retention};

/// The default of each column that has one, an array of one value.
pub type Defaults = BTreeMap<String, ArrayRef>;

/// Status of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatus {
    /// Its columns.
    pub schema: Arc<Schema>,
    /// The names of the columns of which no two rows agree.
    pub unique: Option<Vec<String>>,
    /// Whether it stays as it is once a view reads it.
    pub is_static: bool,
    /// Time for which its rows stay; for ever where absent.
    pub keep_for: Option<KeepFor>,
    /// When its oldest row is of, in microseconds, where rows stay for a time.
    pub oldest: Option<i64>,
    /// Number of rows deleted for their age, with multiplicities, since the table was created, altered or read from a
    /// file.
    pub expired: u64,
    /// Number of its rows, with multiplicities.
    pub rows: u64,
    /// Bytes that they take.
    pub bytes: usize,
    /// A number that identifies it among all tables that ever existed, of its name or not.
    pub id: u64,
}

/// A leaf of a view: which view, which of its atoms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) view: usize,
    pub(crate) atom: usize,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// See `TableStatus`; given by the database.
    pub(crate) id: u64,
    pub(crate) schema: Arc<Schema>,
    pub(crate) unique: Option<Vec<usize>>,
    pub(crate) defaults: Defaults,
    pub(crate) is_static: bool,
    /// Number of its columns that hold strings.
    pub(crate) texts: usize,
    pub(crate) encoder: Encoder,
    pub(crate) rows: Option<RowStore>,
    /// Its rows by their age, where they stay for a time.
    pub(crate) retention: Option<Retention>,
    /// Inserted minus deleted, where no rows are kept.
    pub(crate) total: i64,
    pub(crate) needed: Vec<bool>,
    /// The columns that some view reads.
    pub(crate) read: Vec<bool>,
    /// Room for the rows of a small transaction.
    pub(crate) batch: Batch,
    /// Reader of the last rows by key.
    pub(crate) by_key: Option<KeyReader>,
    pub(crate) readers: Vec<Reader>,
}

impl Table {
    pub(crate) fn new(
        name: &str,
        schema: Schema,
        unique: Option<&[String]>,
        is_static: bool,
        keep_rows: bool,
    ) -> Result<Table> {
        let unique = match unique {
            Some(columns) => Some(positions(name, &schema, columns)?),
            None => None,
        };
        let mut table = Table {
            name: name.to_owned(),
            id: 0,
            encoder: Encoder::new(name, &schema),
            rows: keep_rows.then(|| RowStore::new(name, &schema, unique.clone())),
            texts: schema
                .fields()
                .iter()
                .filter(|f| f.ty.is_interned())
                .count(),
            schema: Arc::new(schema),
            unique,
            defaults: Defaults::new(),
            is_static,
            retention: None,
            total: 0,
            needed: Vec::new(),
            read: Vec::new(),
            batch: Batch::default(),
            by_key: None,
            readers: Vec::new(),
        };
        table.forget_readers();
        Ok(table)
    }

    /// As if no view read it.
    pub(crate) fn forget_readers(&mut self) {
        self.readers.clear();
        self.needed.clear();
        self.needed.resize(self.schema.len(), self.rows.is_some());
        self.read.clear();
        self.read.resize(self.schema.len(), false);
    }

    /// Notes that a view reads it, unless that is known, and which columns.
    pub(crate) fn add_reader(&mut self, reader: Option<Reader>, columns: &[usize]) {
        self.readers.extend(reader);
        for &column in columns {
            self.needed[column] = true;
            self.read[column] = true;
        }
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.rows {
            Some(rows) => rows.is_empty(),
            None => self.total == 0,
        }
    }

    /// Lets its rows stay for a time.
    ///
    /// # Errors
    /// As [`Retention::new`]; `Unsupported` for a table whose rows are not kept, or do not change.
    pub(crate) fn keep_for(&mut self, keep_for: KeepFor) -> Result<()> {
        let refused = |why: &str, instead: &str| Error::Unsupported {
            what: format!("keep_for of table {:?}", self.name),
            why: why.to_owned(),
            instead: instead.to_owned(),
        };
        if self.is_static {
            return Err(refused(
                "a static table stays as it is, so no row leaves it",
                "leave out static, or keep_for",
            ));
        }
        if self.rows.is_none() {
            return Err(refused(
                "with trust_deletes rows are not kept, so none is known to be too old",
                "create the database without trust_deletes, or filter views: WHERE ts > now() - INTERVAL '7 days'",
            ));
        }
        self.retention = Some(Retention::new(&self.name, &self.schema, keep_for)?);
        Ok(())
    }

    /// Keeps what the transaction changed.
    pub(crate) fn commit(&mut self) {
        self.rows.iter_mut().for_each(RowStore::commit);
        self.retention.iter_mut().for_each(Retention::commit);
    }

    /// Undoes it.
    pub(crate) fn rollback(&mut self) {
        self.rows.iter_mut().for_each(RowStore::rollback);
        self.retention.iter_mut().for_each(Retention::rollback);
    }

    /// Number of rows that a batch adds, less those that it deletes.
    pub(crate) fn count(batch: &Batch) -> i64 {
        match &batch.multiplicity {
            None => batch.rows as i64,
            Some(all) => all.iter().fold(0, |sum, &one| sum.saturating_add(one)),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match &self.rows {
            Some(rows) => rows.len(),
            None => u64::try_from(self.total).unwrap_or(0),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let aged = self.retention.as_ref().map_or(0, Retention::bytes);
        self.rows.as_ref().map_or(0, RowStore::memory_usage) + aged
    }

    /// The rows as Arrow: each as often as it is there, or once with that in a last column.
    pub(crate) fn to_arrow(
        &self,
        multiplicity: Option<&str>,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        self.check_readable(multiplicity)?;
        let mut all = Batch::new();
        self.batches(usize::MAX, &mut |batch| {
            all = batch.clone();
            Ok(())
        })?;
        if multiplicity.is_none()
            && let Some(counts) = all.multiplicity.take()
        {
            let times = |(row, &count): (usize, &i64)| {
                std::iter::repeat_n(row as u32, usize::try_from(count).unwrap_or(0))
            };
            let repeated: Vec<u32> = counts.iter().enumerate().flat_map(times).collect();
            all = all.gather(&repeated);
        }
        self.decoded(&all, multiplicity, dictionary)
    }

    /// The rows as Arrow in parts of at most so many, each row with how often it is there in a last column.
    pub(crate) fn scan(
        &self,
        multiplicity: &str,
        most: usize,
        dictionary: &Dictionary,
        each: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        self.check_readable(Some(multiplicity))?;
        self.batches(most, &mut |batch| {
            each(self.decoded(batch, Some(multiplicity), dictionary)?)
        })
    }

    /// Its rows in parts of at most so many.
    pub(crate) fn batches(
        &self,
        most: usize,
        each: &mut dyn FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        match &self.rows {
            Some(rows) => rows.scan(most, &vec![true; self.schema.len()], each),
            None => Err(Error::Unsupported {
                what: format!("reading the rows of table {:?}", self.name),
                why: "with trust_deletes they are not kept".to_owned(),
                instead: "keep a view of them, or create the database without trust_deletes"
                    .to_owned(),
            }),
        }
    }

    /// Refuses a name for multiplicities that a column has.
    fn check_readable(&self, multiplicity: Option<&str>) -> Result<()> {
        match multiplicity.filter(|name| self.schema.index_of(name).is_ok()) {
            None => Ok(()),
            Some(name) => Err(Error::Value {
                place: format!("column {name:?} of table {:?}", self.name),
                problem: "belongs to the rows; give the multiplicities another name".to_owned(),
            }),
        }
    }

    pub(crate) fn decoded(
        &self,
        batch: &Batch,
        multiplicity: Option<&str>,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        let schema = self.schema.to_arrow();
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(fields.len() + 1);
        let nothing = Column::default();
        for (index, field) in self.schema.fields().iter().enumerate() {
            let column = batch.columns.get(index).and_then(Option::as_ref);
            let column = column.unwrap_or(&nothing);
            let valid = column.valid.as_deref();
            let array = decode(&field.ty, &column.words, &column.high, valid, dictionary)?;
            arrays.push(array);
        }
        if let Some(name) = multiplicity {
            let counts = batch.multiplicity.clone();
            let counts = counts.unwrap_or_else(|| vec![1; batch.rows]);
            fields.push(Arc::new(ArrowField::new(name, DataType::Int64, false)));
            arrays.push(Arc::new(Int64Array::from(counts)));
        }
        let schema = Arc::new(ArrowSchema::new(fields));
        RecordBatch::try_new(schema, arrays).map_err(|problem| Error::Value {
            place: format!("the rows of table {:?}", self.name),
            problem: problem.to_string(),
        })
    }

    pub(crate) fn status(&self) -> TableStatus {
        let name = |&column: &usize| self.schema.fields()[column].name.clone();
        TableStatus {
            schema: Arc::clone(&self.schema),
            unique: self
                .unique
                .as_ref()
                .map(|columns| columns.iter().map(name).collect()),
            is_static: self.is_static,
            keep_for: self.retention.as_ref().map(|aged| aged.keep_for.clone()),
            oldest: self.retention.as_ref().and_then(Retention::oldest),
            expired: self.retention.as_ref().map_or(0, Retention::expired),
            rows: self.len(),
            bytes: self.bytes(),
            id: self.id,
        }
    }
}

fn positions(table: &str, schema: &Schema, columns: &[String]) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Err(Error::Value {
            place: format!("the unique columns of table {table:?}"),
            problem: "there are none, so the table could hold one row; name some".to_owned(),
        });
    }
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        let position = schema.index_of(column).map_err(|error| match error {
            Error::UnknownColumn { column, known, .. } => Error::UnknownColumn {
                table: table.to_owned(),
                column,
                known,
            },
            other => other,
        })?;
        found.push(position);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
