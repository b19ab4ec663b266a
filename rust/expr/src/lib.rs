//! Row expressions: SQL over the columns of one row, with DuckDB's meaning, evaluated over Arrow.
//!
//! Invariant: an expression is a function of its row alone. Functions that read a clock, or draw random numbers, are
//! not known here, and functions of the user are trusted to do neither, so a row that is deleted computes what it computed when it was inserted. Cost: binding is linear in
//! the text; evaluation is one pass of vector kernels a node of the expression.
//!
//! Parsing, types, coercion and the kernels are DataFusion's. Its meaning is DuckDB's where the two differ: `meaning`
//! rewrites the bound expression before types are coerced.
//!
//! | file | holds |
//! |---|---|
//! | `projection` | a filter and columns over a row: bound, typed, evaluated |
//! | `parser` | text to an expression, as it is written or bound; errors |
//! | `text` | expressions as text; texts with something else in the place of their columns |
//! | `aggregates` | aggregates by their names |
//! | `assigned` | values as a column of a table takes them |
//! | `functions` | the functions that a text may call |
//! | `meaning` | what DuckDB means where DataFusion means something else; `operators` of operators |
//! | `calls/` | aggregates and window functions over the rows of a partition |
//! | `error` | problems of the library as ours |
//! | `renamed` | names of DuckDB's that stand for something else |
//! | `synonyms` | functions of DuckDB that are said with others |
//! | `lists` | lists, structs and maps: syntax and functions |
//! | `types` | types that meet |
//! | `kernels/` | functions that DataFusion lacks |
//! | `user/` | functions of the user |

mod aggregates;
mod assigned;
mod balance;
mod bits;
mod calls;
mod error;
mod functions;
mod kernels;
mod lists;
mod meaning;
mod operators;
mod parser;
mod projection;
mod renamed;
mod synonyms;
mod text;
mod types;
mod user;

pub use aggregates::aggregate;
pub use assigned::{assigned, repeated};
pub use balance::Balance;
pub use calls::{
    AGGREGATES, Call, Calls, Edge, Frame, FrameUnit, SortKey, WINDOWS, aggregate_type, columns_of,
    window_type,
};
pub use functions::{Functions, function_names};
pub use parser::{Doubles, options, read, read_unresolved, settings, value};
pub use projection::{Projected, Projection, common_type};
pub use text::{all_of, call, columns, conjuncts, quoted, replaced, text};
pub use user::{Compute, Failure, Kind, Nulls, Signature, UserFunction, shown, user_functions};
