//! Some rows of a view, and streams of them.
//!
//! Invariant: a stream gives the rows that the view had when it was made, or ends in `Changed`; never
//! a mix. It holds no lock: changes between two blocks are free to come. Cost: see `ViewTree`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Error, Result};
use ringview_viewtree::RowStream;
use ringview_viewtree::plan::Plan;

use crate::Poll;
use crate::database::Database;

/// A stream of the rows of a view; it may outlive the view, and then it only says so.
#[derive(Debug)]
pub struct ViewStream {
    name: String,
    /// The view's plan: another view of the same name has another.
    plan: Arc<Plan>,
    rows: RowStream,
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
        Ok(self.view(name)?.tree.steps())
    }

    /// The columns of a view.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_schema(&self, name: &str) -> Result<SchemaRef> {
        Ok(self.view(name)?.tree.schema())
    }

    /// The rows `from .. to` of a view, as far as there are any, in an order that is fixed until the
    /// next change. O(depth) look-ups and constant delay for a factorised view, else O(rows).
    ///
    /// # Errors
    /// As `view_result`.
    pub fn view_slice(&self, name: &str, from: u64, to: u64) -> Result<RecordBatch> {
        self.view_slice_with(name, (from, to), &mut |_| Ok(()))
    }

    /// The same, asking `poll` now and then.
    ///
    /// # Errors
    /// The same, and what `poll` returns.
    pub fn view_slice_with(
        &self,
        name: &str,
        (from, to): (u64, u64),
        poll: Poll<'_>,
    ) -> Result<RecordBatch> {
        let (tree, meter) = (&self.view(name)?.tree, self.reading(poll));
        tree.slice(from, to, &self.dictionary, &meter)
    }

    /// `rows` rows of a factorised view, drawn with replacement and equal chances. O(depth) look-ups a
    /// row.
    ///
    /// # Errors
    /// `UnknownView`; `Unsupported` if the view is not factorised; `Value` if it has no rows.
    pub fn view_draw(&self, name: &str, rows: u64, seed: u64) -> Result<RecordBatch> {
        self.view_draw_with(name, (rows, seed), &mut |_| Ok(()))
    }

    /// The same, asking `poll` now and then.
    ///
    /// # Errors
    /// The same, and what `poll` returns.
    pub fn view_draw_with(
        &self,
        name: &str,
        (rows, seed): (u64, u64),
        poll: Poll<'_>,
    ) -> Result<RecordBatch> {
        let (tree, meter) = (&self.view(name)?.tree, self.reading(poll));
        tree.draw(rows, seed, &self.dictionary, &meter)
    }

    /// A stream of the rows that a view has now.
    ///
    /// # Errors
    /// As `view_result`.
    pub fn view_stream(&self, name: &str) -> Result<ViewStream> {
        let view = self.view(name)?;
        Ok(ViewStream {
            name: name.to_owned(),
            plan: Arc::clone(&view.plan),
            rows: view.tree.stream(&self.dictionary)?,
        })
    }

    /// The next rows of a stream; `None` behind the last.
    ///
    /// # Errors
    /// `UnknownView` if the view was dropped; `Changed` if it moved since the stream was made.
    pub fn next_rows(&self, stream: &mut ViewStream) -> Result<Option<RecordBatch>> {
        let view = self.view(&stream.name)?;
        if !Arc::ptr_eq(&view.plan, &stream.plan) || !view.tree.is_current(&stream.rows) {
            return Err(Error::Changed {
                view: stream.name.clone(),
            });
        }
        view.tree.next(&mut stream.rows, &self.dictionary)
    }
}
