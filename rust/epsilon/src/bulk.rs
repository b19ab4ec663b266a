//! Loads: rows that are many beside the tuples that are there enter once, under the classes that their values
//! will have.
//!
//! Applied as any change is, most rows of a load would enter while N is small and nearly all values are heavy, and
//! would move again and again as N doubles. A load has all its rows in advance: it sums rows with one key, counts the
//! tuples of each value, sets N, flips the values whose class that changes, and then inserts the rows. Each row meets
//! the other relations as a generic join intersects lists, the smallest group of each walked: a triangle's three
//! relations of N tuples cost `sum over T of min(R_a, S_c) <= sqrt(R S T)`, which is O(N^(3/2)), whatever the degrees.
//!
//! Invariant: the forecast affects the cost, never the result: values that turn out otherwise are misfits, and
//! `rebalance` sees to them. Cost: O(N^max(e, 1-e)) a row for R rows, each with its own key, and for the flips O(N^(1 +
//! max(e, 1-e))): it is used where R is half of |D| or more.

use ringview_core::{Budget, Result};
use ringview_relation::{ABSENT, Delta, KeyedTable, Keys, Relation, Threshold};
use ringview_ring::PayloadRing;

use crate::machine::{Machine, picked, tuples_at};

impl<R: PayloadRing> Machine<R> {
    /// Whether so many rows are better loaded.
    pub(crate) fn is_load(&self, rows: usize) -> bool {
        rows > 1 && 2 * rows as u64 >= self.size().1
    }

    /// Takes rows of relations, by number, in and rebalances: as [`apply`](Self::apply) for each, and cheaper
    /// where they are many. Each relation is named once at most.
    ///
    /// # Errors
    /// `Overflow`; what the budget says. It must then be rolled back.
    pub fn load(&mut self, changes: &[(usize, &Delta)], budget: &Budget<'_>) -> Result<()> {
        let mut folded = Vec::with_capacity(changes.len());
        let changes = changes.iter().filter(|(_, delta)| delta.rows > 0);
        let changes: Vec<(usize, &Delta)> = changes.copied().collect();
        for &(at, delta) in &changes {
            budget.work(delta.rows as u64)?;
            folded.push((at, self.folded(at, delta)?));
        }
        let rows = || {
            let both = changes.iter().zip(&folded);
            both.map(|((at, delta), (_, folded))| (*at, folded.as_ref().unwrap_or(delta)))
        };
        // Sums that do not fit, in passing, cannot be moved.
        if self.strategy.relations.iter().all(Relation::fits) {
            self.foresee(rows(), budget)?;
        }
        for (at, delta) in rows() {
            self.change(at, delta, budget)?;
        }
        self.rebalance(budget)
    }

    /// The sum over relations of these rows, of a machine without tuples that is of no further use; `None` if it is
    /// zero. If every epsilon is 1, only the relations are kept.
    ///
    /// # Errors
    /// As `load`.
    pub fn sum_of(
        mut self,
        changes: &[(usize, &Delta)],
        budget: &Budget<'_>,
    ) -> Result<Option<Vec<u64>>> {
        self.load(changes, budget)?;
        self.prepare(budget)?;
        Ok(self.result().map(<[u64]>::to_vec))
    }

    /// The rows with those of one key summed; `None` if no key is repeated.
    fn folded(&mut self, at: usize, delta: &Delta) -> Result<Option<Delta>> {
        let whole = &self.strategy.relations[self.strategy.inputs[at].whole];
        let Some(layout) = whole.table().map(|table| table.layout().clone()) else {
            return Ok(None);
        };
        let fields = layout.fields();
        let shape = self.algebra.shape.clone();
        let stride = R::stride(&shape);
        let mut table = KeyedTable::new(layout, stride);
        table.reserve(delta.rows);
        let mut sums: Relation<R> = Relation::new(whole.name().to_owned(), shape, Some(table));
        let all: Vec<u32> = (0..delta.rows as u32).collect();
        let mut rows = picked(delta, fields, &all, fields);
        let keys: Vec<usize> = (0..fields).collect();
        self.work.steps += delta.rows as u64;
        let added = sums.add(&mut rows, &keys, &mut self.work.keys, &mut self.work.gather);
        added.map_err(|fault| sums.refusal(fault))?;
        let Some(table) = sums.table().filter(|_| sums.fits()) else {
            return Ok(None);
        };
        // The ring's zero is for what is stored: of rows of which one takes another's place the count is 0,
        // and a sum of reals may move.
        let is_change = |slot: &u32| table.payload(*slot).iter().any(|&word| word != 0);
        let slots: Vec<u32> = table.iter().filter(is_change).collect();
        if slots.len() == delta.rows {
            return Ok(None);
        }
        Ok(Some(tuples_at(table, &slots)))
    }

