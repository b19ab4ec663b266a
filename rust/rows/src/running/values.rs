//! The values of functions over the rows of regions.
//!
//! Invariant: a sum of integers or decimals is exact, or an overflow; sums of doubles carry what each addition lost, one
//! behind the other from the first row of the partition. Cost: O(rows of the regions) a function.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, UInt32Array,
};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_select::take::take;
use ringview_core::Result;
use ringview_query::FrameEnd as End;

use super::plan::{Function, Plan, What, overflow};
use super::region::{Region, Regions};
use crate::codec::refused;
use crate::numbers::{reals, units};
use crate::tree::Sums;

/// One more than the greatest decimal.
const LIMIT: i128 = 10i128.pow(38);

/// No row.
const NONE: u32 = u32::MAX;

/// The values of one function.
#[derive(Debug)]
pub(super) enum Values {
    Numbers(Vec<i64>),
    Sums(Vec<Option<i128>>, i8),
    Reals(Vec<Option<f64>>),
    /// Rows of the batch, whose values in a column are shown.
    Rows(Vec<u32>, usize),
}

/// What is shown of the rows of regions at a time, each as often as it is there.
#[derive(Debug)]
pub(super) struct Shown {
    /// By row, the first of its values; behind them the number of all.
    pub(super) starts: Vec<u32>,
    pub(super) functions: Vec<Values>,
}

/// What functions read of the columns of rows, by function.
#[derive(Debug, Default)]
pub(super) enum Read {
    #[default]
    Nothing,
    Reals(Vec<Option<f64>>),
    /// As bytes that compare as the values do; NULL and rows that take no part are absent.
    Bytes(Rows, Vec<bool>),
}

impl Plan {
    /// What its functions read of the rows of regions.
    pub(super) fn read(&self, batch: Option<&RecordBatch>) -> Result<Vec<Read>> {
        let of = |function: &Function| {
            let Some(batch) = batch else {
                return Ok(Read::Nothing);
            };
            let takes_part = |filter: Option<usize>| {
                let mask = filter.and_then(|at| units(batch.column(at)));
                move |row: usize| mask.as_ref().is_none_or(|mask| mask[row] == Some(1))
            };
            Ok(match function.what {
                What::Real { of, filter, .. } => {
                    let takes_part = takes_part(filter);
                    let all = reals(batch.column(of)).unwrap_or_default().into_iter();
                    let all = all.enumerate();
                    Read::Reals(
                        all.map(|(row, one)| one.filter(|_| takes_part(row)))
                            .collect(),
                    )
                }
                What::Extreme { of, filter, .. } => {
                    let (column, takes_part) = (batch.column(of), takes_part(filter));
                    let field = SortField::new(column.data_type().clone());
                    let converter = RowConverter::new(vec![field]).map_err(refused)?;
                    let bytes = converter.convert_columns(std::slice::from_ref(column));
                    let chosen =
                        (0..column.len()).map(|row| column.is_valid(row) && takes_part(row));
                    Read::Bytes(bytes.map_err(refused)?, chosen.collect())
                }
                _ => Read::Nothing,
            })
        };
        self.functions.iter().map(of).collect()
    }

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

impl Values {
    fn of(what: &What, rows: usize) -> Self {
        match *what {
            What::Rank | What::DenseRank | What::Count(_) => {
                Self::Numbers(Vec::with_capacity(rows))
            }
            What::Sum { scale, .. } => Self::Sums(Vec::with_capacity(rows), scale),
            What::Average { .. } | What::Real { .. } => Self::Reals(Vec::with_capacity(rows)),
            What::Extreme { of, .. } | What::Nth { of, .. } | What::Last { of } => {
                Self::Rows(Vec::with_capacity(rows), of)
            }
        }
    }

    /// Whether a value is the same as one of another time.
    pub(super) fn is_equal(&self, at: usize, other: &Self, there: usize) -> bool {
        match (self, other) {
            (Self::Numbers(own), Self::Numbers(other)) => own[at] == other[there],
            (Self::Sums(own, _), Self::Sums(other, _)) => own[at] == other[there],
            (Self::Reals(own), Self::Reals(other)) => {
                own[at].map(f64::to_bits) == other[there].map(f64::to_bits)
            }
            (Self::Rows(own, _), Self::Rows(other, _)) => own[at] == other[there],
            _ => false,
        }
    }

    /// Some of the values, then some of another time, as a column.
    pub(super) fn column(
        &self,
        own: &[u32],
        (other, there): (&Self, &[u32]),
        batch: Option<&RecordBatch>,
    ) -> Result<ArrayRef> {
        fn both<T: Copy>(
            own: &[T],
            at: &[u32],
            other: &[T],
            there: &[u32],
        ) -> impl Iterator<Item = T> {
            let own = at.iter().map(|&at| own[at as usize]);
            own.chain(there.iter().map(|&at| other[at as usize]))
        }
        Ok(match (self, other) {
            (Self::Numbers(one), Self::Numbers(other)) => {
                Arc::new(Int64Array::from_iter_values(both(one, own, other, there)))
            }
            (Self::Sums(one, scale), Self::Sums(other, _)) => {
                let sums: Decimal128Array = both(one, own, other, there).collect();
                Arc::new(sums.with_precision_and_scale(38, *scale).map_err(refused)?)
            }
            (Self::Reals(one), Self::Reals(other)) => {
                Arc::new(both(one, own, other, there).collect::<Float64Array>())
            }
            (Self::Rows(one, of), Self::Rows(other, _)) => {
                let rows = both(one, own, other, there).map(|row| (row != NONE).then_some(row));
                let rows: UInt32Array = rows.collect();
                let batch = batch.unwrap_or_else(|| unreachable!("rows that are shown are read"));
                take(batch.column(*of), &rows, None).map_err(refused)?
            }
            _ => unreachable!("a function has values of one kind"),
        })
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
