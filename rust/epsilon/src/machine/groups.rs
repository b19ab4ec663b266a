//! Groups that are read and not kept: each is the sum of what the tuples of one relation close.
//!
//! Invariant: reading leaves the machine as it was, but for steps counted. Cost: for each tuple of the relation in the groups
//! what a change of it costs, O(N^max(e, 1-e)); all groups O(N^(1 + max(e, 1-e))), and O(N^(3/2)) at e = 1/2.

use ringview_core::{Budget, Result};
use ringview_relation::{ABSENT, KeyedTable, Keys};
use ringview_ring::{Overflow, PayloadRing};

use super::change::tuples_at;
use super::{Extent, Machine};
use crate::strategy::Reads;

/// Tuples that are looked at together.
const BLOCK: usize = 1 << 12;

impl<R: PayloadRing> Machine<R> {
    /// The groups of some keys, given column by column, or all: a key for each whose sum is not zero. Between
    /// transactions, of a machine that reads groups; of any other there are none.
    ///
    /// # Errors
    /// `Overflow` where a sum does not fit; what the budget says. Nothing is to be rolled back.
    pub fn read_groups(
        &mut self,
        of: Option<&[Vec<u64>]>,
        budget: &Budget<'_>,
    ) -> Result<KeyedTable> {
        let read = match self.strategy.reads.take() {
            Some(reads) => {
                let read = self.close_all(&reads, of, budget);
                self.strategy.reads = Some(reads);
                read
            }
            None => Ok(()),
        };
        let result = &mut self.strategy.relations[self.strategy.result];
        let read = read.and_then(|()| match result.fits() {
            true => Ok(()),
            false => Err(result.refusal(Overflow { component: 0 })),
        });
        if read.is_err() {
            result.rollback();
        } else {
            // Sums that are zero are removed.
            result.commit();
        }
        let empty = KeyedTable::new(
            self.result_table().layout().clone(),
            self.result_table().stride(),
        );
        let result = &mut self.strategy.relations[self.strategy.result];
        let groups = result
            .table_mut()
            .map(|table| std::mem::replace(table, empty));
        let Some(groups) = groups else {
            unreachable!("the result is kept")
        };
        read.map(|()| groups)
    }

    /// Sums what the tuples in some groups close.
    fn close_all(
        &mut self,
        reads: &Reads<R>,
        of: Option<&[Vec<u64>]>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let slots = self.slots_in(reads, of);
        let whole = self.strategy.inputs[reads.input].whole;
        for slots in slots.chunks(BLOCK) {
            budget.work(slots.len() as u64)?;
            let Some(table) = self.strategy.relations[whole].table() else {
                break;
            };
            let tuples = tuples_at(table, slots);
            let classes = self.classes(reads.input, &tuples);
            let of = (reads.input, &tuples, &classes);
            self.evaluate(&reads.rules, of, Extent::All, budget)?;
        }
        Ok(())
    }

    /// The tuples of the relation that groups are read from, in some of them or all, each once.
    fn slots_in(&mut self, reads: &Reads<R>, of: Option<&[Vec<u64>]>) -> Vec<u32> {
        let whole = self.strategy.inputs[reads.input].whole;
        let Some(table) = self.strategy.relations[whole].table_mut() else {
            return Vec::new();
        };
        let Some(columns) = of else {
            return table.iter().collect();
        };
        let keys = Keys {
            columns,
            fields: &reads.key.order,
            rows: columns.first().map_or(0, Vec::len),
        };
        let (mut found, scratch) = (Vec::new(), &mut self.work.keys);
        let mut slots: Vec<u32> = match reads.key.index {
            Some(index) => {
                table.refresh_index(index);
                let index = table.index_at(index);
                index.find(keys, scratch, &mut found);
                let groups = found.iter().map(|&group| index.group(group));
                groups.flatten().copied().collect()
            }
            None => {
                table.find(keys, scratch, &mut found);
                found.retain(|&slot| slot != ABSENT);
                found
            }
        };
        // A key may be requested twice.
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}
