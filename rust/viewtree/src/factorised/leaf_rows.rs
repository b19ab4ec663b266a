//! Rows of a relation as its leaf stores them: keys, and the number of inserts or deletes of each.

use std::collections::BTreeMap;

/// Keys of a leaf, field by field, each with a multiplicity.
#[derive(Debug, Default)]
pub(super) struct LeafRows {
    pub(super) columns: Vec<Vec<u64>>,
    pub(super) times: Vec<i64>,
}

impl LeafRows {
    /// The keys that decrease in sum, and those that increase; multiplicities saturate where none
    /// can be.
    pub(super) fn by_sign(&self) -> [Self; 2] {
        let mut sums: BTreeMap<Vec<u64>, i64> = BTreeMap::new();
        for (at, &times) in self.times.iter().enumerate() {
            let key = self.columns.iter().map(|column| column[at]).collect();
            let sum = sums.entry(key).or_default();
            *sum = sum.saturating_add(times);
        }
        let empty = || Self {
            columns: vec![Vec::new(); self.columns.len()],
            times: Vec::new(),
        };
        let mut parts = [empty(), empty()];
        for (key, times) in sums.into_iter().filter(|&(_, times)| times != 0) {
            let part = &mut parts[usize::from(times > 0)];
            part.times.push(times);
            for (column, word) in part.columns.iter_mut().zip(key) {
                column.push(word);
            }
        }
        parts
    }
}
