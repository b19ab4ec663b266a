//! The logical query: hypergraph, variable orders, view trees and what each view carries.
//!
//! A [`Query`] names tables and columns; [`bind()`] turns it into a [`Plan`] that an engine can run.
//! Nothing here knows data. The ideas are those of sections 2 to 4 of the F-IVM paper.
//!
//! | file | holds |
//! |---|---|
//! | `query`, `plan`, `expr` | the types: what comes in, what goes out |
//! | `bind`, `variables`, `scalar`, `filter`, `predicate`, `literal`, `arithmetic` | names and types |
//! | `terms`, `payload` | aggregates as sums of products, one component a view |
//! | `hypergraph`, `classes`, `cover` | acyclicity, query classes, widths |
//! | `factorised` | the view tree of a join kept as unions and products |
//! | `order/`, `tree`, `update` | variable orders, view trees, what a change costs |
//! | `indicator` | the relations that keep views over parts of a cycle small |
//! | `split` | a leaf by its columns, for deltas in factors |
//! | `explanation/` | all that, told |

mod aggregate;
mod arithmetic;
mod bind;
mod classes;
mod cofactor;
mod companion;
mod computed;
mod cover;
mod explanation;
mod expr;
mod factorised;
mod filter;
mod hypergraph;
mod indicator;
mod literal;
mod measures;
mod order;
mod payload;
pub mod plan;
mod predicate;
mod query;
mod scalar;
mod set;
mod split;
mod terms;
mod tree;
mod update;
mod variables;

pub use bind::{Planning, bind, bind_with};
pub use explanation::conditions;
pub use plan::*;
pub use query::{
    Atom, Bag, ColumnRef, Condition, Function, Literal, Measure, Nulls, OrderRef, Output, Query,
    Representation, Scalar,
};
pub use split::{LeafPart, split_leaf};
