//! Triangles of a graph that is not kept.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use pyo3::prelude::*;
use ringview_core::{Budget, Error, Result};
use ringview_engine::GraphKind;

use crate::ending::detach;
use crate::errors::OrRaise;
use crate::incoming::{BufferMode, Schemas, rows};
use crate::watch::Progress;

/// Number of triangles of a graph. Its edges are two columns of int64: from, and to.
#[pyfunction]
pub(crate) fn count_triangles(
    py: Python<'_>,
    edges: &Bound<'_, PyAny>,
    directed: bool,
    multigraph: bool,
) -> PyResult<u128> {
    let mut batches = Vec::new();
    rows(
        edges,
        BufferMode::Shared,
        &mut Schemas::default(),
        &mut batches,
    )?;
    let blocks: Result<Vec<[&[i64]; 2]>> = batches.iter().map(ends).collect();
    let blocks = blocks.or_raise(py)?;
    let kind = GraphKind {
        directed,
        multigraph,
    };
    let mut watch = Progress::new(None, 0);
    let counted = detach(py, || {
        let mut look = |_| watch.look_now();
        ringview_engine::count_triangles(&blocks, kind, &Budget::new(&mut look))
    });
    Ok(watch.finish(py, counted)?.count)
}

/// The two ends of each edge.
fn ends(batch: &RecordBatch) -> Result<[&[i64]; 2]> {
    let column = |at: usize| {
        let array = batch.columns().get(at);
        let array = array.filter(|array| array.null_count() == 0);
        let numbers = array.and_then(|array| array.as_primitive_opt::<Int64Type>());
        numbers
            .map(|numbers| &numbers.values()[..])
            .ok_or_else(|| Error::Type {
                place: format!("column {at} of the edges"),
                expected: "int64 without NULL".to_owned(),
                found: array.map_or("none".to_owned(), |array| array.data_type().to_string()),
            })
    };
    Ok([column(0)?, column(1)?])
}
