//! The way of a delta along its path (F-IVM, section 4): at each level, times the relations one
//! after the other, then summed into the keys that the level keeps.
//!
//! Invariant: the columns that a step reads are live before it. A propagation holds at a time only blocks, and the sums
//! of some of them, which are propagated together, even if a delta meets large groups. Cost: one probe a row and
//! relation, or the groups that it walks; each is a step counted.

use ringview_core::{Budget, Result};
use ringview_ring::{Groups, Overflow, PayloadRing, Rows};

use super::path::{Access, Level, Path, Step, Together};
use super::work::Work;
use crate::ABSENT;
use crate::delta::Delta;
use crate::directory::Keys;
use crate::group::Grouper;
use crate::relation::Relation;
use crate::widening::WideFactors;

/// Words of wide products that follow each other in the cache.
const BLOCK_WORDS: usize = 1 << 14;

/// Rows of which much can follow at a time.
const MANY: usize = 1 << 15;

/// A path at work on the relations that its numbers name.
#[derive(Debug)]
pub struct Propagation<'a, 'm, R: PayloadRing> {
    /// The relations, by number.
    pub relations: &'a mut [Relation<R>],
    /// The path.
    pub path: &'a Path<R>,
    /// Room, and the steps counted.
    pub work: &'a mut Work<R>,
    /// Checked now and then for a limit or a cancellation.
    pub budget: &'a Budget<'m>,
}

impl<R: PayloadRing> Propagation<'_, '_, R> {
    /// R := R + dR for the relation that changes, then what follows of it. The rows that reach
    /// it are counted by whoever has read them.
    ///
    /// # Errors
    /// What the budget says, or `Overflow`: the relations must then be rolled back.
    pub fn apply(&mut self, delta: &mut Delta) -> Result<()> {
        let path = self.path;
        self.store(path.from, &path.keys, delta)?;
        self.follow(delta)
    }

    /// The same for a delta of many rows: what follows of them is worked out some rows at a time.
    ///
    /// # Errors
    /// As of `apply`.
    pub fn apply_many(&mut self, delta: &mut Delta) -> Result<()> {
        let path = self.path;
        self.store(path.from, &path.keys, delta)?;
        match path.levels.is_empty() {
            true => self.branch(delta),
            false => self.propagate_by_blocks((0, MANY), delta),
        }
    }

    /// Propagates a delta whose key is in the registers `path.keys`: each level adds its sums to
    /// `into`. The relation that changes stays as it is. Afterwards only the memory of the delta is
    /// of use.
    ///
    /// # Errors
    /// As of `apply`.
    pub fn follow(&mut self, delta: &mut Delta) -> Result<()> {
        self.propagate((0, 0), delta)
    }

    /// Takes a delta from a step of a level (by position) to the end.
    pub(super) fn propagate(&mut self, from: (usize, usize), delta: &mut Delta) -> Result<()> {
        let path = self.path;
        let mut first = from.1;
        for (at, level) in path.levels.iter().enumerate().skip(from.0) {
            let block = self.block(level);
            if first == 0 && delta.rows > block {
                return self.propagate_by_blocks((at, block), delta);
            }
            let mut next = first;
            while let Some(step) = level.steps.get(next) {
                let together = level.together.as_ref();
                let is_next = |together: &&Together<R>| together.first == next;
                if let Some(together) = together
                    .filter(is_next)
                    .filter(|_| self.meets_all(level, delta))
                {
                    self.meet_all(level, together, delta)?;
                    break;
                }
                let position = next;
                next += 1 + step.intersected.len();
                if delta.rows == 0 {
                    return Ok(());
                }
                self.work.steps += delta.rows as u64;
                self.met(level.into, delta.rows)?;
                match &step.access {
                    Access::Probe(keys) if delta.rows == 1 => {
                        self.probe_one(level, step, keys, delta)?;
                    }
                    Access::Probe(keys) => self.probe(level, step, keys, delta)?,
                    _ if !step.intersected.is_empty() => self.intersect((at, position), delta)?,
                    _ => next = self.walk((at, position), delta)?,
                }
            }
            first = 0;
            if level.steps.is_empty() {
                self.sum(level, delta, false)?;
            }
            self.relations[level.into].reached_by(delta.rows);
            self.store(level.into, &level.keys, delta)?;
        }
        self.branch(delta)
    }

    /// Whether the rows of a delta meet all matches at once, if they can: a single one of few numbers does as well with one
    /// after the other.
    fn meets_all(&self, level: &Level<R>, delta: &Delta) -> bool {
        delta.rows > 1 || R::is_wide(self.relations[level.into].shape())
    }

    /// Takes the delta that the path ends with along each branch, some rows at a time.
    fn branch(&mut self, delta: &Delta) -> Result<()> {
        let path = self.path;
        for branch in &path.branches {
            let mut own = self.work.branches.pop().unwrap_or_default();
            let registers = branch.registers.max(own.columns.len());
            own.columns.resize_with(registers, Vec::new);
            let mut done = Ok(());
            for start in (0..delta.rows).step_by(MANY) {
                let rows = start..(start + MANY).min(delta.rows);
                own.take_slice(&branch.keys, (delta, path.end_keys()), rows);
                let mut along = Propagation {
                    relations: &mut *self.relations,
                    path: branch,
                    work: &mut *self.work,
                    budget: self.budget,
                };
                done = along.propagate((0, 0), &mut own);
                if done.is_err() {
                    break;
                }
            }
            self.work.branches.push(own);
            done?;
        }
        Ok(())
    }

