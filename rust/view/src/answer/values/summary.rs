//! Summary of the values of a group: their number, the least and the greatest.
//!
//! Cost: O(1) a group between transactions; while one settles, what it touched beside.

use std::collections::HashMap;

use ringview_core::Dictionary;
use ringview_relation::{ABSENT, KeyedTable};

use super::ordered::Order;
use super::{GroupValues, SlotValues, When, is_there, toggled};

/// Words of a summary: how many values, then the least and the greatest, two words each.
pub const SUMMARY: usize = 5;

/// Positions of the least and the greatest in a summary.
pub(crate) const LEAST: usize = 1;
pub(crate) const GREATEST: usize = 3;

type Summary = [u64; SUMMARY];

impl GroupValues {
    /// A summary for each of some keys, column by column. Values are applied at the commit of the root, so within a
    /// transaction the summary is that before it; while it settles, the summary is that after the commit. O(keys, and
    /// while it settles the touched ones).
    #[must_use]
    pub fn summaries(
        &self,
        root: &KeyedTable,
        keys: &[Vec<u64>],
        rows: usize,
        when: When<'_>,
    ) -> Vec<Summary> {
        let groups = self.groups_of(keys, rows);
        let summary = |&group: &u32| self.summary(root, group);
        let mut summaries: Vec<Summary> = groups.iter().map(summary).collect();
        if let When::Settling(dictionary) = when {
            self.prepare(root, (keys, &groups), dictionary, &mut summaries);
        }
        summaries
    }

    fn summary(&self, root: &KeyedTable, group: u32) -> Summary {
        let mut summary = [0; SUMMARY];
        if group == ABSENT {
            return summary;
        }
        summary[0] = self.groups.payload(group)[0];
        if let Some(ordered) = &self.ordered {
            let slots = &ordered[group as usize];
            self.put(root, (slots.first(), slots.last()), &mut summary);
        }
        summary
    }

    /// Writes the least and the greatest value.
    fn put(&self, root: &KeyedTable, ends: (Option<u32>, Option<u32>), summary: &mut Summary) {
        for (at, slot) in [(LEAST, ends.0), (GREATEST, ends.1)] {
            for (word, &field) in self.source.values[0].fields.iter().enumerate() {
                summary[at + word] = slot.map_or(0, |slot| root.field(slot, field));
            }
        }
    }

    /// Makes the summaries what the commit of the running transaction will make them.
    fn prepare(
        &self,
        root: &KeyedTable,
        (keys, groups): (&[Vec<u64>], &[u32]),
        dictionary: &Dictionary,
        summaries: &mut [Summary],
    ) {
        let mut of: HashMap<Vec<u64>, Vec<(u32, bool)>> = HashMap::new();
        for (slot, before) in toggled(root) {
            let key = self.source.key.iter().map(|&field| root.field(slot, field));
            of.entry(key.collect()).or_default().push((slot, before));
        }
        let values = SlotValues {
            root,
            fields: &self.source.values,
            dictionary,
        };
        for (row, (summary, &group)) in summaries.iter_mut().zip(groups).enumerate() {
            let key: Vec<u64> = self.source.asked.iter().map(|&at| keys[at][row]).collect();
            let Some(toggled) = of.get(&key) else {
                continue;
            };
            let leave = toggled.iter().filter(|(_, before)| *before).count() as u64;
            summary[0] = summary[0] + (toggled.len() as u64 - leave) - leave;
            let Some(all) = &self.ordered else {
                continue;
            };
            // The slots that stay, from either end, and those that appear.
            let held = all.get(group as usize);
            let stays = |slot: &u32| is_there(root, *slot);
            let come = || {
                let come = toggled.iter().filter(|(_, before)| !before);
                come.map(|&(slot, _)| slot)
            };
            let order = Order {
                compare: |one, other| values.compare(one, other),
                whole: self.whole,
            };
            let first = held.and_then(|held| held.least_of(order, stays));
            let last = held.and_then(|held| held.greatest_of(order, stays));
            let least = first.into_iter().chain(come());
            let greatest = last.into_iter().chain(come());
            let ends = (
                least.min_by(|&a, &b| values.compare(a, b)),
                greatest.max_by(|&a, &b| values.compare(a, b)),
            );
            self.put(root, ends, summary);
        }
    }
}
