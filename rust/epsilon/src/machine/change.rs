//! A change of one relation: the case of each row, what follows of it, what is counted.
//!
//! Invariant: rows of one batch are of one relation, so what follows of them does not depend on each other;
//! a relation that meets itself takes them in blocks. Many rows are loaded (`bulk`). Cost:
//! O(N^max(e, 1-e)) a row, and what `rebalance` says.

use ringview_core::{Meter, Result};
use ringview_relation::join::{Climb, Path};
use ringview_relation::{Delta, Keys, Part};
use ringview_ring::PayloadRing;

use super::{Extent, Machine};
use crate::query::Epsilon;
use crate::strategy::{Case, Evaluation, Role, Strategy};

impl<R: PayloadRing> Machine<R> {
    /// Takes rows of a relation, by its number, in and rebalances. The columns are the fields of its key.
    ///
    /// # Errors
    /// `Overflow`; what the meter says. It must then be rolled back.
    pub fn apply(&mut self, input: usize, delta: &Delta, meter: &Meter<'_>) -> Result<()> {
        if self.is_load(delta.rows) {
            return self.load(&[(input, delta)], meter);
        }
        let block = match self.strategy.batch {
            Some(_) => self.longest_walk(),
            None => usize::MAX,
        };
        if delta.rows <= block {
            self.change(input, delta, meter)?;
            return self.rebalance(meter);
        }
        for start in (0..delta.rows).step_by(block) {
            let rows: Vec<u32> = (start..delta.rows.min(start + block))
                .map(|row| row as u32)
                .collect();
            let fields = delta.columns.len();
            let part = picked(delta, fields, &rows, fields);
            self.change(input, &part, meter)?;
            self.rebalance(meter)?;
        }
        Ok(())
    }

    /// Rows of a batch that may meet each other, a row at no more cost than any other walk.
    fn longest_walk(&self) -> usize {
        let walk = |epsilon: &Epsilon| {
            let [light, heavy] = [epsilon.value(), 1.0 - epsilon.value()];
            libm::pow(self.size.base as f64, light.max(heavy)) as usize
        };
        let longest = self.strategy.epsilons.iter().map(walk).min();
        longest.unwrap_or(1).clamp(1, 1 << 16)
    }

    /// Without rebalancing.
    pub(crate) fn change(&mut self, at: usize, delta: &Delta, meter: &Meter<'_>) -> Result<()> {
        if delta.rows == 0 {
            return Ok(());
        }
        if let Some(batch) = self.strategy.batch {
            self.add(batch, delta, None)?;
        }
        self.enter(at, delta, Extent::All, meter)?;
        self.count(at, delta)
    }

    /// Tuples come or go: what follows of it, by the classes that their values have.
    pub(crate) fn enter(
        &mut self,
        at: usize,
        delta: &Delta,
        extent: Extent,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let heavy = self.classes(at, delta);
        let before = std::mem::take(&mut self.strategy.inputs[at].before);
        let followed = self.evaluate(&before, (at, delta, &heavy), extent, meter);
        self.strategy.inputs[at].before = before;
        followed?;
        if let Some(batch) = self.strategy.batch {
            self.strategy.relations[batch].rollback();
        }
        let whole = self.strategy.inputs[at].whole;
        let after = std::mem::take(&mut self.strategy.inputs[at].after);
        let parts = std::mem::take(&mut self.strategy.inputs[at].parts);
        let added = parts.iter().try_for_each(|&(case, part)| {
            let rows = self.rows_of(case, at, &heavy);
            self.add(part, delta, Some(&rows))
        });
        // What is stored last in the whole relation is looked up again: rows may repeat a tuple.
        let followed = added
            .and_then(|()| self.add(whole, delta, None))
            .and_then(|()| self.evaluate(&after, (at, delta, &heavy), extent, meter));
        let input = &mut self.strategy.inputs[at];
        (input.after, input.parts) = (after, parts);
        followed
    }

    /// Of each row, which of its keys are heavy.
    pub(super) fn classes(&mut self, at: usize, delta: &Delta) -> Vec<u64> {
        let Strategy {
            inputs, partitions, ..
        } = &self.strategy;
        let (mut all, mut of) = (vec![0; delta.rows], Vec::new());
        for (bit, face) in inputs[at].faces.iter().enumerate() {
            let keys = Keys {
                columns: &delta.columns,
                fields: &face.key.columns,
                rows: delta.rows,
            };
            self.work.steps += delta.rows as u64;
            partitions[face.partition].classes(keys, &mut self.work.keys, &mut of);
            for (row, &is_heavy) in all.iter_mut().zip(&of) {
                *row |= u64::from(is_heavy) << bit;
            }
        }
        all
    }

    /// The rows that something is for.
    fn rows_of(&self, case: Case, at: usize, heavy: &[u64]) -> Vec<u32> {
        let all = self.strategy.inputs[at].all_heavy();
        let rows = (0u32..).zip(heavy);
        rows.filter(|(_, row)| case.holds(**row, all))
            .map(|(row, _)| row)
            .collect()
    }

    pub(super) fn evaluate(
        &mut self,
        rules: &[Evaluation<R>],
        (at, delta, heavy): (usize, &Delta, &[u64]),
        extent: Extent,
        meter: &Meter<'_>,
    ) -> Result<()> {
        for rule in rules {
            if !self.follows(rule.role, extent) {
                continue;
            }
            let rows = self.rows_of(rule.case, at, heavy);
            if rows.is_empty() {
                continue;
            }
            let mut part = picked(delta, rule.path.keys.len(), &rows, rule.path.registers);
            if rule.thrice {
                let three = &self.algebra.three;
                let scaled = self.algebra.scale(&mut part, three, &mut self.scratch);
                let into = rule.path.levels[0].into;
                scaled.map_err(|fault| self.strategy.relations[into].refusal(fault))?;
            }
            self.follow(&rule.path, &mut part, meter)?;
        }
        Ok(())
    }

