//! Which rows of a delta have equal keys, found before their payloads are computed.
//!
//! Runs of equal keys are found by comparing neighbours: sorted input folds without hashing. Where
//! payloads are wide, keys that are scattered over the batch are found by hashing too, so that a
//! wide product is computed into one sum a key. Cost: O(rows), expected where keys are hashed.

use ringview_ring::Groups;

use crate::directory::{KeyScratch, Keys};
use crate::layout::KeyLayout;
use crate::part::Part;

/// Batches below this size are not hashed.
const WORTH_HASHING: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Each,
    Runs,
    Named,
}

/// The groups of a batch; keeps its memory between batches.
#[derive(Clone, Debug, Default)]
pub struct Grouper {
    kind: Kind,
    rows: usize,
    breaks: Vec<bool>,
    /// The first row of each group.
    first: Vec<u32>,
    of: Vec<u32>,
    keys: KeyScratch,
}

impl Grouper {
    /// Groups rows by the key columns; `layout` is the key's, `hash` asks for scattered ones too.
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
        breaks.resize(rows - 1, false);
        for &register in keys {
            // Two slices of one length: the compiler sees a loop over vectors.
            let column = &columns[register][..rows];
            let pairs = column[..rows - 1].iter().zip(&column[1..]);
            for (stop, (one, next)) in breaks.iter_mut().zip(pairs) {
                *stop |= one != next;
            }
        }
        let runs = 1 + breaks.iter().filter(|&&stop| stop).count();
        if hash && runs >= WORTH_HASHING {
            return self.hash(columns, keys, layout, least);
        }
        if runs == rows || runs * least > rows {
            return;
        }
        self.kind = Kind::Runs;
        let first = &mut self.first;
        first.clear();
        first.push(0);
        first.extend(
            (1u32..)
                .zip(breaks.iter())
                .filter(|(_, stop)| **stop)
                .map(|(row, _)| row),
        );
    }

    /// The slots of a fresh part number the distinct keys in the order in which they come.
    fn hash(&mut self, columns: &[Vec<u64>], keys: &[usize], layout: &KeyLayout, least: usize) {
        let mut seen = Part::new(layout.clone(), 0);
        seen.reserve(self.rows);
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

    /// The row that stands for each group, where a group may have several.
    #[must_use]
    pub fn representatives(&self) -> Option<&[u32]> {
        (self.kind != Kind::Each).then_some(&self.first)
    }
}
