//! What moved in a sample since somebody looked.
//!
//! Invariant: a row that came and left again is not in it. Cost: O(results replaced) a transaction, while
//! somebody follows.

use std::collections::BTreeMap;

use ringview_view::answer::followers::Segment;

/// Rows by their words, and how much the multiplicity of each moved; never 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved(BTreeMap<Vec<u64>, i64>);

impl Moved {
    pub(super) fn add(&mut self, row: &[u64], multiplicity: i64) {
        match self.0.get_mut(row) {
            None => drop(self.0.insert(row.to_vec(), multiplicity)),
            Some(so_far) => {
                *so_far += multiplicity;
                if *so_far == 0 {
                    self.0.remove(row);
                }
            }
        }
    }

    pub(super) fn add_all(&mut self, other: &Moved) {
        other.0.iter().for_each(|(row, n)| self.add(row, *n));
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&Vec<u64>, i64)> {
        self.0.iter().map(|(row, &n)| (row, n))
    }
}

impl Segment for Moved {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn memory_usage(&self) -> usize {
        let words: usize = self.0.keys().map(Vec::capacity).sum();
        words * 8 + self.0.len() * size_of::<(Vec<u64>, i64)>()
    }
}
