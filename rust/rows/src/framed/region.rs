//! The parts of a partition where values may have changed.
//!
//! A row that is inserted or deleted changes the values of rows whose frames have it, and these frames reach farther.
//! With P rows before a row and F behind it, a region has P + F rows that did not change on both sides of its changes,
//! or all that there are. Invariant: those rows are the same before the transaction and behind it; values that may
//! differ are those of the last F before the changes, of all between them, and of the first P behind, and all of these
//! see only rows of the region. Regions share no such values. Cost: O(log n + rows of the regions).

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::Range;

use ringview_query::FrameBounds;

use crate::codec::Row;
use crate::partitions::{Net, Partition};

/// Rows of a partition in their order, and how often each was there and is there.
#[derive(Debug, Default)]
pub(super) struct Region<'r> {
    rows: Vec<(&'r Row, i64, i64)>,
    /// Rows before the first change, and behind the last, each as often as it is there.
    before: usize,
    behind: usize,
}

/// Before a transaction, or behind it.
#[derive(Clone, Copy)]
pub(super) enum When {
    Before,
    Behind,
}

impl<'r> Region<'r> {
    /// The rows of a time, each as often as it is there.
    pub(super) fn rows(&self, when: When) -> impl Iterator<Item = &'r Row> + '_ {
        self.rows.iter().flat_map(move |&(row, old, new)| {
            let copies = match when {
                When::Before => old,
                When::Behind => new,
            };
            std::iter::repeat_n(row, usize::try_from(copies).unwrap_or(0))
        })
    }

    /// Rows of the region, by position, that may have other values.
    pub(super) fn affected(&self, rows: usize, frame_bounds: FrameBounds) -> Range<usize> {
        let from = self.before.saturating_sub(frame_bounds.behind);
        let to = rows - self.behind.saturating_sub(frame_bounds.before);
        from..to.max(from)
    }
}

/// The regions of a partition by the rows that a transaction changed, as it is behind that.
pub(super) fn regions<'r>(
    partition: Option<&'r Partition>,
    changed: &'r Net<'r>,
    frame_bounds: FrameBounds,
) -> Vec<Region<'r>> {
    let margin = frame_bounds.rows();
    let mut regions = Vec::new();
    let mut next = changed.keys().next().copied();
    while let Some(first) = next {
        let mut region = Region::default();
        let before = partition.into_iter();
        let before = before.flat_map(|all| all.backward(Excluded(first)));
        for (row, copies) in before {
            if region.before >= margin {
                break;
            }
            region.rows.push((row, copies, copies));
            region.before += usize::try_from(copies).unwrap_or(0);
        }
        region.rows.reverse();
        let mut there = partition
            .into_iter()
            .flat_map(|all| all.forward(Included(first)))
            .peekable();
        let mut changes = changed
            .range::<&Row, _>((Included(first), Unbounded))
            .peekable();
        loop {
            let change = changes.peek().map(|(row, by)| (**row, by.copies));
            let row = there.peek().copied();
            match (change, row) {
                (Some((changed, by)), row) if row.is_none_or(|(row, _)| changed <= row) => {
                    if region.behind >= margin && !region.is_open() {
                        break;
                    }
                    changes.next();
                    let new = match row.filter(|(row, _)| *row == changed) {
                        Some((_, copies)) => {
                            there.next();
                            copies
                        }
                        None => 0,
                    };
                    region.rows.push((changed, new - by, new));
                    region.behind = 0;
                }
                (_, Some((row, copies))) => {
                    if region.behind >= margin {
                        break;
                    }
                    there.next();
                    region.rows.push((row, copies, copies));
                    region.behind += usize::try_from(copies).unwrap_or(0);
                }
                _ => break,
            }
        }
        next = changes.peek().map(|(row, _)| **row);
        regions.push(region);
    }
    regions
}

impl Region<'_> {
    /// Whether its last row changed: the next change belongs to it.
    fn is_open(&self) -> bool {
        self.behind == 0
    }
}
