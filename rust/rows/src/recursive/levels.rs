//! `UNION ALL`: the bag of the rows of all levels.
//!
//! The rows of a level are those that the step derives from the rows of the level below, each as often as it is
//! derived. No row is derived from its own level, so counting is exact, in graphs with cycles too: a change moves up
//! level by level, and all that changes a level is known before the level is applied. Invariant: behind level l the
//! rows of the levels up to l are those of the query, so rows without the support of a seed do not support each other
//! in a cycle. Cost: the derivations of the rows that change, at each level that they change at.

use std::collections::BTreeMap;

use ringview_core::{Budget, Error, Result};

use super::facts::SEED;
use super::{MOST, Recursive, TableChange};
use crate::block::Changes;

/// By level and place, by how much a row changes.
type Rising = BTreeMap<i64, BTreeMap<usize, i64>>;

impl Recursive {
    pub(super) fn levels(
        &mut self,
        seeded: &[(Box<[u8]>, i64)],
        base: Vec<TableChange>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut rising = Rising::new();
        for (row, often) in seeded {
            let place = self.facts.position(row.clone());
            self.facts.note(place, SEED, *often)?;
            add(&mut rising, SEED + 1, place, *often)?;
        }
        let derived = self.run(base, budget)?;
        self.lift(&derived, &mut rising)?;
        self.rise(rising, budget)
    }

    /// The levels above seeds, which are noted.
    pub(super) fn raise(&mut self, seeds: Vec<(usize, i64)>, budget: &Budget<'_>) -> Result<()> {
        let mut rising = Rising::new();
        for (place, often) in seeds {
            add(&mut rising, SEED + 1, place, often)?;
        }
        self.rise(rising, budget)
    }

    fn rise(&mut self, mut rising: Rising, budget: &Budget<'_>) -> Result<()> {
        while let Some((level, rows)) = rising.pop_first() {
            let rows = rows.into_iter().filter(|(_, change)| *change != 0);
            let rows: Vec<(usize, i64, i64)> =
                rows.map(|(place, change)| (place, level, change)).collect();
            if rows.is_empty() {
                continue;
            }
            if level > MOST {
                return Err(self.endless());
            }
            let change = self.change(&rows)?;
            let derived = self.run(vec![change], budget)?;
            self.lift(&derived, &mut rising)?;
        }
        Ok(())
    }

    /// Notes what the step derives; it changes the level above.
    fn lift(&mut self, derived: &Changes, rising: &mut Rising) -> Result<()> {
        let (columns, often) = derived;
        if often.is_empty() {
            return Ok(());
        }
        let rows = self.encoding.encode(columns)?;
        let levels = self.encoding.levels(columns)?;
        for ((row, level), &often) in rows.into_iter().zip(levels.values()).zip(often) {
            let place = self.facts.position(row);
            self.facts.note(place, *level, often)?;
            add(rising, level + 1, place, often)?;
        }
        Ok(())
    }
}

fn add(rising: &mut Rising, level: i64, place: usize, often: i64) -> Result<()> {
    let change = rising.entry(level).or_default().entry(place).or_default();
    *change = change.checked_add(often).ok_or_else(|| Error::Overflow {
        place: "how often a recursion derives a row".to_owned(),
    })?;
    Ok(())
}