    /// Sets N for what will be there, and the classes of values for the tuples that they will have.
    fn foresee<'d>(
        &mut self,
        changes: impl Iterator<Item = (usize, &'d Delta)>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut expected = vec![Vec::new(); self.strategy.partitions.len()];
        let mut tuples = self.size.tuples as i64;
        for (at, delta) in changes {
            let moves = self.moves(at, delta);
            tuples += moves.iter().sum::<i64>();
            for face in &self.strategy.inputs[at].faces {
                let keys = Keys {
                    columns: &delta.columns,
                    fields: &face.key.columns,
                    rows: delta.rows,
                };
                self.work.steps += delta.rows as u64;
                let (partition, scratch) = (face.partition, &mut self.work.keys);
                let of = &mut self.strategy.partitions[partition];
                of.foresee(keys, &moves, scratch, &mut expected[partition]);
            }
        }
        let is_major = self.fit_base(tuples.max(0) as u64);
        for (partition, expected) in expected.iter().enumerate() {
            let of = &self.strategy.partitions[partition];
            self.work.steps += of.values() as u64;
            let strays = of.strict_violations_with(expected);
            for value in strays {
                let is_there = self.strategy.partitions[partition].degree(value) > 0;
                self.migrate(partition, value, budget)?;
                self.size.rebalancings.minor += u64::from(is_there && !is_major);
            }
        }
        Ok(())
    }

    /// By row, whether it adds a tuple (1) or removes one (-1), as far as counts show.
    fn moves(&mut self, at: usize, delta: &Delta) -> Vec<i64> {
        let input = &self.strategy.inputs[at];
        let Some(table) = self.strategy.relations[input.whole].table() else {
            return vec![0; delta.rows];
        };
        let fields: Vec<usize> = (0..table.layout().fields()).collect();
        let keys = Keys {
            columns: &delta.columns,
            fields: &fields,
            rows: delta.rows,
        };
        let mut slots = Vec::new();
        self.work.steps += delta.rows as u64;
        table.find(keys, &mut self.work.keys, &mut slots);
        let counts = delta.payload.chunks_exact(delta.width.max(1));
        let of = |(&slot, own): (&u32, &[u64])| match slot {
            ABSENT => i64::from(own[0] != 0),
            slot if !input.counted[slot as usize] => i64::from(own[0] != 0),
            slot => -i64::from(table.payload(slot)[0].wrapping_add(own[0]) == 0),
        };
        slots.iter().zip(counts).map(of).collect()
    }

    /// Doubles or halves N until it fits so many tuples; true if it changed.
    pub(crate) fn fit_base(&mut self, tuples: u64) -> bool {
        let before = self.size.base;
        while tuples >= self.size.base {
            self.size.base = self.size.base.saturating_mul(2);
        }
        while tuples < self.size.base / 4 {
            self.size.base = self.size.base / 2 - 1;
        }
        let is_major = self.size.base != before;
        if is_major {
            self.size.rebalancings.major += 1;
            let strategy = &mut self.strategy;
            for (partition, epsilon) in strategy.partitions.iter_mut().zip(&strategy.epsilons) {
                partition.set_threshold(Threshold::new(self.size.base, epsilon.value()));
            }
        }
        is_major
    }
}
