//! A change of one relation: the case of each row, what follows of it, what is counted.
//!
//! Invariant: rows of one batch are of one relation, so what follows of them does not depend on each other;
//! a relation that meets itself takes them in blocks. Many rows are loaded (`bulk`). Cost:
//! O(N^max(e, 1-e)) a row, and what `rebalance` says.

use ringview_core::{Budget, Result};
use ringview_relation::join::{Path, Propagation};
use ringview_relation::{Delta, KeyedTable, Keys};
use ringview_ring::PayloadRing;

use super::classes::Classes;
use super::{Extent, Machine};
use crate::query::Epsilon;
use crate::strategy::{Evaluation, Role, Strategy};

impl<R: PayloadRing> Machine<R> {
    /// Takes rows of a relation, by its number, in and rebalances. The columns are the fields of its key.
    ///
    /// # Errors
    /// `Overflow`; what the budget says. It must then be rolled back.
    pub fn apply(&mut self, input: usize, delta: &Delta, budget: &Budget<'_>) -> Result<()> {
        if self.is_load(delta.rows) {
            return self.load(&[(input, delta)], budget);
        }
        let block = match self.strategy.batch {
            Some(_) => self.longest_walk(),
            None => usize::MAX,
        };
        if delta.rows <= block {
            self.change(input, delta, budget)?;
            return self.rebalance(budget);
        }
        for start in (0..delta.rows).step_by(block) {
            let rows: Vec<u32> = (start..delta.rows.min(start + block))
                .map(|row| row as u32)
                .collect();
            let fields = delta.columns.len();
            let part = picked(delta, fields, &rows, fields);
            self.change(input, &part, budget)?;
            self.rebalance(budget)?;
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
    pub(crate) fn change(&mut self, at: usize, delta: &Delta, budget: &Budget<'_>) -> Result<()> {
        if delta.rows == 0 {
            return Ok(());
        }
        let mut classes = self.classes(at, delta);
        if let Some(batch) = self.strategy.batch {
            let met = self.meet(&mut classes);
            self.add(batch, delta, Some(&met))?;
        }
        self.enter((at, delta, &classes), Extent::All, budget)?;
        self.count(at, delta, &classes)
    }

    /// Adds existing tuples to other parts and views, or removes them.
    pub(crate) fn pass(&mut self, at: usize, delta: &Delta, budget: &Budget<'_>) -> Result<()> {
        let classes = self.classes(at, delta);
        self.enter((at, delta, &classes), Extent::Views, budget)
    }

    /// Inserts or deletes tuples: evaluates their delta rules by the classes of their values.
    fn enter(
        &mut self,
        (at, delta, classes): (usize, &Delta, &Classes),
        extent: Extent,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let before = std::mem::take(&mut self.strategy.inputs[at].before);
        let followed = self.evaluate(&before, (at, delta, classes), extent, budget);
        self.strategy.inputs[at].before = before;
        followed?;
        if let Some(batch) = self.strategy.batch {
            self.strategy.relations[batch].rollback();
        }
        let whole = self.strategy.inputs[at].whole;
        let after = std::mem::take(&mut self.strategy.inputs[at].after);
        let parts = std::mem::take(&mut self.strategy.inputs[at].parts);
        let added = parts.iter().try_for_each(|&(case, part)| {
            let rows = self.rows_of(case, at, classes);
            self.add(part, delta, Some(&rows))
        });
        // The tuples that the whole relation stored last are looked up again: rows may repeat a tuple.
        let followed = added
            .and_then(|()| self.add(whole, delta, None))
            .and_then(|()| self.evaluate(&after, (at, delta, classes), extent, budget));
        let input = &mut self.strategy.inputs[at];
        (input.after, input.parts) = (after, parts);
        followed
    }

    pub(super) fn evaluate(
        &mut self,
        rules: &[Evaluation<R>],
        (at, delta, classes): (usize, &Delta, &Classes),
        extent: Extent,
        budget: &Budget<'_>,
    ) -> Result<()> {
        for rule in rules {
            if !self.follows(rule.role, extent) {
                continue;
            }
            let rows = self.rows_of(rule.case, at, classes);
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
            self.follow(&rule.path, &mut part, budget)?;
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

    /// Propagates some rows along a path.
    pub(crate) fn follow(
        &mut self,
        path: &Path<R>,
        delta: &mut Delta,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut propagation = Propagation {
            relations: &mut self.strategy.relations,
            path,
            work: &mut self.work,
            budget,
        };
        propagation.follow(delta)
    }

    /// Adds rows, or some of them, to a relation.
    pub(crate) fn add(
        &mut self,
        relation: usize,
        delta: &Delta,
        rows: Option<&[u32]>,
    ) -> Result<()> {
        let fields = delta.columns.len();
        let fields = match self.strategy.relations[relation].table() {
            Some(table) => table.layout().fields().min(fields),
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
        let added = into.add(&mut part, &keys, &mut self.work.keys, &mut self.work.gather);
        added.map_err(|fault| into.refusal(fault))
    }

    /// Counts the tuples that the rows of a change inserted and deleted.
    fn count(&mut self, at: usize, delta: &Delta, classes: &Classes) -> Result<()> {
        let first = self.strategy.inputs[at].toggled.len();
        let (rows, comes) = self.toggle(at);
        self.work.steps += delta.rows as u64;
        let Strategy {
            inputs,
            relations,
            partitions,
            indicators,
            ..
        } = &mut self.strategy;
        let whole = &relations[inputs[at].whole];
        // Rows that were summed on their way in are not those of the change any more.
        let summed = match whole.last_slots().len() < delta.rows {
            true => whole
                .table()
                .map(|table| tuples_at(table, &inputs[at].toggled[first..])),
            false => None,
        };
        let (mut born, mut values) = (Vec::new(), Vec::new());
        for (face, known) in inputs[at].faces.iter().zip(&classes.values) {
            let partition = &mut partitions[face.partition];
            if let Some(tuples) = &summed {
                let keys = Keys {
                    columns: &tuples.columns,
                    fields: &face.key.columns,
                    rows: tuples.rows,
                };
                partition.locate(keys, &mut self.work.keys, &mut values);
            } else {
                values.clear();
                values.extend(rows.iter().map(|&row| known[row]));
            }
            let mut new = Vec::new();
            partition.count(&values, &comes, |value| new.push(value));
            let column = |field| {
                new.iter()
                    .map(|&value| partition.field(value, field))
                    .collect()
            };
            let delta = Delta {
                rows: new.len(),
                columns: (0..partition.key_fields()).map(column).collect(),
                payload: self.algebra.one.repeat(new.len()),
                width: self.algebra.one.len(),
                wide: false,
            };
            born.push((indicators[face.partition], delta));
        }
        let mut born = born.iter();
        born.try_for_each(|(indicator, delta)| self.add(*indicator, delta, None))
    }

    /// The rows, of those that a relation took in last, that brought a tuple or took one away, and which
    /// of both; |D| has them from now on.
    fn toggle(&mut self, at: usize) -> (Vec<usize>, Vec<bool>) {
        let (mut rows, mut comes) = (Vec::new(), Vec::new());
        let input = &mut self.strategy.inputs[at];
        let whole = &self.strategy.relations[input.whole];
        let Some(table) = whole.table() else {
            return (rows, comes);
        };
        input.counted.resize(table.slots(), false);
        for (row, &slot) in whole.last_slots().iter().enumerate() {
            let is_there = !R::is_zero(&self.algebra.shape, table.payload(slot));
            if std::mem::replace(&mut input.counted[slot as usize], is_there) == is_there {
                continue;
            }
            input.toggled.push(slot);
            rows.push(row);
            comes.push(is_there);
            match is_there {
                true => self.size.tuples += 1,
                false => self.size.tuples -= 1,
            }
        }
        (rows, comes)
    }
}

/// Tuples of a table, by their slots, as a change.
pub(crate) fn tuples_at(table: &KeyedTable, slots: &[u32]) -> Delta {
    let column = |field| table.column(slots, field);
    let payloads = slots.iter().flat_map(|&slot| table.payload(slot));
    Delta {
        rows: slots.len(),
        columns: (0..table.layout().fields()).map(column).collect(),
        payload: payloads.copied().collect(),
        width: table.stride(),
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
