//! All values of a group in their order, and what the root says of each: what categories are.
//!
//! Invariant: a tally has, for each value one after the other, the words of the value, its count, then
//! its sums, [`SUM`] words each. Cost: O(values).

use std::collections::HashMap;
use std::sync::Arc;

use ringview_relation::{ABSENT, Part, SlotChange};
use ringview_ring::{Expansion, Number};

use super::{GroupValues, When};

/// Words of a sum: an expansion's.
pub(crate) const SUM: usize = <Expansion as Number>::WORDS;

/// The values of a group, in their order, each with its count and sums.
pub type Tally = Vec<u64>;

/// The tallies of a group, one a categorical feature and then one a pair of them.
pub type Tallies = Arc<[Tally]>;

impl GroupValues {
    /// A tally for each of some keys, column by column. O(values; of those before a transaction, what it
    /// touched beside).
    #[must_use]
    pub fn tallies(
        &self,
        root: &Part,
        keys: &[Vec<u64>],
        rows: usize,
        when: When<'_>,
    ) -> Vec<Tally> {
        let mut before: HashMap<u32, &[u64]> = HashMap::new();
        let changes = matches!(when, When::Before).then(|| root.changes());
        for change in changes.into_iter().flatten() {
            if let SlotChange::Was(slot, payload) = change {
                // The first change of a slot tells what was there before.
                before.entry(slot).or_insert(payload);
            }
        }
        let Some(ordered) = &self.ordered else {
            return vec![Tally::new(); rows];
        };
        let tally = |&group: &u32| {
            let mut tally = Tally::new();
            if group == ABSENT {
                return tally;
            }
            for slot in ordered[group as usize].iter() {
                let fields = self.source.values.iter().flat_map(|value| &value.fields);
                tally.extend(fields.map(|&field| root.field(slot, field)));
                let was = before.get(&slot).copied();
                let payload = was.unwrap_or_else(|| root.payload(slot));
                tally.push(payload[0]);
                for sum in &self.source.sums {
                    let mut words = [0; SUM];
                    words[..sum.len()].copy_from_slice(&payload[sum.clone()]);
                    tally.extend(words);
                }
            }
            tally
        };
        self.groups_of(keys, rows).iter().map(tally).collect()
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

/// What a group without rows has of so many features.
#[must_use]
pub fn no_tallies(features: usize) -> Option<Tallies> {
    (features > 0).then(|| vec![Tally::new(); features].into())
}
