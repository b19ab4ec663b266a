//! The columns of a result that are read from the members of payloads.
//!
//! Invariant: sums keep all their digits until they are rounded for the last division; a sum over no
//! value is NULL, and what does not fit its type is an overflow. Cost: O(rows) a column.

use arrow_schema::Field;
use ringview_core::{Dictionary, Error, Result, Type};
use ringview_query as query;
use ringview_query::{Kind, OutputKind, PlanOutput};
use ringview_ring::{Expansion, Number, NumberKind};

use super::cells::Cells;
use super::members::Members;
use super::rows::ResultRows;
use super::statistics::{Moments, Sum};
use super::values::{GREATEST, LEAST};

impl Members {
    /// The Arrow field of an output, one of `columns`, that is no group. Only counts are never NULL.
    pub(crate) fn field(&self, output: &PlanOutput, columns: &[PlanOutput]) -> Field {
        match (&output.kind, self.features()) {
            (OutputKind::Cofactor, Some((_, features))) => features.field(output, columns),
            (kind, _) => {
                let counts = matches!(kind, OutputKind::Count { .. } | OutputKind::Distinct { .. });
                Field::new(&output.name, output.ty.to_arrow(), !counts)
            }
        }
    }

    /// The column of an output that is no group and not computed from others.
    pub(crate) fn column(
        &self,
        rows: &ResultRows,
        output: &PlanOutput,
        dictionary: &Dictionary,
    ) -> Result<Cells> {
        match (&output.kind, self.features()) {
            (OutputKind::Cofactor, Some((words, features))) => match self.moments() {
                Some(moments) => {
                    features.column_of_moments(rows, (&moments, self.origins()), dictionary)
                }
                None => features.column(rows, (words, self.origins()), dictionary),
            },
            (
                OutputKind::Extreme {
                    companion,
                    greatest,
                },
                _,
            ) => Ok(self.extreme(rows, *companion, *greatest, &output.ty)),
            (OutputKind::Distinct { companion }, _) => {
                let counts = self.summarized(rows, *companion, 0);
                Ok(Cells::of_words(counts))
            }
            _ => Numbers { members: self }.column(rows, output),
        }
    }

    /// A word of what a companion says of each row.
    fn summarized(&self, rows: &ResultRows, companion: usize, word: usize) -> Vec<u64> {
        let Some(words) = self.summaries().nth(companion) else {
            unreachable!("every companion has its summary")
        };
        let payloads = rows.payloads();
        payloads
            .map(|payload| payload[words.start + word])
            .collect()
    }

    fn extreme(&self, rows: &ResultRows, companion: usize, greatest: bool, ty: &Type) -> Cells {
        let at = if greatest { GREATEST } else { LEAST };
        let counts = self.summarized(rows, companion, 0);
        Cells::Words {
            words: self.summarized(rows, companion, at),
            high: match ty {
                Type::Decimal { .. } => self.summarized(rows, companion, at + 1),
                _ => Vec::new(),
            },
            valid: Some(counts.into_iter().map(|count| count != 0).collect()),
        }
    }
}

/// How counts and sums become columns.
struct Numbers<'a> {
    members: &'a Members,
}

