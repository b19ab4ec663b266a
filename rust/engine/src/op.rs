//! Changes of a transaction: rows to insert or delete, given whole, as a product of factors, or by their key; an
//! advance of the clock.
//!
//! Invariant: none; names, types and values are checked when they are applied. Cost: none, they borrow all rows.

use arrow_array::RecordBatch;
use ringview_core::Batch;

/// Insertion or deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The rows are inserted.
    Insert,
    /// The rows are deleted.
    Delete,
}

impl Direction {
    pub(crate) fn sign(self) -> i64 {
        match self {
            Direction::Insert => 1,
            Direction::Delete => -1,
        }
    }

    /// Numbers of rows of a batch to insert, and to delete.
    pub(crate) fn of(self, batch: &Batch) -> (u64, u64) {
        let rows = batch.rows as u64;
        let (along, against) = match &batch.multiplicity {
            None => (rows, 0),
            Some(all) => all.iter().fold((0_u64, 0_u64), |(along, against), &times| {
                let count = times.unsigned_abs();
                match times < 0 {
                    true => (along, against.saturating_add(count)),
                    false => (along.saturating_add(count), against),
                }
            }),
        };
        match self {
            Direction::Insert => (along, against),
            Direction::Delete => (against, along),
        }
    }
}

/// One change of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    /// The table.
    pub table: &'a str,
    /// Whether the rows are inserted or deleted.
    pub direction: Direction,
    /// The rows; columns are matched by name.
    pub rows: &'a [RecordBatch],
    /// A further column of integers that says how often each row counts; negative turns the
    /// direction round.
    pub multiplicity: Option<&'a str>,
}

/// A change whose rows are the Cartesian product of factors, multiplicities multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// The table.
    pub table: &'a str,
    /// Whether the rows are inserted or deleted.
    pub direction: Direction,
    /// Rows over disjoint columns that are all columns of the table together.
    pub factors: &'a [ProductFactor<'a>],
}

/// Rows of a factor.
#[derive(Clone, Copy, Debug)]
pub struct ProductFactor<'a> {
    /// The rows, over some columns of the table.
    pub rows: &'a [RecordBatch],
    /// As that of an [`Op`].
    pub multiplicity: Option<&'a str>,
}

/// A step of a transaction: rows, a product of factors, rows by their key, or time that passes.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Rows as they are; a delete may give the columns of the unique key alone.
    Rows(Op<'a>),
    /// A product.
    Product(Product<'a>),
    /// Rows by their key.
    Keyed(Keyed<'a>),
    /// Advances the clock of the database to a moment, in microseconds since 1970 in UTC.
    Advance(i64),
}

impl<'a> From<Op<'a>> for Change<'a> {
    fn from(op: Op<'a>) -> Self {
        Change::Rows(op)
    }
}

impl<'a> Change<'a> {
    /// Its table; none of a step of time.
    #[must_use]
    pub fn table(&self) -> Option<&'a str> {
        match self {
            Change::Rows(op) => Some(op.table),
            Change::Product(product) => Some(product.table),
            Change::Keyed(keyed) => Some(keyed.table),
            Change::Advance(_) => None,
        }
    }

    /// Its rows; of a product none, for they take room of their own.
    pub(crate) fn rows(&self) -> &'a [RecordBatch] {
        match self {
            Change::Rows(op) => op.rows,
            Change::Product(_) | Change::Advance(_) => &[],
            Change::Keyed(keyed) => keyed.rows,
        }
    }
}

/// A change of rows by the unique key of their table.
#[derive(Clone, Copy, Debug)]
pub struct Keyed<'a> {
    /// The table.
    pub table: &'a str,
    /// Action of the rows.
    pub by: ByKey<'a>,
    /// The rows; columns are matched by name.
    pub rows: &'a [RecordBatch],
}

/// Action of rows by their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByKey<'a> {
    /// Inserts whole rows, each in the place of the one with its key, if it exists.
    Upsert,
    /// Each takes the place of the one that has its key; columns that are not given stay.
    Update,
    /// Deletes the rows with these keys; only the columns of the key are given.
    Delete,
    /// Whole rows with a column of CDC operations; a row that is deleted needs no
    /// more than its key.
    Cdc(&'a str),
}

impl ByKey<'_> {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ByKey::Upsert => "an upsert",
            ByKey::Update => "an update",
            ByKey::Delete => "a delete by key",
            ByKey::Cdc(_) => "a change by CDC operations",
        }
    }
}
