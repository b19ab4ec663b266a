//! Rows: as tuples of cells, and in a batch.
//!
//! Invariant: a cell is a number or NULL; numbers of any kinds have an order. Cost: O(1) a cell.

use ringview_core::{Batch, Type};
use ringview_query::nested::{Cell, Quantity};

use crate::machine::query::plan::ColumnType;

pub(crate) type Row = Vec<Cell>;

/// A row of a batch, with verdicts on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowAt<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) at: usize,
    /// Of all columns; the last are verdicts.
    pub(crate) types: &'a [ColumnType],
    /// By row of the batch: whether it passes a predicate.
    pub(crate) verdicts: &'a [Vec<bool>],
}

impl RowAt<'_> {
    /// A verdict, or a column of Booleans.
    #[inline]
    pub(crate) fn bit(&self, column: usize) -> Option<bool> {
        if let Some(verdict) = column.checked_sub(self.types.len() - self.verdicts.len()) {
            return Some(self.verdicts[verdict][self.at]);
        }
        let cells = self.batch.column(column);
        (!cells.is_null(self.at)).then(|| cells.words[self.at] != 0)
    }

    /// The value of a column; `None` for NULL.
    pub(crate) fn quantity(&self, column: usize) -> Option<Quantity> {
        match &self.types[column].ty {
            Type::Bool => self.bit(column).map(|bit| Quantity::int(i128::from(bit))),
            ty => {
                let cells = self.batch.column(column);
                let (low, high) = (cells.words[self.at], cells.high(self.at));
                (!cells.is_null(self.at)).then(|| Quantity::of_words(ty, low, high))
            }
        }
    }

    /// The word of a column that is not NULL.
    #[inline]
    pub(crate) fn word(&self, column: usize) -> u64 {
        self.batch.column(column).words[self.at]
    }

    pub(crate) fn is_null(&self, column: usize) -> bool {
        self.batch.columns.get(column).is_some_and(|cells| {
            let cells = cells.as_ref();
            cells.is_some_and(|cells| cells.is_null(self.at))
        })
    }

    /// Its cells, with NULL in columns that nobody reads.
    pub(crate) fn cells(&self, needed: &[bool]) -> Row {
        let cell = |(column, &needed): (usize, &bool)| {
            Cell(needed.then(|| self.quantity(column)).flatten())
        };
        needed.iter().enumerate().map(cell).collect()
    }
}
