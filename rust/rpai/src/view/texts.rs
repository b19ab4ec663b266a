//! The strings that a machine may hold: ids in the rows inserted and not deleted.
//!
//! Invariant: an id is counted as often as it is in a row that is there. Cost: O(1) a string of
//! a row.

use std::collections::HashMap;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Batch, LiveIds, random_hasher};

/// Ids with how often they are there.
#[derive(Debug)]
pub(super) struct Texts {
    counts: HashMap<u64, i64, SeedableRandomState>,
    /// Since the last commit.
    undo: Vec<(u64, i64)>,
}

impl Texts {
    pub(super) fn new() -> Self {
        Self {
            counts: HashMap::with_hasher(random_hasher()),
            undo: Vec::new(),
        }
    }

    /// Inserts or deletes rows of a batch.
    pub(super) fn take(
        &mut self,
        batch: &Batch,
        columns: &[usize],
        filtered: Option<&[u32]>,
        sign: i64,
    ) {
        for &column in columns {
            let cells = batch.column(column);
            let mut one = |row: usize| {
                if !cells.is_null(row) {
                    self.add(
                        cells.words[row],
                        sign.saturating_mul(batch.multiplicity(row)),
                    );
                }
            };
            match filtered {
                None => (0..batch.rows).for_each(&mut one),
                Some(filtered) => filtered.iter().for_each(|&row| one(row as usize)),
            }
        }
    }

    fn add(&mut self, id: u64, times: i64) {
        change(&mut self.counts, id, times);
        self.undo.push((id, times));
    }

    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }

    pub(super) fn rollback(&mut self) {
        for (id, times) in self.undo.drain(..) {
            change(&mut self.counts, id, -times);
        }
    }

    pub(super) fn mark(&self, held: &mut LiveIds) {
        self.counts.keys().for_each(|&id| held.mark(id));
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.counts.capacity() * (size_of::<(u64, i64)>() + 1)
    }
}

fn change(counts: &mut HashMap<u64, i64, SeedableRandomState>, id: u64, times: i64) {
    let count = counts.entry(id).or_default();
    *count += times;
    if *count == 0 {
        counts.remove(&id);
    }
}
