//! The way of a delta from its leaf to the root (paper, section 4): at each view, times the siblings
//! one after the other, then summed into the keys that the view keeps.
//!
//! Invariant: the columns that a step reads are live when it comes. However large the groups that a
//! delta meets, what a climb holds at a time is bounded by blocks. Cost: one probe a row and sibling,
//! or the groups that it walks.

use ringview_core::Result;
use ringview_relation::{ABSENT, Keys, Part};
use ringview_ring::{Groups, Overflow, PayloadRing, Rows, Slab};

use super::{Tree, Work};
use crate::delta::{Delta, Spare};
use crate::group::Grouper;
use crate::partners::Partners;
use crate::payloads::Payloads;
use crate::program::{Access, Factor, Level, Path, Step};

/// Words of wide products that follow each other in the cache.
const BLOCK_WORDS: usize = 1 << 14;

impl<P: Payloads> Tree<P> {
    /// Takes a delta from a step of a level (by position) to the root.
    pub(crate) fn climb(
        &mut self,
        path: &Path<P::Ring>,
        from: (usize, usize),
        delta: &mut Delta,
    ) -> Result<()> {
        let mut first = from.1;
        for (at, level) in path.levels.iter().enumerate().skip(from.0) {
            let block = self.block(level);
            if first == 0 && delta.rows > block {
                return self.climb_by_blocks(path, at, block, delta);
            }
            let mut next = first;
            while let Some(step) = level.steps.get(next) {
                let position = next;
                next += 1 + step.rivals.len();
                if delta.rows == 0 {
                    return Ok(());
                }
                self.steps += delta.rows as u64;
                match &step.factor {
                    Factor::Lift {
                        variable,
                        registers,
                    } => {
                        self.lift(level, step, *variable, registers, delta)?;
                    }
                    Factor::Sibling {
                        node,
                        access: Access::Probe(keys),
                    } => {
                        self.probe(level, step, *node, keys, delta)?;
                    }
                    Factor::Sibling { .. } if !step.rivals.is_empty() => {
                        self.intersect(path, (at, position), delta)?;
                    }
                    Factor::Sibling { node, access } => {
                        self.walk(path, (at, position), *node, access, delta)?;
                    }
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
        at: usize,
        block: usize,
        delta: &mut Delta,
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
            (part.rows, part.width) = (end - start, stride);
            self.climb(path, (at, 0), &mut part)?;
        }
        Ok(())
    }

    /// dV := dV * S where each row has at most one partner.
    fn probe(
        &mut self,
        level: &Level<P::Ring>,
        step: &Step<P::Ring>,
        sibling: usize,
        keys: &[usize],
        delta: &mut Delta,
    ) -> Result<()> {
        let Work {
            keys: scratch,
            spare,
            slots,
            rows,
            grouper,
            product,
            ..
        } = &mut self.work;
        let Some(part) = self.views[sibling]
            .part
            .as_ref()
            .filter(|part| !part.is_empty())
        else {
            delta.rows = 0;
            return Ok(());
        };
        part.find(
            Keys {
                columns: &delta.columns,
                fields: keys,
                rows: delta.rows,
            },
            scratch,
            slots,
        );
        let mut picked = Rows::All(delta.rows);
        if slots.contains(&ABSENT) {
            rows.clear();
            rows.extend(
                (0u32..)
                    .zip(&*slots)
                    .filter(|(_, slot)| **slot != ABSENT)
                    .map(|(r, _)| r),
            );
            slots.retain(|&slot| slot != ABSENT);
            delta.gather(&step.live, rows, spare);
            picked = Rows::Picked(rows);
        }
        let right = (kept(part), &slots[..]);
        let wide = P::Ring::is_wide(&self.views[level.node].shape);
        let multiplied = multiply(
            level,
            step,
            wide,
            delta,
            picked,
            right,
            (grouper, product, spare, &mut self.scratch),
        );
        multiplied.map_err(|fault| self.refuse(level.node, fault))
    }

    /// dV := dV * S where a row may have many partners, a block of pairs at a time: however large
    /// the groups, the memory of a climb stays bounded.
    fn walk(
        &mut self,
        path: &Path<P::Ring>,
        (at, position): (usize, usize),
        sibling: usize,
        access: &Access,
        delta: &mut Delta,
    ) -> Result<()> {
        let (level, step) = (&path.levels[at], &path.levels[at].steps[position]);
        let Some(part) = self.views[sibling]
            .part
            .as_mut()
            .filter(|part| !part.is_empty())
        else {
            delta.rows = 0;
            return Ok(());
        };
        let mut partners = Partners::of(part, access, delta, &mut self.work.keys);
        loop {
            let Some(part) = self.views[sibling].part.as_ref() else {
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
            block.width = delta.width;
            self.steps += block.rows as u64;
            let right = (kept(part), &partners.slots[..]);
            let wide = P::Ring::is_wide(&self.views[level.node].shape);
            let Work {
                grouper,
                product,
                spare,
                ..
            } = &mut self.work;
            let picked = Rows::Picked(&partners.rows);
            let multiplied = multiply(
                level,
                step,
                wide,
                &mut block,
                picked,
                right,
                (grouper, product, spare, &mut self.scratch),
            );
            // What was multiplied is still the payload of the rows to come.
            std::mem::swap(&mut delta.payload, product);
            multiplied.map_err(|fault| self.refuse(level.node, fault))?;
            if last {
                *delta = block;
                return Ok(());
            }
            self.climb(path, (at, position + 1), &mut block)?;
        }
    }

    /// dV := dV * g(x), the lifting function of a variable.
    fn lift(
        &mut self,
        level: &Level<P::Ring>,
        step: &Step<P::Ring>,
        variable: usize,
        registers: &[usize],
        delta: &mut Delta,
    ) -> Result<()> {
        let words = &delta.columns[registers[0]];
        let high = registers
            .get(1)
            .map_or(&[][..], |&register| &delta.columns[register]);
        let Work {
            lifted,
            slots,
            grouper,
            product,
            spare,
            ..
        } = &mut self.work;
        self.payloads
            .lift(level.node, variable, words, high, lifted)?;
        slots.clear();
        slots.extend(0..delta.rows as u32);
        let lifts = Slab {
            words: lifted,
            width: lifted.len() / delta.rows,
            bags: false,
        };
        let (all, right) = (Rows::All(delta.rows), (lifts, &slots[..]));
        let wide = P::Ring::is_wide(&self.views[level.node].shape);
        let multiplied = multiply(
            level,
            step,
            wide,
            delta,
            all,
            right,
            (grouper, product, spare, &mut self.scratch),
        );
        multiplied.map_err(|fault| self.refuse(level.node, fault))
    }
}

/// dV := dV * S, a partner a row: payloads only, the columns are those of the joined rows already.
/// The last factor of a level is multiplied into the sums of the node's key, so that rows which
/// agree on what is kept are never written one by one. The old payload is left in `product`.
pub(crate) fn multiply<R: PayloadRing>(
    level: &Level<R>,
    step: &Step<R>,
    wide: bool,
    delta: &mut Delta,
    left_rows: Rows<'_>,
    right: (Slab<'_>, &[u32]),
    (grouper, product, spare, scratch): (&mut Grouper, &mut Vec<u64>, &mut Spare, &mut R::Scratch),
) -> std::result::Result<(), Overflow> {
    let last = level
        .steps
        .last()
        .is_some_and(|last| std::ptr::eq(last, step));
    let groups = if last {
        let single = delta.width < R::left_stride(&step.product);
        let least = if single { R::LEAST_GROUP } else { 1 };
        grouper.group_from(
            least,
            &delta.columns,
            &level.keys,
            delta.rows,
            &level.layout,
            wide,
        );
        grouper.groups()
    } else {
        Groups::Each(delta.rows)
    };
    delta.width = R::multiply(
        &step.product,
        (delta.slab(), left_rows),
        right,
        groups,
        scratch,
        product,
    )?;
    std::mem::swap(&mut delta.payload, product);
    if let Some(rows) = grouper.representatives().filter(|_| last) {
        delta.gather(&level.keys, rows, spare);
    }
    Ok(())
}

/// The payloads of a kept view: tables hold bags.
pub(crate) fn kept(part: &Part) -> Slab<'_> {
    Slab {
        words: part.payloads(),
        width: part.stride(),
        bags: true,
    }
}
