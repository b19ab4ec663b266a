//! The rows of triangles as a view: an answer that is read with constant delay, and its delta.
//!
//! Invariant: the machine has taken the rows that the view has taken. If a delta is requested, the machine logs the
//! rows that a transaction changes. Cost: that of the machine; O(1) more a changed row with a log, nothing without.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::VarId;
use ringview_relation::KeyedTable;
use ringview_ring::{NumberKind, SumProduct};
use ringview_view::answer::{Assembler, Outputs, PayloadLayout, ResultRows};
use ringview_view::result_table::{ResultTable, mark_strings};
use ringview_view::{Answer, Context, Delta, RowDelta, View};

use super::described;
use super::read::Reading;
use super::waiting::Waiting;
use crate::algebra::Algebra;
use crate::machine::Machine;
use crate::plan::Plan;

/// Rows of a join, kept by heavy and light parts.
pub(crate) struct HeavyLightRows {
    pub(super) plan: Arc<Plan>,
    pub(super) machine: Machine<SumProduct>,
    readings: Vec<Reading>,
    waiting: Waiting,
    /// All variables: the fields of a row.
    variables: Vec<VarId>,
    /// Rows have no payload.
    payload_layout: PayloadLayout,
    /// Number of transactions that were kept: an older position is invalid.
    pub(super) version: u64,
}

impl fmt::Debug for HeavyLightRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeavyLightRows")
            .field("size", &self.machine.size())
            .finish_non_exhaustive()
    }
}

impl HeavyLightRows {
    /// Those of no rows.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self> {
        let count = Algebra::pointwise(&[NumberKind::Integer]);
        let machine = Machine::triangles(&plan.join, &plan.epsilons, count);
        let readings = (0..plan.query.atoms.len()).map(|atom| Reading::new(&plan, atom));
        Ok(Self {
            machine: machine.map_err(crate::plan::refused)?,
            readings: readings.collect::<Result<_>>()?,
            waiting: Waiting::new(plan.query.atoms.len()),
            variables: (0..plan.query.variables.len()).collect(),
            payload_layout: PayloadLayout::default(),
            version: 0,
            plan,
        })
    }

    pub(super) fn assembler<'a>(&'a self, dictionary: &'a Dictionary) -> Assembler<'a> {
        Assembler {
            outputs: Outputs::from(&self.plan.query),
            fields: &self.plan.fields,
            keys: Cow::Borrowed(&self.variables),
            payload_layout: &self.payload_layout,
            dictionary,
        }
    }

    /// Rows as Arrow; of none, the columns.
    pub(super) fn batch(
        &self,
        mut rows: ResultRows,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        let fields = self.plan.join.packing.len();
        rows.columns.resize_with(fields, Vec::new);
        self.assembler(dictionary).batch(rows)
    }

    /// The rows that the running transaction changed, each with the change of its multiplicity.
    fn changed(&self, table: &KeyedTable) -> (ResultRows, Vec<i64>) {
        let mut rows = ResultRows::new(self.plan.join.packing.len(), 0);
        let mut multiplicities = Vec::new();
        for slot in table.iter().filter(|&slot| table.payload(slot)[0] != 0) {
            rows.push(table, slot, &[]);
            multiplicities.push(table.payload(slot)[0] as i64);
        }
        (rows, multiplicities)
    }
}

impl View for HeavyLightRows {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.machine.log_rows(cx.wanted.is_some());
        let shape = self.machine.shape().clone();
        let delta = self.readings[rows.atom].read(rows, &shape)?;
        cx.budget.work(delta.rows as u64)?;
        let taken = (rows.atom, delta);
        self.waiting.take(&mut self.machine, taken, cx.budget)
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        self.waiting.enter(&mut self.machine, cx.budget)?;
        self.machine.prepare(cx.budget)?;
        let (Some(wanted), Some(table)) = (cx.wanted, self.machine.changed_rows()) else {
            return Ok(Delta::default());
        };
        let rows = ResultTable {
            outputs: Outputs::from(&self.plan.query),
            fields: &self.plan.fields,
            keys: &self.variables,
            table,
            auxiliary: &self.payload_layout,
        };
        rows.weighed(wanted, self.changed(table), (cx.dictionary, cx.budget))
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.machine.commit();
        self.version += 1;
    }

    fn rollback(&mut self) {
        self.waiting.clear();
        self.machine.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(format!("{} rows kept factorised", self.machine.row_count())),
            bytes: Some(self.memory_usage() as u64),
            ..described(self.plan.explanation(), &self.machine)
        }
    }

    fn memory_usage(&self) -> usize {
        let readings = self.readings.iter().map(Reading::memory_usage);
        let readings = readings.sum::<usize>();
        let waiting = self.waiting.memory_usage();
        self.machine.memory_usage() + readings + waiting
    }

    fn steps(&self) -> u64 {
        self.machine.steps()
    }

    fn check(&self) {
        self.machine.check();
    }
}

impl HoldsStrings for HeavyLightRows {
    fn mark_strings(&self, held: &mut LiveIds) {
        for (atom, table) in self.machine.wholes().enumerate() {
            mark_strings(table, &self.plan.texts(atom), held);
        }
    }

    fn string_words(&self) -> usize {
        let tables = self.machine.wholes().enumerate();
        tables
            .map(|(atom, table)| table.len() * self.plan.texts(atom).len())
            .sum()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.readings
            .iter_mut()
            .for_each(|reading| reading.forget_strings(gone));
    }
}
