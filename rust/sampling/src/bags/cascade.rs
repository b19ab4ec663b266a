//! A change on its way through bags to the sample.
//!
//! Invariant: bags stand before those that read them, so what a bag tells goes on; rows that come to one relation
//! of the acyclic join come to the sample together. Cost: that of the bags and of the sample.

use ringview_core::{Budget, Result};

use super::bag::Bag;
use crate::sample::{JoinSample, Predicate};

/// So many rows of a bag come to the sample together.
const TOGETHER: usize = 4096;

/// Rows of a relation of the acyclic join that came, of which the sample has not heard.
#[derive(Clone, Debug, Default)]
pub(super) struct Came {
    words: Vec<u64>,
    count: usize,
}

impl Came {
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
    pub(super) came: &'a mut [Came],
    pub(super) budget: &'a Budget<'m>,
}

impl<P: Predicate> Cascade<'_, '_, P> {
    /// A row of the acyclic join comes, with others.
    fn add(&mut self, atom: usize, row: &[u64]) -> Result<()> {
        let came = &mut self.came[atom];
        came.words.extend_from_slice(row);
        came.count += 1;
        match came.count < TOGETHER {
            true => Ok(()),
            false => self.bring(atom),
        }
    }

    /// The sample hears of the rows that came.
    fn bring(&mut self, atom: usize) -> Result<()> {
        let came = &mut self.came[atom];
        if came.count == 0 {
            return Ok(());
        }
        let done = self.sample.insert_all(atom, &came.words, came.count);
        came.clear();
        done
    }

    /// The sample hears of all rows that came.
    pub(super) fn bring_all(&mut self) -> Result<()> {
        (0..self.came.len()).try_for_each(|atom| self.bring(atom))
    }

    /// So many rows come to a part of a bag, and what they bring to whoever reads that bag; these stand behind it.
    pub(super) fn come(
        &mut self,
        (bags, first): (&mut [Bag], usize),
        (bag, part): (usize, usize),
        (rows, count): (&[u64], usize),
    ) -> Result<()> {
        let (here, behind) = split(bags, bag - first);
        let budget = self.budget;
        here.come((part, rows, count), budget, &mut |row, copies| {
            for _ in 0..copies {
                budget.work(1)?;
                if let Some(atom) = self.of_bag[bag] {
                    self.add(atom, row)?;
                }
                for &reader in &self.readers[bag] {
                    self.come((behind, bag + 1), reader, (row, 1))?;
                }
            }
            Ok(())
        })
    }

    /// A row of a part of a bag leaves, and what it brought leaves whoever reads that bag. False if it is not there.
    pub(super) fn leave(
        &mut self,
        (bags, first): (&mut [Bag], usize),
        (bag, part): (usize, usize),
        row: &[u64],
    ) -> Result<bool> {
        let (here, behind) = split(bags, bag - first);
        let budget = self.budget;
        here.leave((part, row), budget, &mut |row, copies| {
            for _ in 0..copies {
                budget.work(1)?;
                if let Some(atom) = self.of_bag[bag] {
                    let there = self.sample.delete(atom, row);
                    debug_assert!(there, "a row of a bag that left was there");
                }
                for &reader in &self.readers[bag] {
                    self.leave((behind, bag + 1), reader, row)?;
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
        .unwrap_or_else(|| unreachable!("who reads a bag stands behind it"))
}
