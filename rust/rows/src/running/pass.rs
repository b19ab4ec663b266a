//! One pass over the rows of regions for each function.
//!
//! Invariant: a sum of integers or decimals is exact, or an overflow; sums of doubles carry what each addition lost, one
//! behind the other from the first row of the partition. Cost: O(rows of the regions) a function.

use ringview_core::Result;
use ringview_query::FrameEnd as End;

use super::over::Pass;
use super::plan::{Plan, What};
use super::region::{Region, Regions};
use super::states::{Averaged, Counted, Extreme, Last, Nth, Real, Running, Summed, counted};
use super::values::{NONE, Read, Values};
use crate::tree::Sums;

/// Values of the rows of regions at a time, repeated by multiplicity.
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

impl Pass<'_> {
    /// `shown` is the row before the region that the function shows, if it is there.
    fn run(&self, read: &Read, shown: Option<u32>, to: &mut Values) -> Result<()> {
        let (before, total) = (&self.region.before, &self.region.totals[self.time]);
        // If the frame has all rows, and the sum fits, the total is known.
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
                if let Read::Bytes(bytes, selected) = read {
                    let extreme = Extreme {
                        bytes,
                        selected,
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