    /// Whether a rule of a role is followed.
    fn follows(&self, role: Role, extent: Extent) -> bool {
        match (role, extent) {
            (Role::View, _) => true,
            (Role::Result, extent) => extent == Extent::All,
            (Role::Log, extent) => {
                let rows = self.strategy.rows.as_ref();
                extent == Extent::All && rows.is_some_and(|rows| rows.is_logged)
            }
        }
    }

    /// What follows of some rows along a path.
    pub(crate) fn follow(
        &mut self,
        path: &Path<R>,
        delta: &mut Delta,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let mut climb = Climb {
            relations: &mut self.strategy.relations,
            path,
            work: &mut self.work,
            meter,
        };
        climb.follow(delta)
    }

    /// Adds rows, or some of them, to a relation.
    pub(crate) fn add(
        &mut self,
        relation: usize,
        delta: &Delta,
        rows: Option<&[u32]>,
    ) -> Result<()> {
        let fields = delta.columns.len();
        let fields = match self.strategy.relations[relation].part() {
            Some(part) => part.layout().fields().min(fields),
            None => fields,
        };
        let all: Vec<u32>;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                all = (0..delta.rows as u32).collect();
                &all
            }
        };
        if rows.is_empty() {
            return Ok(());
        }
        let mut part = picked(delta, fields, rows, fields);
        let keys: Vec<usize> = (0..fields).collect();
        self.work.steps += rows.len() as u64;
        let into = &mut self.strategy.relations[relation];
        let added = into.add(&mut part, &keys, &mut self.work.keys, &mut self.work.spare);
        added.map_err(|fault| into.refusal(fault))
    }

    /// Counts the tuples that the rows of a change brought, and those that went.
    fn count(&mut self, at: usize, delta: &Delta) -> Result<()> {
        let shape = &self.algebra.shape;
        let Strategy {
            inputs,
            relations,
            partitions,
            indicators,
            ..
        } = &mut self.strategy;
        let input = &mut inputs[at];
        let Some(part) = relations[input.whole].part() else {
            return Ok(());
        };
        let first = input.toggled.len();
        let mut comes = Vec::new();
        input.counted.resize(part.slots(), false);
        for &slot in relations[input.whole].last_slots() {
            let is_there = !R::is_zero(shape, part.payload(slot));
            if std::mem::replace(&mut input.counted[slot as usize], is_there) == is_there {
                continue;
            }
            input.toggled.push(slot);
            comes.push(is_there);
            match is_there {
                true => self.size.tuples += 1,
                false => self.size.tuples -= 1,
            }
        }
        let toggled = &input.toggled[first..];
        let fields = 0..part.layout().fields();
        let columns: Vec<Vec<u64>> = fields.map(|field| part.column(toggled, field)).collect();
        self.work.steps += delta.rows as u64;
        let mut born: Vec<(usize, Delta)> = Vec::new();
        for face in &input.faces {
            let partition = face.partition;
            let keys = Keys {
                columns: &columns,
                fields: &face.key.columns,
                rows: comes.len(),
            };
            let mut new = Vec::new();
            let scratch = &mut self.work.keys;
            partitions[partition].count(keys, &comes, scratch, |row| new.push(row as u32));
            let values = |&field: &usize| -> Vec<u64> {
                let column = &columns[field];
                new.iter().map(|&row: &u32| column[row as usize]).collect()
            };
            let delta = Delta {
                rows: new.len(),
                columns: face.key.columns.iter().map(values).collect(),
                payload: self.algebra.one.repeat(new.len()),
                width: self.algebra.one.len(),
                wide: false,
            };
            born.push((indicators[partition], delta));
        }
        for (indicator, delta) in born {
            self.add(indicator, &delta, None)?;
        }
        Ok(())
    }
}

/// Tuples of a part, by their slots, as a change.
pub(crate) fn tuples_at(part: &Part, slots: &[u32]) -> Delta {
    let column = |field| part.column(slots, field);
    let payloads = slots.iter().flat_map(|&slot| part.payload(slot));
    Delta {
        rows: slots.len(),
        columns: (0..part.layout().fields()).map(column).collect(),
        payload: payloads.copied().collect(),
        width: part.stride(),
        wide: false,
    }
}

/// Some rows of a delta, each once and in their order, with room for so many registers.
pub(crate) fn picked(delta: &Delta, fields: usize, rows: &[u32], registers: usize) -> Delta {
    let mut out = Delta::with_registers(registers.max(fields));
    let width = delta.width;
    (out.rows, out.width, out.wide) = (rows.len(), width, delta.wide);
    let columns = out.columns.iter_mut().zip(&delta.columns).take(fields);
    // Most often all rows are of one case.
    if rows.len() == delta.rows {
        columns.for_each(|(column, from)| column.clone_from(from));
        out.payload.clone_from(&delta.payload);
        return out;
    }
    for (column, from) in columns {
        column.extend(rows.iter().map(|&row| from[row as usize]));
    }
    for &row in rows {
        let payload = &delta.payload[row as usize * width..][..width];
        out.payload.extend_from_slice(payload);
    }
    out
}
