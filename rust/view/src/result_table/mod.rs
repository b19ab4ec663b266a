//! A keyed table whose keys are the rows of an answer: groups with aggregates, or a listing.
//!
//! The engine that maintains the table gives the variables of the keys, the payload fields and the outputs
//! ([`Grouped`]); reading, look-ups by key and the delta follow from that. A [`Maintainer`] maintains such a table, and
//! [`MaintainerView`] is the view of it.
//! Invariant: an aggregate without GROUP BY has one row, even over nothing. Cost: O(groups) a read of
//! all, O(columns) for one by its key.
//!
//! | file | holds |
//! |---|---|
//! | `lookup` | groups by their keys, rows by some of their columns |
//! | `delta` | how the result changes |
//! | `groups` | groups as they are read, and what of them may not fit |
//! | `facet` | what one query shows of groups that several are answered from |
//! | `auxiliary` | the values of a column by group, for MIN, MAX, COUNT(DISTINCT) and categories |
//! | `summarized` | groups with the auxiliary state of MIN, MAX and COUNT(DISTINCT) |
//! | `sums` | groups of sums as such a table |
//! | `partial/` | what a view over a part of the rows adds to that over all, and what keeps the sum |
//! | `view` | the view of whatever maintains such a table |

mod auxiliary;
mod delta;
mod facet;
mod groups;
mod lookup;
pub mod partial;
mod summarized;
mod sums;
mod view;

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, LiveIds, Result};
use ringview_query::VarId;
use ringview_relation::KeyedTable;

use crate::answer::{Assembler, AuxiliaryPayload};
use crate::answer::{Outputs, ResultRows};
use crate::fields::Fields;

pub use auxiliary::{Auxiliaries, Auxiliary};
pub use facet::Facet;
pub use groups::GroupAnswer;
pub use summarized::Summarized;
pub use sums::SumGroups;
pub use view::{Maintainer, MaintainerView};

/// A table, and all that makes rows of it.
#[derive(Clone, Copy)]
pub struct ResultTable<'a> {
    /// The outputs.
    pub outputs: Outputs<'a>,
    /// The fields of the query's variables.
    pub fields: &'a Fields,
    /// The variables of the table's keys.
    pub keys: &'a [VarId],
    /// The table.
    pub table: &'a KeyedTable,
    /// The layout of the payloads, and the source of auxiliary ones.
    pub auxiliary: &'a dyn AuxiliaryPayload,
}

/// Has a table whose keys are groups.
pub trait Grouped: Debug + Send + Sync {
    /// The table, and all that makes rows of it.
    fn grouped(&self) -> ResultTable<'_>;
}

impl<'a> ResultTable<'a> {
    /// Conversion of rows of the table to Arrow.
    #[must_use]
    pub fn assembler<'d>(&self, dictionary: &'d Dictionary) -> Assembler<'d>
    where
        'a: 'd,
    {
        Assembler {
            outputs: self.outputs,
            fields: self.fields,
            keys: Cow::Borrowed(self.keys),
            payload_layout: self.auxiliary.payload_layout(),
            dictionary,
        }
    }

    /// The schema of the rows.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        // No string is needed for it.
        Arc::new(self.assembler(&Dictionary::new()).schema())
    }

    /// A row for each key.
    #[must_use]
    pub fn all(&self) -> ResultRows {
        ResultRows::all(self.table, self.auxiliary)
    }

    /// The number of keys; 1 where groups have no key. O(1).
    #[must_use]
    pub fn groups(&self) -> usize {
        match self.table.layout().fields() {
            0 => 1,
            _ => self.table.len(),
        }
    }

    /// Number of rows that are shown: those that HAVING keeps.
    ///
    /// # Errors
    /// As of the answer.
    pub fn row_count(&self, dictionary: &Dictionary) -> Result<u64> {
        if !self.outputs.has_having() {
            return Ok(self.groups() as u64);
        }
        Ok(self.assembler(dictionary).count(&self.all())? as u64)
    }

    /// They.
    ///
    /// # Errors
    /// As of the answer.
    pub fn batch(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        self.check_memory(self.groups() as u64, budget)?;
        let rows = self.all();
        budget.work(rows.rows as u64)?;
        self.assembler(dictionary).batch(rows)
    }

    /// Whether there is room for all keys, read at once, and for so many rows made of them.
    ///
    /// # Errors
    /// `Memory`.
    pub fn check_memory(&self, rows: u64, budget: &Budget<'_>) -> Result<()> {
        let groups = self.groups() as u64;
        // The keys and payloads, and what is made of them.
        let outputs = self.outputs.columns.len() as u64;
        let words =
            (self.table.layout().fields() + 2 * self.auxiliary.payload_layout().width()) as u64;
        let bytes = groups.saturating_mul(8 * words);
        budget.reserve(
            bytes.saturating_add(rows.saturating_mul(8 * outputs)),
            || format!("a table of the {rows} rows of the view"),
            "read fewer columns or groups, or raise memory_limit",
        )
    }

    /// Marks the strings in the keys of the table.
    pub fn mark_strings(&self, held: &mut LiveIds) {
        mark_strings(self.table, &self.fields.texts(self.keys), held);
    }

    /// Number of words that this reads.
    #[must_use]
    pub fn string_words(&self) -> usize {
        self.table.len() * self.fields.texts(self.keys).len()
    }
}

/// Marks the ids of strings in some fields of the keys of a table.
pub fn mark_strings(table: &KeyedTable, texts: &[usize], held: &mut LiveIds) {
    if texts.is_empty() {
        return;
    }
    for slot in table.iter() {
        for &field in texts {
            held.mark(table.field(slot, field));
        }
    }
}
