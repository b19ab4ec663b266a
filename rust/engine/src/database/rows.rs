//! Some rows of a view, and streams of them.
//!
//! Invariant: a stream gives the rows that the view had when it was made, or ends in an error; never a mix. Rows that
//! were computed together with the stream are returned even if the view changes or is dropped. It holds no lock:
//! changes between two blocks are allowed. Cost: see [`Answer`](ringview_view::Answer).

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Error, Result};
use ringview_view::Cursor;

use super::Database;
use crate::Poll;

/// A stream of the rows of a view; it may outlive the view, and then it only says so.
#[derive(Debug)]
pub struct ViewStream {
    name: String,
    /// The view's number: another view of the same name has another.
    view: u64,
    rows: Cursor,
}

impl ViewStream {
    /// Entries and patterns that were handled to make rows one by one: what delay is tested by.
    pub fn steps(&self) -> u64 {
        self.rows.steps()
    }
}

impl Database {
    /// Rows that were handled so far to maintain a view, and to read a factorised one out of order:
    /// what complexity is tested by.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_steps(&self, name: &str) -> Result<u64> {
        let graph = &self.state.graph;
        Ok(graph.state_of(graph.view(name)?).steps())
    }

    /// The columns of a view.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_schema(&self, name: &str) -> Result<SchemaRef> {
        Ok(self.answer(name)?.schema())
    }

    /// The rows `from .. to` of a view, as far as there are any, in an order that is fixed until the
    /// next change. O(depth) look-ups and constant delay for a factorised view, else O(rows).
    ///
    /// # Errors
    /// As `view_result`.
    pub fn view_slice(&self, name: &str, from: u64, to: u64) -> Result<RecordBatch> {
        self.view_slice_with(name, (from, to), &mut |_| Ok(()))
    }

    /// The same, calling `poll` now and then.
    ///
    /// # Errors
    /// The same, and what `poll` returns.
    pub fn view_slice_with(
        &self,
        name: &str,
        (from, to): (u64, u64),
        poll: Poll<'_>,
    ) -> Result<RecordBatch> {
        let (answer, budget) = (self.answer(name)?, self.state.reading(poll));
        answer.slice((from, to), &self.state.storage.dictionary, &budget)
    }

    /// `rows` rows of a factorised view, drawn with replacement and equal chances. O(depth) look-ups a
    /// row.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` if the view is not factorised; `Value` if it has no rows.
    pub fn view_draw(&self, name: &str, rows: u64, seed: u64) -> Result<RecordBatch> {
        self.view_draw_with(name, (rows, seed), &mut |_| Ok(()))
    }

    /// The same, calling `poll` now and then.
    ///
    /// # Errors
    /// The same, and what `poll` returns.
    pub fn view_draw_with(
        &self,
        name: &str,
        (rows, seed): (u64, u64),
        poll: Poll<'_>,
    ) -> Result<RecordBatch> {
        let (answer, budget) = (self.answer(name)?, self.state.reading(poll));
        answer.draw((rows, seed), &self.state.storage.dictionary, &budget)
    }

    /// The names of the columns of a view. O(columns).
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_columns(&self, name: &str) -> Result<impl Iterator<Item = &str>> {
        Ok(self
            .state
            .graph
            .view(name)?
            .columns
            .iter()
            .map(String::as_str))
    }

    /// The rows of a table, each as often as it is there; or each once, with a last column of that
    /// name that says how often. O(rows).
    ///
    /// # Errors
    /// `UnknownTable`; `Unsupported` if rows are not kept; `Value` if the table has such a column.
    pub fn table_rows(&self, name: &str, multiplicity: Option<&str>) -> Result<RecordBatch> {
        self.state.storage.tables[self.state.storage.index(name)?]
            .to_arrow(multiplicity, &self.state.storage.dictionary)
    }

    /// Hands the rows of a table over in parts of at most so many, each row once, with a last column of this name
    /// that says how often it is there: one part is made at a time.
    ///
    /// # Errors
    /// As `table_rows`; what `each` returns.
    pub fn scan_table(
        &self,
        name: &str,
        multiplicity: &str,
        most: usize,
        each: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        self.state.storage.tables[self.state.storage.index(name)?].scan(
            multiplicity,
            most,
            &self.state.storage.dictionary,
            each,
        )
    }

    /// A stream of the rows that a view has now.
    ///
    /// # Errors
    /// As `view_result`.
    pub fn view_stream(&self, name: &str) -> Result<ViewStream> {
        let answer = self.answer(name)?;
        Ok(ViewStream {
            name: name.to_owned(),
            view: self.view_id(name)?,
            rows: answer.cursor(&self.state.storage.dictionary)?,
        })
    }

    /// The next rows of a stream; `None` behind the last.
    ///
    /// # Errors
    /// Of rows that are made as they are read: `UnknownView` if the view was dropped; `Changed` if it moved since
    /// the stream was made.
    pub fn next_rows(&self, stream: &mut ViewStream) -> Result<Option<RecordBatch>> {
        if stream.rows.is_made() {
            return Ok(stream.rows.take());
        }
        let answer = self.answer(&stream.name)?;
        if self.view_id(&stream.name)? != stream.view || !answer.is_current(&stream.rows) {
            return Err(Error::Changed {
                view: stream.name.clone(),
            });
        }
        answer.next(&mut stream.rows, &self.state.storage.dictionary)
    }
}
