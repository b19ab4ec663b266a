//! The logical query: hypergraph, variable orders, view trees and what each view carries.
//!
//! A [`Query`] names tables and columns; [`bind()`] turns it into a [`Plan`] that an engine can run.
//! Nothing here knows data. The ideas are those of sections 2 to 4 of the F-IVM paper.
//!
//! | folder | holds |
//! |---|---|
//! | `logical/` | what a query is, as it arrives: names not yet resolved |
//! | `graph/` | hypergraphs, covers, variable orders, what a change meets: mathematics over sets |
//! | `bind/` | names and types: columns, filters, aggregates as sums of products |
//! | `plan/` | view trees, what each view carries, and how that is told |

mod bind;
mod graph;
mod logical;
pub mod plan;

pub use bind::{
    Bound, Catalog, Companion as BoundCompanion, CompanionValue, Comparison, Computed, ComputedOp,
    Expr, Features, Having, Kind, Moments, Number, Op, OutputKind, PlanAtom, PlanOutput, Predicate,
    TableInfo, Term, TextOperand, VarId, Variable, bind,
};
pub use graph::order::OrderNode;
pub use logical::{
    Atom, Bag, ColumnRef, Condition, Function, Literal, Measure, Nulls, OrderRef, Output, Query,
    Representation, Scalar,
};
pub use plan::explanation::conditions;
pub use plan::split::{LeafPart, split_leaf};
pub use plan::*;
