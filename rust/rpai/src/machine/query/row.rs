//! Rows as tuples of cells, and bags of them.
//!
//! Invariant: a bag holds no row with multiplicity 0; its order is that of its rows, so whatever is summed
//! over it is summed in the same order on every machine. Cost: O(log n) a change, for the bag and each of its
//! indexes.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ringview_core::{Batch, Result, Type};

use crate::machine::query::number::{Quantity, read};
use crate::machine::query::plan::{Column, ColumnType};
use crate::machine::query::scope::Scope;
use crate::tree::overflow;

/// A number, or NULL, in an order of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell(pub Option<Quantity>);

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Some(a), Some(b)) => a.compare(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cell {}

pub(crate) type Row = Vec<Cell>;

/// A row where it stands in a batch, with what was found out about it.
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
            ty => read(self.batch, column, self.at, ty),
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

impl Scope for RowAt<'_> {
    fn cell(&self, column: Column) -> Cell {
        Cell(self.quantity(column.column))
    }
}

/// Rows with multiplicities, and the same by the value of some columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bag {
    rows: BTreeMap<Row, i64>,
    by: BTreeMap<usize, BTreeMap<Cell, BTreeMap<Row, i64>>>,
}

impl Bag {
    /// Rows will be looked for by a column.
    pub(crate) fn index(&mut self, column: usize) {
        self.by.entry(column).or_default();
    }

    pub(crate) fn change(&mut self, row: &Row, times: i64) -> Result<()> {
        let held = self.rows.get(row).copied().unwrap_or(0);
        held.checked_add(times)
            .ok_or_else(|| overflow("a multiplicity"))?;
        add(&mut self.rows, row, times);
        for (&column, index) in &mut self.by {
            let group = index.entry(row[column]).or_default();
            add(group, row, times);
            if group.is_empty() {
                index.remove(&row[column]);
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Columns.
    pub(crate) fn width(&self) -> usize {
        self.rows.keys().next().map_or(0, Vec::len)
    }

    pub(crate) fn all(&self) -> &BTreeMap<Row, i64> {
        &self.rows
    }

    /// The rows with a value in an indexed column.
    pub(crate) fn with(&self, column: usize, value: Cell) -> Option<&BTreeMap<Row, i64>> {
        self.by.get(&column)?.get(&value)
    }
}

fn add(rows: &mut BTreeMap<Row, i64>, row: &Row, times: i64) {
    match rows.get_mut(row) {
        Some(held) if *held + times != 0 => *held += times,
        Some(_) => {
            rows.remove(row);
        }
        None => {
            rows.insert(row.clone(), times);
        }
    }
}
