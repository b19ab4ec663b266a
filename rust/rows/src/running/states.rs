//! State of a pass after the rows so far, by function.
//!
//! Invariant: a state has taken the rows from the first one of its frame on, in their order. Cost: O(1) a row; where the total
//! is known, none.

use arrow_row::Rows;
use ringview_core::Result;

use super::over::Pass;
use super::plan::overflow;
use super::values::NONE;
use crate::tree::Sums;

/// One more than the greatest decimal.
const LIMIT: i128 = 10i128.pow(38);

/// State after the rows so far.
pub(super) trait Running {
    type Value: Clone;

    /// Takes copies of a row.
    fn add(&mut self, row: usize, copies: i64) -> Result<()>;

    /// The value over the rows so far.
    fn value(&self) -> Result<Self::Value>;
}

/// The number of rows that take part.
pub(super) fn counted(sums: &Sums, at: Option<usize>) -> i64 {
    at.map_or(sums.copies, |at| sums.weights[at] as i64)
}

pub(super) struct Counted<'p> {
    pub(super) pass: &'p Pass<'p>,
    pub(super) at: Option<usize>,
    pub(super) rows: i64,
    /// Whether all rows are in it.
    pub(super) is_known: bool,
}

impl Running for Counted<'_> {
    type Value = i64;

    fn add(&mut self, row: usize, copies: i64) -> Result<()> {
        if !self.is_known {
            let one = self.at.map_or(1, |at| self.pass.weight(row, at) as i64);
            self.rows += one * copies;
        }
        Ok(())
    }

    fn value(&self) -> Result<i64> {
        Ok(self.rows)
    }
}

pub(super) struct Summed<'p> {
    pub(super) pass: &'p Pass<'p>,
    pub(super) at: usize,
    pub(super) count: Option<usize>,
    pub(super) sum: i128,
    pub(super) rows: i64,
    /// Whether all rows are in it.
    pub(super) is_known: bool,
    /// Whether it may not fit.
    pub(super) is_wide: bool,
}

impl Running for Summed<'_> {
    type Value = Option<i128>;

    fn add(&mut self, row: usize, copies: i64) -> Result<()> {
        if self.is_known {
            return Ok(());
        }
        let value = self.pass.weight(row, self.at);
        let value = value.checked_mul(i128::from(copies));
        let sum = value.and_then(|value| self.sum.checked_add(value));
        self.sum = sum.ok_or_else(|| overflow(&self.pass.function.name))?;
        self.rows += self.count.map_or(1, |at| self.pass.weight(row, at) as i64) * copies;
        Ok(())
    }

    fn value(&self) -> Result<Option<i128>> {
        if self.is_wide && self.sum.abs() >= LIMIT {
            return Err(overflow(&self.pass.function.name));
        }
        Ok((self.rows > 0).then_some(self.sum))
    }
}

pub(super) struct Averaged<'p> {
    pub(super) summed: Summed<'p>,
    pub(super) unit: f64,
}

impl Running for Averaged<'_> {
    type Value = Option<f64>;

    fn add(&mut self, row: usize, copies: i64) -> Result<()> {
        self.summed.add(row, copies)
    }

    fn value(&self) -> Result<Option<f64>> {
        let Summed { sum, rows, .. } = self.summed;
        Ok((rows > 0).then(|| sum as f64 / self.unit / rows as f64))
    }
}

/// A sum of doubles, with what its additions lost.
pub(super) struct Real<'p> {
    pub(super) values: &'p [Option<f64>],
    pub(super) is_average: bool,
    pub(super) sum: f64,
    pub(super) lost: f64,
    pub(super) rows: f64,
}

impl Running for Real<'_> {
    type Value = Option<f64>;

    fn add(&mut self, row: usize, copies: i64) -> Result<()> {
        let Some(value) = self.values[row] else {
            return Ok(());
        };
        for _ in 0..copies {
            let sum = self.sum + value;
            let (great, small) = if self.sum.abs() >= value.abs() {
                (self.sum, value)
            } else {
                (value, self.sum)
            };
            // A sum out of range is infinite, without a rounding error to record.
            if sum.is_finite() {
                self.lost += (great - sum) + small;
            }
            self.sum = sum;
            self.rows += 1.0;
        }
        Ok(())
    }

    fn value(&self) -> Result<Option<f64>> {
        let sum = self.sum + self.lost;
        let value = if self.is_average {
            sum / self.rows
        } else {
            sum
        };
        Ok((self.rows > 0.0).then_some(value))
    }
}

pub(super) struct Extreme<'p> {
    pub(super) bytes: &'p Rows,
    pub(super) selected: &'p [bool],
    pub(super) is_greatest: bool,
    pub(super) best: u32,
}

impl Running for Extreme<'_> {
    type Value = u32;

    fn add(&mut self, row: usize, _copies: i64) -> Result<()> {
        if !self.selected[row] {
            return Ok(());
        }
        let is_better = self.best == NONE || {
            let (own, best) = (self.bytes.row(row), self.bytes.row(self.best as usize));
            if self.is_greatest {
                own > best
            } else {
                own < best
            }
        };
        if is_better {
            self.best = row as u32;
        }
        Ok(())
    }

    fn value(&self) -> Result<u32> {
        Ok(self.best)
    }
}

pub(super) struct Nth {
    /// Number of rows that still precede it.
    pub(super) left: i64,
    pub(super) row: u32,
}

impl Running for Nth {
    type Value = u32;

    fn add(&mut self, row: usize, copies: i64) -> Result<()> {
        if self.row == NONE && self.left < copies {
            self.row = row as u32;
        }
        self.left -= copies;
        Ok(())
    }

    fn value(&self) -> Result<u32> {
        Ok(self.row)
    }
}

pub(super) struct Last(pub(super) u32);

impl Running for Last {
    type Value = u32;

    fn add(&mut self, row: usize, _copies: i64) -> Result<()> {
        self.0 = row as u32;
        Ok(())
    }

    fn value(&self) -> Result<u32> {
        Ok(self.0)
    }
}
