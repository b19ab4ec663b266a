//! The last relations of a level, each with at most one match a row, met at once.
//!
//! dV * S * T * .. where the keys of S, T and so on are bound: the matches of all rows are found first, then each row
//! is multiplied with all of its own together, and summed into what the level keeps. So what some of them make is never
//! written, and a row that lacks one is known before anything is multiplied. If a sum does not fit, the matches are
//! multiplied one after the other, with wider numbers where the ring has them. Invariant: the lists of slots have one
//! entry for each row that is left, in the order of the rows. Cost: one probe a row and relation, as one after the
//! other, and one product a row in place of several.

use ringview_core::Result;
use ringview_ring::{JoinedPayloads, MOST_JOINED, PayloadRing, Rows, Slab};

use super::path::{Access, Level, Step, Together};
use super::propagation::{Propagation, group};
use super::work::{Found, Work};
use crate::ABSENT;
use crate::delta::Delta;
use crate::directory::Keys;

impl<R: PayloadRing> Propagation<'_, '_, R> {
    /// dV := dV * S * T * .. where each row has at most one match in each. Rows that lack one are
    /// known before anything is multiplied.
    pub(super) fn meet_all(
        &mut self,
        level: &Level<R>,
        together: &Together<R>,
        delta: &mut Delta,
    ) -> Result<()> {
        let mut found = std::mem::take(&mut self.work.matches);
        found.rows = None;
        let steps = &level.steps[together.first..];
        if found.slots.len() < steps.len() {
            found.slots.resize_with(steps.len(), Vec::new);
        }
        let rows = delta.rows;
        for (at, step) in steps.iter().enumerate() {
            self.work.steps += delta.rows as u64;
            self.met(level.into, delta.rows)?;
            self.find_matches(step, at, &mut found, delta);
            if delta.rows == 0 {
                break;
            }
        }
        let outcome = match delta.rows {
            0 => Ok(()),
            _ => self.multiply_all((level, together), delta, (rows, &found)),
        };
        self.work.matches = found;
        outcome
    }

    /// Finds the match of each row that is left, and drops those that have none.
    fn find_matches(&mut self, step: &Step<R>, at: usize, found: &mut Found, delta: &mut Delta) {
        let Access::Probe(keys) = &step.access else {
            unreachable!("steps that are taken at once are probes")
        };
        let Some(table) = self.relations[step.relation].filled() else {
            delta.rows = 0;
            return;
        };
        let Found {
            slots,
            rows,
            scratch,
        } = found;
        let (before, slots) = slots.split_at_mut(at);
        let slots = &mut slots[0];
        let keys = Keys {
            columns: &delta.columns,
            fields: keys,
            rows: delta.rows,
        };
        if table.find(keys, &mut self.work.keys, slots) {
            return;
        }
        let left = &mut self.work.rows;
        left.clear();
        let matches = (0u32..).zip(&*slots);
        left.extend(
            matches
                .filter(|(_, slot)| **slot != ABSENT)
                .map(|(row, _)| row),
        );
        slots.retain(|&slot| slot != ABSENT);
        before.iter_mut().for_each(|slots| keep(slots, left));
        match rows {
            Some(rows) => keep(rows, left),
            None => {
                scratch.clone_from(left);
                *rows = Some(std::mem::take(scratch));
            }
        }
        delta.gather(&step.live, left, &mut self.work.gather);
    }

    /// The product of the rows that are left, of so many, with all their matches.
    fn multiply_all(
        &mut self,
        (level, together): (&Level<R>, &Together<R>),
        delta: &mut Delta,
        (rows, found): (usize, &Found),
    ) -> Result<()> {
        let steps = &level.steps[together.first..];
        let nobody = JoinedPayloads {
            payloads: Slab::delta(&[], 0),
            slots: &[],
        };
        let mut matches = [nobody; MOST_JOINED];
        for ((to, step), slots) in matches.iter_mut().zip(steps).zip(&found.slots) {
            let payloads = self.relations[step.relation].payloads();
            *to = JoinedPayloads { payloads, slots };
        }
        let fits = |step: &Step<R>| self.relations[step.relation].fits();
        if delta.wide || !steps.iter().all(fits) {
            return self.multiply_each(level, steps, delta, (rows, found));
        }
        let product = &together.product;
        let Work {
            grouper,
            product: out,
            gather,
            scratch,
            ..
        } = &mut *self.work;
        let wide = R::is_wide(self.relations[level.into].shape());
        let groups = group::<R>((level, product), delta, grouper, wide);
        let (left, right) = ((delta.slab(), found.rows(rows)), &matches[..steps.len()]);
        let Ok(width) = R::multiply_all(product, left, right, groups, scratch, out) else {
            return self.multiply_each(level, steps, delta, (rows, found));
        };
        delta.width = width;
        std::mem::swap(&mut delta.payload, out);
        if let Some(rows) = grouper.representatives() {
            delta.gather(&level.keys, rows, gather);
        }
        Ok(())
    }

    /// The same one match after the other.
    #[cold]
    fn multiply_each(
        &mut self,
        level: &Level<R>,
        steps: &[Step<R>],
        delta: &mut Delta,
        (rows, found): (usize, &Found),
    ) -> Result<()> {
        let mut picked = found.rows(rows);
        for (step, slots) in steps.iter().zip(&found.slots) {
            self.multiply(level, step, delta, (picked, slots))?;
            picked = Rows::All(slots.len());
        }
        Ok(())
    }
}

impl Found {
    /// The rows that are left of so many.
    fn rows(&self, of: usize) -> Rows<'_> {
        self.rows.as_deref().map_or(Rows::All(of), Rows::Picked)
    }
}

/// Keeps some values, by their ascending places.
fn keep(values: &mut Vec<u32>, places: &[u32]) {
    for (to, &place) in places.iter().enumerate() {
        values[to] = values[place as usize];
    }
    values.truncate(places.len());
}
