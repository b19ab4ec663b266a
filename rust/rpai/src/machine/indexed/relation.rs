//! What an outer relation asks of how its rows are chosen.

use ringview_core::Result;

use crate::machine::query::plan::Value;
use crate::machine::query::row::{Cell, RowAt};

/// One relation of a block, with whatever chooses its rows.
pub(crate) trait Part: std::fmt::Debug + Send + Sync {
    /// Sees to it that a row's doubles have lanes; the same, wider, where it must be that.
    fn make_room(&mut self, table: usize, row: &RowAt<'_>) -> Result<Option<Box<dyn Part>>>;
    /// A row of a table comes or goes. After an error only `rollback` may follow.
    fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()>;
    /// What came since the last commit stays.
    fn commit(&mut self);
    /// What came since the last commit goes.
    fn rollback(&mut self);
    /// All rows go at once, for good.
    fn clear(&mut self);
    /// Calls `visit` with every table whose rows it takes.
    fn tables(&self, visit: &mut dyn FnMut(usize));
    /// The values that it is to be given, the same for all rows.
    fn closed(&self) -> &[Value];
    /// The count and the sums over the rows that pass, given those.
    fn passing(&self, closed: &[Cell], into: &mut [i128]) -> Result<()>;
    /// How many sums there are, the count among them.
    fn width(&self) -> usize;
    /// Whether no row can pass, whatever is given.
    fn is_empty(&self) -> bool;
    /// Whether it holds nothing.
    fn is_vacant(&self) -> bool;
    /// How many groups it has whose aggregates go up and down now, so that `passing` walks them.
    fn walks(&self) -> usize;
    fn memory_usage(&self) -> usize;
    fn steps(&self) -> u64;
    fn copy(&self) -> Box<dyn Part>;
}
