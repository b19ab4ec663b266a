//! A join that is kept factorised, as a view and its answer.
//!
//! Invariant: rows are found by their position, in an order that is fixed until the next change. Cost: O(1)
//! for how many there are, O(depth) look-ups for one out of order, constant delay from there on.

use std::mem::take;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_view::result_table::{Grouped, Maintainer, ResultTable};
use ringview_view::{Answer, Context, Cursor, Delta, Key, RowDelta, View};

use crate::maintainer::TreeMaintainer;

use super::shape::columns;
use super::{Factorised, Position};

/// The rows of a join, kept factorised.
#[derive(Debug)]
pub(crate) struct FactorisedView {
    state: TreeMaintainer,
    form: Factorised,
}

impl FactorisedView {
    /// Those of a tree without rows.
    pub(crate) fn new(mut state: TreeMaintainer) -> Self {
        let form = Factorised::new(&state.plan, &mut *state.tree);
        Self { state, form }
    }
}

impl View for FactorisedView {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.form
            .apply_to((&self.state.plan, &mut *self.state.tree), rows, cx)
    }

    /// DISTINCT compares rows with those before them, so such rows are applied at once.
    fn load(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        match self.form.reads_rows(cx) {
            true => self.apply(rows, cx),
            false => self.state.tree.load(rows, cx.budget),
        }
    }

    fn end_load(&mut self, cx: &Context<'_, '_>) -> Result<()> {
        self.state.tree.end_load(cx.budget)
    }

    fn freeze(&mut self) {
        self.state.freeze();
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        self.state.prepare(cx.dictionary, cx.budget)?;
        let (Some(wanted), Some(changed)) = (cx.wanted, self.form.changed.as_mut()) else {
            return Ok(Delta::default());
        };
        let keys = columns(&self.state.plan);
        let rows = ResultTable {
            keys: &keys,
            ..self.state.grouped()
        };
        rows.weighed(wanted, take(changed), (cx.dictionary, cx.budget))
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        self.form.note_starts(&*self.state.tree);
        self.state.commit(dictionary);
        self.form.commit(&mut *self.state.tree);
    }

    fn rollback(&mut self) {
        self.state.rollback();
        self.form.undo(&mut *self.state.tree);
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        let size = match self.form.len(&*self.state.tree) {
            Ok(rows) => format!("{rows} rows kept factorised"),
            Err(problem) => format!("kept factorised; {problem}"),
        };
        Explanation {
            size: Some(size),
            bytes: Some(self.memory_usage() as u64),
            ..self.state.explanation()
        }
    }

    fn memory_usage(&self) -> usize {
        self.state.memory_usage() + self.form.bytes()
    }

    fn bytes(&self) -> usize {
        self.state.bytes() + self.form.bytes()
    }

    fn steps(&self) -> u64 {
        self.state.steps() + self.form.steps_read()
    }

    fn check(&self) {
        self.state.check();
        self.form.check_sets(&self.state.plan, &*self.state.tree);
    }
}

impl HoldsStrings for FactorisedView {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.state.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.state.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.state.forget_strings(gone);
    }
}

impl Answer for FactorisedView {
    fn schema(&self) -> SchemaRef {
        self.state.grouped().schema()
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        self.form.len(&*self.state.tree)
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        self.slice((0, u64::MAX), dictionary, budget)
    }

    fn slice(
        &self,
        (from, to): (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let to = to.min(self.form.len(&*self.state.tree)?);
        let rows = (from.min(to), to);
        let schema = self.state.grouped().schema();
        self.form
            .slice(&*self.state.tree, schema, rows, (dictionary, budget))
    }

    fn draw(
        &self,
        draws: (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let schema = self.state.grouped().schema();
        self.form
            .draw(&*self.state.tree, schema, draws, (dictionary, budget))
    }

    fn cursor(&self, _dictionary: &Dictionary) -> Result<Cursor> {
        Ok(Cursor::at(self.form.start()))
    }

    fn is_current(&self, cursor: &Cursor) -> bool {
        let place = cursor.position::<Position>();
        place.is_some_and(|place| self.form.is_current(place))
    }

    fn next(&self, cursor: &mut Cursor, dictionary: &Dictionary) -> Result<Option<RecordBatch>> {
        let Some(place) = cursor.position_mut::<Position>() else {
            return Ok(None);
        };
        let schema = self.state.grouped().schema();
        self.form.next(&*self.state.tree, place, schema, dictionary)
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a factorised join".to_owned(),
            why: "no index of it begins with any column".to_owned(),
            instead: "filter the rows as they are streamed".to_owned(),
        })
    }
}
