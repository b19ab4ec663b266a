//! A database and, beside it, lists of rows: what views must show is the oracle's affair.

pub mod queries;
pub mod recompute;

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::RecordBatch;
use proptest::prelude::{Strategy, any};
use ringview_core::{Field, Result, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options, engines};
pub use ringview_oracle::arrow::from_arrow;
pub use ringview_oracle::{Row, Value};
use ringview_oracle::{Table, Tables, evaluate};
use ringview_query::Query;

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

/// Options of a database that do not change the results of its views.
pub fn ways() -> impl Strategy<Value = Options> {
    (any::<bool>(), 1usize..3).prop_map(|(unshared, threads)| Options {
        unshared,
        threads: NonZeroUsize::new(threads),
        ..Options::default()
    })
}

pub fn database(options: Options) -> Database {
    declared(Database::new(options))
}

/// The same with a toy engine beside those that there are.
pub fn with_recompute(options: Options) -> Database {
    let mut all = engines();
    all.push(Arc::new(recompute::Recompute));
    declared(Database::with_engines(options, all))
}

/// The same with the tables of all tests.
pub fn declared(mut db: Database) -> Database {
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
    ringview_oracle::arrow::to_arrow(TABLES[table].1, rows, multiplicities)
}

pub fn sort(rows: &mut [Row]) {
    rows.sort();
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

/// The tables of all tests, as lists of rows.
#[derive(Clone, Debug)]
pub struct Model {
    pub tables: Tables,
}

impl Default for Model {
    fn default() -> Self {
        let with = |tables: Tables, (name, columns, is_static): Declared| {
            let table = Table::new(columns);
            tables.with(name, Table { is_static, ..table })
        };
        Model {
            tables: TABLES.into_iter().fold(Tables::default(), with),
        }
    }
}

impl Model {
    /// Applies changes; false, and nothing changed, if a row is not there to be deleted.
    pub fn apply(&mut self, changes: &[Change]) -> bool {
        let before = self.clone();
        for change in changes {
            let sign = match change.direction {
                Direction::Insert => 1,
                Direction::Delete => -1,
            };
            let signed = change.rows.iter().map(|(row, n)| (row.clone(), n * sign));
            // Row by row: none may be deleted before it is inserted.
            for row in signed {
                if !self.tables.get_mut(TABLES[change.table].0).add(&[row]) {
                    *self = before;
                    return false;
                }
            }
        }
        true
    }

    /// Number of rows of a table, with multiplicities.
    pub fn len(&self, table: usize) -> u64 {
        let rows = &self.tables.get(TABLES[table].0).rows;
        rows.values().sum::<i64>() as u64
    }

    /// The rows of a view, sorted.
    pub fn evaluate(&self, query: &Query) -> Vec<Row> {
        evaluate(query, &self.tables)
    }
}
