//! A change on its way through bags to the sample.
//!
//! Invariant: bags are ordered before their readers, so that changes only move forward; rows inserted into one relation
//! of the acyclic join reach the sample together. Cost: that of the bags and of the sample.

use ringview_core::{Budget, Result};

use super::bag::Bag;
use crate::sample::{JoinSample, Predicate};

/// So many rows of a bag are inserted into the sample together.
const BATCH: usize = 4096;

/// Rows of a relation of the acyclic join that are not in the sample yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    words: Vec<u64>,
    count: usize,
}

impl Pending {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.count = 0;
    }
}

/// A change on its way through bags to the sample.
pub(super) struct Cascade<'a, 'm, P> {
    pub(super) sample: &'a mut JoinSample<P>,
    pub(super) of_bag: &'a [Option<usize>],
    pub(super) readers: &'a [Vec<(usize, usize)>],
    pub(super) pending: &'a mut [Pending],
    pub(super) budget: &'a Budget<'m>,
}

impl<P: Predicate> Cascade<'_, '_, P> {
    /// Inserts a row of the acyclic join, with others.
    fn add(&mut self, atom: usize, row: &[u64]) -> Result<()> {
        let pending = &mut self.pending[atom];
        pending.words.extend_from_slice(row);
        pending.count += 1;
        match pending.count < BATCH {
            true => Ok(()),
            false => self.flush(atom),
        }
    }

    /// Inserts the pending rows into the sample.
    fn flush(&mut self, atom: usize) -> Result<()> {
        let pending = &mut self.pending[atom];
        if pending.count == 0 {
            return Ok(());
        }
        let done = self.sample.insert_all(atom, &pending.words, pending.count);
        pending.clear();
        done
    }

    /// Inserts all pending rows into the sample.
    pub(super) fn flush_all(&mut self) -> Result<()> {
        (0..self.pending.len()).try_for_each(|atom| self.flush(atom))
    }

    /// Inserts so many rows of an input of a bag, and the rows that it emits into its readers, which are behind it.
    pub(super) fn insert(
        &mut self,
        (bags, first): (&mut [Bag], usize),
        (bag, input): (usize, usize),
        (rows, count): (&[u64], usize),
    ) -> Result<()> {
        let (here, behind) = split(bags, bag - first);
        let budget = self.budget;
        here.insert((input, rows, count), budget, &mut |row, copies| {
            for _ in 0..copies {
                budget.work(1)?;
                if let Some(atom) = self.of_bag[bag] {
                    self.add(atom, row)?;
                }
                for &reader in &self.readers[bag] {
                    self.insert((behind, bag + 1), reader, (row, 1))?;
                }
            }
            Ok(())
        })
    }

    /// Deletes a row of an input of a bag, and the rows that it emits from its readers. False if it is not there.
    pub(super) fn delete(
        &mut self,
        (bags, first): (&mut [Bag], usize),
        (bag, input): (usize, usize),
        row: &[u64],
    ) -> Result<bool> {
        let (here, behind) = split(bags, bag - first);
        let budget = self.budget;
        here.delete((input, row), budget, &mut |row, copies| {
            for _ in 0..copies {
                budget.work(1)?;
                if let Some(atom) = self.of_bag[bag] {
                    let there = self.sample.delete(atom, row);
                    debug_assert!(there, "a deleted row of a bag was there");
                }
                for &reader in &self.readers[bag] {
                    self.delete((behind, bag + 1), reader, row)?;
                }
            }
            Ok(())
        })
    }
}

/// A bag, and those behind it.
fn split(bags: &mut [Bag], at: usize) -> (&mut Bag, &mut [Bag]) {
    bags[at..]
        .split_first_mut()
        .unwrap_or_else(|| unreachable!("readers are behind their bags"))
}
