//! Partials of views, out and in.

use std::sync::Arc;

use pyo3::prelude::*;

use super::Database;
use crate::ending::detach;
use crate::errors::OrRaise;
use crate::handle::Handle;
use crate::incoming::{BufferMode, Schemas, rows};
use crate::outgoing::{Columns, Rows};
use crate::watch::Progress;

#[pymethods]
impl Database {
    /// The columns of the partials of a view, as an object with `__arrow_c_schema__`.
    fn partial_schema(&self, py: Python<'_>, view: Handle) -> PyResult<Columns> {
        let engine = self.engine_with_view(py, &view)?;
        let schema = engine.value.partial_schema(view.name()).or_raise(py)?;
        Ok(Columns::new((*schema).clone()))
    }

    /// Contribution of a view to the same view over more rows: its groups with payloads as bytes, or its rows with
    /// multiplicities, as an object with `__arrow_c_stream__`.
    fn view_partials(&self, py: Python<'_>, view: Handle) -> PyResult<Rows> {
        let engine = self.engine_with_view(py, &view)?;
        let engine = &*engine.value;
        let mut watch = Progress::new(None, 0);
        let made = detach(py, || {
            let batches = engine.view_partials(view.name(), &mut |done| watch.poll(done))?;
            Ok((engine.partial_schema(view.name())?, batches))
        });
        let (schema, batches) = watch.finish(py, made)?;
        Ok(Rows::of(Arc::clone(&schema), batches))
    }

    /// Adds partials of a view to it, all or none.
    fn merge_partials(&self, view: Handle, partials: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = partials.py();
        let mut batches = Vec::new();
        rows(
            partials,
            BufferMode::Shared,
            &mut Schemas::of_partials(),
            &mut batches,
        )?;
        let mut held = self.engine_with_view(py, &view)?;
        let engine = &mut *held.value;
        let mut watch = Progress::new(None, 0);
        let merged = detach(py, || {
            engine.merge_partials(view.name(), &batches, &mut |done| watch.poll(done))
        });
        self.bell.ring();
        watch.finish(py, merged)
    }
}
