//! One pass over the rows of regions for each function.
//!
//! Invariant: a sum of integers or decimals is exact, or an overflow; sums of doubles carry what each addition lost, one
//! behind the other from the first row of the partition. Cost: O(rows of the regions) a function.

use arrow_row::Rows;
use ringview_core::Result;
use ringview_query::FrameEnd as End;

use super::plan::{Function, Plan, What, overflow};
use super::region::{Region, Regions};
use super::values::{NONE, Read, Values};
use crate::tree::Sums;

/// One more than the greatest decimal.
const LIMIT: i128 = 10i128.pow(38);

/// What is shown of the rows of regions at a time, each as often as it is there.
#[derive(Debug)]
pub(super) struct Shown {
    /// By row, the first of its values; behind them the number of all.
    pub(super) starts: Vec<u32>,
    pub(super) functions: Vec<Values>,
}

impl Plan {
    /// The values of all functions at a time: 0 before the transaction, 1 behind it.
    pub(super) fn values(
        &self,
        regions: &Regions<'_>,
        time: usize,
        read: &[Read],
    ) -> Result<Shown> {
        let mut starts = Vec::with_capacity(regions.rows.len() + 1);
        let mut all = 0;
        for entry in &regions.rows {
            starts.push(all);
            all += entry.copies[time] as u32;
        }
        starts.push(all);
        let rows = all as usize;
        let mut functions = Vec::with_capacity(self.functions.len());
        let mut others = regions.rows.len() as u32;
        let place = |region: &Region<'_>, at: usize, others: &mut u32| {
            let row = region.shown[at].map(|_| *others);
            *others += u32::from(row.is_some());
            row
        };
        for (at, function) in self.functions.iter().enumerate() {
            let mut values = Values::of(&function.what, rows);
            for region in &regions.all {
                let shown = place(region, at, &mut others);
                let pass = Pass {
                    plan: self,
                    function,
                    regions,
                    region,
                    time,
                };
                pass.run(&read[at], shown, &mut values)?;
            }
            functions.push(values);
        }
        Ok(Shown { starts, functions })
    }
}

/// A function over one region.
struct Pass<'p> {
    plan: &'p Plan,
    function: &'p Function,
    regions: &'p Regions<'p>,
    region: &'p Region<'p>,
    time: usize,
}

/// What is known of the rows so far.
trait Running {
    type Value: Clone;

    /// Takes copies of a row.
    fn add(&mut self, row: usize, copies: i64) -> Result<()>;

    /// The value over the rows so far.
    fn value(&self) -> Result<Self::Value>;
}

