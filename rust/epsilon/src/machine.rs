//! A change of one relation: the case of each row, what follows of it, what is counted.
//!
//! Invariant: between changes the result is the sum over the join, each view is what `strategy` says,
//! partitions count the tuples that are there, and floor(N/4) <= |D| < N. A transaction is any number of
//! changes, then `settle`, then `commit`; or, at any point, `rollback`, which undoes all to the bit.
//! Rows of one batch are of one relation, so what follows of them does not depend on each other; a
//! relation that meets itself takes them in blocks. Cost: O(N^max(e, 1-e)) a row, and what `rebalance`
//! says.

use ringview_core::{Meter, Result, empty};
use ringview_relation::join::{Climb, Path, Work};
use ringview_relation::{Delta, KeyField, Keys, Part, Partition, Relation};
use ringview_ring::PayloadRing;

use crate::algebra::Algebra;
use crate::query::{Epsilon, Query, Refused};
use crate::strategy::{Case, Evaluation, Input, Strategy};

/// How often a machine rebalanced, in transactions that were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebalancings {
    /// How often the threshold base changed.
    pub major: u64,
    /// How many values changed from heavy to light or back while it did not.
    pub minor: u64,
}

/// Sizes of one relation's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSizes {
    /// All tuples.
    pub tuples: usize,
    /// Those whose keys are all heavy.
    pub heavy: usize,
}

/// What of a change is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All: tuples come or go.
    All,
    /// All but the result: tuples that are there come to other parts and views.
    Views,
}

/// What is put back when a transaction is undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// The threshold base N.
    pub(crate) base: u64,
    /// |D|.
    pub(crate) tuples: u64,
    pub(crate) rebalancings: Rebalancings,
}

/// A count or sum over a join, kept under changes.
///
/// ```
/// use ringview_core::Meter;
/// use ringview_epsilon::{Algebra, Epsilon, Machine};
/// use ringview_relation::{Delta, KeyField};
/// use ringview_ring::NumberKind;
///
/// let vertex = KeyField { bits: 64, signed: true };
/// let count = Algebra::pointwise(&[NumberKind::Integer]);
/// let mut triangles = Machine::cycle(vertex, Epsilon::HALF, count);
/// let edges = Delta {
///     rows: 3,
///     columns: vec![vec![1, 2, 3], vec![2, 3, 1]],
///     payload: vec![1; 3],
///     width: 1,
///     wide: false,
/// };
/// let meter = Meter::free();
/// triangles.apply(0, &edges, &meter)?;
/// triangles.settle(&meter)?;
/// triangles.commit();
/// // From each of its three vertices.
/// assert_eq!(triangles.result(), Some(&[3][..]));
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Machine<R: PayloadRing> {
    pub(crate) algebra: Algebra<R>,
    pub(crate) strategy: Strategy<R>,
    pub(crate) size: Size,
    kept: Size,
    pub(crate) work: Work<R>,
    pub(crate) scratch: R::Scratch,
}

impl<R: PayloadRing> Machine<R> {
    /// For a join of relations, each with an epsilon: that of the key which it shares with the one before
    /// it.
    ///
    /// # Errors
    /// For a join that is of no class that this keeps.
    pub fn new(
        query: &Query,
        epsilons: &[Epsilon],
        algebra: Algebra<R>,
    ) -> std::result::Result<Self, Refused> {
        Strategy::of(query, epsilons, &algebra).map(|strategy| Self::of(strategy, algebra))
    }

    /// For E(a, b) * E(b, c) * E(c, a) over one relation, the fields of whose key are packed alike.
    #[must_use]
    pub fn cycle(field: KeyField, epsilon: Epsilon, algebra: Algebra<R>) -> Self {
        Self::of(Strategy::cycle(field, epsilon, &algebra), algebra)
    }

    fn of(strategy: Strategy<R>, algebra: Algebra<R>) -> Self {
        let size = Size {
            base: 1,
            tuples: 0,
            rebalancings: Rebalancings::default(),
        };
        Self {
            algebra,
            strategy,
            size,
            kept: size,
            work: Work::default(),
            scratch: R::Scratch::default(),
        }
    }

