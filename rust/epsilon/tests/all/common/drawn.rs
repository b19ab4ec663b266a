//! Random transactions over several relations: tuples are inserted, and some existing ones are deleted.
use proptest::prelude::*;

use super::{Batch, Rows};

/// Raw numbers of a row: relation, values, multiplicity, and the existing tuple that is deleted instead.
pub type Raw = (usize, Vec<i64>, i64, Option<usize>);

/// Changes of a transaction, and whether they are made at once.
pub type Step = (Vec<Raw>, bool);

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = (
        0..60usize,
        prop::collection::vec(0..4i64, 4),
        1..3i64,
        prop::option::of(0..60usize),
    );
    let step = (prop::collection::vec(row, 1..12), any::<bool>());
    prop::collection::vec(step, 1..14)
}

/// The changes of a transaction beside tuples that are there: rows of one relation that follow each other are
/// one change.
pub fn changes(fields: &[Vec<usize>], there: &[Rows], rows: &[Raw]) -> Vec<(usize, Batch)> {
    let mut known = there.to_vec();
    let mut changes: Vec<(usize, Batch)> = Vec::new();
    for (relation, values, times, going) in rows {
        let at = relation % known.len();
        let tuples: Vec<&Vec<i64>> = known[at].keys().collect();
        let gone = going.and_then(|which| tuples.get(which % tuples.len().max(1)).copied());
        let (tuple, times) = match gone {
            Some(tuple) => (tuple.clone(), -known[at][tuple]),
            None => (values[..fields[at].len()].to_vec(), *times),
        };
        *known[at].entry(tuple.clone()).or_default() += times;
        known[at].retain(|_, times| *times != 0);
        match changes.last_mut() {
            Some((last, batch)) if *last == at => batch.push((tuple, times)),
            _ => changes.push((at, vec![(tuple, times)])),
        }
    }
    changes
}
