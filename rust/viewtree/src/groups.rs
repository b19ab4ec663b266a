//! Groups with aggregates: a row for each key of the root's part that HAVING keeps.
//!
//! Invariant: what is kept can be shown. Cost: a transaction looks at the groups that it moved if anything
//! of them might not fit its column.

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Dictionary, Result};
use ringview_query::Bound;
use ringview_view::answer::{Fallible, Further};
use ringview_view::part::partial::write_groups;
use ringview_view::part::{Grouped, PartRows, Reading};

use crate::companion::Companion;
use crate::logged::{Logged, Shows};
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
        match &self.fallible {
            Some(fallible) => kept.rows().settle(Some(fallible), dictionary),
            None => Ok(()),
        }
    }

    fn grow(&mut self, kept: &Kept) {
        self.fallible = Fallible::of(kept.plan.shown(), kept.beside.members());
    }

    fn moved(&self, kept: &Kept, needed: &[bool], reading: Reading<'_, '_>) -> Result<Batch> {
        kept.rows().moved(needed, reading)
    }

    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)> {
        kept.rows().rows_from(place, needed, reading)
    }

    fn partial(
        &self,
        kept: &Kept,
        query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        let values = kept.beside.companions().map(Companion::rows);
        write_groups(query, kept.rows(), values.collect(), reading)
    }

    fn size(&self, kept: &Kept) -> String {
        format!("{} groups", kept.rows().groups())
    }
}

impl Grouped for ViewTree<Logged<Groups>> {
    fn grouped(&self) -> PartRows<'_> {
        self.kept.rows()
    }
}
