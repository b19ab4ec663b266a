//! Rows one after the other, each as often as it is there.
//!
//! Invariant: what is behind the place is what was not given yet. Cost: constant delay a row; to pass over
//! rows a step a listed row, and one a key of a root.

use ringview_core::{Error, Result};
use ringview_ring::SumProduct;
use ringview_view::answer::ResultRows;

use crate::machine::{Machine, RowBlock, RowCursor};

/// Rows that are made at a time.
pub(super) const BLOCK: usize = 1 << 16;

/// Position of a read of rows, each repeated by its multiplicity.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    pub(super) at: RowCursor,
    block: RowBlock,
    /// The next row of the block, and how often it was given already.
    next: usize,
    given: i64,
}

impl Reader {
    /// Number of repetitions of the next row that are left; `None` behind the last.
    fn left(&mut self, machine: &Machine<SumProduct>, most: usize) -> Result<Option<i64>> {
        if self.next == self.block.times.len() {
            self.block = machine.read_rows(&mut self.at, most.clamp(1, BLOCK))?;
            (self.next, self.given) = (0, 0);
        }
        let Some(&times) = self.block.times.get(self.next) else {
            return Ok(None);
        };
        if times <= 0 {
            return Err(negative());
        }
        Ok(Some(times - self.given))
    }

    /// The next rows, so many at the most; none behind the last.
    pub(super) fn read(
        &mut self,
        machine: &Machine<SumProduct>,
        most: usize,
    ) -> Result<ResultRows> {
        let mut rows = ResultRows::default();
        while let Some(left) = self.left(machine, most - rows.rows)? {
            rows.columns.resize_with(self.block.columns.len(), Vec::new);
            let room = most - rows.rows;
            if room == 0 {
                break;
            }
            let single = self.block.times[self.next..].iter().take(room);
            let single = single.take_while(|times| **times == 1).count();
            let columns = rows.columns.iter_mut().zip(&self.block.columns);
            if single > 0 {
                for (column, from) in columns {
                    column.extend_from_slice(&from[self.next..self.next + single]);
                }
                self.next += single;
                rows.rows += single;
                continue;
            }
            let taken = left.min(room as i64);
            for (column, from) in columns {
                column.extend(std::iter::repeat_n(from[self.next], taken as usize));
            }
            rows.rows += taken as usize;
            self.pass_some(left, taken);
        }
        Ok(rows)
    }

    /// Passes over so many rows.
    pub(super) fn pass(&mut self, machine: &Machine<SumProduct>, rows: u64) -> Result<()> {
        let mut passed = machine.skip_rows(&mut self.at, rows)? as i64;
        while passed > 0 {
            let Some(left) = self.left(machine, BLOCK)? else {
                return Ok(());
            };
            let taken = left.min(passed);
            self.pass_some(left, taken);
            passed -= taken;
        }
        Ok(())
    }

    fn pass_some(&mut self, left: i64, taken: i64) {
        match taken == left {
            true => (self.next, self.given) = (self.next + 1, 0),
            false => self.given += taken,
        }
    }
}

/// That rows were deleted that were not there.
pub(super) fn negative() -> Error {
    Error::Value {
        place: "the rows of a join".to_owned(),
        problem: "rows were deleted that were not there".to_owned(),
    }
}
