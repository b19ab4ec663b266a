//! The inputs of a bag of a cycle, and a change of one that is followed through the others.
//!
//! Invariant: the bound variables agree with every input looked up. Cost: that of the steps.

use ringview_core::{Budget, Result};

use super::input::Input;
use super::matches::Ids;
use super::steps::{Lookup, Projection, Step};
use crate::bags::context::{Context, Emit};

/// The inputs and orders of a bag.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Those of the plan, then projections.
    pub(super) inputs: Vec<Input>,
    pub(super) projections: Vec<Projection>,
    /// By input, the bag's variables of its columns.
    pub(super) variables: Vec<Vec<usize>>,
    /// By input: the steps of a change.
    pub(super) orders: Vec<Vec<Step>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// Rows that are inserted.
    pub(super) ids: Vec<u32>,
    /// The new ones of these.
    pub(super) new: Vec<u32>,
    /// By variable, the id that it is bound to.
    pub(super) bound: Vec<u32>,
    pub(super) key: Vec<u32>,
    pub(super) out: Vec<u64>,
    pub(super) steps: u64,
}

impl State {
    pub(super) fn bind(&self, input: usize, row: &[u32], work: &mut Scratch) {
        for (&variable, &id) in self.variables[input].iter().zip(row) {
            work.bound[variable] = id;
        }
    }

    /// Updates the projections of an input by a row that was inserted or deleted.
    pub(super) fn project(&mut self, input: usize, row: &[u32], comes: bool) {
        let own = self.orders.len();
        for (at, projection) in self.projections.iter().enumerate() {
            if projection.of != input {
                continue;
            }
            let of = &self.variables[input];
            let column = |v: &usize| of.iter().position(|other| other == v);
            let columns = projection.variables.iter().filter_map(column);
            let ids: Vec<u32> = columns.map(|column| row[column]).collect();
            let projected = &mut self.inputs[own + at];
            match comes {
                // There are fewer rows than 2^32 of each.
                true => drop(projected.increment(&ids)),
                false => drop(projected.decrement(&ids)),
            }
        }
    }

    /// Prefetches the first look-ups of a change of an input.
    #[inline]
    pub(super) fn prefetch(&self, input: usize, row: &[u32], near: bool) {
        let Some(Step::Bind(_, lookups)) = self.orders[input].first() else {
            return;
        };
        for lookup in lookups {
            if let [variable] = lookup.by[..]
                && let Some(column) = self.variables[input].iter().position(|&v| v == variable)
            {
                self.inputs[lookup.input].prefetch_matches(lookup.path, row[column], near);
            }
        }
    }

    /// The ids of an input for the bound variables.
    #[inline]
    fn matches(&self, lookup: &Lookup, work: &mut Scratch) -> Option<Ids<'_>> {
        work.key.clear();
        let bound = &work.bound;
        work.key
            .extend(lookup.by.iter().map(|&variable| bound[variable]));
        self.inputs[lookup.input].matches(lookup.path, &work.key)
    }

    /// Extends the bound variables by the rest of the steps.
    pub(super) fn extend<'s>(
        &'s self,
        context: &Context,
        order: &[Step],
        (work, met): (&mut Scratch, &mut Vec<Ids<'s>>),
        budget: &Budget<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        let Some((step, order)) = order.split_first() else {
            context.write(&work.bound, (&[], &[]), &mut work.out);
            return emit(&work.out, 1);
        };
        let (next, lookups) = match step {
            Step::Bind(next, lookups) => (*next, lookups),
            Step::Check(lookup) => {
                let id = lookup.open.map_or(0, |variable| work.bound[variable]);
                let ids = self.matches(lookup, work);
                budget.work(1)?;
                work.steps += 1;
                return match ids.is_some_and(|ids| ids.contains(id)) {
                    true => self.extend(context, order, (work, met), budget, emit),
                    false => Ok(()),
                };
            }
        };
        let first = met.len();
        let mut least = (usize::MAX, 0);
        for (at, lookup) in lookups.iter().enumerate() {
            let Some(ids) = self.matches(lookup, work) else {
                met.truncate(first);
                return Ok(());
            };
            least = least.min((ids.values.len(), at));
            met.push(ids);
        }
        met.swap(first, first + least.1);
        let walked = met[first];
        budget.work(1 + least.0 as u64)?;
        work.steps += 1 + least.0 as u64;
        for &id in walked.values {
            if met[first + 1..].iter().all(|ids| ids.contains(id)) {
                work.bound[next] = id;
                self.extend(context, order, (work, met), budget, emit)?;
            }
        }
        met.truncate(first);
        Ok(())
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.inputs.iter().map(Input::memory_usage).sum()
    }
}
