//! The window of the rows of a partition that are shown.
//!
//! Invariant: the window is a range of numbers: of rows, of ranks or of dense ranks. Cost: the rows up to its end.

use ringview_query::{Ordering, Rank};

use crate::codec::Row;
use crate::partitions::Partition;

/// A row and how often it is shown.
pub(crate) type Shown = (Row, i64);

/// The rows that are shown, with how many of each, in order.
pub(crate) fn window<'p>(
    partition: &'p Partition,
    ordering: &'p Ordering,
) -> impl Iterator<Item = (&'p Row, i64)> + 'p {
    let end = ordering.keep.map(|keep| ordering.skip.saturating_add(keep));
    let mut numbered = Numbered {
        rank: ordering.rank,
        rows: 0,
        number: 0,
        last: None,
    };
    let rows = partition.rows().map(move |(row, multiplicity)| {
        let (first, behind) = numbered.next(row, multiplicity.unsigned_abs());
        (row, multiplicity, (first, behind))
    });
    let rows = rows.take_while(move |&(_, _, (first, _))| end.is_none_or(|end| first < end));
    rows.filter_map(move |(row, multiplicity, (first, behind))| {
        let from = first.max(ordering.skip);
        let to = end.map_or(behind, |end| behind.min(end));
        match ordering.rank {
            Rank::RowNumber => (from < to).then(|| (row, (to - from) as i64)),
            // All copies of a row have one number.
            _ => (first >= ordering.skip).then_some((row, multiplicity)),
        }
    })
}

/// Numbers rows in their order, from 0.
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
