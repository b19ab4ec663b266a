//! A naive database: tables as lists of rows, views recomputed by nested loops. And Arrow in and out.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use ringview_core::{Field, Result, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::{
    ColumnRef, Comparison, Condition, Function, Literal, Measure, Output, Query, Scalar,
};

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

/// A measure over the rows of a group; integers alone are subtracted.
fn compute_group<'a>(
    measure: &Measure,
    group: &[Vec<&'a Row>],
    get: &dyn Fn(&[&'a Row], &ColumnRef) -> Value,
) -> Value {
    let of = |side: &Measure| compute_group(side, group, get);
    match measure {
        Measure::Group { column } => get(&group[0], column),
        Measure::Aggregate {
            function,
            arguments,
        } => {
            let value = |rows: &Vec<&'a Row>| match arguments.first() {
                None => Value::Int(1),
                Some(scalar) => compute(scalar, &|c| get(rows, c)),
            };
            aggregate(*function, group.iter().map(value))
        }
        Measure::Literal { value } => literal(value),
        Measure::Subtract { left, right } => match (of(left), of(right)) {
            (Value::Int(l), Value::Int(r)) => Value::Int(l - r),
            _ => Value::Null,
        },
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

fn aggregate(function: Function, values: impl Iterator<Item = Value>) -> Value {
    let values: Vec<Value> = values.filter(|v| *v != Value::Null).collect();
    let real = |value: &Value| match value {
        Value::Int(v) => *v as f64,
        Value::Real(v) => *v,
        _ => f64::NAN,
    };
    match (function, &values[..]) {
        (Function::Count, _) => Value::Int(values.len() as i64),
        (Function::CountDistinct, values) => {
            let different = |at: &usize| !values[..*at].contains(&values[*at]);
            Value::Int((0..values.len()).filter(different).count() as i64)
        }
        (_, []) => Value::Null,
        (Function::Min | Function::Max, values) => {
            let wanted = match function {
                Function::Min => Ordering::Less,
                _ => Ordering::Greater,
            };
            let better = |best: Value, other: &Value| match other.partial_cmp(&best) {
                Some(order) if order == wanted => other.clone(),
                _ => best,
            };
            values.iter().fold(values[0].clone(), better)
        }
        (Function::Sum, [Value::Int(_), ..]) => Value::Int(
            values
                .iter()
                .map(|v| if let Value::Int(v) = v { *v } else { 0 })
                .sum(),
        ),
        (Function::Sum, _) => Value::Real(values.iter().map(real).sum::<f64>() + 0.0),
        (Function::Avg, _) => {
            Value::Real(values.iter().map(real).sum::<f64>() / values.len() as f64 + 0.0)
        }
        (other, _) => panic!("{other:?} is not in the tests' queries"),
    }
}

fn compute(scalar: &Scalar, get: &dyn Fn(&ColumnRef) -> Value) -> Value {
    let two = |l: &Scalar, r: &Scalar, int: fn(i64, i64) -> i64, real: fn(f64, f64) -> f64| match (
        compute(l, get),
        compute(r, get),
    ) {
        (Value::Int(l), Value::Int(r)) => Value::Int(int(l, r)),
        (Value::Real(l), Value::Real(r)) => Value::Real(real(l, r)),
        (Value::Int(l), Value::Real(r)) => Value::Real(real(l as f64, r)),
        (Value::Real(l), Value::Int(r)) => Value::Real(real(l, r as f64)),
        _ => Value::Null,
    };
    match scalar {
        Scalar::Column { atom, column } => get(&ColumnRef {
            atom: *atom,
            column: column.clone(),
        }),
        Scalar::Literal { value } => literal(value),
        Scalar::Add { left, right } => two(left, right, |l, r| l + r, |l, r| l + r),
        Scalar::Subtract { left, right } => two(left, right, |l, r| l - r, |l, r| l - r),
        Scalar::Multiply { left, right } => two(left, right, |l, r| l * r, |l, r| l * r),
        Scalar::Negate { operand } => match compute(operand, get) {
            Value::Int(v) => Value::Int(-v),
            Value::Real(v) => Value::Real(-v),
            other => other,
        },
    }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Int(v) => Value::Int(*v),
        Literal::Float(v) => Value::Real(*v),
        Literal::Text(v) => Value::Text(v.clone()),
        other => panic!("{other:?} is not in the tests' queries"),
    }
}

fn holds(condition: &Condition, get: &dyn Fn(&ColumnRef) -> Value) -> Option<bool> {
    holds_of(condition, &|scalar| compute(scalar, get))
}

/// Of rows or of groups.
fn holds_of<S: std::fmt::Debug>(
    condition: &Condition<S>,
    value: &dyn Fn(&S) -> Value,
) -> Option<bool> {
    match condition {
        Condition::Compare {
            comparison,
            left,
            right,
        } => {
            let (left, right) = (value(left), value(right));
            if left == Value::Null || right == Value::Null {
                return None;
            }
            let order = left.partial_cmp(&right)?;
            Some(match comparison {
                Comparison::Eq => order.is_eq(),
                Comparison::Ne => order.is_ne(),
                Comparison::Lt => order.is_lt(),
                Comparison::Le => order.is_le(),
                Comparison::Gt => order.is_gt(),
                Comparison::Ge => order.is_ge(),
            })
        }
        Condition::IsNull { operand } => Some(value(operand) == Value::Null),
        Condition::Not { operand } => holds_of(operand, value).map(|held| !held),
        other => panic!("{other:?} is not in the tests' queries"),
    }
}
