//! One relation of a block, filtered.
//!
//! Invariant: a relation has the sums of the rows inserted and not deleted. Cost: that of each
//! kind of filter.

use ringview_core::Result;

use crate::machine::indexed::reader::RowReaders;
use crate::machine::query::{Cell, RowAt, Value};
use crate::tree::overflow;

/// Lanes of a relation at most: the whole range of doubles for two sums, and less for more; and at
/// first, when queries with more of them are refused.
const MOST: usize = 64;
pub(crate) const MOST_AT_FIRST: usize = 16;

/// Evaluates an expression with a constant that is so many lanes at least.
macro_rules! with_lanes {
    ($lanes:expr, $constant:ident => $value:expr) => {
        with_lanes!($lanes, $constant => $value, 2, 4, 8, 16, 32, 64)
    };
    ($lanes:expr, $constant:ident => $value:expr, $($count:literal),*) => {
        match $lanes {
            $(..=$count => {
                const $constant: usize = $count;
                $value
            })*
            _ => unreachable!("no more lanes than `MOST`"),
        }
    };
}
pub(crate) use with_lanes;

/// One relation of a block, with its filter.
pub(crate) trait FilteredRelation: std::fmt::Debug + Send + Sync {
    /// Its readers of rows.
    fn readers(&self) -> &RowReaders;
    /// The same, to give digits of doubles lanes.
    fn readers_mut(&mut self) -> &mut RowReaders;
    /// The capacity of its payloads, in lanes.
    fn capacity(&self) -> usize;
    /// The same with so many lanes. O(n).
    fn widened(&self, lanes: usize) -> Result<Box<dyn FilteredRelation>>;
    /// Gives a row's doubles lanes; returns the same, wider, where it must be.
    #[inline]
    fn widen_for(
        &mut self,
        table: usize,
        row: &RowAt<'_>,
    ) -> Result<Option<Box<dyn FilteredRelation>>> {
        let missing = self.readers().missing(table, row)?;
        if missing.is_empty() {
            return Ok(None);
        }
        let lanes = self.readers().lanes + missing.len();
        if lanes > MOST {
            return Err(overflow("doubles of so many sizes in several sums"));
        }
        self.readers_mut().extend(&missing);
        (lanes > self.capacity())
            .then(|| self.widened(lanes))
            .transpose()
    }
    /// Inserts or deletes a row of a table. After an error only `rollback` may follow.
    fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()>;
    /// Keeps the changes since the last commit.
    fn commit(&mut self);
    /// Undoes the changes since the last commit.
    fn rollback(&mut self);
    /// Removes all rows, for good.
    fn clear(&mut self);
    /// Calls `visit` with every table whose rows it takes.
    fn tables(&self, visit: &mut dyn FnMut(usize)) {
        self.readers()
            .all
            .iter()
            .for_each(|reader| visit(reader.table));
    }
    /// The values that it is to be given, the same for all rows.
    fn closed(&self) -> &[Value];
    /// The count and the sums over the rows that pass, given those.
    fn passing(&self, closed: &[Cell], into: &mut [i128]) -> Result<()>;
    /// Number of sums, the count among them.
    fn width(&self) -> usize;
    /// Whether no row can pass, whatever is given.
    fn is_empty(&self) -> bool;
    /// Whether it holds nothing.
    fn is_vacant(&self) -> bool;
    /// Number of its groups whose aggregates are not monotone now, so that `passing` walks them.
    fn walks(&self) -> usize;
    fn memory_usage(&self) -> usize;
    fn steps(&self) -> u64;
    fn copy(&self) -> Box<dyn FilteredRelation>;
}
