//! Values of functions, what they read of the rows, and the columns that they become.
//!
//! Invariant: NULL is a value as others are. Cost: O(rows).

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, UInt32Array,
};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_select::take::take;
use ringview_core::Result;

use super::plan::{Function, Plan, What};
use crate::codec::refused;
use crate::numbers::{reals, scaled};

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// The values of one function.
#[derive(Debug)]
pub(super) enum Values {
    Numbers(Vec<i64>),
    Sums(Vec<Option<i128>>, i8),
    Reals(Vec<Option<f64>>),
    /// Rows of the batch, whose values in a column are shown.
    Rows(Vec<u32>, usize),
}

/// Inputs of functions from the columns of rows, by function.
#[derive(Debug, Default)]
pub(super) enum Read {
    #[default]
    Nothing,
    Reals(Vec<Option<f64>>),
    /// As bytes that compare as the values do; NULL and rows that take no part are absent.
    Bytes(Rows, Vec<bool>),
}

impl Plan {
    /// Inputs of its functions from the rows of regions.
    pub(super) fn read(&self, batch: Option<&RecordBatch>) -> Result<Vec<Read>> {
        let of = |function: &Function| {
            let Some(batch) = batch else {
                return Ok(Read::Nothing);
            };
            let takes_part = |filter: Option<usize>| {
                let mask = filter.and_then(|at| scaled(batch.column(at)));
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
                    let selected =
                        (0..column.len()).map(|row| column.is_valid(row) && takes_part(row));
                    Read::Bytes(bytes.map_err(refused)?, selected.collect())
                }
                _ => Read::Nothing,
            })
        };
        self.functions.iter().map(of).collect()
    }
}

impl Values {
    pub(super) fn of(what: &What, rows: usize) -> Self {
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
