//! All values of a group in their order, and what the root says of each: what categories are.
//!
//! Invariant: a tally has, for each value one after the other, the words of the value, its count, then
//! its sums, [`SUM`] words each. Cost: O(values).

use std::collections::HashMap;
use std::sync::Arc;

use ringview_core::Dictionary;
use ringview_relation::{KeyedTable, SlotChange};
use ringview_ring::{Expansion, Number};

use super::ordered::OrderedSlots;
use super::{GroupValues, SlotValues, When, is_there, toggled};

/// Words of a sum: an expansion's.
pub(crate) const SUM: usize = <Expansion as Number>::WORDS;

/// The values of a group, in their order, each with its count and sums.
pub type Tally = Vec<u64>;

/// The tallies of a group, one a categorical feature and then one a pair of them.
pub type Tallies = Arc<[Tally]>;

impl GroupValues {
    /// A tally for each of some keys, column by column. O(values; within a transaction, what it touched beside).
    #[must_use]
    pub fn tallies(
        &self,
        root: &KeyedTable,
        keys: &[Vec<u64>],
        rows: usize,
        when: When<'_>,
    ) -> Vec<Tally> {
        let Some(ordered) = &self.ordered else {
            return vec![Tally::new(); rows];
        };
        let mut before: HashMap<u32, &[u64]> = HashMap::new();
        let changes = matches!(when, When::Before).then(|| root.changes());
        for change in changes.into_iter().flatten() {
            if let SlotChange::Was(slot, payload) = change {
                // The first change of a slot has its payload before the transaction.
                before.entry(slot).or_insert(payload);
            }
        }
        let coming = match when {
            When::Settling(dictionary) => Some((self.coming(root), dictionary)),
            When::Before | When::Now => None,
        };
        let groups = self.groups_of(keys, rows).into_iter().enumerate();
        let tally = |(row, group): (usize, u32)| {
            let held = ordered
                .get(group as usize)
                .into_iter()
                .flat_map(OrderedSlots::iter);
            let mut slots: Vec<u32> = held.collect();
            if let Some((coming, dictionary)) = &coming {
                let key = self.source.asked.iter().map(|&at| keys[at][row]);
                let come = coming.get(&key.collect::<Vec<u64>>());
                self.replace(
                    root,
                    &mut slots,
                    come.map_or(&[], Vec::as_slice),
                    dictionary,
                );
            }
            self.tally(root, &slots, &before)
        };
        groups.map(tally).collect()
    }

    /// The slots of values that the running transaction brings, by group.
    fn coming(&self, root: &KeyedTable) -> HashMap<Vec<u64>, Vec<u32>> {
        let mut coming: HashMap<Vec<u64>, Vec<u32>> = HashMap::new();
        for (slot, _) in toggled(root).into_iter().filter(|(_, before)| !before) {
            let key = self.source.key.iter().map(|&field| root.field(slot, field));
            coming.entry(key.collect()).or_default().push(slot);
        }
        coming
    }

    /// Makes the slots of a group those that the commit will make them, in the order of their values.
    fn replace(
        &self,
        root: &KeyedTable,
        slots: &mut Vec<u32>,
        come: &[u32],
        dictionary: &Dictionary,
    ) {
        slots.retain(|&slot| is_there(root, slot));
        slots.extend(come);
        let values = SlotValues {
            root,
            fields: &self.source.values,
            dictionary,
        };
        slots.sort_by(|&one, &other| values.compare(one, other));
    }

    fn tally(&self, root: &KeyedTable, slots: &[u32], before: &HashMap<u32, &[u64]>) -> Tally {
        let mut tally = Tally::new();
        for &slot in slots {
            let fields = self.source.values.iter().flat_map(|value| &value.fields);
            tally.extend(fields.map(|&field| root.field(slot, field)));
            let payload = before
                .get(&slot)
                .copied()
                .unwrap_or_else(|| root.payload(slot));
            tally.push(payload[0]);
            for sum in &self.source.sums {
                let mut words = [0; SUM];
                words[..sum.len()].copy_from_slice(&payload[sum.clone()]);
                tally.extend(words);
            }
        }
        tally
    }
}

/// The tallies of some rows, given one after the other for each feature; none where there is none.
#[must_use]
pub fn by_row(features: Vec<Vec<Tally>>, rows: usize) -> Vec<Tallies> {
    if features.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<_> = features.into_iter().map(Vec::into_iter).collect();
    let row = |_| {
        let tallies = all
            .iter_mut()
            .map(|tallies| tallies.next().unwrap_or_default());
        tallies.collect()
    };
    (0..rows).map(row).collect()
}
