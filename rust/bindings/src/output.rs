//! Queries of definitions, and the columns of their results, from the schemas that they read: no rows, no database.
//!
//! Invariant: a view of the query over such tables shows these columns. A COFACTOR among them, which no other query
//! reads, is a struct, here without its fields. Cost: that of binding the query.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use pyo3::prelude::*;
use ringview_core::{Error, Result, Schema};
use ringview_query::{Catalog, OutputKind, Query, TableInfo, bind};
use ringview_sql::Definition;

use crate::definition::Given;
use crate::errors::OrRaise;
use crate::incoming::schema;
use crate::outgoing::Columns;

/// The columns that a view of a query in JSON would have; `tables` are the names of what its atoms
/// read, each with a schema (anything with `__arrow_c_schema__`).
///
/// >>> import json, pyarrow as pa
/// >>> from ringview._native import output_schema
/// >>> column = {"atom": 0, "column": "a"}
/// >>> query = {"atoms": [{"table": "r", "alias": "r"}], "group_by": [column],
/// ...          "outputs": [{"kind": "group", "name": "b", "column": column}]}
/// >>> pa.schema(output_schema(json.dumps(query), [("r", pa.schema({"a": pa.int32()}))]))
/// b: int32
#[pyfunction]
pub(crate) fn output_schema(
    py: Python<'_>,
    query_json: &str,
    tables: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<Columns> {
    let query = Query::from_json(query_json).or_raise(py)?;
    let known = Tables::read(py, tables)?;
    let columns = columns(&query, &known).or_raise(py)?;
    Ok(Columns::new(arrow_schema::Schema::new(columns)))
}

/// The query in JSON of a definition over tables, views and their columns.
///
/// >>> import json, pyarrow as pa
/// >>> from ringview._native import translate
/// >>> definition = {"sql": "SELECT year(d) AS y FROM r", "dialect": "duckdb", "parameters": None,
/// ...               "order": None, "in_blocks": False, "only_joins": False,
/// ...               "representation": None, "nulls": None, "epsilon": None, "refresh": "full",
/// ...               "errors_as_null": False}
/// >>> query = translate(definition, [("r", pa.schema({"d": pa.date32()}))])
/// >>> [output["name"] for output in json.loads(query)["outputs"]]
/// ['y']
#[pyfunction]
pub(crate) fn translate(
    py: Python<'_>,
    definition: Given<'_>,
    tables: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<String> {
    let known = Tables::read(py, tables)?;
    let names: Vec<String> = known.0.keys().cloned().collect();
    let (text, options) = definition.read(py)?;
    let definition = Definition::new(&text, options, &names, &known).or_raise(py)?;
    let query = definition.bind().and_then(|query| query.to_json());
    query.or_raise(py)
}

/// Refuses a query in JSON with a part that is computed row by row, or in an order, for `what` takes only joins.
#[pyfunction]
pub(crate) fn check_joins(py: Python<'_>, query_json: &str, what: &str) -> PyResult<()> {
    let query = Query::from_json(query_json);
    query.and_then(|query| query.check_joins(what)).or_raise(py)
}

fn columns(query: &Query, tables: &Tables) -> Result<Vec<Field>> {
    let bound = bind(query, tables)?;
    let seen = bound.as_table(None)?;
    let mut values = seen.schema.fields().iter();
    let columns = bound.outputs.iter().filter_map(|output| match output.kind {
        OutputKind::Cofactor => {
            let nothing = DataType::Struct(Fields::empty());
            Some(Field::new(&output.name, nothing, true))
        }
        _ => values
            .next()
            .map(|value| Field::new(&value.name, value.ty.to_arrow(), value.nullable)),
    });
    Ok(columns.collect())
}

/// A table, view or block of a schema, of which nothing else is known.
fn table(arrow: &arrow_schema::Schema) -> Result<TableInfo> {
    let (cofactors, values): (Vec<_>, Vec<_>) = arrow
        .fields()
        .iter()
        .cloned()
        .partition(|field| matches!(field.data_type(), DataType::Struct(_)));
    Ok(TableInfo {
        schema: Arc::new(Schema::from_arrow(&arrow_schema::Schema::new(values))?),
        is_static: false,
        cancels: false,
        rows: None,
        unique: None,
        cofactors: cofactors.iter().map(|field| field.name().clone()).collect(),
    })
}

/// Tables by their names, of whose rows nothing is known.
pub(crate) struct Tables(BTreeMap<String, TableInfo>);

impl Tables {
    /// Those of names and schemas (anything with `__arrow_c_schema__`).
    pub(crate) fn read(py: Python<'_>, tables: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let mut known = BTreeMap::new();
        for (name, source) in tables {
            known.insert(name, table(&schema(&source)?).or_raise(py)?);
        }
        Ok(Self(known))
    }
}

impl Catalog for Tables {
    fn table(&self, name: &str) -> Result<TableInfo> {
        let found = self.0.get(name).cloned();
        found.ok_or_else(|| Error::UnknownTable {
            name: name.to_owned(),
            known: self.0.keys().cloned().collect(),
        })
    }
}
