//! The way of a delta from its leaf to the root (paper, section 4): at each view, times the siblings
//! one after the other, then summed into the keys that the view keeps.
//!
//! Invariant: the columns that a step reads are live when it comes. However large the groups that a
//! delta meets, what a climb holds at a time is bounded by blocks. Cost: one probe a row and sibling,
//! or the groups that it walks.

use ringview_core::{Meter, Result};
use ringview_relation::{ABSENT, Keys};
use ringview_ring::{Groups, Overflow, PayloadRing, Rows};

use super::{Tree, Work};
use crate::delta::Delta;
use crate::partners::Partners;
use crate::program::{Access, Level, Path, Step};
use crate::tree::payloads::Payloads;
use crate::widening::WideFactors;

/// Words of wide products that follow each other in the cache.
const BLOCK_WORDS: usize = 1 << 14;

impl<P: Payloads> Tree<P> {
    /// Takes a delta from a step of a level (by position) to the root.
    pub(crate) fn climb(
        &mut self,
        path: &Path<P::Ring>,
        from: (usize, usize),
        delta: &mut Delta,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let mut first = from.1;
        for (at, level) in path.levels.iter().enumerate().skip(from.0) {
            let block = self.block(level);
            if first == 0 && delta.rows > block {
                return self.climb_by_blocks(path, (at, block), delta, meter);
            }
            let mut next = first;
            while let Some(step) = level.steps.get(next) {
                let position = next;
                next += 1 + step.rivals.len();
                if delta.rows == 0 {
                    return Ok(());
                }
                self.steps += delta.rows as u64;
                self.met(level.node, delta.rows, meter)?;
                let here = (at, position);
                match &step.access {
                    Access::Probe(keys) => self.probe(level, step, keys, delta)?,
                    _ if !step.rivals.is_empty() => self.intersect(path, here, delta, meter)?,
                    _ => self.walk(path, here, delta, meter)?,
                }
            }
            first = 0;
            if level.steps.is_empty() {
                self.sum(level, delta)?;
            }
            self.views[level.node].reached_by(delta.rows);
            self.store(level.node, &level.keys, delta)?;
        }
        Ok(())
    }

    /// dV := dC with what V does not keep summed away, for a view of one child.
    fn sum(&mut self, level: &Level<P::Ring>, delta: &mut Delta) -> Result<()> {
        self.steps += delta.rows as u64;
        let shape = &self.views[level.node].shape;
        let Work { spare, grouper, .. } = &mut self.work;
        let summed = delta.fold::<P::Ring>(shape, &level.keys, &level.layout, grouper, spare);
        summed.map_err(|fault| self.refuse(level.node, fault))
    }

    /// How many rows a level takes at a time: where several wide products follow each other, as
    /// many as let the products between them stay in the cache.
    fn block(&self, level: &Level<P::Ring>) -> usize {
        let shape = &self.views[level.node].shape;
        if level.steps.len() < 2 || !P::Ring::is_wide(shape) {
            return usize::MAX;
        }
        (BLOCK_WORDS / P::Ring::stride(shape)).max(8)
    }

    /// Takes a delta from a level to the root, some rows at a time.
    fn climb_by_blocks(
        &mut self,
        path: &Path<P::Ring>,
        (at, block): (usize, usize),
        delta: &mut Delta,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let stride = delta.width;
        let mut part = Delta::with_registers(path.registers);
        for start in (0..delta.rows).step_by(block) {
            let end = (start + block).min(delta.rows);
            for &register in path.levels[at].enter.iter() {
                part.columns[register].clear();
                part.columns[register].extend_from_slice(&delta.columns[register][start..end]);
            }
            part.payload.clear();
            part.payload
                .extend_from_slice(&delta.payload[start * stride..end * stride]);
            (part.rows, part.width, part.wide) = (end - start, stride, delta.wide);
            self.climb(path, (at, 0), &mut part, meter)?;
        }
        Ok(())
    }

    /// dV := dV * S where each row has at most one partner.
    fn probe(
        &mut self,
        level: &Level<P::Ring>,
        step: &Step<P::Ring>,
        keys: &[usize],
        delta: &mut Delta,
    ) -> Result<()> {
        let Some(part) = self.views[step.sibling].filled() else {
            delta.rows = 0;
            return Ok(());
        };
        let mut slots = std::mem::take(&mut self.work.slots);
        let mut rows = std::mem::take(&mut self.work.rows);
        let keys = Keys {
            columns: &delta.columns,
            fields: keys,
            rows: delta.rows,
        };
        part.find(keys, &mut self.work.keys, &mut slots);
        let mut picked = Rows::All(delta.rows);
        if slots.contains(&ABSENT) {
            rows.clear();
            let found = (0u32..).zip(&slots).filter(|(_, slot)| **slot != ABSENT);
            rows.extend(found.map(|(row, _)| row));
            slots.retain(|&slot| slot != ABSENT);
            delta.gather(&step.live, &rows, &mut self.work.spare);
            picked = Rows::Picked(&rows);
        }
        let multiplied = self.multiply(level, step, delta, (picked, &slots));
        (self.work.slots, self.work.rows) = (slots, rows);
        multiplied
    }

