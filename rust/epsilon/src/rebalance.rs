//! The size invariant, and values that change from heavy to light and back.
//!
//! Invariant: afterwards floor(N/4) <= |D| < N, and no value breaks a loose bound. Where N changes (major
//! rebalancing) all values are put where the strict bounds of the new threshold want them; else (minor)
//! the values that a change counted are looked at, and those that break a loose bound are flipped.
//! A flip moves all tuples of its value, along the delta rules of a user's change, and never
//! touches the result. It is undone with the transaction, and asks the meter as it goes.
//!
//! Cost: a flip walks O(N^max(e, 1-e)) a tuple, over O(N^e) tuples, and takes theta/2 changes to come
//! about; a major one moves each tuple at most once for each of its keys, N/4 changes or more after
//! the last: both O(N^max(e, 1-e)) amortised (figure 4, theorem 3).

use ringview_core::{Meter, Result};
use ringview_relation::{Delta, Keys, Relation, Threshold};
use ringview_ring::PayloadRing;

use crate::machine::{Machine, classes_of, picked};

/// The tuples of one value at one face, and of each the case at its other face.
struct Star {
    input: usize,
    face: usize,
    tuples: Delta,
    /// Rows whose other key is light.
    light: Vec<u32>,
    /// Rows whose other key is heavy.
    heavy: Vec<u32>,
    /// Rows both of whose keys are the value.
    loops: Vec<u32>,
}

impl<R: PayloadRing> Machine<R> {
    /// Restores the invariants after a change. Sums that do not fit, in passing, let it wait.
    pub(crate) fn rebalance(&mut self, meter: &Meter<'_>) -> Result<()> {
        if !self.strategy.relations.iter().all(Relation::fits) {
            return Ok(());
        }
        let before = self.size.base;
        while self.size.tuples >= self.size.base {
            self.size.base = self.size.base.saturating_mul(2);
        }
        while self.size.tuples < self.size.base / 4 {
            self.size.base = self.size.base / 2 - 1;
        }
        let is_major = self.size.base != before;
        if is_major {
            self.size.rebalancings.major += 1;
            for (partition, epsilon) in self
                .strategy
                .partitions
                .iter_mut()
                .zip(&self.strategy.epsilons)
            {
                partition.set_threshold(Threshold::new(self.size.base, epsilon.value()));
            }
        }
        for partition in 0..self.strategy.partitions.len() {
            let of = &mut self.strategy.partitions[partition];
            let values = match is_major {
                true => {
                    self.work.steps += of.values() as u64;
                    of.strays()
                }
                false => of.misfits(),
            };
            for value in values {
                self.flip(partition, value, meter)?;
                self.size.rebalancings.minor += u64::from(!is_major);
            }
        }
        Ok(())
    }

    /// Moves all tuples of a value from the light to the heavy side, or back.
    fn flip(&mut self, partition: usize, value: u32, meter: &Meter<'_>) -> Result<()> {
        let stars = self.strategy.stars[partition].map(|star| self.star(star, (partition, value)));
        let rows: usize = stars.iter().map(|star| star.tuples.rows).sum();
        self.work.steps += 1 + rows as u64;
        meter.work(1 + rows as u64)?;
        let [first, second] = &stars;
        match self.strategy.partitions[partition].is_heavy(value) {
            false => {
                self.through(first, (first.face, &first.heavy), false, meter)?;
                self.part(first, true, true, meter)?;
                self.mark(partition, value, true)?;
                self.part(second, true, false, meter)
            }
            true => {
                self.part(second, false, false, meter)?;
                self.mark(partition, value, false)?;
                self.part(first, false, true, meter)?;
                self.through(first, (first.face, &first.heavy), true, meter)
            }
        }
    }

    /// The tuples of a value come to its heavy side, or go: those with a light key between two heavy ones
    /// are in a view, those with two heavy ones in the heavy part. A loop is a tuple of two heavy
    /// keys, and belongs to the star that is `first`.
    fn part(&mut self, star: &Star, come: bool, first: bool, meter: &Meter<'_>) -> Result<()> {
        self.through(star, (1 - star.face, &star.light), come, meter)?;
        let mut rows = star.heavy.clone();
        if first {
            rows.extend_from_slice(&star.loops);
        }
        let tuples = self.signed(&star.tuples, &rows, star.tuples.columns.len(), come)?;
        let heavy = self.strategy.inputs[star.input].heavy;
        self.add(heavy, &tuples, None)
    }

