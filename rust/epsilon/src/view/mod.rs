//! A machine behind the trait of all views: rows of tables in, groups of sums out, kept or read (`groups`), or rows
//! of a join (`rows`).
//!
//! Invariant: once it has settled, the machine has taken the rows that the view has taken; its result is the
//! part that is read. Rows wait until then, so that a transaction that brings many is loaded, and so is
//! a view over tables that have rows. Cost: that of the machine; room for the rows that wait, no more
//! than twice what is there or a million.

mod groups;
mod read;
mod row_answer;
mod row_reader;
mod rows;
mod waiting;

use std::fmt;
use std::sync::Arc;

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_relation::Relocated;
use ringview_ring::SumProduct;
use ringview_view::RowDelta;
use ringview_view::answer::PayloadLayout;
use ringview_view::result_table::{Grouped, Maintainer, ResultTable, mark_strings};

use crate::algebra::Algebra;
use crate::machine::Machine;
use crate::plan::{Component, Plan};
use read::Reading;
use waiting::Waiting;

pub(crate) use groups::GroupsOnRead;
pub(crate) use rows::HeavyLightRows;

/// Sums over a join, kept by heavy and light parts.
pub(crate) struct HeavyLightSums {
    plan: Arc<Plan>,
    machine: Machine<SumProduct>,
    readings: Vec<Reading>,
    payload_layout: PayloadLayout,
    waiting: Waiting,
}

impl fmt::Debug for HeavyLightSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeavyLightSums")
            .field("size", &self.machine.size())
            .finish_non_exhaustive()
    }
}

impl HeavyLightSums {
    /// Those of no rows.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self> {
        let kinds = plan.components.iter();
        let kinds: Vec<_> = kinds.map(Component::number).collect();
        let algebra = Algebra::pointwise(&kinds);
        let machine = match plan.is_cycle {
            true => {
                let field = plan.join.packing[plan.join.fields[0][0]];
                Machine::cycle(field, plan.epsilons[0], algebra)
            }
            false => {
                let made = Machine::new(&plan.join, &plan.epsilons, algebra);
                made.map_err(crate::plan::refused)?
            }
        };
        let readings = (0..plan.query.atoms.len()).map(|atom| Reading::new(&plan, atom));
        Ok(Self {
            readings: readings.collect::<Result<_>>()?,
            payload_layout: plan.payload_layout(),
            waiting: Waiting::new(plan.query.atoms.len()),
            machine,
            plan,
        })
    }
}

impl Grouped for HeavyLightSums {
    fn grouped(&self) -> ResultTable<'_> {
        let table = self.machine.result_table();
        self.plan.rows_of(table, &self.payload_layout)
    }
}

impl HoldsStrings for HeavyLightSums {
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

impl Maintainer for HeavyLightSums {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        // One relation at three places takes its rows once.
        if self.plan.is_cycle && rows.atom > 0 {
            return Ok(());
        }
        let shape = self.machine.shape().clone();
        let delta = self.readings[rows.atom].read(rows, &shape)?;
        budget.work(delta.rows as u64)?;
        let taken = (rows.atom, delta);
        self.waiting.take(&mut self.machine, taken, budget)
    }

    fn prepare(&mut self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.waiting.enter(&mut self.machine, budget)?;
        self.machine.prepare(budget)
    }

    fn commit(&mut self, _dictionary: &Dictionary) -> Option<Relocated> {
        self.machine.commit();
        None
    }

    fn rollback(&mut self) {
        self.waiting.clear();
        self.machine.rollback();
    }

    fn explanation(&self) -> Explanation {
        described(self.plan.explanation(), &self.machine)
    }

    fn memory_usage(&self) -> usize {
        let readings = self.readings.iter().map(Reading::memory_usage);
        self.machine.memory_usage() + self.waiting.memory_usage() + readings.sum::<usize>()
    }

    fn steps(&self) -> u64 {
        self.machine.steps()
    }

    fn check(&self) {
        self.machine.check();
    }
}

/// A plan's explanation with what its machine holds.
fn described(mut explanation: Explanation, machine: &Machine<SumProduct>) -> Explanation {
    let (base, tuples) = machine.size();
    let rebalancings = machine.rebalancings();
    let sizes = machine.part_sizes();
    let heavy: Vec<String> = sizes
        .iter()
        .map(|sizes| format!("{} of {}", sizes.heavy, sizes.tuples))
        .collect();
    let form = &mut explanation.form.because;
    *form = format!(
        "{form}; {tuples} tuples with N = {base}, {} of which are between heavy values, {} keys in \
         views; rebalanced {} times, {} values moved between",
        heavy.join(" and "),
        machine.view_keys(),
        rebalancings.major,
        rebalancings.minor,
    );
    for (node, table) in explanation.nodes.iter_mut().zip(machine.wholes()) {
        node.rows = Some(table.len() as u64);
        node.bytes = Some(table.memory_usage() as u64);
    }
    let root = explanation.nodes.last_mut().filter(|root| root.stored);
    if let Some(root) = root {
        let table = machine.result_table();
        root.rows = Some(table.len() as u64);
        root.bytes = Some(table.memory_usage() as u64);
    }
    explanation
}
