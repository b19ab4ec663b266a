//! Samples under changes: what the relations hold meanwhile, and what is held of their join.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Budget, Error, Result};
use ringview_sampling::{Atom, Index, JoinSample, Predicate, Random};

use super::join;

/// A result by its rows.
pub type Rows = Vec<Vec<u64>>;

/// A change: relation, words, whether it is a delete.
pub type Change = (usize, Vec<u64>, bool);

/// Relations as multisets of rows.
#[derive(Clone, Default)]
pub struct Tables(pub Vec<Vec<Vec<u64>>>);

impl Tables {
    pub fn apply(&mut self, (atom, row, delete): &Change) {
        let table = &mut self.0[*atom];
        if *delete {
            let at = table.iter().position(|other| other == row).unwrap();
            table.remove(at);
        } else {
            table.push(row.clone());
        }
    }

    /// All results, as often as they are there.
    pub fn join(&self, atoms: &[Atom]) -> Vec<Rows> {
        let number = |table: &Vec<Vec<u64>>| -> BTreeMap<u32, Vec<u64>> {
            (0..).zip(table.iter().cloned()).collect()
        };
        let tuples: Vec<_> = self.0.iter().map(number).collect();
        let rows = |result: Vec<u32>| -> Rows {
            let pairs = result.iter().zip(&tuples);
            pairs.map(|(tuple, table)| table[tuple].clone()).collect()
        };
        let mut all: Vec<Rows> = join(atoms, &tuples).into_iter().map(rows).collect();
        all.sort_unstable();
        all
    }
}

pub fn apply<P: Predicate>(sample: &mut JoinSample<P>, (atom, row, delete): &Change) -> Result<()> {
    if *delete {
        assert!(sample.delete(*atom, row), "{row:?} is not there");
        Ok(())
    } else {
        sample.insert(*atom, row)
    }
}

/// Inserts all new rows together, relation by relation; then deletes rows.
pub fn apply_together<P: Predicate>(
    sample: &mut JoinSample<P>,
    atoms: &[Atom],
    changes: &[Change],
) -> Result<()> {
    for (atom, _) in atoms.iter().enumerate() {
        let come = |change: &&Change| change.0 == atom && !change.2;
        let rows: Vec<&Vec<u64>> = changes
            .iter()
            .filter(come)
            .map(|change| &change.1)
            .collect();
        let words: Vec<u64> = rows.iter().copied().flatten().copied().collect();
        sample.insert_all(atom, &words, rows.len())?;
    }
    let mut leave = changes.iter().filter(|change| change.2);
    leave.try_for_each(|change| apply(sample, change))
}

pub fn end<P: Predicate>(sample: &mut JoinSample<P>) {
    sample.prepare(&Budget::free()).unwrap();
    sample.commit();
}

pub fn held<P: Predicate>(sample: &JoinSample<P>) -> Vec<Rows> {
    let row = |(atom, &tuple): (usize, &u32)| sample.index().row(atom, tuple).to_vec();
    let rows = |result: &[u32]| result.iter().enumerate().map(row).collect();
    let mut all: Vec<Rows> = sample.results().map(rows).collect();
    all.sort_unstable();
    all
}

/// Rows of small joins: no row twice, so that a result is known by its rows.
pub fn phases(atoms: &[Atom]) -> [Vec<Change>; 3] {
    let mut random = Random::new(42);
    let mut come = Vec::new();
    let mut left = BTreeSet::new();
    while come.len() < 4 * atoms.len() {
        let atom = come.len() % atoms.len();
        let row: Vec<u64> = (0..atoms[atom].columns)
            .map(|column| {
                let own = column >= atoms[atom].variables.len();
                random.below(if own { 50 } else { 2 }) as u64
            })
            .collect();
        if left.insert((atom, row.clone())) {
            come.push((atom, row, false));
        } else if atoms[atom].columns == 1 {
            come.push((atom, vec![come.len() as u64], false));
        }
    }
    let leave = |change: &Change| (change.0, change.1.clone(), true);
    let gone: Vec<Change> = come.iter().step_by(5).map(leave).collect();
    let again: Vec<Change> = come.iter().step_by(10).cloned().collect();
    [come, gone, again]
}

/// Results whose first columns add up to an even number; breaks at a row of its own.
#[derive(Clone, Debug)]
pub struct Even {
    pub broken: u64,
}

impl Predicate for Even {
    fn holds(&self, index: &Index, result: &[u32]) -> Result<bool> {
        let words = result
            .iter()
            .enumerate()
            .map(|(atom, &t)| *index.row(atom, t).last().unwrap());
        if words.clone().any(|word| word == self.broken) {
            return Err(Error::Interrupted);
        }
        Ok(words.sum::<u64>() % 2 == 0)
    }
}

/// Whether a result passes.
pub fn even(result: &Rows) -> bool {
    result.iter().map(|row| row.last().unwrap()).sum::<u64>() % 2 == 0
}
