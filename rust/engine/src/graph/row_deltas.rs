//! The deltas of a view as rows, as its log keeps them.
//!
//! Invariant: a segment is a Z-set, so that opposite changes of a row cancel. Cost: O(rows of the delta) a transaction.

use std::hash::BuildHasher;

use arrow_array::ArrayRef;
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, Schema};
use foldhash::quality::FixedState;
use hashbrown::HashTable;
use ringview_core::{Error, Result};

use super::log::Logged;

/// Rows without a multiplicity that a segment may keep.
const FEW: usize = 1 << 10;

/// Rows in Arrow, column by column, with their multiplicities.
pub(crate) type WeightedRows = (Vec<ArrayRef>, Vec<i64>);

/// The deltas of a view as rows.
#[derive(Debug)]
pub(crate) struct RowDeltas {
    converter: RowConverter,
}

impl RowDeltas {
    /// Those of a view with these columns.
    pub(crate) fn new(schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter();
        let fields = fields.map(|field| SortField::new(field.data_type().clone()));
        Ok(Self {
            converter: RowConverter::new(fields.collect()).map_err(unfit)?,
        })
    }
}

impl Logged for RowDeltas {
    type Segment = ZSet;
    type Changes = WeightedRows;

    fn none(&self) -> ZSet {
        ZSet::new(&self.converter)
    }

    fn record(&self, open: &mut ZSet, (columns, multiplicity): &WeightedRows) {
        let Ok(rows) = self.converter.convert_columns(columns) else {
            unreachable!("the columns of a view keep their types")
        };
        for (row, &multiplicity) in rows.iter().zip(multiplicity) {
            open.add(row, i128::from(multiplicity));
        }
        open.compact(&self.converter);
    }

    fn merge(&self, into: &mut ZSet, later: &ZSet) {
        into.merge(later);
        into.compact(&self.converter);
    }

    fn is_empty(segment: &ZSet) -> bool {
        segment.rows_held == 0
    }

    /// Old rows first.
    fn read(&self, segment: &ZSet) -> Result<WeightedRows> {
        segment.read(&self.converter)
    }

    fn memory_usage(segment: &ZSet) -> usize {
        segment.memory_usage()
    }
}

/// A Z-set of rows: the changes between two positions.
#[derive(Debug)]
pub(crate) struct ZSet {
    /// Each once; those whose changes cancelled stay until there are many of them.
    rows: Rows,
    /// By row. Each is the difference of two counts of 64 bits, whatever it is in passing.
    multiplicity: Vec<i128>,
    table: HashTable<u32>,
    hasher: FixedState,
    /// Rows whose multiplicity is not 0.
    rows_held: usize,
}

impl ZSet {
    fn new(converter: &RowConverter) -> Self {
        Self {
            rows: converter.empty_rows(0, 0),
            multiplicity: Vec::new(),
            table: HashTable::new(),
            hasher: FixedState::default(),
            rows_held: 0,
        }
    }

    fn add(&mut self, row: Row<'_>, multiplicity: i128) {
        let Self {
            rows,
            table,
            hasher,
            ..
        } = self;
        let hash = |row: Row<'_>| hasher.hash_one(row.as_ref());
        let known = table
            .find(hash(row), |&at| rows.row(at as usize) == row)
            .copied();
        let at = known.unwrap_or_else(|| {
            let at = self.multiplicity.len() as u32;
            rows.push(row);
            self.multiplicity.push(0);
            table.insert_unique(hash(row), at, |&at| hash(rows.row(at as usize)));
            at
        });
        let count = &mut self.multiplicity[at as usize];
        self.rows_held -= usize::from(*count != 0);
        *count += multiplicity;
        self.rows_held += usize::from(*count != 0);
    }

    fn merge(&mut self, later: &Self) {
        later
            .live()
            .for_each(|at| self.add(later.rows.row(at), later.multiplicity[at]));
    }

    fn live(&self) -> impl Iterator<Item = usize> {
        let all = self.multiplicity.iter().enumerate();
        all.filter(|(_, multiplicity)| **multiplicity != 0)
            .map(|(at, _)| at)
    }

    /// Forgets rows whose changes cancelled, once they are many.
    fn compact(&mut self, converter: &RowConverter) {
        if self.multiplicity.len() > FEW + 2 * self.rows_held {
            let mut all = Self::new(converter);
            all.merge(self);
            *self = all;
        }
    }

    fn read(&self, converter: &RowConverter) -> Result<WeightedRows> {
        let mut held: Vec<usize> = self.live().collect();
        held.sort_by_key(|&at| (self.multiplicity[at] > 0, self.rows.row(at)));
        let multiplicity = held.iter().map(|&at| i64::try_from(self.multiplicity[at]));
        let multiplicity = multiplicity.collect::<std::result::Result<Vec<i64>, _>>();
        let multiplicity = multiplicity.map_err(|_| Error::Overflow {
            place: "a multiplicity among the changes".to_owned(),
        })?;
        let rows = held.iter().map(|&at| self.rows.row(at));
        Ok((converter.convert_rows(rows).map_err(unfit)?, multiplicity))
    }

    fn memory_usage(&self) -> usize {
        self.rows.size()
            + self.multiplicity.capacity() * size_of::<i128>()
            + self.table.capacity() * (size_of::<u32>() + 1)
    }
}

fn unfit(problem: ArrowError) -> Error {
    Error::Value {
        place: "the changes of a view".to_owned(),
        problem: problem.to_string(),
    }
}
