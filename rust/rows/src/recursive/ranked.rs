//! `UNION`: the least fixpoint of distinct rows, by delete-and-rederive where derivations form cycles.
//!
//! A row has a rank above that of a row which it is derived from, or of the seed. So a row that loses a derivation
//! stays where it keeps one from below its rank: that one rests on nothing derived from the row itself. All others that
//! lose one are deleted, with what loses its foundation by that, and then whatever still has a derivation is inserted
//! again, until nothing new is derived (semi-naive evaluation). A step that cannot hand on ranks derives from the level
//! `UNKNOWN`, above all ranks, and that is ordinary delete-and-rederive. A lost derivation and a new one of the same
//! row must then not cancel out, so deletes from the tables are applied first.
//!
//! Invariant: behind the deletion each row is founded by rows that are there, and behind the insertion each row that is
//! derived is there. Cost: the derivations of the rows that are deleted and inserted.

use arrow_array::BooleanArray;
use arrow_select::filter::filter;
use ringview_core::{Budget, Result};
use ringview_query::Strategy;

use super::facts::{SEED, UNKNOWN};
use super::{MOST, Recursive, TableChange};
use crate::block::Changes;
use crate::codec::refused;

/// Rows that gained derivations, and rows that lost some; by their places.
#[derive(Default)]
struct Touched {
    gained: Vec<usize>,
    lost: Vec<usize>,
}

impl Touched {
    fn note(&mut self, place: usize, change: i64) {
        match change {
            1.. => self.gained.push(place),
            0 => {}
            _ => self.lost.push(place),
        }
    }
}

impl Recursive {
    pub(super) fn ranked(
        &mut self,
        seeded: &[(Box<[u8]>, i64)],
        base: Vec<TableChange>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut touched = Touched::default();
        for (row, often) in seeded {
            let place = self.facts.position(row.clone());
            self.facts.note(place, SEED, *often)?;
            touched.note(place, *often);
        }
        let (first, second) = match self.definition.strategy {
            Strategy::Rederived => parted(&base)?,
            _ => (base, Vec::new()),
        };
        let derived = self.run(first, budget)?;
        self.derive(&derived, &mut touched)?;
        self.retract(&mut touched, budget)?;
        let derived = self.run(second, budget)?;
        self.derive(&derived, &mut touched)?;
        self.extend(touched.gained, budget)
    }

    /// Notes what the step derives, and no longer derives.
    fn derive(&mut self, derived: &Changes, touched: &mut Touched) -> Result<()> {
        let (columns, often) = derived;
        if often.is_empty() {
            return Ok(());
        }
        let rows = self.encoding.encode(columns)?;
        let levels = match self.definition.strategy.level() {
            Some(_) => Some(self.encoding.levels(columns)?),
            None => None,
        };
        for ((at, row), &often) in rows.into_iter().enumerate().zip(often) {
            let place = self.facts.position(row);
            let level = levels.map_or(UNKNOWN, |levels| levels.value(at));
            self.facts.note(place, level, often)?;
            touched.note(place, often);
        }
        Ok(())
    }

    /// Deletes the rows that have lost their foundation, and those that rest on them.
    fn retract(&mut self, touched: &mut Touched, budget: &Budget<'_>) -> Result<()> {
        loop {
            let mut lost = std::mem::take(&mut touched.lost);
            lost.sort_unstable();
            lost.dedup();
            let leaving = lost.into_iter().filter_map(|place| {
                let fact = self.facts.at(place).1;
                let rank = fact.rank.filter(|_| !fact.is_founded())?;
                Some((place, rank, -1))
            });
            let leaving: Vec<(usize, i64, i64)> = leaving.collect();
            if leaving.is_empty() {
                return Ok(());
            }
            let change = self.change(&leaving)?;
            let derived = self.run(vec![change], budget)?;
            for (place, ..) in leaving {
                self.facts.rank(place, None);
                touched.gained.push(place);
            }
            self.derive(&derived, touched)?;
        }
    }

    /// Inserts the rows among these that are derived, and what is derived from them.
    pub(super) fn extend(&mut self, gained: Vec<usize>, budget: &Budget<'_>) -> Result<()> {
        let mut touched = Touched {
            gained,
            ..Touched::default()
        };
        for _ in 0..MOST {
            let mut gained = std::mem::take(&mut touched.gained);
            gained.sort_unstable();
            gained.dedup();
            let entering = gained.into_iter().filter_map(|place| {
                let fact = self.facts.at(place).1;
                let least = fact.least().filter(|_| fact.rank.is_none())?;
                let rank = if least == UNKNOWN { 0 } else { least + 1 };
                Some((place, rank, 1))
            });
            let entering: Vec<(usize, i64, i64)> = entering.collect();
            if entering.is_empty() {
                return Ok(());
            }
            if entering.iter().any(|(_, rank, _)| *rank > MOST) {
                break;
            }
            let change = self.change(&entering)?;
            let derived = self.run(vec![change], budget)?;
            for (place, rank, _) in entering {
                self.facts.rank(place, Some(rank));
            }
            self.derive(&derived, &mut touched)?;
        }
        Err(self.endless())
    }
}

/// Deletes from tables, and inserts.
fn parted(changes: &[TableChange]) -> Result<(Vec<TableChange>, Vec<TableChange>)> {
    let of = |leaves: bool| {
        let one = |(table, (columns, often)): &TableChange| {
            let own: BooleanArray = often
                .iter()
                .map(|often| Some((*often < 0) == leaves))
                .collect();
            let columns = columns.iter().map(|column| filter(column, &own));
            let columns = columns.collect::<std::result::Result<_, _>>();
            let often = often.iter().filter(|often| (**often < 0) == leaves);
            Ok((
                *table,
                (columns.map_err(refused)?, often.copied().collect()),
            ))
        };
        changes
            .iter()
            .map(one)
            .collect::<Result<Vec<TableChange>>>()
    };
    Ok((of(true)?, of(false)?))
}
