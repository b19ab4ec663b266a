//! The rows of a sample: its own, or some drawn from the whole join.
//!
//! Invariant: a row is a result of the join in the output columns of the query. Cost: O(k) to read all;
//! O(log N) expected a row that is drawn, O(1) positions being results (see `index`).

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use ringview_core::{Batch, Budget, Dictionary, Error, Result, decode};
use ringview_view::{Answer, Delta, Key};

use super::SampleView;

impl SampleView {
    /// Columns as Arrow.
    pub(super) fn arrow(&self, batch: &Batch, dictionary: &Dictionary) -> Result<RecordBatch> {
        let output = self.shape.outputs.iter().enumerate();
        let array = |(at, output): (usize, &super::shape::OutputColumn)| -> Result<ArrayRef> {
            let column = batch.column(at);
            let valid = column.valid.as_deref();
            decode(&output.ty, &column.words, &column.high, valid, dictionary)
        };
        let made = RecordBatch::try_new(self.schema(), output.map(array).collect::<Result<_>>()?);
        made.map_err(|problem| Error::Value {
            place: "the rows of a sample".to_owned(),
            problem: problem.to_string(),
        })
    }

    /// Rows drawn from the whole join, each time from all, or from those not drawn yet; then there may be
    /// fewer.
    ///
    /// # Errors
    /// `Value` if there are none to be drawn again and again; `Memory`; the errors of the budget.
    pub fn draw_rows(
        &self,
        (rows, seed, replacement): (u64, u64, bool),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let words = self.shape.words.len() as u64 + 1;
        let joined = self.sample.sample().index().results();
        let most = u64::try_from(joined).unwrap_or(u64::MAX);
        let most = if replacement { rows } else { rows.min(most) };
        let needed = most.saturating_mul(16 * words);
        budget.reserve(
            needed,
            || format!("{rows} rows of a join"),
            "draw fewer at a time",
        )?;
        let mut drawn = Vec::new();
        self.sample
            .sample()
            .drawn(rows, replacement, seed, budget, |_, result| {
                drawn.push(self.words(result))
            })?;
        self.arrow(&self.shape.batch(&drawn, |_| true), dictionary)
    }
}

impl Answer for SampleView {
    fn schema(&self) -> SchemaRef {
        let field = |output: &super::shape::OutputColumn| {
            Field::new(&output.name, output.ty.to_arrow(), true)
        };
        Arc::new(Schema::new(
            self.shape.outputs.iter().map(field).collect::<Vec<_>>(),
        ))
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        Ok(self.sample.sample().len() as u64)
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        let words = self.shape.words.len() as u64 + 1;
        let needed = (self.sample.sample().len() as u64).saturating_mul(16 * words);
        budget.reserve(
            needed,
            || "the rows of a sample".to_owned(),
            "read a part of them",
        )?;
        budget.work(self.sample.sample().len() as u64)?;
        self.arrow(&self.shape.batch(&self.results(), |_| true), dictionary)
    }

    fn draw(
        &self,
        (rows, seed): (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        self.draw_rows((rows, seed, true), dictionary, budget)
    }

    fn scan(
        &self,
        _place: u64,
        wanted: &[bool],
        (_dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        let held = self.results();
        budget.work(held.len() as u64)?;
        let multiplicity = vec![1; held.len()];
        Ok((self.delta(&held, multiplicity, wanted), None))
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a sample by their values".to_owned(),
            why: "which rows it has is chance, so it keeps no index of them".to_owned(),
            instead: "filter what to_arrow() gives".to_owned(),
        })
    }
}
