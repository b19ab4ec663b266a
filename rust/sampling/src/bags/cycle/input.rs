//! The rows of a relation in a bag of a cycle: ids of variables, each row once.
//!
//! Invariant: every path has the rows that are there; copies of a row beyond the first are counted apart. Cost: O(paths)
//! expected a row.

use super::matches::{Ids, Matches};
use crate::bags::numbers::Numbers;

/// Rows by their ids.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Ids a row.
    pub(super) ids: usize,
    paths: Vec<Matches>,
    /// Rows that are there more than once, and how much more often.
    copied: Numbers,
    copies: Vec<u32>,
}

impl Input {
    pub(super) fn new(ids: usize) -> Input {
        Input {
            ids,
            paths: Vec::new(),
            copied: Numbers::new(ids),
            copies: Vec::new(),
        }
    }

    /// Adds a path from the ids of some columns to those of another, or returns an equal one. Before any row; there must be
    /// one at least.
    pub(super) fn path(&mut self, columns: Vec<usize>, open: Option<usize>) -> usize {
        let same = |path: &Matches| path.groups.columns == columns && path.open == open;
        let existing = self.paths.iter().position(same);
        existing.unwrap_or_else(|| {
            self.paths.push(Matches::new(columns, open));
            self.paths.len() - 1
        })
    }

    /// Ends the paths: an input without any gets one, which stores its rows.
    pub(super) fn close(&mut self) {
        if self.paths.is_empty() {
            let open = self.ids.checked_sub(1);
            self.path((0..open.unwrap_or_default()).collect(), open);
        }
    }

    /// The ids that a path leads to.
    #[inline]
    pub(super) fn matches(&self, path: usize, key: &[u32]) -> Option<Ids<'_>> {
        self.paths[path].of(key)
    }

    #[inline]
    pub(super) fn prefetch_matches(&self, path: usize, group: u32, near: bool) {
        self.paths[path].prefetch_group(group, near);
    }

    /// Prefetches the entries of a row that will be inserted.
    #[inline]
    pub(super) fn prefetch(&self, row: &[u32], near: bool) {
        let paths = self.paths.iter();
        paths.for_each(|path| path.prefetch(row, near));
    }

    pub(super) fn has(&mut self, row: &[u32]) -> bool {
        self.paths[0].has(row)
    }

    /// Inserts a row; whether it is the first. None if it is there 2^32 times, and was not inserted.
    pub(super) fn increment(&mut self, row: &[u32]) -> Option<bool> {
        if self.paths[0].insert(row) {
            self.paths[1..].iter_mut().for_each(|path| {
                path.insert(row);
            });
            return Some(true);
        }
        let number = self.copied.find(row).unwrap_or_else(|| {
            let number = self.copied.add(row);
            self.copied.link(number);
            self.copies.resize(self.copied.len(), 0);
            number
        });
        let copies = &mut self.copies[number as usize];
        *copies = copies.checked_add(1)?;
        Some(false)
    }

    /// Deletes a row that is there; whether it was the last.
    pub(super) fn decrement(&mut self, row: &[u32]) -> bool {
        let Some(number) = self.copied.find(row) else {
            self.paths.iter_mut().for_each(|path| {
                path.remove(row);
            });
            return true;
        };
        let copies = &mut self.copies[number as usize];
        *copies -= 1;
        if *copies == 0 {
            self.copied.unlink(number);
            self.copied.forget(number);
        }
        false
    }

    /// Calls `see` with every row that is there.
    pub(super) fn each(&self, see: &mut dyn FnMut(&[u32])) {
        self.paths[0].each(see);
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.paths[0].rows()
    }

    /// Whether there is capacity for as many again.
    pub(super) fn has_capacity(&self) -> bool {
        self.paths.iter().all(Matches::has_capacity)
    }

    pub(super) fn memory_usage(&self) -> usize {
        let paths = self.paths.iter().map(Matches::memory_usage);
        paths.sum::<usize>() + self.copied.memory_usage() + self.copies.capacity() * 4
    }

    /// Checks the paths: each has the same rows. For tests.
    pub(super) fn check(&self) {
        let rows = |path: &Matches| {
            let mut all = Vec::new();
            path.each(&mut |row| all.push(row.to_vec()));
            all.sort_unstable();
            all
        };
        let first = rows(&self.paths[0]);
        for path in &self.paths {
            path.check();
            assert_eq!(rows(path), first, "a path has other rows");
        }
        for number in self.copied.linked() {
            assert!(self.copies[number as usize] > 0);
            let row = self.copied.row(number).to_vec();
            assert!(first.binary_search(&row).is_ok(), "a copy of no row");
        }
    }
}