    /// V := V + dV.
    fn store(&mut self, into: usize, keys: &[usize], delta: &mut Delta) -> Result<()> {
        self.work.steps += delta.rows as u64;
        let Work {
            keys: scratch,
            gather,
            ..
        } = &mut *self.work;
        let relation = &mut self.relations[into];
        let added = relation.add(delta, keys, scratch, gather);
        added.map_err(|fault| relation.refusal(fault))
    }

    pub(super) fn met(&mut self, into: usize, rows: usize) -> Result<()> {
        self.work.met(self.relations, into, rows, self.budget)
    }

    /// dV := dC with what V does not keep summed away, where nothing is met. With `scattered`, rows of one key are
    /// found wherever they are in the delta.
    pub(super) fn sum(
        &mut self,
        level: &Level<R>,
        delta: &mut Delta,
        scattered: bool,
    ) -> Result<()> {
        self.work.steps += delta.rows as u64;
        let into = &self.relations[level.into];
        let Work {
            gather, grouper, ..
        } = &mut *self.work;
        let (shape, scratch) = (into.shape(), (grouper, gather));
        let summed = delta.fold::<R>(shape, &level.keys, &level.layout, scattered, scratch);
        summed.map_err(|fault| into.refusal(fault))
    }

    /// Number of rows that a level takes at a time. If several wide products follow each other, or
    /// are output one by one, it is the number that keeps them in the cache.
    fn block(&self, level: &Level<R>) -> usize {
        let shape = self.relations[level.into].shape();
        let at_once = level.together.as_ref().is_some_and(|all| all.first == 0);
        let summed = at_once && level.keys.is_empty();
        if level.steps.len() < 2 || !R::is_wide(shape) || summed {
            return usize::MAX;
        }
        (BLOCK_WORDS / R::stride(shape)).max(8)
    }

    /// Takes a delta from a level to the end, some rows at a time.
    fn propagate_by_blocks(
        &mut self,
        (at, block): (usize, usize),
        delta: &mut Delta,
    ) -> Result<()> {
        let path = self.path;
        let mut table = Delta::with_registers(path.registers);
        for start in (0..delta.rows).step_by(block) {
            let end = (start + block).min(delta.rows);
            let enter = &path.levels[at].enter;
            table.take_slice(enter, (delta, enter), start..end);
            self.propagate((at, 0), &mut table)?;
        }
        Ok(())
    }

    /// dV := dV * S where each row has at most one match.
    fn probe(
        &mut self,
        level: &Level<R>,
        step: &Step<R>,
        keys: &[usize],
        delta: &mut Delta,
    ) -> Result<()> {
        let Some(table) = self.relations[step.relation].filled() else {
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
        let mut picked = Rows::All(delta.rows);
        if !table.find(keys, &mut self.work.keys, &mut slots) {
            rows.clear();
            let found = (0u32..).zip(&slots).filter(|(_, slot)| **slot != ABSENT);
            rows.extend(found.map(|(row, _)| row));
            slots.retain(|&slot| slot != ABSENT);
            delta.gather(&step.live, &rows, &mut self.work.gather);
            picked = Rows::Picked(&rows);
        }
        let multiplied = self.multiply(level, step, delta, (picked, &slots));
        (self.work.slots, self.work.rows) = (slots, rows);
        multiplied
    }

    /// dV := dV * S, a match a row: the rows of the delta that are named, times the relation's
    /// payloads at the slots. Payloads only: the columns are those of the joined rows already. The
    /// last step of a level multiplies into the sums of its key, so that rows which agree on
    /// what is kept are never written one by one. The old payload is left in `work.product`.
    pub(super) fn multiply(
        &mut self,
        level: &Level<R>,
        step: &Step<R>,
        delta: &mut Delta,
        (rows, slots): (Rows<'_>, &[u32]),
    ) -> Result<()> {
        let Work {
            grouper,
            product,
            gather,
            scratch,
            ..
        } = &mut *self.work;
        let relation = &self.relations[step.relation];
        let groups = if step.last {
            let wide = R::is_wide(self.relations[level.into].shape());
            group::<R>((level, &step.product), delta, grouper, wide)
        } else {
            Groups::Each(delta.rows)
        };
        let (left, right) = ((delta.slab(), rows), (relation.payloads(), slots));
        let multiplied = if delta.wide || !relation.fits() {
            Err(Overflow { component: 0 })
        } else {
            R::multiply(&step.product, left, right, groups, scratch, product)
        };
        let widened = match multiplied {
            Ok(width) => Ok((width, false)),
            Err(fault) => {
                let factors = WideFactors {
                    left: (delta, rows),
                    right: (relation, slots),
                };
                factors.multiply(&step.product, groups, scratch, product, fault)
            }
        };
        match widened {
            Ok((width, wide)) => (delta.width, delta.wide) = (width, wide),
            Err(fault) => return Err(self.relations[level.into].refusal(fault)),
        }
        std::mem::swap(&mut delta.payload, product);
        if let Some(rows) = grouper.representatives().filter(|_| step.last) {
            delta.gather(&level.keys, rows, gather);
        }
        Ok(())
    }
}

/// The groups of the rows by what a level keeps, of which the sums of a product are made.
pub(super) fn group<'g, R: PayloadRing>(
    (level, product): (&Level<R>, &R::Product),
    delta: &Delta,
    grouper: &'g mut Grouper,
    wide: bool,
) -> Groups<'g> {
    let single = delta.width < R::left_stride(product);
    let least = if single { R::LEAST_GROUP } else { 1 };
    let (columns, layout) = (&delta.columns, &level.layout);
    grouper.group_from(least, columns, &level.keys, delta.rows, layout, wide);
    grouper.groups()
}