    /// Takes rows of a relation, by its number, in and rebalances. The columns are the fields of its key.
    ///
    /// # Errors
    /// `Overflow`; what the meter says. It must then be rolled back.
    pub fn apply(&mut self, input: usize, delta: &Delta, meter: &Meter<'_>) -> Result<()> {
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
    fn change(&mut self, at: usize, delta: &Delta, meter: &Meter<'_>) -> Result<()> {
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
    fn classes(&mut self, at: usize, delta: &Delta) -> Vec<u64> {
        let Strategy {
            inputs, partitions, ..
        } = &self.strategy;
        let (mut all, mut of) = (vec![0; delta.rows], Vec::new());
        for (bit, face) in inputs[at].faces.iter().enumerate() {
            let keys = Keys {
                columns: &delta.columns,
                fields: &face.columns,
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

    fn evaluate(
        &mut self,
        rules: &[Evaluation<R>],
        (at, delta, heavy): (usize, &Delta, &[u64]),
        extent: Extent,
        meter: &Meter<'_>,
    ) -> Result<()> {
        for rule in rules {
            if rule.is_result && extent == Extent::Views {
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
        let fields = part.layout().fields();
        let mut columns = vec![Vec::new(); fields];
        let mut comes = Vec::new();
        input.counted.resize(part.slots(), false);
        for &slot in relations[input.whole].last_slots() {
            let is_there = !R::is_zero(shape, part.payload(slot));
            if std::mem::replace(&mut input.counted[slot as usize], is_there) == is_there {
                continue;
            }
            input.toggled.push(slot);
            for (field, column) in columns.iter_mut().enumerate() {
                column.push(part.field(slot, field));
            }
            comes.push(is_there);
            match is_there {
                true => self.size.tuples += 1,
                false => self.size.tuples -= 1,
            }
        }
        self.work.steps += delta.rows as u64;
        let mut born: Vec<(usize, Delta)> = Vec::new();
        for face in &input.faces {
            let partition = face.partition;
            let keys = Keys {
                columns: &columns,
                fields: &face.columns,
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
                columns: face.columns.iter().map(values).collect(),
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

    /// Ends the changes of a transaction: the last step that can fail.
    ///
    /// # Errors
    /// `Overflow` where a sum that is kept does not fit; what the meter says.
    pub fn settle(&mut self, meter: &Meter<'_>) -> Result<()> {
        self.fit()?;
        self.rebalance(meter)?;
        self.fit()
    }

    fn fit(&self) -> Result<()> {
        let unfit = self.strategy.relations.iter().find(|one| !one.fits());
        match unfit {
            Some(relation) => Err(relation.refusal(ringview_ring::Overflow { component: 0 })),
            None => Ok(()),
        }
    }

    /// What the running transaction did stays.
    pub fn commit(&mut self) {
        let Strategy {
            inputs,
            relations,
            partitions,
            ..
        } = &mut self.strategy;
        for (number, relation) in relations.iter_mut().enumerate() {
            let moved = relation.commit();
            let Some(input) = inputs.iter_mut().find(|input| input.whole == number) else {
                continue;
            };
            empty(&mut input.toggled);
            if let Some(moved) = moved {
                moved.follow(&mut input.counted);
            }
        }
        partitions.iter_mut().for_each(Partition::commit);
        self.kept = self.size;
    }

    /// What the running transaction did is undone.
    pub fn rollback(&mut self) {
        let Strategy {
            inputs,
            relations,
            partitions,
            ..
        } = &mut self.strategy;
        relations.iter_mut().for_each(Relation::rollback);
        partitions.iter_mut().for_each(Partition::rollback);
        for input in inputs {
            for &slot in &input.toggled {
                input.counted[slot as usize] ^= true;
            }
            empty(&mut input.toggled);
            let slots = relations[input.whole].part().map_or(0, Part::slots);
            input.counted.truncate(slots);
        }
        self.size = self.kept;
    }

    /// The payload of the result; `None` if it is zero.
    #[must_use]
    pub fn result(&self) -> Option<&[u64]> {
        let part = self.strategy.relations[self.strategy.result].part()?;
        part.iter().next().map(|slot| part.payload(slot))
    }

    /// The part that holds the result.
    #[must_use]
    pub fn result_part(&self) -> Option<&Part> {
        self.strategy.relations[self.strategy.result].part()
    }

    /// What its payloads hold.
    #[must_use]
    pub fn shape(&self) -> &R::Shape {
        &self.algebra.shape
    }

    /// The threshold base N and the number of tuples |D|.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        (self.size.base, self.size.tuples)
    }

    /// How often it rebalanced.
    #[must_use]
    pub fn rebalancings(&self) -> Rebalancings {
        self.size.rebalancings
    }

    /// Rows added, looked up or paired with partners so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.work.steps
    }

    /// The parts of each relation.
    #[must_use]
    pub fn parts(&self) -> Vec<PartSizes> {
        let keys = |relation: usize| {
            self.strategy.relations[relation]
                .part()
                .map_or(0, Part::len)
        };
        let of = |input: &Input<R>| PartSizes {
            tuples: keys(input.whole),
            heavy: input.heavy().map_or(0, keys),
        };
        self.strategy.inputs.iter().map(of).collect()
    }

    /// The partitions of the keys.
    #[must_use]
    pub fn partitions(&self) -> &[Partition] {
        &self.strategy.partitions
    }

    /// The relations: those that change, their heavy parts, views, heavy values, the result.
    #[must_use]
    pub fn relations(&self) -> &[Relation<R>] {
        &self.strategy.relations
    }

    /// The parts of the relations that change, in their order.
    pub(crate) fn wholes(&self) -> impl Iterator<Item = &Part> {
        let inputs = self.strategy.inputs.iter();
        inputs.filter_map(|input| self.strategy.relations[input.whole].part())
    }

    /// Keys of all auxiliary views.
    #[must_use]
    pub fn view_keys(&self) -> usize {
        let views = self.strategy.views.iter();
        let parts = views.filter_map(|&view| self.strategy.relations[view].part());
        parts.map(Part::len).sum()
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let Strategy {
            relations,
            partitions,
            inputs,
            ..
        } = &self.strategy;
        let parts = relations.iter().filter_map(Relation::part);
        let counted = inputs.iter().map(|input| input.counted.capacity());
        parts.map(Part::memory_usage).sum::<usize>()
            + relations.iter().map(Relation::memory_usage).sum::<usize>()
            + partitions
                .iter()
                .map(Partition::memory_usage)
                .sum::<usize>()
            + counted.sum::<usize>()
    }

    /// Checks the invariants that do not ask for a join; for tests, between transactions.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        let Size { base, tuples, .. } = self.size;
        assert!(
            base / 4 <= tuples && tuples < base,
            "|D| = {tuples}, N = {base}"
        );
        self.strategy.partitions.iter().for_each(Partition::check);
        let parts = self.strategy.relations.iter().filter_map(Relation::part);
        parts.for_each(Part::check);
        let values = self
            .strategy
            .partitions
            .iter()
            .zip(&self.strategy.indicators);
        for (partition, &indicator) in values {
            let part = self.strategy.relations[indicator].part();
            assert_eq!(part.map(Part::len), Some(partition.heavy()), "heavy values");
        }
        let mut counted = 0;
        for input in &self.strategy.inputs {
            let Some(part) = self.strategy.relations[input.whole].part() else {
                continue;
            };
            counted += part.len();
            for slot in part.iter() {
                assert!(input.counted[slot as usize], "a tuple that is not counted");
            }
        }
        assert_eq!(counted as u64, tuples, "|D|");
    }
}

/// Some rows of a delta, with room for so many registers.
pub(crate) fn picked(delta: &Delta, fields: usize, rows: &[u32], registers: usize) -> Delta {
    let mut out = Delta::with_registers(registers.max(fields));
    for (column, from) in out.columns.iter_mut().zip(&delta.columns).take(fields) {
        column.extend(rows.iter().map(|&row| from[row as usize]));
    }
    let width = delta.width;
    for &row in rows {
        let payload = &delta.payload[row as usize * width..][..width];
        out.payload.extend_from_slice(payload);
    }
    (out.rows, out.width, out.wide) = (rows.len(), width, delta.wide);
    out
}
