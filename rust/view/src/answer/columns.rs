//! The columns of a result that are read from the fields of payloads.
//!
//! Invariant: sums keep all their digits until they are rounded for the last division; a sum over no
//! value is NULL, and what does not fit its type is an overflow. A number is made of one payload, whether
//! of a column or of one row alone. Cost: O(rows) a column; a number of one row allocates nothing.

use arrow_schema::Field;
use ringview_core::{Dictionary, Error, Result, Type};
use ringview_query as query;
use ringview_query::{Kind, OutputKind, PlanOutput};
use ringview_ring::{Expansion, Number, NumberKind};

use super::cells::{Cells, Value};
use super::key::Cell;
use super::payload_layout::PayloadLayout;
use super::rows::ResultRows;
use super::statistics::{Moments, Sum};
use super::values::{GREATEST, LEAST};

impl PayloadLayout {
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
            _ => Numbers {
                payload_layout: self,
            }
            .column(rows, output),
        }
    }

    /// Cell of an output in one row, if its payload alone determines it.
    ///
    /// # Errors
    /// `Overflow` for a sum that does not fit its type.
    #[inline]
    pub(crate) fn cell(&self, payload: &[u64], output: &PlanOutput) -> Option<Result<Cell>> {
        let numbers = Numbers {
            payload_layout: self,
        };
        let number = match &output.kind {
            OutputKind::Count { term } => Ok(Some(Value::Exact(
                integer(payload, self.word(*term)).into(),
            ))),
            OutputKind::Sum { terms, nonnull } => match integer(payload, self.word(*nonnull)) {
                0 => Ok(None),
                _ => numbers.sum(payload, terms, output).map(|bits| {
                    Some(match output.ty.is_float() {
                        true => Value::Real(f64::from_bits(bits as u64)),
                        false => Value::Exact(bits),
                    })
                }),
            },
            OutputKind::Avg { terms, nonnull } => {
                let mean = numbers.mean(payload, terms, self.word(*nonnull));
                Ok(mean.map(Value::Real))
            }
            _ => return None,
        };
        Some(number.map(|number| Cell::of(number, &output.ty)))
    }

    /// First word of the number of a term.
    fn word(&self, term: usize) -> usize {
        self.element(term).word
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

/// Conversion of counts and sums to columns.
struct Numbers<'a> {
    payload_layout: &'a PayloadLayout,
}

/// The integer that begins at a word.
#[inline]
fn integer(payload: &[u64], word: usize) -> i64 {
    i64::load(payload, word)
}

