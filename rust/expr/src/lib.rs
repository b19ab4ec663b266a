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
//! | `physical` | kernels for an expression, and the value of a constant one |
//! | `facts` | an expression's type, and whether it may be NULL or fail |
//! | `row_types` | a filter and columns over a row: bound and typed |
//! | `projection` | the same, compiled and evaluated |
//! | `scalar` | expressions of a query, before they have types; the border to texts |
//! | `parser` | text to an expression, and that to one with types; errors |
//! | `untyped` | syntax of a text of which types decide |
//! | `text` | expressions as text |
//! | `aggregates` | aggregates by their names |
//! | `assigned` | values as a column of a table takes them |
//! | `functions` | the functions that a text may call |
//! | `registry` | which functions of the library are taken, and which no user's text calls |
//! | `meaning` | what DuckDB means where DataFusion means something else; `operators` of operators |
//! | `conditions` | the one meaning of a condition, in texts and bound |
//! | `calls/` | aggregates and window functions over the rows of a partition |
//! | `parts` | an expression node by node, each over columns that represent its operands |
//! | `attempt` | `try`, NULL where a value cannot be computed |
//! | `first_known` | COALESCE, its values computed as they are needed |
//! | `shared` | arguments that a meaning reads more than once |
//! | `fold` | constants, evaluated once; `checks` what they say of calls |
//! | `error` | problems of the library as ours |
//! | `renamed` | names of DuckDB's for other functions |
//! | `synonyms` | functions of DuckDB that are said with others |
//! | `moments` | functions of moments, by kernels of their own |
//! | `lists` | lists, structs and maps: syntax and functions |
//! | `types` | types that meet |
//! | `kernels/` | functions that DataFusion lacks |
//! | `user/` | functions of the user |
//! | `walk` | visitors over the parser's trees |

mod aggregates;
mod assigned;
mod attempt;
mod balance;
mod bits;
mod calls;
mod checks;
mod conditions;
mod error;
mod facts;
mod first_known;
mod fold;
mod functions;
mod kernels;
mod lists;
mod meaning;
mod moments;
mod operators;
mod parser;
mod parts;
mod physical;
mod projection;
mod registry;
mod renamed;
mod row_types;
mod scalar;
mod shared;
mod synonyms;
mod text;
mod types;
mod untyped;
mod user;
mod walk;

pub use aggregates::aggregate;
pub use assigned::{assigned, repeated};
pub use balance::Balance;
pub use calls::{
    AGGREGATES, Call, Calls, Edge, Frame, FrameUnit, SortKey, WINDOWS, aggregate_type, columns_of,
    window_type,
};
pub use conditions::Conditions;
pub use functions::{Functions, function_names, is_inner_function};
pub use parser::{Forms, options, settings, value};
pub use projection::{Projected, Projection, common_type};
pub use registry::as_written;
pub use row_types::RowTypes;
pub use scalar::Scalar;
pub use text::{call, quoted};
pub use types::are_like_structs;
pub use user::{Compute, Failure, Kind, Nulls, Signature, UserFunction, shown, user_functions};
pub use walk::{walk, walk_expressions, walk_mut, walk_relations};
