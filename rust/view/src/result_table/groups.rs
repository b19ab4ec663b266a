//! Groups as they are read, and what a transaction made of them.
//!
//! Invariant: once prepared, the groups that changed can be shown in every column. Cost: that of reading them; O(groups
//! touched) where a column may not fit, or a delta is wanted.

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Result, Type};

use super::ResultTable;
use crate::answer::{Answer, Cell, Fallible, Key, KeyValue};
use crate::delta::{Context, Delta};

/// The answer whose rows are groups.
#[derive(Clone, Copy)]
pub struct GroupAnswer<'a>(pub ResultTable<'a>);

impl fmt::Debug for GroupAnswer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GroupAnswer")
            .field(&self.0.groups())
            .finish()
    }
}

impl Answer for GroupAnswer<'_> {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn len(&self, dictionary: &Dictionary) -> Result<u64> {
        self.0.row_count(dictionary)
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        self.0.batch(dictionary, budget)
    }

    fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        self.0.scan(place, wanted, reading)
    }

    fn key_columns(&self) -> Result<Vec<(&str, &Type)>> {
        Ok(self.0.key_columns())
    }

    fn get(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        self.0.get(key, dictionary)
    }

    fn get_rows(
        &self,
        keys: &[Vec<(&str, KeyValue<'_>)>],
        dictionary: &Dictionary,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        self.0.get_rows(keys, dictionary)
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        let rows = self.0.rows_where(key, dictionary)?;
        self.0.assembler(dictionary).batch(rows)
    }
}

/// The columns of groups that may not fit, for payloads of this width.
#[derive(Debug)]
pub(super) struct CheckedGroups {
    fallible: Option<Fallible>,
    width: usize,
}

impl CheckedGroups {
    pub(super) fn of(groups: ResultTable<'_>) -> Self {
        let payload_layout = groups.auxiliary.payload_layout();
        Self {
            fallible: Fallible::of(groups.outputs, payload_layout),
            width: payload_layout.width(),
        }
    }

    /// Refuses what cannot be shown of all groups, between two transactions.
    pub(super) fn check_all(&self, groups: ResultTable<'_>, dictionary: &Dictionary) -> Result<()> {
        let mut fallible = self.fallible.iter();
        fallible.try_for_each(|fallible| fallible.check_all(&groups, dictionary))
    }

    /// Whether `prepare` would check nothing and return an empty delta: all columns always fit, and no delta is wanted.
    #[inline]
    pub(super) fn has_nothing_to_do(&self, groups: ResultTable<'_>, cx: &Context<'_, '_>) -> bool {
        let grown = self.width != groups.auxiliary.payload_layout().width();
        cx.wanted.is_none() && self.fallible.is_none() && !grown
    }

    /// Refuses what cannot be shown; how the groups change.
    pub(super) fn prepare(
        &mut self,
        groups: ResultTable<'_>,
        cx: &Context<'_, '_>,
    ) -> Result<Delta> {
        if self.width != groups.auxiliary.payload_layout().width() {
            // Sums have grown.
            *self = Self::of(groups);
        }
        let mut fallible = self.fallible.iter();
        fallible.try_for_each(|fallible| fallible.check(&groups, cx.dictionary))?;
        groups.delta(cx)
    }
}
