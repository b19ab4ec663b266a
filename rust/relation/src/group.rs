//! Groups the rows of a delta by equal keys, before their payloads are computed.
//!
//! Runs of equal keys are found by comparing neighbours: sorted input folds without hashing. Keys
//! scattered over the batch are found by hashing too, in two cases: payloads are wide, so that a
//! wide product is computed into one sum a key; or a sample of many rows shows that few keys
//! repeat. Cost: O(rows), expected where keys are hashed.

use multiversion::multiversion;
use ringview_ring::Groups;

use crate::directory::{KeyScratch, Keys};
use crate::keyed_table::KeyedTable;
use crate::layout::KeyLayout;

/// Batches below this size are not hashed.
const WORTH_HASHING: usize = 16;
/// Rows that are sampled to estimate the repetition of keys, in a batch of at least [`WORTH_A_SAMPLE`].
const SAMPLE: usize = 256;
const WORTH_A_SAMPLE: usize = 1 << 13;
/// Rows of a run, on average, that need no hashing beside.
const LONG_RUN: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Each,
    Runs,
    Named,
}

/// Marks the rows of a column whose next one is another; how many rows are marked by then.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
fn mark(column: &[u64], breaks: &mut [u8]) -> usize {
    // Slices of one length: the compiler sees loops over vectors.
    let rows = breaks.len();
    let (ones, nexts) = (&column[..rows], &column[1..=rows]);
    for ((stop, one), next) in breaks.iter_mut().zip(ones).zip(nexts) {
        *stop |= u8::from(one != next);
    }
    let (blocks, rest) = breaks.as_chunks::<128>();
    let sum = |block: &[u8]| usize::from(block.iter().sum::<u8>());
    blocks.iter().map(|block| sum(block)).sum::<usize>() + sum(rest)
}

/// The groups of a batch; keeps its memory between batches.
#[derive(Clone, Debug, Default)]
pub struct Grouper {
    kind: Kind,
    rows: usize,
    /// By row but the last, 1 if the next one has another key.
    breaks: Vec<u8>,
    /// The first row of each group.
    first: Vec<u32>,
    of: Vec<u32>,
    keys: KeyScratch,
}

impl Grouper {
    /// Groups rows by the key columns; `layout` is the key's, `hash` requests that scattered keys
    /// be found too.
    pub fn group(
        &mut self,
        columns: &[Vec<u64>],
        keys: &[usize],
        rows: usize,
        layout: &KeyLayout,
        hash: bool,
    ) {
        self.group_from(1, columns, keys, rows, layout, hash);
    }

    /// As `group`, where groups of fewer rows than `least`, on average, are not worth being made.
    pub fn group_from(
        &mut self,
        least: usize,
        columns: &[Vec<u64>],
        keys: &[usize],
        rows: usize,
        layout: &KeyLayout,
        hash: bool,
    ) {
        self.rows = rows;
        self.kind = Kind::Each;
        if rows < 2 {
            return;
        }
        let breaks = &mut self.breaks;
        breaks.clear();
        breaks.resize(rows - 1, 0);
        let mut stops = 0;
        for &register in keys {
            stops = mark(&columns[register][..rows], breaks);
        }
        let runs = 1 + stops;
        if hash && runs >= WORTH_HASHING {
            return self.hash(columns, keys, layout, least, rows);
        }
        if !hash && runs * LONG_RUN > rows && do_repeat(columns, keys, rows) {
            return self.hash(columns, keys, layout, least, WORTH_A_SAMPLE);
        }
        if runs == rows || runs * least > rows {
            return;
        }
        self.kind = Kind::Runs;
        // Every row is written down, and the next one over it unless it ended a run: no branch is
        // guessed.
        let first = &mut self.first;
        first.clear();
        first.resize(runs + 1, 0);
        let mut run = 1;
        for (row, &stop) in (1u32..).zip(breaks.iter()) {
            first[run] = row;
            run += usize::from(stop);
        }
        first.truncate(runs);
    }

    /// Numbers the distinct keys by their first rows: they are the slots of a fresh table, created with capacity for
    /// some keys.
    fn hash(
        &mut self,
        columns: &[Vec<u64>],
        keys: &[usize],
        layout: &KeyLayout,
        least: usize,
        room: usize,
    ) {
        let mut seen = KeyedTable::new(layout.clone(), 0);
        seen.reserve(room);
        let batch = Keys {
            columns,
            fields: keys,
            rows: self.rows,
        };
        seen.locate(batch, &mut self.keys, &mut self.of);
        if seen.len() == self.rows || seen.len() * least > self.rows {
            return;
        }
        self.kind = Kind::Named;
        self.first.clear();
        for (row, &group) in (0u32..).zip(&self.of) {
            if group as usize == self.first.len() {
                self.first.push(row);
            }
        }
    }

