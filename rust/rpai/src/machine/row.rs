//! Rows as tuples of cells, and bags of them.
//!
//! Invariant: a bag holds no row with multiplicity 0; its order is that of its rows, so whatever is summed
//! over it is summed in the same order on every machine. Cost: O(log n) a change, for the bag and each of its
//! indexes.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ringview_core::{Batch, Result};

use super::number::{Quantity, read};
use super::plan::ColumnType;
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

pub(super) type Row = Vec<Cell>;

/// The row of a batch, with NULL in columns that nobody reads.
pub(super) fn row(batch: &Batch, at: usize, types: &[ColumnType], needed: &[bool], into: &mut Row) {
    into.clear();
    into.extend(
        types
            .iter()
            .zip(needed)
            .enumerate()
            .map(|(column, (of, &needed))| {
                Cell(needed.then(|| read(batch, column, at, &of.ty)).flatten())
            }),
    );
}

/// Rows with multiplicities, and the same by the value of some columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Bag {
    rows: BTreeMap<Row, i64>,
    by: BTreeMap<usize, BTreeMap<Cell, BTreeMap<Row, i64>>>,
}

impl Bag {
    /// Rows will be looked for by a column.
    pub(super) fn index(&mut self, column: usize) {
        self.by.entry(column).or_default();
    }

    pub(super) fn change(&mut self, row: &Row, times: i64) -> Result<()> {
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

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Columns.
    pub(super) fn width(&self) -> usize {
        self.rows.keys().next().map_or(0, Vec::len)
    }

    pub(super) fn all(&self) -> &BTreeMap<Row, i64> {
        &self.rows
    }

    /// The rows with a value in an indexed column.
    pub(super) fn with(&self, column: usize, value: Cell) -> Option<&BTreeMap<Row, i64>> {
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
