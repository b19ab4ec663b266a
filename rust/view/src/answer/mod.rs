//! Reading of a view: its rows.
//!
//! Invariant: two reads without a change between them give the same rows in the same order. A reader never
//! distinguishes kinds of answers: groups, a listing and a factorised join are three answers of one trait. An answer
//! refuses an unsupported operation with the reason. Cost: each method states a bound for any answer; an answer may do
//! better.
//!
//! An engine gives a table whose keys are the groups, the fields of the payloads, and the source of auxiliary fields;
//! columns, expressions and HAVING follow.
//!
//! | file | holds |
//! |---|---|
//! | `payload_layout` | the fields of a payload, and the position of each in a row |
//! | `auxiliary` | payload fields that are kept beside the table of the groups |
//! | `values/` | the values of a column by group: MIN, MAX, COUNT(DISTINCT), categories |
//! | `rows` | rows before they are columns |
//! | `assembler` | rows as Arrow: groups, measures, HAVING |
//! | `columns`, `statistics` | counts, sums, least and greatest values; variances |
//! | `cofactors`, `categories` | the column of a COFACTOR |
//! | `cells` | values by row |
//! | `listing` | the rows of a join, each with its multiplicity |
//! | `weighed` | rows with multiplicities, on their way to a view over more rows |
//! | `key`, `cursor` | values to look for; places to read on from |
//! | `fallible` | what may not fit its column is refused before it is kept |

mod assembler;
mod auxiliary;
mod categories;
mod category;
mod cells;
mod cofactors;
mod columns;
mod cursor;
mod fallible;
mod key;
pub mod listing;
mod payload_layout;
mod rows;
mod statistics;
pub mod values;
pub mod weighed;

use std::fmt::Debug;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, Result, Type};

pub use assembler::{Assembler, Outputs};
pub use auxiliary::AuxiliaryPayload;
pub use category::Categories;
pub use cells::{Cells, Value, retain};
pub use cursor::{Cursor, Position};
pub use fallible::Fallible;
pub use key::{Cell, Key, KeyValue};
pub use payload_layout::{
    FeatureColumns, PayloadField, PayloadLayout, TermSums, number_kind, wide_kind,
};
pub use rows::ResultRows;

use crate::delta::Delta;

/// Rows of an answer that are handed out at a time.
const BLOCK: u64 = 1 << 16;

/// The rows of a view, as of its last commit. The dictionary of a call holds all strings of the view; the budget limits
/// the memory of the output, and checks for interrupts.
pub trait Answer: Debug + Send + Sync {
    /// The schema of its rows. O(columns).
    fn schema(&self) -> SchemaRef;

    /// Number of rows. O(1), or O(groups) with HAVING or for a listing.
    ///
    /// # Errors
    /// `Overflow` if what HAVING computes does not fit; `Value` if trusted deletes took what was not
    /// there.
    fn len(&self, dictionary: &Dictionary) -> Result<u64>;

    /// Whether there are none. As `len`.
    ///
    /// # Errors
    /// As `len`.
    fn is_empty(&self, dictionary: &Dictionary) -> Result<bool> {
        Ok(self.len(dictionary)? == 0)
    }

    /// All rows. O(rows).
    ///
    /// # Errors
    /// `Overflow` if a sum of several terms, or what is computed from aggregates, does not fit;
    /// `Memory` for more than there is room for; what the budget says.
    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch>;

    /// The rows `from .. to`, as far as there are any. O(rows of the answer), unless rows are found by
    /// their position.
    ///
    /// # Errors
    /// As `rows`.
    fn slice(
        &self,
        (from, to): (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let all = self.rows(dictionary, budget)?;
        let to = usize::try_from(to).map_or(all.num_rows(), |to| to.min(all.num_rows()));
        let from = usize::try_from(from).map_or(to, |from| from.min(to));
        Ok(all.slice(from, to - from))
    }

    /// `rows` rows drawn with equal chances, each independently of the others: a row may be drawn
    /// twice. The same seed draws the same from the same rows. Refused unless rows are found by their
    /// position.
    ///
    /// # Errors
    /// `Unsupported`; `Value` if there are no rows; as `rows`.
    fn draw(
        &self,
        (_rows, _seed): (u64, u64),
        _dictionary: &Dictionary,
        _meter: &Budget<'_>,
    ) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "drawing rows of this view".to_owned(),
            why: "only the rows of a factorised join are found by their position".to_owned(),
            instead: "create the view as SELECT of columns over a join, or sample what you read"
                .to_owned(),
        })
    }

    /// The place before the first row: [`next`](Self::next) reads on from there. By default all rows are
    /// made at once, O(rows); where they are made as they are read, O(1).
    ///
    /// # Errors
    /// As `rows`.
    fn cursor(&self, dictionary: &Dictionary) -> Result<Cursor> {
        self.rows(dictionary, &Budget::free()).map(Cursor::made)
    }

    /// Whether a cursor of this view can continue: its rows are made, or the view is as it was when it began.
    fn is_current(&self, cursor: &Cursor) -> bool {
        cursor.is_made()
    }

    /// The next rows of a cursor that is current; `None` behind the last.
    ///
    /// # Errors
    /// As `rows`.
    fn next(&self, cursor: &mut Cursor, _dictionary: &Dictionary) -> Result<Option<RecordBatch>> {
        Ok(cursor.take())
    }

    /// The columns of its group key, with their types: each by the name in the answer, or by its own if the answer does
    /// not show it. By default rows have no key.
    ///
    /// # Errors
    /// `Unsupported` for the rows of a join, which have no key.
    fn key_columns(&self) -> Result<Vec<(&str, &Type)>> {
        Err(no_key())
    }

    /// The row of the group of a key, column by column; `None` if there is no such group, or HAVING
    /// leaves it out. O(columns).
    ///
    /// # Errors
    /// As `key_columns`; `UnknownColumn`, `Value` for a key that is not whole, `Type`; as `rows`.
    fn get(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        self.key_columns().map(|_| None)
    }

    /// The rows of the groups of some keys, and the place of each among the keys; keys without a group
    /// are left out. O(keys).
    ///
    /// # Errors
    /// As `get`.
    fn get_rows(
        &self,
        _keys: &[Vec<(&str, KeyValue<'_>)>],
        dictionary: &Dictionary,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        self.key_columns()?;
        let none = self.slice((0, 0), dictionary, &Budget::free())?;
        Ok((none, Vec::new()))
    }

    /// Rows from a place on, as views above and new followers are given them, as many as are handled well at a time,
    /// in the columns that are `wanted`; and the place behind them, if there may be more. The first place is 0, by
    /// default the others are positions in the answer. O(rows handed out), and what a slice costs.
    ///
    /// # Errors
    /// As `rows`.
    fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        let (all, next) = (self.len(dictionary)?, place + BLOCK);
        let rows = self.slice((place, next), dictionary, budget)?;
        Ok((
            Delta::each_once(&rows, wanted),
            (next < all).then_some(next),
        ))
    }

    /// The rows that have these values in these columns, which are columns of groups, or of a listing.
    /// O(1) for the whole key of a group, else O(groups) to find them.
    ///
    /// # Errors
    /// `UnknownColumn`, `Type`, `Unsupported` for other columns and for what has no such look-up; as
    /// `rows`.
    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch>;
}

/// The refusal of a look-up by key of rows that have none.
#[must_use]
pub fn no_key() -> Error {
    Error::Unsupported {
        what: "a row of a join by its key".to_owned(),
        why: "rows may be equal, so no key tells them apart".to_owned(),
        instead: "look for rows by some of their columns with where(), or group by them".to_owned(),
    }
}