    /// The groups that were found last.
    #[must_use]
    pub fn groups(&self) -> Groups<'_> {
        match self.kind {
            Kind::Each => Groups::Each(self.rows),
            Kind::Runs => Groups::Runs {
                starts: &self.first,
                rows: self.rows,
            },
            Kind::Named => Groups::Named {
                of: &self.of,
                groups: self.first.len(),
            },
        }
    }

    /// Representative row of each group, where a group may have several rows.
    #[must_use]
    pub fn representatives(&self) -> Option<&[u32]> {
        (self.kind != Kind::Each).then_some(&self.first)
    }
}

/// Whether a batch has, by a sample of its rows, four rows a key and a few thousand keys at the most. With K keys,
/// S rows that are drawn have about S^2 / 2K repeats.
fn do_repeat(columns: &[Vec<u64>], keys: &[usize], rows: usize) -> bool {
    if rows < WORTH_A_SAMPLE {
        return false;
    }
    let drawn = (0..SAMPLE).map(|at| at * rows / SAMPLE);
    let key = |row: usize| -> Vec<u64> { keys.iter().map(|&key| columns[key][row]).collect() };
    let mut drawn: Vec<Vec<u64>> = drawn.map(key).collect();
    drawn.sort_unstable();
    drawn.dedup();
    let repeats = SAMPLE - drawn.len();
    repeats >= (SAMPLE / 16).max(2 * SAMPLE * SAMPLE / rows)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Grouper, Groups, WORTH_A_SAMPLE};
    use crate::layout::{KeyField, KeyLayout};

    /// Keys of a large batch that are scattered over it are found where they are few.
    #[test]
    fn few_keys_of_many_rows_are_named() {
        let rows = 3 * WORTH_A_SAMPLE;
        let word = KeyField {
            bits: 64,
            signed: false,
        };
        let layout = KeyLayout::new(&[word]);
        for (keys, named) in [(4, true), (300, true), (rows as u64, false)] {
            let column: Vec<u64> = (0..rows as u64).map(|row| row * 7919 % keys).collect();
            let mut grouper = Grouper::default();
            let columns = std::slice::from_ref(&column);
            grouper.group_from(1, columns, &[0], rows, &layout, false);
            match grouper.groups() {
                Groups::Named { of, groups } => {
                    assert!(named && groups as u64 == keys);
                    let first = grouper.representatives().unwrap();
                    let is_own = |(row, &group): (usize, &u32)| {
                        column[first[group as usize] as usize] == column[row]
                    };
                    assert!(of.iter().enumerate().all(is_own));
                }
                other => assert!(!named, "{other:?}"),
            }
        }
    }

    proptest! {
        /// Against a comparison of all neighbours, in runs of any length up to several blocks.
        #[test]
        fn runs_begin_where_the_key_changes(
            runs in prop::collection::vec((0..3_u64, 0..2_u64, 1..200_usize), 0..12), least in 1..4_usize,
        ) {
            let row = |&(one, other, rows): &(u64, u64, usize)| std::iter::repeat_n((one, other), rows);
            let keys: Vec<(u64, u64)> = runs.iter().flat_map(row).collect();
            let columns = [keys.iter().map(|key| key.1).collect(), keys.iter().map(|key| key.0).collect()];
            let starts = (0..keys.len()).filter(|&row| row == 0 || keys[row] != keys[row - 1]);
            let starts: Vec<u32> = starts.map(|row| row as u32).collect();
            let worth = starts.len() < keys.len() && starts.len() * least <= keys.len();
            let layout = KeyLayout::new(&[]);
            let mut grouper = Grouper::default();
            // Twice: what it keeps of a batch is not seen in the next.
            for _ in 0..2 {
                grouper.group_from(least, &columns, &[1, 0], keys.len(), &layout, false);
                match grouper.groups() {
                    Groups::Runs { starts: found, rows } => {
                        prop_assert!(worth);
                        prop_assert_eq!((found, rows), (&starts[..], keys.len()));
                    }
                    Groups::Each(rows) => prop_assert!(!worth && rows == keys.len()),
                    Groups::Named { .. } => prop_assert!(false, "nothing is hashed"),
                }
            }
        }
    }
}
