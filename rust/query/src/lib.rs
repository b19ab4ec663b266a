//! The logical query: hypergraph, variable orders, view trees and what each view carries.

mod expr;
pub mod plan;
mod query;

pub use plan::*;
pub use query::{Atom, ColumnRef, Condition, Function, Literal, OrderRef, Output, Query, Scalar};
