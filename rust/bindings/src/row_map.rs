//! The class `RowMap`: a block of projections, filters and unions over Arrow rows, without a database.
//!
//! Such a block keeps nothing, so rows may be anywhere and in any pieces. Invariant: the result over rows is that of
//! the block in a database. Cost: that of the expressions, a pass of vector kernels each.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use pyo3::prelude::*;
use ringview_core::{Error, Result};
use ringview_query::{PlanAtom, Query, bind};

use crate::ending::detach;
use crate::errors::OrRaise;
use crate::incoming::{BufferMode, Schemas, rows};
use crate::outgoing::Rows;
use crate::output::Tables;

/// The columns that the atoms of a query of computed rows read, by atom; `tables` as for `output_schema`.
///
/// >>> import json, pyarrow as pa
/// >>> from ringview._native import columns_read
/// >>> rows = {"kind": "map", "names": ["y"], "branches": [{"columns": ["year(d)"]}]}
/// >>> query = {"atoms": [{"table": "r", "alias": "r"}], "outputs": [], "rows": rows}
/// >>> columns_read(json.dumps(query), [("r", pa.schema({"a": pa.int32(), "d": pa.date32()}))])
/// [['d']]
#[pyfunction]
pub(crate) fn columns_read(
    py: Python<'_>,
    query_json: &str,
    tables: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<Vec<Vec<String>>> {
    let known = Tables::read(py, tables)?;
    let query = Query::from_json(query_json).or_raise(py)?;
    let bound = bind(&query, &known).or_raise(py)?;
    let names = bound.atoms.iter().map(|atom| {
        let fields = atom.schema.fields();
        atom.columns
            .iter()
            .map(|&at| fields[at].name.clone())
            .collect()
    });
    Ok(names.collect())
}

/// Rows computed from the rows of tables, each by itself.
///
/// >>> import json, pyarrow as pa
/// >>> from ringview._native import RowMap
/// >>> table = pa.table({"a": pa.array([1, 2, 3], pa.int64())})
/// >>> rows = {"kind": "map", "names": ["b"], "branches": [{"filter": "a > 1", "columns": ["a * 2"]}]}
/// >>> query = {"atoms": [{"table": "r", "alias": "r"}], "outputs": [], "rows": rows}
/// >>> pa.table(RowMap(json.dumps(query), [("r", table.schema)]).rows(0, table, None)).to_pydict()
/// {'b': [4, 6], 'multiplicity': [1, 1]}
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct RowMap {
    map: ringview_engine::RowMap,
    /// By atom: the columns of its table that are read.
    inputs: Vec<SchemaRef>,
}

#[pymethods]
impl RowMap {
    /// The block of a query in JSON; `tables` are the names of what its atoms read, each with a schema.
    #[new]
    fn new(
        py: Python<'_>,
        query_json: &str,
        tables: Vec<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<RowMap> {
        let known = Tables::read(py, tables)?;
        let query = Query::from_json(query_json).or_raise(py)?;
        let bound = bind(&query, &known).or_raise(py)?;
        let map = ringview_engine::RowMap::new(&bound).or_raise(py)?;
        let read = |(at, atom): (usize, &PlanAtom)| {
            let read = atom.schema.to_arrow().project(map.inputs(at));
            read.map(Arc::new)
        };
        let inputs = bound.atoms.iter().enumerate().map(read);
        let inputs = inputs.collect::<std::result::Result<_, _>>();
        let inputs = inputs.map_err(|problem| refused(problem.to_string()));
        Ok(RowMap {
            inputs: inputs.or_raise(py)?,
            map,
        })
    }

    /// Rows computed from the rows of an atom, with their multiplicities in a last column, an
    /// int64.
    ///
    /// `data` has the columns that the atom reads, by their names; `multiplicity` names one more, without which each row
    /// is there once.
    fn rows(
        &self,
        atom: usize,
        data: &Bound<'_, PyAny>,
        multiplicity: Option<&str>,
    ) -> PyResult<Rows> {
        let py = data.py();
        let mut read = Vec::new();
        rows(data, BufferMode::Shared, &mut Schemas::default(), &mut read)?;
        let made = || {
            let batches = read.iter();
            let batches = batches.map(|batch| self.mapped(atom, batch, multiplicity));
            batches.collect::<Result<Vec<_>>>()
        };
        let batches = detach(py, made).or_raise(py)?;
        let schema = batches
            .first()
            .map_or_else(|| Arc::new(ArrowSchema::empty()), RecordBatch::schema);
        Ok(Rows::of(schema, batches))
    }

    fn __repr__(&self) -> String {
        format!("RowMap(atoms={})", self.inputs.len())
    }
}

impl RowMap {
    fn mapped(
        &self,
        atom: usize,
        batch: &RecordBatch,
        multiplicity: Option<&str>,
    ) -> Result<RecordBatch> {
        let wanted = self
            .inputs
            .get(atom)
            .ok_or_else(|| refused(format!("there is no atom {atom}")))?;
        let columns = wanted.fields().iter().map(|field| {
            let column = batch.column_by_name(field.name());
            let column = column.filter(|column| column.data_type() == field.data_type());
            column
                .cloned()
                .ok_or_else(|| refused(format!("no column is {field}")))
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let often = multiplicity.map(|name| {
            let column = batch.column_by_name(name);
            let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
            column.ok_or_else(|| refused(format!("no column {name:?} is int64")))
        });
        let often = often.transpose()?;
        let times = |row| often.map_or(1, |of| of.value(row));
        let (found, often) = self
            .map
            .of_arrays(atom, columns, batch.num_rows(), &times)?;
        let mut fields: Vec<Arc<Field>> = found.schema().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new("multiplicity", DataType::Int64, false)));
        let mut columns = found.columns().to_vec();
        columns.push(Arc::new(Int64Array::from(often)));
        RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)
            .map_err(|problem| refused(problem.to_string()))
    }
}

fn refused(problem: String) -> Error {
    Error::Value {
        place: "rows to be mapped".to_owned(),
        problem,
    }
}
