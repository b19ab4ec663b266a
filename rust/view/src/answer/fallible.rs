//! A transaction is refused if its result cannot be shown.
//!
//! Invariant: a view that has settled can be read. Of each group that the running transaction moved, every column that
//! might not fit its type has been computed once. Counts and sums of one integer component always fit, and are not
//! checked: a view of those alone settles in O(1), any other in O(groups moved).

use ringview_core::{Dictionary, Result};
use ringview_query::{OutputKind, PlanOutput, Results};
use ringview_relation::SlotChange;
use ringview_ring::NumberKind;

use super::assembler::{Assembler, Outputs};
use super::payload_layout::PayloadLayout;
use super::rows::ResultRows;
use crate::result_table::ResultTable;

/// The outputs of a result that may not fit.
#[derive(Debug)]
pub struct Fallible {
    /// The outputs, by position.
    outputs: Vec<usize>,
    /// Whether the check needs more than the payload in the table: keys, and the auxiliary payload.
    whole: bool,
}

impl Fallible {
    /// The outputs of a query's groups that may not fit; `None` if all will.
    #[must_use]
    pub fn of(query: Outputs<'_>, payload_layout: &PayloadLayout) -> Option<Self> {
        let results = query.results.map(Results::projection);
        let reads_fallible = results.is_some_and(|results| {
            let mut read = results.inputs().iter();
            read.any(|&at| may_fail(payload_layout, &query.measures[at]))
        });
        let computed = |column: usize| {
            reads_fallible || results.is_some_and(|results| results.fallible()[column])
        };
        let fails = |output: &&PlanOutput| match output.kind {
            OutputKind::Computed { column } => computed(column),
            _ => may_fail(payload_layout, output),
        };
        let all = query.columns.iter().enumerate();
        let found = all.filter(|(_, output)| fails(output));
        let outputs: Vec<usize> = found.map(|(at, _)| at).collect();
        let has_having = query.has_having();
        let decides =
            has_having && (reads_fallible || results.is_some_and(|of| of.has_fallible_filter()));
        let is_computed = |output: &PlanOutput| matches!(output.kind, OutputKind::Computed { .. });
        let whole = has_having || outputs.iter().any(|&at| is_computed(&query.columns[at]));
        (decides || !outputs.is_empty()).then_some(Self { outputs, whole })
    }

    /// Whether the groups that the running transaction touched are fit to be shown.
    ///
    /// # Errors
    /// `Overflow`; the transaction must then be undone.
    pub(crate) fn check(&self, groups: &ResultTable<'_>, dictionary: &Dictionary) -> Result<()> {
        let (table, assembler) = (groups.table, groups.assembler(dictionary));
        // Groups without rows are removed, and show nothing that could overflow.
        let there = |slot: &u32| table.is_live(*slot) && table.payload(*slot)[0] != 0;
        if !self.whole {
            let touched = table.changes().map(|change| match change {
                SlotChange::New(slot) | SlotChange::Was(slot, _) => slot,
            });
            let mut touched = touched.filter(there);
            return touched.try_for_each(|slot| self.check_row(table.payload(slot), &assembler));
        }
        let touched = groups.touched().into_iter().map(|(slot, _)| slot);
        let slots: Vec<u32> = touched.filter(there).collect();
        if slots.is_empty() {
            return Ok(());
        }
        let rows = ResultRows::prepared(table, &slots, groups.auxiliary, dictionary);
        assembler.check(rows, &self.outputs)
    }

    /// The same of all groups that are there, between two transactions. O(groups).
    ///
    /// # Errors
    /// `Overflow`.
    pub(crate) fn check_all(
        &self,
        groups: &ResultTable<'_>,
        dictionary: &Dictionary,
    ) -> Result<()> {
        let slots: Vec<u32> = groups.table.iter().collect();
        if slots.is_empty() {
            return Ok(());
        }
        let rows = ResultRows::of(groups.table, &slots, groups.auxiliary);
        groups.assembler(dictionary).check(rows, &self.outputs)
    }

    /// The same of one row, whose payload determines all of them.
    fn check_row(&self, payload: &[u64], assembler: &Assembler<'_>) -> Result<()> {
        let outputs = self
            .outputs
            .iter()
            .map(|&at| &assembler.outputs.columns[at]);
        let mut cells = outputs.filter_map(|output| assembler.payload_layout.cell(payload, output));
        cells.try_for_each(|cell| cell.map(drop))
    }
}

/// Whether a column that is read from payloads may not fit its type.
fn may_fail(payload_layout: &PayloadLayout, output: &PlanOutput) -> bool {
    let OutputKind::Sum { terms, .. } = &output.kind else {
        return false;
    };
    // 64 bits always fit the 38 digits that are shown.
    let wide = |&term: &usize| payload_layout.element(term).kind == NumberKind::Decimal;
    terms.len() > 1 || terms.iter().any(wide)
}
