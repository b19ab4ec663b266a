//! Expected results of views, by brute force: nested loops over lists of rows, for the tests of all
//! engines.
//!
//! Nothing here is shared with what it checks but the words of a query: names are resolved,
//! expressions computed and groups made anew. Invariant: a table holds no row with multiplicity 0;
//! a change that would take what is not there is refused whole. Cost: the product of the sizes of
//! the tables.
//!
//! | file | holds |
//! |---|---|
//! | `value` | values and rows, in an order of their own |
//! | `tables` | tables by name, and their changes |
//! | `evaluate` | the rows of a query: joins, filters, groups, HAVING, blocks |
//! | `arithmetic` | expressions, conditions and aggregates as SQL says them |
//! | `arrow` | rows in and out of Arrow |
//! | `write` | queries as JSON in a few words |

#![allow(
    clippy::missing_panics_doc,
    reason = "a test that asks for what the oracle does not know is to panic"
)]

pub mod arithmetic;
pub mod arrow;
mod evaluate;
mod tables;
mod value;
pub mod write;

pub use evaluate::{cofactors, evaluate};
pub use tables::{Table, Tables};
pub use value::{Row, Value, ints};
