//! Arrow to PostgreSQL's formats.
//!
//! | file | holds |
//! |---|---|
//! | `kind` | which type of PostgreSQL's a type of Arrow's is |
//! | `column` | a column, and its values in both formats |
//! | `text` | values as texts |
//! | `numeric` | decimals in the binary format |
//! | `json` | values that PostgreSQL has no type for, as JSON |
//! | `rows` | rows as messages |
//!
//! Invariant: a value reads back as itself in either format, to the last digit. Cost: linear in the values.

pub(crate) mod column;
mod json;
pub mod kind;
pub(crate) mod numeric;
pub mod rows;
mod text;