impl Numbers<'_> {
    /// The column of a count, sum, average or statistic.
    fn column(&self, rows: &ResultRows, output: &PlanOutput) -> Result<Cells> {
        let word = |term: usize| self.payload_layout.word(term);
        let payloads = rows.payloads();
        match &output.kind {
            OutputKind::Count { term } => {
                let at = word(*term);
                let counts = payloads.map(|payload| integer(payload, at) as u64);
                Ok(Cells::of_words(counts.collect()))
            }
            OutputKind::Sum { terms, nonnull } => self.sums(rows, (terms, *nonnull), output),
            OutputKind::Avg { terms, nonnull } => {
                let at = word(*nonnull);
                let mean = |payload| self.mean(payload, terms, at);
                Ok(Cells::of_doubles(payloads.map(mean)))
            }
            OutputKind::SumRest { terms, nonnull } => {
                let at = word(*nonnull);
                let rest = |payload: &[u64]| {
                    (integer(payload, at) != 0).then(|| self.total(payload, terms).rest())
                };
                Ok(Cells::of_doubles(payloads.map(rest)))
            }
            OutputKind::Statistic { function, moments } => {
                let of = |payload| self.moments(payload, moments).evaluate(*function);
                Ok(Cells::of_doubles(payloads.map(of)))
            }
            _ => unreachable!("other columns are not made of sums of products"),
        }
    }

    fn moments(&self, payload: &[u64], of: &query::Moments) -> Moments {
        let total = |terms: &[usize]| match terms {
            [] => Sum::None,
            terms => self.total(payload, terms),
        };
        Moments {
            count: integer(payload, self.payload_layout.word(of.count)),
            x: total(&of.x),
            y: total(&of.y),
            xx: total(&of.xx),
            xy: total(&of.xy),
            yy: total(&of.yy),
        }
    }

    /// The mean of the values that are not NULL, which a word counts.
    fn mean(&self, payload: &[u64], terms: &[usize], counted: usize) -> Option<f64> {
        let count = integer(payload, counted);
        (count != 0).then(|| self.total(payload, terms).real() / count as f64)
    }

    /// The sum of some terms, with all its digits.
    fn total(&self, payload: &[u64], terms: &[usize]) -> Sum {
        let Some(&first) = terms.first() else {
            return Sum::Exact(0, 0);
        };
        if self.payload_layout.element(first).kind == NumberKind::Real {
            let words = terms.iter().map(|&term| self.payload_layout.word(term));
            let values = words.map(|at| Expansion::load(payload, at));
            return Sum::Real(values.fold(Expansion::default(), Expansion::sum));
        }
        let scale = match self.payload_layout.kind(first) {
            Kind::Decimal { scale } => scale,
            Kind::Int | Kind::Real => 0,
        };
        if let [only] = terms {
            return Sum::Exact(self.exact(payload, *only), scale);
        }
        let values = terms.iter().map(|&term| self.exact(payload, term));
        let halves = values.fold((0i128, 0i128), |(high, low), value| {
            (high + (value >> 64), low + (value & i128::from(u64::MAX)))
        });
        wide_decimal(halves, scale)
    }

    /// The number of a term that is no real.
    #[inline]
    fn exact(&self, payload: &[u64], term: usize) -> i128 {
        let element = self.payload_layout.element(term);
        match element.kind {
            NumberKind::Integer => i128::from(integer(payload, element.word)),
            _ => i128::load(payload, element.word),
        }
    }

    /// The sum of some terms as the digits of a decimal, or as the bits of a double.
    fn sum(&self, payload: &[u64], terms: &[usize], output: &PlanOutput) -> Result<i128> {
        const LIMIT: i128 = 10i128.pow(38);
        let exact = matches!(output.ty, Type::Decimal { .. });
        let sum = self.total(payload, terms);
        match sum {
            Sum::Exact(digits, _) if -LIMIT < digits && digits < LIMIT => Ok(digits),
            Sum::Real(value) if value.is_finite() && !exact => Ok(i128::from(sum.real().to_bits())),
            Sum::None => Ok(0),
            Sum::Exact(..) | Sum::Real(_) => {
                let column = format!("the column {:?} of the result", output.name);
                Err(Error::Overflow { place: column })
            }
        }
    }

    fn sums(
        &self,
        rows: &ResultRows,
        (terms, nonnull): (&[usize], usize),
        output: &PlanOutput,
    ) -> Result<Cells> {
        let exact = matches!(output.ty, Type::Decimal { .. });
        let counted = self.payload_layout.word(nonnull);
        let (mut words, mut high) = (Vec::with_capacity(rows.rows), Vec::new());
        let mut valid = Vec::with_capacity(rows.rows);
        for payload in rows.payloads() {
            let is_value = integer(payload, counted) != 0;
            let bits = match is_value {
                true => self.sum(payload, terms, output)?,
                false => 0,
            };
            words.push(bits as u64);
            valid.push(is_value);
            if exact {
                high.push((bits >> 64) as u64);
            }
        }
        let valid = Some(valid);
        Ok(Cells::Words { words, high, valid })
    }
}

/// A sum of exact numbers whose upper and lower halves, of 64 bits, were added apart: exact where it fits.
fn wide_decimal((high, low): (i128, i128), scale: i8) -> Sum {
    let (high, low) = (high + (low >> 64), low & i128::from(u64::MAX));
    if let Ok(high) = i64::try_from(high) {
        return Sum::Exact((i128::from(high) << 64) | low, scale);
    }
    let digits = Expansion::from(high).product(Expansion::from(1i128 << 64));
    let unit = Expansion::of_decimal(1, scale);
    Sum::Real(digits.sum(Expansion::from(low)).product(unit))
}