impl Numbers<'_> {
    /// The column of a count, sum, average or statistic.
    fn column(&self, rows: &ResultRows, output: &PlanOutput) -> Result<Cells> {
        match &output.kind {
            OutputKind::Count { term } => {
                let counts = self.integers(rows, *term).map(|n| n as u64);
                Ok(Cells::of_words(counts.collect()))
            }
            OutputKind::Sum { terms, nonnull } => self.sum(rows, terms, *nonnull, output),
            OutputKind::Avg { terms, nonnull } => {
                let totals = self.totals_of(rows, terms).into_iter();
                let counts = self.integers(rows, *nonnull);
                let mean =
                    |(sum, count): (Sum, i64)| (count != 0).then(|| sum.real() / count as f64);
                Ok(Cells::of_doubles(totals.zip(counts).map(mean)))
            }
            OutputKind::SumRest { terms, nonnull } => {
                let totals = self.totals_of(rows, terms).into_iter();
                let counts = self.integers(rows, *nonnull);
                let rest = |(sum, count): (Sum, i64)| (count != 0).then(|| sum.rest());
                Ok(Cells::of_doubles(totals.zip(counts).map(rest)))
            }
            OutputKind::Statistic { function, moments } => {
                let moments = self.moments(rows, moments).into_iter();
                Ok(Cells::of_doubles(
                    moments.map(|group| group.evaluate(*function)),
                ))
            }
            _ => unreachable!("other columns are not made of sums of products"),
        }
    }

    fn moments(&self, rows: &ResultRows, moments: &query::Moments) -> Vec<Moments> {
        let count = |count| Moments {
            count,
            ..Moments::default()
        };
        let mut groups: Vec<Moments> = self.integers(rows, moments.count).map(count).collect();
        let query::Moments {
            x, y, xx, xy, yy, ..
        } = moments;
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, x)) {
            group.x = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, y)) {
            group.y = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, xx)) {
            group.xx = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, xy)) {
            group.xy = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, yy)) {
            group.yy = sum;
        }
        groups
    }

    fn numbers<'r, N: Number>(
        &self,
        rows: &'r ResultRows,
        term: usize,
    ) -> impl Iterator<Item = N> + use<'r, N> {
        let word = self.members.element(term).word;
        let payloads = rows.payloads();
        payloads.map(move |payload| N::load(payload, word))
    }

    fn integers<'r>(
        &self,
        rows: &'r ResultRows,
        term: usize,
    ) -> impl Iterator<Item = i64> + use<'r> {
        self.numbers(rows, term)
    }

    /// The sum of the terms a row, each with all its digits.
    fn totals_of(&self, rows: &ResultRows, terms: &[usize]) -> Vec<Sum> {
        let Some(&first) = terms.first() else {
            return Vec::new();
        };
        match self.members.element(first).kind {
            NumberKind::Integer => {
                let mut sums = vec![0i128; rows.rows];
                for &term in terms {
                    let values = self.integers(rows, term);
                    sums.iter_mut()
                        .zip(values)
                        .for_each(|(sum, value)| *sum += i128::from(value));
                }
                sums.into_iter().map(|sum| Sum::Exact(sum, 0)).collect()
            }
            NumberKind::Real => {
                let mut sums = vec![Expansion::default(); rows.rows];
                for &term in terms {
                    let values = self.numbers::<Expansion>(rows, term);
                    sums.iter_mut()
                        .zip(values)
                        .for_each(|(sum, value)| *sum = sum.sum(value));
                }
                sums.into_iter().map(Sum::Real).collect()
            }
            // A payload that is shown has settled.
            NumberKind::Wide => unreachable!("no view is kept widened"),
            NumberKind::Decimal => {
                let scale = match self.members.kind(first) {
                    Kind::Decimal { scale } => scale,
                    Kind::Int | Kind::Real => 0,
                };
                if terms.len() == 1 {
                    let sums = self.numbers::<i128>(rows, first);
                    return sums.map(|sum| Sum::Exact(sum, scale)).collect();
                }
                let mut halves = vec![(0i128, 0i128); rows.rows];
                for &term in terms {
                    let values = self.numbers::<i128>(rows, term);
                    for ((high, low), value) in halves.iter_mut().zip(values) {
                        *high += value >> 64;
                        *low += value & i128::from(u64::MAX);
                    }
                }
                halves
                    .into_iter()
                    .map(|halves| wide_decimal(halves, scale))
                    .collect()
            }
        }
    }

    fn sum(
        &self,
        rows: &ResultRows,
        terms: &[usize],
        nonnull: usize,
        output: &PlanOutput,
    ) -> Result<Cells> {
        const LIMIT: i128 = 10i128.pow(38);
        let decimal = self.kind(terms) == NumberKind::Decimal;
        let valid: Vec<bool> = self
            .integers(rows, nonnull)
            .map(|count| count != 0)
            .collect();
        let (mut words, mut high) = (Vec::with_capacity(rows.rows), Vec::new());
        for sum in self.totals_of(rows, terms) {
            let fits = match sum {
                Sum::Exact(digits, _) if decimal => -LIMIT < digits && digits < LIMIT,
                Sum::Exact(digits, _) => i64::try_from(digits).is_ok(),
                Sum::Real(value) => value.is_finite() && !decimal,
                Sum::None => true,
            };
            if !fits {
                let column = format!("the column {:?} of the result", output.name);
                return Err(Error::Overflow { place: column });
            }
            let bits = match sum {
                Sum::Exact(digits, _) => digits,
                _ => i128::from(sum.real().to_bits()),
            };
            words.push(bits as u64);
            if decimal {
                high.push((bits >> 64) as u64);
            }
        }
        let valid = Some(valid);
        Ok(Cells::Words { words, high, valid })
    }

    fn kind(&self, terms: &[usize]) -> NumberKind {
        terms
            .first()
            .map_or(NumberKind::Integer, |&term| self.members.element(term).kind)
    }
}

/// A sum of decimals whose upper and lower halves, of 64 bits, were added apart: exact where it fits.
fn wide_decimal((high, low): (i128, i128), scale: i8) -> Sum {
    let (high, low) = (high + (low >> 64), low & i128::from(u64::MAX));
    if let Ok(high) = i64::try_from(high) {
        return Sum::Exact((i128::from(high) << 64) | low, scale);
    }
    let digits = Expansion::from(high).product(Expansion::from(1i128 << 64));
    let unit = Expansion::of_decimal(1, scale);
    Sum::Real(digits.sum(Expansion::from(low)).product(unit))
}