    /// dV := dV * S where a row may have many partners, a block of pairs at a time: however large
    /// the groups, the memory of a climb stays bounded.
    fn walk(
        &mut self,
        path: &Path<P::Ring>,
        (at, position): (usize, usize),
        delta: &mut Delta,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let (level, step) = (&path.levels[at], &path.levels[at].steps[position]);
        let words = P::Ring::stride(&self.views[level.node].shape);
        let view = &mut self.views[step.sibling];
        let Some(part) = view.part.as_mut().filter(|part| !part.is_empty()) else {
            delta.rows = 0;
            return Ok(());
        };
        let mut partners = Partners::of(part, &step.access, delta, words, &mut self.work.keys);
        loop {
            let Some(part) = self.views[step.sibling].filled() else {
                return Ok(());
            };
            let last = partners.next_block(part, delta.rows);
            let mut block = Delta::with_registers(path.registers);
            for &register in &step.live {
                let from = &delta.columns[register];
                match partners.fetched(register) {
                    Some(field) => {
                        let of = |&slot: &u32| part.field(slot, field);
                        block.columns[register].extend(partners.slots.iter().map(of));
                    }
                    None => {
                        let of = |&row: &u32| from[row as usize];
                        block.columns[register].extend(partners.rows.iter().map(of));
                    }
                }
            }
            block.rows = partners.slots.len();
            block.payload = std::mem::take(&mut delta.payload);
            (block.width, block.wide) = (delta.width, delta.wide);
            self.steps += block.rows as u64;
            let met = self.met(level.node, block.rows, meter);
            let pairs = (Rows::Picked(&partners.rows), &partners.slots[..]);
            let multiplied = met.and_then(|()| self.multiply(level, step, &mut block, pairs));
            // What was multiplied is still the payload of the rows to come.
            std::mem::swap(&mut delta.payload, &mut self.work.product);
            multiplied?;
            if last {
                *delta = block;
                return Ok(());
            }
            self.climb(path, (at, position + 1), &mut block, meter)?;
        }
    }

    /// dV := dV * S, a partner a row: the rows of the delta that are named, times the sibling's
    /// payloads at the slots. Payloads only: the columns are those of the joined rows already. The
    /// last step of a level multiplies into the sums of the node's key, so that rows which agree on
    /// what is kept are never written one by one. The old payload is left in `work.product`.
    pub(crate) fn multiply(
        &mut self,
        level: &Level<P::Ring>,
        step: &Step<P::Ring>,
        delta: &mut Delta,
        (rows, slots): (Rows<'_>, &[u32]),
    ) -> Result<()> {
        let Work {
            grouper,
            product,
            spare,
            ..
        } = &mut self.work;
        let sibling = self.views[step.sibling].payloads();
        let groups = if step.last {
            let wide = P::Ring::is_wide(&self.views[level.node].shape);
            let single = delta.width < P::Ring::left_stride(&step.product);
            let least = if single { P::Ring::LEAST_GROUP } else { 1 };
            let (columns, layout) = (&delta.columns, &level.layout);
            grouper.group_from(least, columns, &level.keys, delta.rows, layout, wide);
            grouper.groups()
        } else {
            Groups::Each(delta.rows)
        };
        let (left, right) = ((delta.slab(), rows), (sibling, slots));
        let scratch = &mut self.scratch;
        let multiplied = if delta.wide || !self.views[step.sibling].fits() {
            Err(Overflow { component: 0 })
        } else {
            P::Ring::multiply(&step.product, left, right, groups, scratch, product)
        };
        let widened = match multiplied {
            Ok(width) => Ok((width, false)),
            Err(fault) => {
                let sibling = &self.views[step.sibling];
                let factors = WideFactors {
                    left: (delta, rows),
                    right: (sibling, slots),
                };
                factors.multiply(&step.product, groups, scratch, product, fault)
            }
        };
        match widened {
            Ok((width, wide)) => (delta.width, delta.wide) = (width, wide),
            Err(fault) => return Err(self.refuse(level.node, fault)),
        }
        std::mem::swap(&mut delta.payload, product);
        if let Some(rows) = grouper.representatives().filter(|_| step.last) {
            delta.gather(&level.keys, rows, spare);
        }
        Ok(())
    }
}
