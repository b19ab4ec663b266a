//! The parts of a bag of a cycle, and how a change of one is followed through the others.
//!
//! Invariant: whatever is bound agrees with every part that was asked. Cost: that of the steps.

use ringview_core::{Budget, Result};

use super::part::Part;
use super::partners::Ids;
use super::steps::{Meet, Projection, Step};
use crate::bags::ground::{Ground, Tell};

/// What is read while a change is followed.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Those of the plan, then projections.
    pub(super) parts: Vec<Part>,
    pub(super) projections: Vec<Projection>,
    /// By part, the bag's variables of its columns.
    pub(super) variables: Vec<Vec<usize>>,
    /// By part: how a change of it goes on.
    pub(super) ways: Vec<Vec<Step>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// Rows that come.
    pub(super) ids: Vec<u32>,
    /// Which of these are new.
    pub(super) new: Vec<u32>,
    /// By variable, the id that it is bound to.
    pub(super) bound: Vec<u32>,
    pub(super) key: Vec<u32>,
    pub(super) out: Vec<u64>,
    pub(super) steps: u64,
}

impl State {
    pub(super) fn bind(&self, part: usize, row: &[u32], work: &mut Scratch) {
        for (&variable, &id) in self.variables[part].iter().zip(row) {
            work.bound[variable] = id;
        }
    }

    /// What a row that is there now, or no more, means for the projections of its part.
    pub(super) fn project(&mut self, part: usize, row: &[u32], comes: bool) {
        let own = self.ways.len();
        for (at, projection) in self.projections.iter().enumerate() {
            if projection.of != part {
                continue;
            }
            let of = &self.variables[part];
            let column = |v: &usize| of.iter().position(|other| other == v);
            let columns = projection.variables.iter().filter_map(column);
            let ids: Vec<u32> = columns.map(|column| row[column]).collect();
            let projected = &mut self.parts[own + at];
            match comes {
                // There are fewer rows than 2^32 of each.
                true => drop(projected.more(&ids)),
                false => drop(projected.fewer(&ids)),
            }
        }
    }

    /// Asks for what a change of a part meets first.
    #[inline]
    pub(super) fn prefetch(&self, part: usize, row: &[u32], near: bool) {
        let Some(Step::Bind(_, meets)) = self.ways[part].first() else {
            return;
        };
        for meet in meets {
            if let [variable] = meet.by[..]
                && let Some(column) = self.variables[part].iter().position(|&v| v == variable)
            {
                self.parts[meet.part].prefetch_partners(meet.path, row[column], near);
            }
        }
    }

    /// The ids that a part has for what is bound.
    #[inline]
    fn partners(&self, meet: &Meet, work: &mut Scratch) -> Option<Ids<'_>> {
        work.key.clear();
        let bound = &work.bound;
        work.key
            .extend(meet.by.iter().map(|&variable| bound[variable]));
        self.parts[meet.part].partners(meet.path, &work.key)
    }

    /// Goes on with what is bound.
    pub(super) fn extend<'s>(
        &'s self,
        ground: &Ground,
        way: &[Step],
        (work, met): (&mut Scratch, &mut Vec<Ids<'s>>),
        budget: &Budget<'_>,
        told: &mut Tell<'_>,
    ) -> Result<()> {
        let Some((step, way)) = way.split_first() else {
            ground.write(&work.bound, (&[], &[]), &mut work.out);
            return told(&work.out, 1);
        };
        let (next, meets) = match step {
            Step::Bind(next, meets) => (*next, meets),
            Step::Check(meet) => {
                let id = meet.open.map_or(0, |variable| work.bound[variable]);
                let ids = self.partners(meet, work);
                budget.work(1)?;
                work.steps += 1;
                return match ids.is_some_and(|ids| ids.contains(id)) {
                    true => self.extend(ground, way, (work, met), budget, told),
                    false => Ok(()),
                };
            }
        };
        let first = met.len();
        let mut least = (usize::MAX, 0);
        for (at, meet) in meets.iter().enumerate() {
            let Some(ids) = self.partners(meet, work) else {
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
                self.extend(ground, way, (work, met), budget, told)?;
            }
        }
        met.truncate(first);
        Ok(())
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.parts.iter().map(Part::memory_usage).sum()
    }
}
