//! Description of a machine: its result, its sizes, the steps that it took; and its invariants.
//!
//! Invariant: nothing here changes anything. Cost: O(1), but for bytes and checks.

use ringview_relation::{KeyedTable, Partition, Relation};
use ringview_ring::PayloadRing;

use super::{Machine, PartSizes, Rebalancings, Size};
use crate::strategy::{Input, Strategy};

impl<R: PayloadRing> Machine<R> {
    /// The payload of the result; `None` if it is zero.
    #[must_use]
    pub fn result(&self) -> Option<&[u64]> {
        let table = self.result_table();
        table.iter().next().map(|slot| table.payload(slot))
    }

    /// The table that holds the result.
    pub(crate) fn result_table(&self) -> &KeyedTable {
        let Some(table) = self.strategy.relations[self.strategy.result].table() else {
            unreachable!("the result is kept")
        };
        table
    }

    /// Shape of its payloads.
    #[must_use]
    pub fn shape(&self) -> &R::Shape {
        &self.algebra.shape
    }

    /// The threshold base N and the number of tuples |D|.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        (self.size.base, self.size.tuples)
    }

    /// Numbers of its rebalancings.
    #[must_use]
    pub fn rebalancings(&self) -> Rebalancings {
        self.size.rebalancings
    }

    /// Rows added, looked up or paired with matches so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.work.steps
    }

    /// The parts of each relation.
    #[must_use]
    pub fn part_sizes(&self) -> Vec<PartSizes> {
        let keys = |relation: usize| {
            self.strategy.relations[relation]
                .table()
                .map_or(0, KeyedTable::len)
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

    /// The tables of the relations that change, in their order.
    pub(crate) fn wholes(&self) -> impl Iterator<Item = &KeyedTable> {
        let inputs = self.strategy.inputs.iter();
        inputs.filter_map(|input| self.strategy.relations[input.whole].table())
    }

    /// Keys of all auxiliary views.
    #[must_use]
    pub fn view_keys(&self) -> usize {
        let views = self.strategy.views.iter();
        let tables = views.filter_map(|&view| self.strategy.relations[view].table());
        tables.map(KeyedTable::len).sum()
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
        let tables = relations.iter().filter_map(Relation::table);
        let counted = inputs.iter().map(|input| input.counted.capacity());
        tables.map(KeyedTable::memory_usage).sum::<usize>()
            + relations.iter().map(Relation::memory_usage).sum::<usize>()
            + partitions
                .iter()
                .map(Partition::memory_usage)
                .sum::<usize>()
            + counted.sum::<usize>()
            + self.marks.capacity()
    }

    /// Checks the invariants that need no join; for tests, between transactions.
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
        let tables = self.strategy.relations.iter().filter_map(Relation::table);
        tables.for_each(KeyedTable::check);
        let values = self
            .strategy
            .partitions
            .iter()
            .zip(&self.strategy.indicators);
        for (partition, &indicator) in values {
            let table = self.strategy.relations[indicator].table();
            assert_eq!(
                table.map(KeyedTable::len),
                Some(partition.heavy()),
                "heavy values"
            );
        }
        let mut counted = 0;
        for input in &self.strategy.inputs {
            let Some(table) = self.strategy.relations[input.whole].table() else {
                continue;
            };
            counted += table.len();
            for slot in table.iter() {
                assert!(input.counted[slot as usize], "a tuple that is not counted");
            }
        }
        assert_eq!(counted as u64, tuples, "|D|");
    }
}
