//! The rows of a join by heavy and light parts as an answer.
//!
//! Invariant: rows are returned in an order that stays until the next change. Cost: O(1) for their number; constant
//! delay a row, and to seek a position a step a listed row and one a key of a root.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, Result};
use ringview_view::answer::listing::check_size;
use ringview_view::answer::{Cursor, ResultRows};
use ringview_view::{Answer, Key};

use super::row_reader::{BLOCK, Reader, negative};
use super::rows::HeavyLightRows;

/// Position of a stream of rows.
#[derive(Debug)]
struct Position {
    version: u64,
    reader: Reader,
}

impl ringview_view::Position for Position {
    fn steps(&self) -> u64 {
        self.reader.at.steps
    }
}

impl HeavyLightRows {
    fn rows_at(
        &self,
        (from, to): (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let rows = to.saturating_sub(from);
        let columns = self.plan.query.outputs.len();
        check_size(rows, columns)?;
        budget.reserve(
            rows.saturating_mul(16 * columns as u64),
            || format!("a table of {rows} rows"),
            "read the rows as a stream, or some of them",
        )?;
        let mut reader = Reader::default();
        reader.pass(&self.machine, from)?;
        let mut all = ResultRows::default();
        while all.rows < rows as usize {
            let more = reader.read(&self.machine, BLOCK.min(rows as usize - all.rows))?;
            if more.rows == 0 {
                break;
            }
            budget.work(more.rows as u64)?;
            all.columns.resize_with(more.columns.len(), Vec::new);
            for (column, more) in all.columns.iter_mut().zip(&more.columns) {
                column.extend_from_slice(more);
            }
            all.rows += more.rows;
        }
        self.batch(all, dictionary)
    }
}

impl Answer for HeavyLightRows {
    fn schema(&self) -> SchemaRef {
        // No string is needed for it.
        Arc::new(self.assembler(&Dictionary::new()).schema())
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        u64::try_from(self.machine.row_count()).map_err(|_| negative())
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        self.rows_at((0, self.len(dictionary)?), dictionary, budget)
    }

    fn slice(
        &self,
        (from, to): (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let to = to.min(self.len(dictionary)?);
        self.rows_at((from.min(to), to), dictionary, budget)
    }

    fn cursor(&self, _dictionary: &Dictionary) -> Result<Cursor> {
        Ok(Cursor::at(Position {
            version: self.version,
            reader: Reader::default(),
        }))
    }

    fn is_current(&self, cursor: &Cursor) -> bool {
        let position = cursor.position::<Position>();
        position.is_some_and(|position| position.version == self.version)
    }

    fn next(&self, cursor: &mut Cursor, dictionary: &Dictionary) -> Result<Option<RecordBatch>> {
        let Some(position) = cursor.position_mut::<Position>() else {
            return Ok(None);
        };
        let rows = position.reader.read(&self.machine, BLOCK)?;
        match rows.rows {
            0 => Ok(None),
            _ => self.batch(rows, dictionary).map(Some),
        }
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a factorised join".to_owned(),
            why: "no index of it begins with any column".to_owned(),
            instead: "filter the rows as they are streamed".to_owned(),
        })
    }
}