impl Pass<'_> {
    /// `shown` is the row before the region that the function shows, if it is there.
    fn run(&self, read: &Read, shown: Option<u32>, to: &mut Values) -> Result<()> {
        let (before, total) = (&self.region.before, &self.region.totals[self.time]);
        // Where all rows are summed up, and the sum fits, the total is known.
        let is_known = self.function.end == End::All && !self.plan.is_large(total);
        let sums = if is_known { total } else { before };
        match (&self.function.what, to) {
            (What::Rank, Values::Numbers(to)) => self.rank(to),
            (What::DenseRank, Values::Numbers(to)) => self.dense_rank(to),
            (What::Count(at), Values::Numbers(to)) => {
                return self.over(
                    Counted {
                        pass: self,
                        at: *at,
                        rows: counted(sums, *at),
                        is_known,
                    },
                    to,
                );
            }
            (
                What::Sum {
                    at, count, is_wide, ..
                },
                Values::Sums(to, _),
            ) => {
                let (count, is_wide) = (*count, *is_wide);
                let summed = self.summed(sums, (*at, count), (is_known, is_wide));
                return self.over(summed, to);
            }
            (What::Average { at, count, scale }, Values::Reals(to)) => {
                let summed = self.summed(sums, (*at, *count), (is_known, false));
                let unit = 10f64.powi(i32::from(*scale));
                return self.over(Averaged { summed, unit }, to);
            }
            (What::Real { is_average, .. }, Values::Reals(to)) => {
                if let Read::Reals(values) = read {
                    let real = Real {
                        values,
                        is_average: *is_average,
                        sum: 0.0,
                        lost: 0.0,
                        rows: 0.0,
                    };
                    return self.over(real, to);
                }
            }
            (What::Extreme { is_greatest, .. }, Values::Rows(to, _)) => {
                if let Read::Bytes(bytes, chosen) = read {
                    let extreme = Extreme {
                        bytes,
                        chosen,
                        is_greatest: *is_greatest,
                        best: NONE,
                    };
                    return self.over(extreme, to);
                }
            }
            (What::Nth { number, .. }, Values::Rows(to, _)) => {
                let nth = Nth {
                    left: number - before.copies,
                    row: shown.unwrap_or(NONE),
                };
                return self.over(nth, to);
            }
            (What::Last { .. }, Values::Rows(to, _)) => return self.over(Last(NONE), to),
            _ => {}
        }
        Ok(())
    }

    fn copies(&self, row: usize) -> i64 {
        self.regions.rows[row].copies[self.time]
    }

    fn weight(&self, row: usize, at: usize) -> i128 {
        self.regions.weights[row * self.plan.weights.len() + at]
    }

    /// The rows of each value of the order.
    fn peers(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let (mut from, end) = (self.region.rows.start, self.region.rows.end);
        std::iter::from_fn(move || {
            let mut to = from + 1;
            while to < end && !self.regions.rows[to].leads {
                to += 1;
            }
            (from < end).then(|| std::mem::replace(&mut from, to)..to)
        })
    }

    fn rank(&self, to: &mut Vec<i64>) {
        let mut rank = self.region.before.copies + 1;
        for rows in self.peers() {
            let copies: i64 = rows.map(|row| self.copies(row)).sum();
            to.extend(std::iter::repeat_n(rank, copies as usize));
            rank += copies;
        }
    }

    fn dense_rank(&self, to: &mut Vec<i64>) {
        let before = self.region.before.weights.last();
        let mut rank = before.map_or(0, |before| *before as i64);
        for rows in self.peers() {
            let copies: i64 = rows.map(|row| self.copies(row)).sum();
            rank += i64::from(copies > 0);
            to.extend(std::iter::repeat_n(rank, copies as usize));
        }
    }

    fn summed(
        &self,
        sums: &Sums,
        (at, count): (usize, Option<usize>),
        (is_known, is_wide): (bool, bool),
    ) -> Summed<'_> {
        Summed {
            pass: self,
            at,
            count,
            sum: sums.weights[at],
            rows: counted(sums, count),
            is_known,
            is_wide,
        }
    }

    /// The values of a function, by where its frames end.
    fn over<R: Running>(&self, mut state: R, to: &mut Vec<R::Value>) -> Result<()> {
        match self.function.end {
            End::Row => {
                for row in self.region.rows.clone() {
                    for _ in 0..self.copies(row) {
                        state.add(row, 1)?;
                        to.push(state.value()?);
                    }
                }
            }
            End::Peers => {
                for rows in self.peers() {
                    self.together(&mut state, rows, to)?;
                }
            }
            End::All => self.together(&mut state, self.region.rows.clone(), to)?,
        }
        Ok(())
    }

    fn together<R: Running>(
        &self,
        state: &mut R,
        rows: std::ops::Range<usize>,
        to: &mut Vec<R::Value>,
    ) -> Result<()> {
        let mut all = 0;
        for row in rows {
            let copies = self.copies(row);
            if copies > 0 {
                state.add(row, copies)?;
                all += copies;
            }
        }
        if all > 0 {
            to.extend(std::iter::repeat_n(state.value()?, all as usize));
        }
        Ok(())
    }
}

/// The number of rows that take part.
fn counted(sums: &Sums, at: Option<usize>) -> i64 {
    at.map_or(sums.copies, |at| sums.weights[at] as i64)
}

struct Counted<'p> {
    pass: &'p Pass<'p>,
    at: Option<usize>,
    rows: i64,
    /// Whether all rows are in it.
    is_known: bool,
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

struct Summed<'p> {
    pass: &'p Pass<'p>,
    at: usize,
    count: Option<usize>,
    sum: i128,
    rows: i64,
    /// Whether all rows are in it.
    is_known: bool,
    /// Whether it may not fit.
    is_wide: bool,
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

struct Averaged<'p> {
    summed: Summed<'p>,
    unit: f64,
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
struct Real<'p> {
    values: &'p [Option<f64>],
    is_average: bool,
    sum: f64,
    lost: f64,
    rows: f64,
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
            // What does not fit is infinite, and nothing is lost of it.
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

struct Extreme<'p> {
    bytes: &'p Rows,
    chosen: &'p [bool],
    is_greatest: bool,
    best: u32,
}

impl Running for Extreme<'_> {
    type Value = u32;

    fn add(&mut self, row: usize, _copies: i64) -> Result<()> {
        if !self.chosen[row] {
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

struct Nth {
    /// How many rows still come before it.
    left: i64,
    row: u32,
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

struct Last(u32);

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
