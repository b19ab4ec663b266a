//! The rows of one partition in their order, and the window of those that are shown.
//!
//! Invariant: a row is there while its multiplicity is not 0. The window is a range of numbers: of rows, of ranks or of
//! dense ranks. Cost: O(log n) a change; the window costs the rows up to its end.

use std::collections::BTreeMap;

use ringview_query::{Ordering, Rank};

use super::codec::Row;

/// A row and how often it is shown.
pub(crate) type Shown = (Row, i64);

/// Rows with multiplicities, in order.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    rows: BTreeMap<Row, i64>,
}

impl Partition {
    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many different rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds to the multiplicity of a row; by how many bytes the partition grows.
    pub(crate) fn add(&mut self, row: &Row, change: i64) -> isize {
        let bytes = row.bytes() as isize;
        let Some(known) = self.rows.get_mut(row) else {
            self.rows.insert(row.clone(), change);
            return bytes;
        };
        *known += change;
        if *known != 0 {
            return 0;
        }
        self.rows.remove(row);
        -bytes
    }

    /// The rows that are shown, with how many of each, in order.
    pub(crate) fn window<'p>(
        &'p self,
        ordering: &'p Ordering,
    ) -> impl Iterator<Item = (&'p Row, i64)> + 'p {
        let end = ordering.keep.map(|keep| ordering.skip.saturating_add(keep));
        let mut numbered = Numbered {
            rank: ordering.rank,
            rows: 0,
            number: 0,
            last: None,
        };
        let rows = self
            .rows
            .iter()
            .filter(|(_, multiplicity)| **multiplicity > 0);
        let rows = rows.map(move |(row, &multiplicity)| {
            let (first, behind) = numbered.next(row, multiplicity.unsigned_abs());
            (row, first, behind)
        });
        let rows = rows.take_while(move |&(_, first, _)| end.is_none_or(|end| first < end));
        rows.filter_map(move |(row, first, behind)| {
            let from = first.max(ordering.skip);
            let to = end.map_or(behind, |end| behind.min(end));
            match ordering.rank {
                Rank::RowNumber => (from < to).then(|| (row, (to - from) as i64)),
                // All copies of a row have one number.
                _ => (first >= ordering.skip).then(|| (row, self.rows[row])),
            }
        })
    }
}

/// Numbers rows as they come in their order, from 0.
struct Numbered<'p> {
    rank: Rank,
    /// Rows so far.
    rows: u64,
    /// The number of the last row.
    number: u64,
    last: Option<&'p Row>,
}

impl<'p> Numbered<'p> {
    /// The numbers of the copies of a row: the first, and the one behind the last.
    fn next(&mut self, row: &'p Row, copies: u64) -> (u64, u64) {
        let is_peer = self.last.is_some_and(|last| last.order == row.order);
        let first = match self.rank {
            Rank::RowNumber => self.rows,
            _ if is_peer => self.number,
            Rank::Rank => self.rows,
            Rank::DenseRank => self.last.map_or(0, |_| self.number + 1),
        };
        self.rows = self.rows.saturating_add(copies);
        (self.number, self.last) = (first, Some(row));
        (first, first.saturating_add(copies))
    }
}
