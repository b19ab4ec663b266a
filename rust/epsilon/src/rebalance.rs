//! The size invariant, and values that change from heavy to light and back.
//!
//! Invariant: afterwards floor(N/4) <= |D| < N, and no value breaks a loose bound. If N changes (major rebalancing),
//! all values are classified by the strict bounds of the new threshold. Otherwise (minor) the values that a change
//! counted are checked, and those that break a loose bound are flipped. A flip moves all tuples of its value, along the
//! delta rules of a user's change, and never touches the result. It is undone with the transaction, and checks the
//! budget at each step.
//!
//! Cost: a flip walks O(N^max(e, 1-e)) a tuple, over O(N^e) tuples, and is caused by theta/2 changes or more; a major
//! one moves each tuple at most once for each of its keys, N/4 changes or more after the last: both O(N^max(e, 1-e))
//! amortised (figure 4, theorem 3).

use ringview_core::{Budget, Result};
use ringview_relation::{Delta, Keys, Relation};
use ringview_ring::PayloadRing;

use crate::machine::{Machine, tuples_at};
use crate::strategy::Face;

/// The fibre of a value: its tuples in one relation.
struct Fibre {
    input: usize,
    tuples: Delta,
}

impl<R: PayloadRing> Machine<R> {
    /// Restores the invariants after a change. Sums that do not fit, in passing, let it wait.
    pub(crate) fn rebalance(&mut self, budget: &Budget<'_>) -> Result<()> {
        if !self.strategy.relations.iter().all(Relation::fits) {
            return Ok(());
        }
        let is_major = self.fit_base(self.size.tuples);
        for partition in 0..self.strategy.partitions.len() {
            let of = &mut self.strategy.partitions[partition];
            let values = match is_major {
                true => {
                    self.work.steps += of.values() as u64;
                    of.strict_violations()
                }
                false => of.loose_violations(),
            };
            for value in values {
                self.migrate(partition, value, budget)?;
                self.size.rebalancings.minor += u64::from(!is_major);
            }
        }
        Ok(())
    }

    /// Moves all tuples of a value from the light to the heavy side, or back: they leave parts and views under the old
    /// class, and enter them under the new one. In between the value has no tuples, and may be in either class.
    pub(crate) fn migrate(
        &mut self,
        partition: usize,
        value: u32,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let faces = self.strategy.counted_faces[partition].clone();
        let fibres = faces.iter().enumerate().map(|(at, &face)| {
            // A tuple with the value at two faces is of the first.
            let known: Vec<(usize, usize)> = faces[..at].to_vec();
            self.fibre(face, &known, (partition, value))
        });
        let fibres: Vec<Fibre> = fibres.collect();
        let rows: usize = fibres.iter().map(|fibre| fibre.tuples.rows).sum();
        self.work.steps += 1 + rows as u64;
        budget.work(1 + rows as u64)?;
        for fibre in &fibres {
            let mut tuples = fibre.tuples.clone();
            self.negate(&mut tuples)?;
            self.pass(fibre.input, &tuples, budget)?;
        }
        self.mark(partition, value)?;
        for fibre in fibres.iter().rev() {
            self.pass(fibre.input, &fibre.tuples, budget)?;
        }
        Ok(())
    }

    fn negate(&mut self, tuples: &mut Delta) -> Result<()> {
        if tuples.rows == 0 {
            return Ok(());
        }
        let minus = &self.algebra.minus_one;
        let scaled = self.algebra.scale(tuples, minus, &mut self.scratch);
        scaled.map_err(|fault| self.strategy.relations[self.strategy.result].refusal(fault))
    }

    /// The value becomes heavy, or light.
    fn mark(&mut self, partition: usize, value: u32) -> Result<()> {
        let of = &mut self.strategy.partitions[partition];
        let indicator = self.strategy.indicators[partition];
        let fields = of.key_fields();
        let one = match of.is_heavy(value) {
            false => &self.algebra.one,
            true => &self.algebra.minus_one,
        };
        let delta = Delta {
            rows: 1,
            columns: (0..fields).map(|f| vec![of.field(value, f)]).collect(),
            payload: one.clone(),
            width: one.len(),
            wide: false,
        };
        of.migrate(value);
        self.add(indicator, &delta, None)
    }

    /// The fibre of a value at a face: its tuples that have the value at none of some other faces.
    fn fibre(
        &mut self,
        (at, face): (usize, usize),
        others: &[(usize, usize)],
        (partition, value): (usize, u32),
    ) -> Fibre {
        let of = &self.strategy.partitions[partition];
        let input = &self.strategy.inputs[at];
        let own = &input.faces[face];
        let key: Vec<Vec<u64>> = (0..of.key_fields())
            .map(|field| vec![of.field(value, field)])
            .collect();
        let keys = Keys {
            columns: &key,
            fields: &own.key.order,
            rows: 1,
        };
        let mut tuples = Delta {
            width: R::stride(&self.algebra.shape),
            ..Delta::default()
        };
        let others: Vec<&Face> = others
            .iter()
            .filter(|(other, _)| *other == at)
            .map(|(_, face)| &input.faces[*face])
            .collect();
        let mut found = Vec::new();
        let scratch = &mut self.work.keys;
        if let Some(table) = self.strategy.relations[input.whole].table_mut() {
            let slots: &[u32] = match own.key.index {
                Some(index) => {
                    table.refresh_index(index);
                    table.index_at(index).find(keys, scratch, &mut found);
                    table.index_at(index).group(found[0])
                }
                None => {
                    table.find(keys, scratch, &mut found);
                    found.retain(|&slot| slot != ringview_relation::ABSENT);
                    &found
                }
            };
            let has = |face: &Face, slot: u32| {
                let mut fields = face.key.columns.iter().zip(&key);
                fields.all(|(&column, value)| table.field(slot, column) == value[0])
            };
            let is_own = |slot: &&u32| {
                input.counted[**slot as usize] && !others.iter().any(|face| has(face, **slot))
            };
            let slots: Vec<u32> = slots.iter().filter(is_own).copied().collect();
            tuples = tuples_at(table, &slots);
        }
        Fibre { input: at, tuples }
    }
}
