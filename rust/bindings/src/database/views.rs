//! Reads of views: their rows, groups, changes and explanations; of samples their join size and draws.

use std::str::FromStr;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ringview_core::Type;
use ringview_engine::{JoinSize, Poll};
use ringview_explain::{Explanation, Format};
use ringview_expr::shown;

use super::Database;
use super::follower::{ChangeCursor, Follower, hand_over};
use super::functions::{called_by, trusted};
use super::stream::RowStream;
use crate::ending::detach;
use crate::errors::OrRaise;
use crate::handle::Handle;
use crate::lookup::{self, Names};
use crate::outgoing::{Columns, Rows};
use crate::watch::Progress;

#[pymethods]
impl Database {
    /// Whether a view is a sample.
    fn view_is_sample(&self, py: Python<'_>, view: Handle) -> PyResult<bool> {
        let engine = self.engine_with_view(py, &view)?;
        engine.value.is_sample(view.name()).or_raise(py)
    }

    /// Number of rows of the join of a sample: at least, at most, and the largest key held, which estimates the number
    /// if these differ.
    fn sample_join_size(&self, py: Python<'_>, view: Handle) -> PyResult<(u128, u128, f64)> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let size = detach(py, || engine.sample_join_size(view.name()));
        size.or_raise(py).map(|size| match size {
            JoinSize::Exact(size) => (size, size, 1.0),
            JoinSize::Between(least, most, w) => (least, most, w),
        })
    }

