//! A naive database: tables as lists of rows, views recomputed by nested loops. And Arrow in and out.

#![allow(dead_code, reason = "each test binary uses its part")]

mod evaluate;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use ringview_core::{Field, Result, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::{ColumnRef, Measure, Output, Query};

use evaluate::{compute_group, holds, holds_of};

#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

pub type Row = Vec<Value>;

/// A table: name, columns, whether it is static.
pub type Declared = (&'static str, &'static [(&'static str, Type)], bool);

/// The tables of all tests.
pub const TABLES: [Declared; 3] = [
    (
        "r",
        &[("a", Type::Int64), ("b", Type::Int64), ("x", Type::Float64)],
        false,
    ),
    (
        "s",
        &[("b", Type::Int64), ("c", Type::Int64), ("t", Type::Utf8)],
        false,
    ),
    ("u", &[("c", Type::Int64), ("d", Type::Int64)], true),
];

pub fn schema(columns: &[(&str, Type)]) -> Schema {
    let field = |(name, ty): &(&str, Type)| Field::new(*name, ty.clone(), true);
    Schema::new(columns.iter().map(field).collect()).unwrap()
}

pub fn database(options: Options) -> Database {
    let mut db = Database::new(options);
    for (name, columns, is_static) in TABLES {
        db.create_table(name, schema(columns), None, is_static)
            .unwrap();
    }
    db
}

pub fn unpolled(_: u64) -> Result<()> {
    Ok(())
}

/// Rows of a table as Arrow, with a column `n` of multiplicities if there are any.
pub fn to_arrow(table: usize, rows: &[Row], multiplicities: Option<&[i64]>) -> RecordBatch {
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    for (index, (name, ty)) in TABLES[table].1.iter().enumerate() {
        let values = || rows.iter().map(|row| &row[index]);
        let array: ArrayRef = match ty {
            Type::Int64 => Arc::new(Int64Array::from_iter(values().map(|v| match v {
                Value::Int(v) => Some(*v),
                _ => None,
            }))),
            Type::Float64 => Arc::new(Float64Array::from_iter(values().map(|v| match v {
                Value::Real(v) => Some(*v),
                _ => None,
            }))),
            _ => Arc::new(StringArray::from_iter(values().map(|v| match v {
                Value::Text(v) => Some(v.clone()),
                _ => None,
            }))),
        };
        columns.push((name, array));
    }
    if let Some(all) = multiplicities {
        columns.push(("n", Arc::new(Int64Array::from(all.to_vec()))));
    }
    let field =
        |(name, array): &(&str, ArrayRef)| ArrowField::new(*name, array.data_type().clone(), true);
    let schema = ArrowSchema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

/// The rows of a result, sorted.
pub fn from_arrow(batch: &RecordBatch) -> Vec<Row> {
    let value = |array: &ArrayRef, row: usize| {
        if array.is_null(row) {
            return Value::Null;
        }
        match array.data_type() {
            DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
            DataType::Float64 => Value::Real(array.as_primitive::<Float64Type>().value(row)),
            _ => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        }
    };
    let rows = 0..batch.num_rows();
    let mut rows: Vec<Row> = rows
        .map(|row| {
            batch
                .columns()
                .iter()
                .map(|array| value(array, row))
                .collect()
        })
        .collect();
    sort(&mut rows);
    rows
}

pub fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
}

/// A change of a table: rows with multiplicities, of which negative ones turn the direction round.
#[derive(Clone, Debug)]
pub struct Change {
    pub table: usize,
    pub direction: Direction,
    pub rows: Vec<(Row, i64)>,
    /// Whether the multiplicities are given in a column; else they are all 1.
    pub counted: bool,
}

impl Change {
    pub fn insert(table: usize, rows: Vec<Row>) -> Change {
        let rows = rows.into_iter().map(|row| (row, 1)).collect();
        Change {
            table,
            direction: Direction::Insert,
            rows,
            counted: false,
        }
    }

    pub fn delete(table: usize, rows: Vec<Row>) -> Change {
        Change {
            direction: Direction::Delete,
            ..Change::insert(table, rows)
        }
    }

    pub fn batch(&self) -> RecordBatch {
        let (rows, counts): (Vec<Row>, Vec<i64>) = self.rows.iter().cloned().unzip();
        to_arrow(self.table, &rows, self.counted.then_some(&counts))
    }
}

/// Applies changes as one transaction.
pub fn apply(db: &mut Database, changes: &[Change]) -> Result<()> {
    let batches: Vec<RecordBatch> = changes.iter().map(Change::batch).collect();
    let ops: Vec<Op<'_>> = changes
        .iter()
        .zip(&batches)
        .map(|(change, batch)| Op {
            table: TABLES[change.table].0,
            direction: change.direction,
            rows: std::slice::from_ref(batch),
            multiplicity: change.counted.then_some("n"),
        })
        .collect();
    db.apply(&ops, &mut unpolled)
}

/// Tables as lists of rows.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub tables: [Vec<Row>; 3],
}

impl Model {
    /// Applies changes; false, and nothing changed, if a row is not there to be deleted.
    pub fn apply(&mut self, changes: &[Change]) -> bool {
        let before = self.clone();
        for change in changes {
            for (row, count) in &change.rows {
                let inserts = (*count > 0) == (change.direction == Direction::Insert);
                let table = &mut self.tables[change.table];
                for _ in 0..count.unsigned_abs() {
                    if inserts {
                        table.push(row.clone());
                    } else if let Some(at) = table.iter().position(|have| have == row) {
                        table.swap_remove(at);
                    } else {
                        *self = before;
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The rows of a view, sorted.
    pub fn evaluate(&self, query: &Query) -> Vec<Row> {
        let tables: Vec<usize> = query
            .atoms
            .iter()
            .map(|atom| TABLES.iter().position(|t| t.0 == atom.table).unwrap())
            .collect();
        let mut joined: Vec<Vec<&Row>> = vec![Vec::new()];
        for &table in &tables {
            joined = joined
                .iter()
                .flat_map(|rows| {
                    let one = |row| rows.iter().copied().chain([row]).collect::<Vec<_>>();
                    self.tables[table].iter().map(one).collect::<Vec<_>>()
                })
                .collect();
        }
        let get = |rows: &[&Row], column: &ColumnRef| {
            let columns = TABLES[tables[column.atom]].1;
            let at = columns.iter().position(|c| c.0 == column.column).unwrap();
            rows[column.atom][at].clone()
        };
        let mut groups: BTreeMap<String, Vec<Vec<&Row>>> = BTreeMap::new();
        for rows in joined {
            let equal = query.joins.iter().all(|class| {
                let first = get(&rows, &class[0]);
                first != Value::Null && class.iter().all(|c| get(&rows, c) == first)
            });
            let passes = query.atoms.iter().all(|atom| match &atom.filter {
                None => true,
                Some(filter) => holds(filter, &|c| get(&rows, c)) == Some(true),
            });
            if equal && passes {
                let key: Vec<Value> = query.group_by.iter().map(|c| get(&rows, c)).collect();
                groups.entry(format!("{key:?}")).or_default().push(rows);
            }
        }
        if query.group_by.is_empty() {
            groups.entry("[]".to_owned()).or_default();
        }
        let mut result: Vec<Row> = Vec::new();
        for group in groups.values() {
            let value = |measure: &Measure| compute_group(measure, group, &get);
            if let Some(having) = &query.having
                && holds_of(having, &value) != Some(true)
            {
                continue;
            }
            let output = |output: &Output| match output {
                Output::Group { column, .. } => get(&group[0], column),
                Output::Aggregate {
                    function, argument, ..
                } => value(&Measure::Aggregate {
                    function: *function,
                    arguments: argument.iter().cloned().collect(),
                }),
                Output::Cofactor { .. } => Value::Null,
                Output::Expression { value: measure, .. } => value(measure),
            };
            result.push(query.outputs.iter().map(output).collect());
        }
        sort(&mut result);
        result
    }
}
