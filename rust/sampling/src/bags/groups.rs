//! Dense numbers for rows of ids that agree on some columns.
//!
//! Invariant: a group has a number while it has rows: the id, where the rows agree on one column; 0, where they agree on none.
//! Cost: O(1) expected; nothing is stored for one column or none.

use super::numbers::Numbers;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// The columns that make a group.
    pub(super) columns: Vec<usize>,
    numbers: Option<Numbers>,
    key: Vec<u32>,
}

impl Groups {
    pub(super) fn new(columns: Vec<usize>) -> Groups {
        Groups {
            numbers: (columns.len() > 1).then(|| Numbers::new(columns.len())),
            columns,
            key: Vec::new(),
        }
    }

    /// The group of these ids.
    #[inline]
    pub(super) fn find(&self, key: &[u32]) -> Option<u32> {
        match (&self.numbers, key) {
            (Some(numbers), key) => numbers.find(key),
            (None, [id]) => Some(*id),
            (None, _) => Some(0),
        }
    }

    /// The group of a row.
    #[inline]
    pub(super) fn of(&mut self, row: &[u32]) -> Option<u32> {
        self.read_key(row);
        self.find(&self.key)
    }

    /// The group of a row, a new one if there is none.
    #[inline]
    pub(super) fn insert(&mut self, row: &[u32]) -> u32 {
        self.read_key(row);
        self.find(&self.key).unwrap_or_else(|| {
            let numbers = self.numbers.as_mut();
            numbers.map_or(0, |numbers| {
                let group = numbers.add(&self.key);
                numbers.link(group);
                group
            })
        })
    }

    #[inline]
    fn read_key(&mut self, row: &[u32]) {
        self.key.clear();
        self.key
            .extend(self.columns.iter().map(|&column| row[column]));
    }

    /// Releases the number of a group without rows.
    pub(super) fn release(&mut self, group: u32) {
        if let Some(numbers) = &mut self.numbers {
            numbers.unlink(group);
            numbers.forget(group);
        }
    }

    /// Writes the ids of a group into a row.
    pub(super) fn write(&self, group: u32, row: &mut [u32]) {
        let key = self.numbers.as_ref().map(|numbers| numbers.row(group));
        for (at, &column) in self.columns.iter().enumerate() {
            row[column] = key.map_or(group, |key| key[at]);
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.numbers.as_ref().map_or(0, Numbers::memory_usage)
    }
}
