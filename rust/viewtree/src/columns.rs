//! The columns of a result that are read from payloads of sums of products.
//!
//! Invariant: sums keep all their digits until they are rounded for the last division; a sum over no
//! value is NULL, and what does not fit its type is an overflow. Cost: O(rows) a column.

use crate::plan::Plan;
use ringview_core::Result;
use ringview_query as query;
use ringview_query::{Kind, OutputKind, PlanOutput};
use ringview_ring::{Element, Expansion, Number, NumberKind, SumProductShape};

use crate::cells::Cells;
use crate::overflow;
use crate::result::ResultRows;
use crate::statistics::{Moments, Sum};

/// How counts and sums become columns.
pub(crate) struct Numbers<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) shape: &'a SumProductShape,
}

impl Numbers<'_> {
    /// The column of a count, sum, average or statistic.
    pub(crate) fn column(&self, rows: &ResultRows, output: &PlanOutput) -> Result<Cells> {
        match &output.kind {
            OutputKind::Count { component } => {
                let counts = self.integers(rows, *component).map(|n| n as u64);
                Ok(Cells::of_words(counts.collect()))
            }
            OutputKind::Sum { terms, nonnull } => self.sum(rows, terms, *nonnull, output),
            OutputKind::Avg { terms, nonnull } => {
                let totals = self.totals_of(rows, terms, output)?.into_iter();
                let counts = self.integers(rows, *nonnull);
                let mean =
                    |(sum, count): (Sum, i64)| (count != 0).then(|| sum.real() / count as f64);
                Ok(Cells::of_doubles(totals.zip(counts).map(mean)))
            }
            OutputKind::Statistic { function, moments } => {
                let moments = self.moments(rows, moments, output)?.into_iter();
                Ok(Cells::of_doubles(
                    moments.map(|group| group.evaluate(*function)),
                ))
            }
            _ => unreachable!("other columns are not made of sums of products"),
        }
    }

    fn moments(
        &self,
        rows: &ResultRows,
        moments: &query::Moments,
        output: &PlanOutput,
    ) -> Result<Vec<Moments>> {
        let count = |count| Moments {
            count,
            ..Moments::default()
        };
        let mut groups: Vec<Moments> = self.integers(rows, moments.count).map(count).collect();
        let query::Moments {
            x, y, xx, xy, yy, ..
        } = moments;
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, x, output)?) {
            group.x = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, y, output)?) {
            group.y = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, xx, output)?) {
            group.xx = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, xy, output)?) {
            group.xy = sum;
        }
        for (group, sum) in groups.iter_mut().zip(self.totals_of(rows, yy, output)?) {
            group.yy = sum;
        }
        Ok(groups)
    }

    fn element(&self, component: usize) -> Element {
        self.shape.elements()[component]
    }

    fn numbers<'r, N: Number>(
        &self,
        rows: &'r ResultRows,
        component: usize,
    ) -> impl Iterator<Item = N> + use<'r, N> {
        let word = self.element(component).word;
        let payloads = rows.payloads.chunks_exact(rows.width);
        payloads.map(move |payload| N::load(payload, word))
    }

    fn integers<'r>(
        &self,
        rows: &'r ResultRows,
        component: usize,
    ) -> impl Iterator<Item = i64> + use<'r> {
        self.numbers(rows, component)
    }

    /// The exact sum of the terms a row; or an overflow.
    fn exact<N: Number>(
        &self,
        rows: &ResultRows,
        terms: &[usize],
        output: &PlanOutput,
    ) -> Result<Vec<N>> {
        let mut sums = vec![N::ZERO; rows.rows];
        for &term in terms {
            for (sum, value) in sums.iter_mut().zip(self.numbers::<N>(rows, term)) {
                let Some(next) = sum.plus(value) else {
                    return Err(overflow(format!(
                        "the column {:?} of the result",
                        output.name
                    )));
                };
                *sum = next;
            }
        }
        Ok(sums)
    }

    fn sum(
        &self,
        rows: &ResultRows,
        terms: &[usize],
        nonnull: usize,
        output: &PlanOutput,
    ) -> Result<Cells> {
        let valid: Vec<bool> = self
            .integers(rows, nonnull)
            .map(|count| count != 0)
            .collect();
        let (mut words, mut high) = (Vec::with_capacity(rows.rows), Vec::new());
        match self.kind(terms) {
            NumberKind::Integer => {
                words.extend(
                    self.exact::<i64>(rows, terms, output)?
                        .iter()
                        .map(|&n| n as u64),
                );
            }
            NumberKind::Real => {
                words.extend(
                    self.exact::<Expansion>(rows, terms, output)?
                        .iter()
                        .map(|sum| sum.value().to_bits()),
                );
            }
            NumberKind::Decimal => {
                const LIMIT: i128 = 10i128.pow(38);
                for sum in self.exact::<i128>(rows, terms, output)? {
                    if !(-LIMIT < sum && sum < LIMIT) {
                        return Err(overflow(format!(
                            "the column {:?} of the result",
                            output.name
                        )));
                    }
                    words.push(sum as u64);
                    high.push((sum >> 64) as u64);
                }
            }
        }
        let valid = Some(valid);
        Ok(Cells::Words { words, high, valid })
    }

    /// The sums of the terms.
    fn totals_of(
        &self,
        rows: &ResultRows,
        terms: &[usize],
        output: &PlanOutput,
    ) -> Result<Vec<Sum>> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let root = self.plan.tree.root;
        let scale = match self.plan.payload.nodes[root][terms[0]].kind {
            Kind::Decimal { scale } => scale,
            Kind::Int | Kind::Real => 0,
        };
        Ok(match self.kind(terms) {
            NumberKind::Integer => {
                let sums = self.exact::<i64>(rows, terms, output)?.into_iter();
                sums.map(|sum| Sum::Exact(i128::from(sum), 0)).collect()
            }
            NumberKind::Real => {
                let sums = self.exact::<Expansion>(rows, terms, output)?.into_iter();
                sums.map(Sum::Real).collect()
            }
            NumberKind::Decimal => {
                let sums = self.exact::<i128>(rows, terms, output)?.into_iter();
                sums.map(|sum| Sum::Exact(sum, scale)).collect()
            }
        })
    }

    fn kind(&self, terms: &[usize]) -> NumberKind {
        terms
            .first()
            .map_or(NumberKind::Integer, |&term| self.element(term).kind)
    }
}