    /// Some tuples come to the views that go through their key at a face, or go.
    fn through(
        &mut self,
        star: &Star,
        (face, rows): (usize, &[u32]),
        come: bool,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let Some(path) = self.strategy.inputs[star.input].through(face).cloned() else {
            return Ok(());
        };
        if rows.is_empty() {
            return Ok(());
        }
        let mut tuples = self.signed(&star.tuples, rows, path.registers, come)?;
        self.follow(&path, &mut tuples, meter)
    }

    /// Some tuples, or their inverses.
    fn signed(
        &mut self,
        tuples: &Delta,
        rows: &[u32],
        registers: usize,
        come: bool,
    ) -> Result<Delta> {
        let mut picked = picked(tuples, tuples.columns.len(), rows, registers);
        if !come && picked.rows > 0 {
            let minus = &self.algebra.minus_one;
            let scaled = self.algebra.scale(&mut picked, minus, &mut self.scratch);
            scaled.map_err(|fault| self.strategy.relations[self.strategy.result].refusal(fault))?;
        }
        Ok(picked)
    }

    /// The value is heavy from now on, or light.
    fn mark(&mut self, partition: usize, value: u32, heavy: bool) -> Result<()> {
        let of = &mut self.strategy.partitions[partition];
        let indicator = self.strategy.indicators[partition];
        let fields = of.key_fields();
        let one = match heavy {
            true => &self.algebra.one,
            false => &self.algebra.minus_one,
        };
        let delta = Delta {
            rows: 1,
            columns: (0..fields).map(|f| vec![of.field(value, f)]).collect(),
            payload: one.clone(),
            width: one.len(),
            wide: false,
        };
        of.flip(value);
        self.add(indicator, &delta, None)
    }

    /// The tuples that have a value at a face.
    fn star(&mut self, (at, face): (usize, usize), (partition, value): (usize, u32)) -> Star {
        let of = &self.strategy.partitions[partition];
        let input = &self.strategy.inputs[at];
        let own = &input.faces[face];
        let key: Vec<Vec<u64>> = (0..of.key_fields())
            .map(|field| vec![of.field(value, field)])
            .collect();
        let keys = Keys {
            columns: &key,
            fields: &own.order,
            rows: 1,
        };
        let mut tuples = Delta {
            width: R::stride(&self.algebra.shape),
            ..Delta::default()
        };
        let mut found = Vec::new();
        let scratch = &mut self.work.keys;
        if let Some(part) = self.strategy.relations[input.whole].part_mut() {
            let slots: &[u32] = match own.index {
                Some(index) => {
                    part.refresh_index(index);
                    part.index_at(index).find(keys, scratch, &mut found);
                    part.index_at(index).group(found[0])
                }
                None => {
                    part.find(keys, scratch, &mut found);
                    found.retain(|&slot| slot != ringview_relation::ABSENT);
                    &found
                }
            };
            let is_there = |slot: &&u32| input.counted[**slot as usize];
            let slots: Vec<u32> = slots.iter().filter(is_there).copied().collect();
            let fields = 0..part.layout().fields();
            let column = |field| slots.iter().map(|&slot| part.field(slot, field)).collect();
            tuples.columns = fields.map(column).collect();
            tuples.rows = slots.len();
            let payloads = slots.iter().flat_map(|&slot| part.payload(slot));
            tuples.payload = payloads.copied().collect();
        }
        let other = &input.faces[1 - face];
        let classes = classes_of(&self.strategy.partitions, other, &tuples, &mut self.work);
        let mut star = Star {
            input: at,
            face,
            light: Vec::new(),
            heavy: Vec::new(),
            loops: Vec::new(),
            tuples,
        };
        for (row, is_heavy) in (0u32..).zip(classes) {
            let same = |(column, own): (&usize, &Vec<u64>)| {
                star.tuples.columns[*column][row as usize] == own[0]
            };
            let is_loop =
                other.partition == Some(partition) && other.columns.iter().zip(&key).all(same);
            match (is_loop, is_heavy) {
                (true, _) => star.loops.push(row),
                (false, true) => star.heavy.push(row),
                (false, false) => star.light.push(row),
            }
        }
        star
    }
}