    /// Rows drawn from the whole join of a sample, with replacement or without, in proportion to the product of
    /// some columns or with equal chances.
    fn sample_draw(
        &self,
        py: Python<'_>,
        view: Handle,
        rows: u64,
        seed: u64,
        replacement: bool,
        weight: Option<Vec<String>>,
    ) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let drawn = (rows, seed, replacement);
        let weight = weight.as_deref();
        read(py, |poll| {
            engine.sample_draw(view.name(), drawn, weight, poll)
        })
    }

    /// The rows of a view, as an object with `__arrow_c_stream__`.
    fn view_result(&self, py: Python<'_>, view: Handle) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        read(py, |poll| engine.view_result_with(view.name(), poll))
    }

    /// Changes of a view since the last call, with a last column of multiplicities, passed to
    /// `into`; kept for the next call if that raises.
    fn view_changes<'py>(
        &self,
        view: Handle,
        into: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut engine = self.engine_with_view(into.py(), &view)?;
        let place = engine
            .value
            .readers()
            .own_follower(view.name())
            .or_raise(into.py())?;
        hand_over(engine.value.readers(), &place, into)
    }

    /// Ends what `view_changes` began.
    fn forget_changes(&self, py: Python<'_>, view: Handle) -> PyResult<()> {
        let mut engine = self.engine_with_view(py, &view)?;
        engine
            .value
            .readers()
            .forget_changes(view.name())
            .or_raise(py)
    }

    /// A reader with a place of its own in the changes of a view; with a name, one whose place is kept.
    #[pyo3(signature = (view, from_now, name=None))]
    fn follow(
        slf: &Bound<'_, Self>,
        view: Handle,
        from_now: bool,
        name: Option<&str>,
    ) -> PyResult<Follower> {
        let py = slf.py();
        let mut engine = slf.get().engine_with_view(py, &view)?;
        let engine = &mut *engine.value;
        let place = match name {
            None => engine
                .readers()
                .follow(view.name(), from_now)
                .map(ChangeCursor::Own),
            Some(name) => detach(py, || engine.follow_as(view.name(), name, from_now))
                .map(ChangeCursor::Named),
        };
        Ok(Follower::new(slf.clone().unbind(), place.or_raise(py)?))
    }

    /// A reader with a place of its own in the partials of a view.
    fn follow_partials(slf: &Bound<'_, Self>, view: Handle, from_now: bool) -> PyResult<Follower> {
        let py = slf.py();
        let mut engine = slf.get().engine_with_view(py, &view)?;
        let place = engine
            .value
            .readers()
            .follow_partials(view.name(), from_now);
        let place = place.map(ChangeCursor::Own).or_raise(py)?;
        Ok(Follower::new(slf.clone().unbind(), place))
    }

    /// The names of those who follow a view under one.
    fn followers(&self, py: Python<'_>, view: Handle) -> PyResult<Vec<String>> {
        let engine = self.engine_with_view(py, &view)?;
        engine.value.followers(view.name()).or_raise(py)
    }

    /// Forgets the place that a name has in the changes of a view.
    fn forget_follower(&self, py: Python<'_>, view: Handle, name: &str) -> PyResult<()> {
        let mut engine = self.engine_with_view(py, &view)?;
        let engine = &mut *engine.value;
        detach(py, || engine.forget_follower(view.name(), name)).or_raise(py)
    }

    /// The number of the view that has a name now.
    fn view_id(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        self.engine(py)?.value.view_id(name).or_raise(py)
    }

    /// The same, or None: no other name is looked for that may have been meant.
    fn find_view(&self, py: Python<'_>, name: &str) -> PyResult<Option<u64>> {
        Ok(self.engine(py)?.value.view_id(name).ok())
    }

    /// The columns of a view, as an object with `__arrow_c_schema__`.
    fn view_schema(&self, py: Python<'_>, view: Handle) -> PyResult<Columns> {
        let schema = self
            .engine_with_view(py, &view)?
            .value
            .view_schema(view.name())
            .or_raise(py)?;
        Ok(Columns::new((*schema).clone()))
    }

    /// The rows `start .. stop` of a view, as far as there are any.
    fn view_slice(&self, py: Python<'_>, view: Handle, start: u64, stop: u64) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let rows = (start, stop);
        read(py, |poll| engine.view_slice_with(view.name(), rows, poll))
    }

    /// Rows of a view drawn with replacement.
    fn view_draw(&self, py: Python<'_>, view: Handle, rows: u64, seed: u64) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let drawn = (rows, seed);
        read(py, |poll| engine.view_draw_with(view.name(), drawn, poll))
    }

    /// A stream of the rows that a view has now.
    fn view_stream(slf: &Bound<'_, Self>, view: Handle) -> PyResult<RowStream> {
        let py = slf.py();
        let engine = slf.get().engine_with_view(py, &view)?;
        let held = &*engine.value;
        let stream = detach(py, || held.view_stream(view.name())).or_raise(py)?;
        Ok(RowStream::new(slf.clone().unbind(), stream))
    }

    /// Number of rows of a view.
    fn view_len(&self, py: Python<'_>, view: Handle) -> PyResult<usize> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        detach(py, || engine.view_len(view.name())).or_raise(py)
    }

    /// Plan of a view, with the content of each node, in a form of `Explanation`.
    fn view_explain(&self, py: Python<'_>, view: Handle, format: &str) -> PyResult<String> {
        let format = Format::from_str(format).or_raise(py)?;
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let explained = || {
            let mut definitions = engine.definitions();
            let definition = definitions.find(|one| one.name == view.name());
            let functions = definition.map(called_by).transpose()?;
            let explained = Explanation {
                trusted: trusted(&functions.unwrap_or_default()),
                ..engine.view_explanation(view.name())?
            };
            explained.render(format).map(|text| shown(&text))
        };
        detach(py, explained).or_raise(py)
    }

    /// Why a change of a view may cost more than the rows of the keys that it has; nothing where none does.
    fn view_warnings(&self, py: Python<'_>, view: &str) -> PyResult<Vec<String>> {
        let engine = self.engine(py)?;
        let warnings = engine.value.view_warnings(view).or_raise(py)?;
        let shown = warnings.iter().map(|warning| shown(&warning.to_string()));
        Ok(shown.collect())
    }

    /// The SQL of a view, if it was created with any.
    fn view_sql(&self, py: Python<'_>, view: Handle) -> PyResult<Option<String>> {
        let engine = self.engine_with_view(py, &view)?;
        let text = engine.value.view_text(view.name()).or_raise(py)?;
        Ok(text.map(str::to_owned))
    }

    /// The columns that identify the groups of a view, with the names of their types.
    fn view_key(&self, py: Python<'_>, view: Handle) -> PyResult<Vec<(String, String)>> {
        let engine = self.engine_with_view(py, &view)?;
        let key = engine.value.view_key(view.name()).or_raise(py)?;
        let column = |(name, ty): &(&str, &Type)| ((*name).to_owned(), ty.to_string());
        Ok(key.iter().map(column).collect())
    }

    /// The row of the group of a key, a dict of values by name; None if there is none. `NotImplemented`
    /// if a value of the row is none of Python's own.
    fn view_get<'py>(&self, view: Handle, key: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let key = Names::read(key)?;
        let engine = self.engine_with_view(py, &view)?;
        let row = engine
            .value
            .view_get(view.name(), &key.values()?)
            .or_raise(py)?;
        let Some(row) = row else {
            return Ok(py.None().into_bound(py));
        };
        let names = engine.value.view_columns(view.name()).or_raise(py)?;
        lookup::dict(py, names, row)
    }

    /// The rows of the groups of some keys, and the place of each among them.
    fn view_get_rows(
        &self,
        py: Python<'_>,
        view: Handle,
        keys: Vec<Bound<'_, PyDict>>,
    ) -> PyResult<(Rows, Vec<usize>)> {
        let keys: Vec<Names<'_>> = keys.iter().map(Names::read).collect::<PyResult<_>>()?;
        let keys: Vec<Vec<_>> = keys.iter().map(Names::values).collect::<PyResult<_>>()?;
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let get = || engine.view_get_rows(view.name(), &keys);
        let (rows, places) = detach(py, get).or_raise(py)?;
        Ok((Rows::new(rows), places))
    }

    /// The rows that have some values in columns that identify the groups of a view.
    fn view_where(&self, view: Handle, key: &Bound<'_, PyDict>) -> PyResult<Rows> {
        let py = key.py();
        let key = Names::read(key)?;
        let key = key.values()?;
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let found = || engine.view_where(view.name(), &key);
        Ok(Rows::new(detach(py, found).or_raise(py)?))
    }

    /// The query of a view, in JSON.
    fn view_query(&self, py: Python<'_>, view: Handle) -> PyResult<String> {
        let engine = self.engine_with_view(py, &view)?;
        let query = engine.value.view_query(view.name()).or_raise(py)?;
        query.to_json().or_raise(py)
    }
}

/// Rows that take long to make: made without the interpreter, and given up at Ctrl-C.
fn read(
    py: Python<'_>,
    make: impl FnOnce(Poll<'_>) -> ringview_core::Result<RecordBatch> + Send,
) -> PyResult<Rows> {
    let mut watch = Progress::new(None, 0);
    let made = detach(py, || make(&mut |done| watch.poll(done)));
    Ok(Rows::new(watch.finish(py, made)?))
}
