//! A table: its schema, how its rows are encoded, and the rows themselves.
//!
//! Invariant: `rows` is there unless deletes are trusted and the table may change; then `total` alone
//! is kept. `needed` tells the columns that a batch is encoded in: all if rows are kept, else those
//! that some view reads. `readers` are the leaves at which views read the table.

use std::sync::Arc;

use ringview_core::{Batch, Encoder, Error, Result, Schema, Type};
use ringview_relation::RowStore;

use crate::keyed::KeyReader;

/// What is known of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatus {
    /// Its columns.
    pub schema: Arc<Schema>,
    /// The names of the columns of which no two rows agree.
    pub unique: Option<Vec<String>>,
    /// Whether it stays as it is once a view reads it.
    pub is_static: bool,
    /// How many rows it has, each as often as it is there.
    pub rows: u64,
    /// Bytes that they take.
    pub bytes: usize,
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
    pub(crate) schema: Arc<Schema>,
    pub(crate) unique: Option<Vec<usize>>,
    pub(crate) is_static: bool,
    /// How many of its columns hold strings.
    pub(crate) texts: usize,
    pub(crate) encoder: Encoder,
    pub(crate) rows: Option<RowStore>,
    /// Inserted minus deleted, where no rows are kept.
    pub(crate) total: i64,
    pub(crate) needed: Vec<bool>,
    /// The columns that some view reads.
    pub(crate) read: Vec<bool>,
    /// How rows were last read by key.
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
            encoder: Encoder::new(name, &schema),
            rows: keep_rows.then(|| RowStore::new(name, &schema, unique.clone())),
            texts: schema
                .fields()
                .iter()
                .filter(|f| f.ty == Type::Utf8)
                .count(),
            schema: Arc::new(schema),
            unique,
            is_static,
            total: 0,
            needed: Vec::new(),
            read: Vec::new(),
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

    /// Notes that a view reads it, and which columns.
    pub(crate) fn add_reader(&mut self, reader: Reader, columns: &[usize]) {
        self.readers.push(reader);
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

    /// How many rows a batch adds, deletes counted off.
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
        self.rows.as_ref().map_or(0, RowStore::memory_usage)
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
            rows: self.len(),
            bytes: self.bytes(),
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
