//! The Python extension of ringview: classes, Arrow in and out, errors to exceptions.
//!
//! Nothing is computed here, and nothing is done a row but to read plain values: a call turns names and Arrow capsules into
//! what the engine takes, in microseconds, and its answer into capsules again.
//!
//! | file | holds |
//! |---|---|
//! | `database` | the class `Database` |
//! | `chain` | the class `MatrixChain` |
//! | `index/` | the classes `RpaiTree` and `PaiMap` |
//! | `busy` | one call at a time, without deadlock, in forked processes too |
//! | `ending` | release and taking of the interpreter, and its end |
//! | `watch` | Ctrl-C and progress during long calls |
//! | `incoming` | rows: Arrow data from any library that speaks its C interface, plain values |
//! | `change` | what changes are, from Python's values to the engine's |
//! | `definition`, `parameters` | what a view is defined by, from Python's values |
//! | `output` | queries of definitions, and what columns they give |
//! | `sql` | what a text of SQL names |
//! | `statement` | the class `Statement`: one of a script |
//! | `planned`, `inserted`, `altered` | which rows a statement takes away and adds; which columns it changes |
//! | `row_map` | the class `RowMap`: computed rows without a database |
//! | `expressions` | what the texts of a query's expressions name |
//! | `outgoing` | schemas and rows handed to such a library |
//! | `stream` | the class `RowStream`: rows of a view, block by block |
//! | `postgres` | the class `PostgresServer`: PostgreSQL's wire protocol |
//! | `function` | functions of the user, which Python computes |
//! | `handle` | what tables and views are called by |
//! | `follower` | the class `Follower`: what moved in a view, for one reader |
//! | `graph` | `count_triangles` |
//! | `reservoir` | the class `ReservoirState`; samples of parts to one |
//! | `lookup` | keys from Python values, and rows to them |
//! | `errors` | errors to the exceptions of `ringview.errors` |

mod altered;
mod busy;
mod chain;
mod change;
mod database;
mod definition;
mod ending;
mod errors;
mod expressions;
mod function;
mod graph;
mod handle;
mod incoming;
mod index;
mod inserted;
mod lookup;
mod outgoing;
mod output;
mod parameters;
mod planned;
mod postgres;
mod reservoir;
mod returned;
mod row_map;
mod sql;
mod statement;
mod watch;

/// The module `ringview._native`.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::chain::{Dense, MatrixChain};
    #[pymodule_export]
    use super::database::{Database, Follower, RowStream};
    #[pymodule_export]
    use super::expressions::{equalities, expression_columns, filter_columns, spark_filter};
    #[pymodule_export]
    use super::graph::count_triangles;
    #[pymodule_export]
    use super::incoming::{Batches, RowBuffer};
    #[pymodule_export]
    use super::index::{PaiMap, RpaiTree};
    #[pymodule_export]
    use super::outgoing::{Columns, Rows};
    #[pymodule_export]
    use super::output::{check_joins, output_schema, translate};
    #[pymodule_export]
    use super::postgres::{PostgresServer, postgres_types};
    #[pymodule_export]
    use super::reservoir::{ReservoirState, merge_samples};
    #[pymodule_export]
    use super::row_map::{RowMap, columns_read};
    #[pymodule_export]
    use super::sql::{product_columns, sql_tokens, tables_named};
    #[pymodule_export]
    use super::statement::{Statement, script};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::busy::count_forks(module.py())?;
        super::ending::watch(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
