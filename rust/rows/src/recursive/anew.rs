//! Any step, computed anew: the table of the step holds the rows of the last round alone, as DuckDB has it.
//!
//! Aggregates, windows, LIMIT, NOT IN and joins of the recursion with itself see those rows, and no earlier ones, so what
//! they made of a round says nothing of another. Invariant: between transactions the table of the step is empty. Cost: all
//! rows, and what the step computes in each round.

use indexmap::IndexMap;
use ringview_core::{Budget, Result};

use super::facts::SEED;
use super::{MOST, Recursive, TableChange};
use crate::block::Changes;

/// Rows, each with how often it is there.
type Bag = IndexMap<Box<[u8]>, i64>;

impl Recursive {
    pub(super) fn anew(
        &mut self,
        seeded: &[(Box<[u8]>, i64)],
        base: Vec<TableChange>,
        distinct: bool,
        budget: &Budget<'_>,
    ) -> Result<()> {
        for (row, often) in seeded {
            let place = self.seeds.position(row.clone());
            self.seeds.note(place, SEED, *often)?;
        }
        let mut changes = base;
        let mut found = Bag::new();
        let seeds = self.seeds.all().filter(|(_, fact)| fact.total() > 0);
        let mut round: Vec<(Box<[u8]>, i64)> = seeds
            .map(|(row, fact)| (row.into(), fact.total()))
            .collect();
        for level in 0.. {
            if distinct {
                round.retain(|(row, _)| !found.contains_key(row));
                round.iter_mut().for_each(|(_, often)| *often = 1);
            }
            // The first round is there without a seed, too: a step may have rows of its own.
            if round.is_empty() && level > 0 {
                break;
            }
            if level > MOST {
                return Err(self.endless());
            }
            for (row, often) in &round {
                let so_far = found.entry(row.clone()).or_default();
                *so_far = so_far.saturating_add(*often);
            }
            let (columns, often) = self.columns(&round)?;
            changes.push((0, (columns.clone(), often.clone())));
            self.run(std::mem::take(&mut changes), budget)?;
            changes.push((0, (columns, often.iter().map(|often| -often).collect())));
            round = self.derived(budget)?;
        }
        self.run(changes, budget)?;
        self.publish(found)
    }

    fn columns(&self, rows: &[(Box<[u8]>, i64)]) -> Result<Changes> {
        let columns = self.encoding.decode(rows.iter().map(|(row, _)| &**row))?;
        Ok((columns, rows.iter().map(|(_, often)| *often).collect()))
    }

    /// Rows that the step derives from the round in its table.
    fn derived(&mut self, budget: &Budget<'_>) -> Result<Vec<(Box<[u8]>, i64)>> {
        let Some(step) = &self.step else {
            return Ok(Vec::new());
        };
        let (columns, often) = step.rows(budget)?;
        let mut rows = Bag::new();
        if !often.is_empty() {
            for (row, often) in self.encoding.encode(&columns)?.into_iter().zip(often) {
                *rows.entry(row).or_default() += often;
            }
        }
        rows.retain(|_, often| *often > 0);
        Ok(rows.into_iter().collect())
    }

    /// Lets the facts be what was found.
    fn publish(&mut self, found: Bag) -> Result<()> {
        for place in 0..self.facts.len() {
            let (row, fact) = self.facts.at(place);
            let (now, before) = (found.get(row).copied().unwrap_or(0), fact.total());
            if now != before {
                self.facts.note(place, SEED, now - before)?;
            }
        }
        for (row, often) in found {
            let before = self.facts.len();
            let place = self.facts.position(row);
            if place >= before {
                self.facts.note(place, SEED, often)?;
            }
        }
        Ok(())
    }
}
