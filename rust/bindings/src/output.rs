//! What columns a query gives, told by the schemas of what it reads: no rows, no database.
//!
//! Invariant: a view of the query over such tables shows these columns. A COFACTOR among them, which no
//! other query reads, is a struct, here without what it holds. Cost: that of binding the query.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use pyo3::prelude::*;
use ringview_core::{Error, Result, Schema};
use ringview_query::{Catalog, OutputKind, Query, TableInfo, bind};
use ringview_sql::{Dialect, Named, Options};

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

/// A variable order: names of columns, each with what is below it.
#[derive(FromPyObject)]
pub(crate) struct Order(String, Vec<Order>);

impl Order {
    fn named(self) -> Named {
        let Self(name, below) = self;
        let below = below.into_iter().map(Order::named).collect();
        Named { name, below }
    }
}

/// Options of a translation, as a dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Beside<'py> {
    order: Option<Vec<Order>>,
    in_blocks: bool,
    only_joins: bool,
    parameters: Option<Bound<'py, PyAny>>,
    dialect: String,
    refresh: String,
}

impl Beside<'_> {
    pub(crate) fn options(self, py: Python<'_>) -> PyResult<Options> {
        let parameters = self.parameters.as_ref().map(crate::parameters::of);
        let order = self.order;
        Ok(Options {
            dialect: Dialect::named(&self.dialect).or_raise(py)?,
            parameters: parameters.transpose()?.unwrap_or_default(),
            order: order.map(|order| order.into_iter().map(Order::named).collect()),
            in_blocks: self.in_blocks,
            only_joins: self.only_joins,
            refresh: self.refresh.parse().or_raise(py)?,
        })
    }
}

/// The query in JSON of a SELECT over tables, views and their columns. Of the options, `order` is a variable order,
/// `only_joins` tells rows without a partner by conditions, `in_blocks` leaves no condition to an engine that compares across tables or with subqueries, `parameters` are the
/// values of `$1`, `?` (a sequence), `$name` and `:name` (a mapping), `dialect` is that of the text, `refresh` is how much a
/// change may compute anew: "incremental" none, "part" the partitions that it touches, "full" all rows.
///
/// >>> import json, pyarrow as pa
/// >>> from ringview._native import translate
/// >>> options = {"order": None, "in_blocks": False, "only_joins": False, "parameters": None,
/// ...            "dialect": "duckdb", "refresh": "full"}
/// >>> tables = [("r", pa.schema({"d": pa.date32()}))]
/// >>> query = translate("SELECT year(d) AS y FROM r", tables, options)
/// >>> [output["name"] for output in json.loads(query)["outputs"]]
/// ['y']
#[pyfunction]
pub(crate) fn translate(
    py: Python<'_>,
    sql: &str,
    tables: Vec<(String, Bound<'_, PyAny>)>,
    options: Beside<'_>,
) -> PyResult<String> {
    let known = Tables::read(py, tables)?;
    let names: Vec<String> = known.0.keys().cloned().collect();
    let options = options.options(py)?;
    let query = ringview_sql::translate(sql, &names, &known, &options).or_raise(py)?;
    query.to_json().or_raise(py)
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
