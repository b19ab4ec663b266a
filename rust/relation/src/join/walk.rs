//! The step of a propagation that meets groups: pairs of a delta's rows and their matches, a block at a time.
//!
//! If more levels follow, the sums of a block wait for those of the next, so that a key common to several blocks is
//! propagated once. Invariant: no more than a block of pairs, and some sums, are held at a time. Cost: one step a pair,
//! and one a sum that waits.

use ringview_core::Result;
use ringview_ring::{PayloadRing, Rows};

use super::path::{Access, Step};
use super::propagation::Propagation;
use super::work::Walk;
use crate::ABSENT;
use crate::delta::Delta;
use crate::directory::Keys;

/// Sums of blocks of pairs that are gathered before they are propagated.
const GATHERED: usize = if cfg!(debug_assertions) {
    1 << 9
} else {
    1 << 18
};

/// Pairs in a block whose room is kept for the next walk.
const FEW: usize = 1 << 10;

impl<R: PayloadRing> Propagation<'_, '_, R> {
    /// dV := dV * S where a row may have many matches, a block of pairs at a time: however large the groups, the memory
    /// of a propagation stays bounded. If the next step looks each pair up, that is done before they are multiplied:
    /// most may have no match there. Returns the position of the following step.
    pub(super) fn walk(
        &mut self,
        (at, position): (usize, usize),
        delta: &mut Delta,
    ) -> Result<usize> {
        let path = self.path;
        let level = &path.levels[at];
        let step = &level.steps[position];
        let probed = level.steps.get(position + 1);
        let probed = probed.filter(|step| matches!(step.access, Access::Probe(_)));
        let next = position + 1 + usize::from(probed.is_some());
        let words = R::stride(self.relations[level.into].shape());
        let table = self.relations[step.relation].table_mut();
        let Some(table) = table.filter(|table| !table.is_empty()) else {
            delta.rows = 0;
            return Ok(next);
        };
        let mut room = std::mem::take(&mut self.work.walk);
        let matches = &mut room.matches;
        matches.find(table, &step.access, delta, words, &mut self.work.keys);
        let mut last = false;
        while !last {
            let Some(table) = self.relations[step.relation].filled() else {
                break;
            };
            last = room.matches.next_block(table, delta.rows);
            let pairs = room.matches.slots.len();
            self.work.steps += pairs as u64;
            self.met(level.into, pairs)?;
            if let Some(probed) = probed {
                self.keep_found((step, probed), delta, &mut room);
            }
            let Some(table) = self.relations[step.relation].filled() else {
                break;
            };
            let Walk {
                matches,
                block,
                found,
                sums,
                ..
            } = &mut room;
            block.columns.resize_with(path.registers, Vec::new);
            for &register in &probed.unwrap_or(step).live {
                matches.fill(register, table, delta, &mut block.columns[register]);
            }
            block.rows = matches.slots.len();
            std::mem::swap(&mut block.payload, &mut delta.payload);
            (block.width, block.wide) = (delta.width, delta.wide);
            let pairs = (Rows::Picked(&matches.rows), &matches.slots[..]);
            let multiplied = self.multiply(level, step, block, pairs);
            // The multiplied payload is still the payload of the following rows.
            std::mem::swap(&mut delta.payload, &mut self.work.product);
            multiplied?;
            if let Some(probed) = probed {
                let all = (Rows::All(block.rows), &found[..]);
                self.multiply(level, probed, block, all)?;
            }
            match last {
                false if !self.gathers((at, next)) => self.propagate((at, next), block)?,
                false => self.gather_sums((at, next), sums, block)?,
                true if sums.rows == 0 => std::mem::swap(delta, block),
                true => {
                    self.gather_sums((at, next), sums, block)?;
                    self.sum(level, sums, true)?;
                    std::mem::swap(delta, sums);
                    sums.rows = 0;
                }
            }
        }
        if room.matches.slots.capacity() <= FEW {
            self.work.walk = room;
        }
        Ok(next)
    }

    /// Whether the sums of a block of pairs wait for those of the next, as more is met with them: where they are narrow.
    fn gathers(&self, (at, next): (usize, usize)) -> bool {
        let level = &self.path.levels[at];
        let goes_on = at + 1 < self.path.levels.len() || !self.path.branches.is_empty();
        goes_on && next == level.steps.len() && !R::is_wide(self.relations[level.into].shape())
    }

    /// Puts the sums of a block behind those of earlier blocks. At a limit rows of equal keys are summed; if many sums
    /// remain, they are propagated.
    fn gather_sums(
        &mut self,
        (at, next): (usize, usize),
        sums: &mut Delta,
        block: &mut Delta,
    ) -> Result<()> {
        let path = self.path;
        let level = &path.levels[at];
        if sums.rows > 0 && !sums.is_like(block) {
            self.propagate((at, next), sums)?;
            sums.rows = 0;
        }
        if sums.rows == 0 {
            sums.become_empty(path.registers);
        }
        sums.append(&level.keys, block);
        if sums.rows >= GATHERED {
            self.sum(level, sums, true)?;
            if sums.rows > GATHERED / 2 {
                self.propagate((at, next), sums)?;
                sums.rows = 0;
            }
        }
        Ok(())
    }

    /// Keeps the pairs that have a match in the relation of the step behind, and finds it.
    fn keep_found(&mut self, (step, probed): (&Step<R>, &Step<R>), delta: &Delta, room: &mut Walk) {
        let Walk {
            matches,
            found,
            columns,
            ..
        } = room;
        self.work.steps += matches.slots.len() as u64;
        found.clear();
        let [walked, met] = [step, probed].map(|step| self.relations[step.relation].filled());
        let (Some(walked), Some(met), Access::Probe(keys)) = (walked, met, &probed.access) else {
            return matches.keep(|_| false);
        };
        columns.resize_with(delta.columns.len(), Vec::new);
        for &register in keys {
            matches.fill(register, walked, delta, &mut columns[register]);
        }
        let keys = Keys {
            columns,
            fields: keys,
            rows: matches.slots.len(),
        };
        if !met.find(keys, &mut self.work.keys, found) {
            matches.keep(|pair| found[pair] != ABSENT);
            found.retain(|&slot| slot != ABSENT);
        }
    }
}
