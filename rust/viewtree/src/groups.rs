//! Groups with aggregates, as an answer: a row for each key of the root's part that HAVING keeps.
//!
//! Invariant: an aggregate without GROUP BY has one row, even over nothing. Cost: O(groups) a read of
//! all, O(columns) for one by its key; a transaction looks at the groups that it moved if anything of
//! them might not fit its column.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Dictionary, Meter, Result, Type};
use ringview_view::answer::{Fallible, Further};
use ringview_view::{Answer, Cell, Key, KeyValue};

use crate::logged::{Logged, Shows};
use crate::moved;
use crate::plan::Plan;
use crate::view_tree::{Kept, ViewTree};

/// Groups.
#[derive(Debug)]
pub(crate) struct Groups {
    /// What a change may make unfit to be shown.
    fallible: Option<Fallible>,
}

impl Groups {
    /// Those of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            fallible: Fallible::of(plan.shown(), &plan.members()),
        }
    }
}

impl Shows for Groups {
    fn settle(&self, kept: &Kept, dictionary: &Dictionary) -> Result<()> {
        let (Some(fallible), Some(result)) = (&self.fallible, kept.tree.result()) else {
            return Ok(());
        };
        fallible.check(result, &kept.beside, &kept.of_groups(dictionary))
    }

    fn moved(
        &self,
        kept: &Kept,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<Batch> {
        moved::groups(kept, needed, reading)
    }

    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<(Batch, Option<u64>)> {
        moved::groups_from(kept, place, needed, reading)
    }

    fn size(&self, kept: &Kept) -> String {
        format!("{} groups", kept.groups())
    }
}

impl Answer for ViewTree<Logged<Groups>> {
    fn schema(&self) -> SchemaRef {
        self.kept.schema_ref()
    }

    fn len(&self, dictionary: &Dictionary) -> Result<u64> {
        if self.kept.plan.having.is_none() {
            return Ok(self.kept.groups() as u64);
        }
        let rows = self.kept.grouped();
        Ok(self.kept.of_groups(dictionary).count(&rows)? as u64)
    }

    fn rows(&self, dictionary: &Dictionary, meter: &Meter<'_>) -> Result<RecordBatch> {
        self.kept.check_room(self.kept.groups() as u64, meter)?;
        let rows = self.kept.grouped();
        meter.work(rows.rows as u64)?;
        self.kept.of_groups(dictionary).batch(rows)
    }

    fn key_columns(&self) -> Result<Vec<(&str, &Type)>> {
        Ok(self.kept.key_columns())
    }

    fn get(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        self.kept.get(key, dictionary)
    }

    fn get_rows(
        &self,
        keys: &[Vec<(&str, KeyValue<'_>)>],
        dictionary: &Dictionary,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        self.kept.get_rows(keys, dictionary)
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        let rows = self.kept.rows_where(key, dictionary)?;
        self.kept.of_groups(dictionary).batch(rows)
    }
}

impl Kept {
    /// Whether there is room for all keys of the root, read at once, and for the rows made of them.
    pub(crate) fn check_room(&self, rows: u64, meter: &Meter<'_>) -> Result<()> {
        let Some(result) = self.tree.result() else {
            return Ok(());
        };
        let groups = self.groups() as u64;
        // The keys and payloads, and what is made of them.
        let outputs = self.plan.outputs.len() as u64;
        let words = (result.layout().fields() + 2 * self.beside.members().width()) as u64;
        let bytes = groups.saturating_mul(8 * words);
        meter.room(
            bytes.saturating_add(rows.saturating_mul(8 * outputs)),
            || format!("a table of the {rows} rows of the view"),
            "read fewer columns or groups, or raise memory_limit",
        )
    }
}
