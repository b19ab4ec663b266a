//! The logical query: what it is, its hypergraph, and what it means over given tables.
//!
//! A [`Query`] names tables and columns; [`bind()`] turns it into a [`Bound`]: atoms, variables,
//! filters and outputs over terms numbered once. Engines plan from that, each in its own way.
//! Nothing here reads data. The ideas are those of sections 2 to 4 of the F-IVM paper.
//!
//! | folder | holds |
//! |---|---|
//! | `logical/` | what a query is, as it arrives: names not yet resolved |
//! | `graph/` | hypergraphs, classes, covers, variable orders, what a change meets: mathematics over sets |
//! | `bind/` | names and types: columns, filters, aggregates as sums of products, conditions with queries within |

mod bind;
pub mod graph;
mod logical;

pub use bind::nested;
pub use bind::predicate::all;
pub use bind::reads::hypergraph;
pub use bind::variables::join_type;
pub use bind::{
    Bound, Catalog, CategoryPair, Companion, CompanionValue, Comparison, Constant, Factor,
    Features, Kind, Moments, Op, OutputKind, PlanAtom, PlanOutput, Polynomial, Predicate, Results,
    TableInfo, Term, VarId, Variable, bind,
};
pub use graph::order::OrderNode;
pub use logical::{
    ALWAYS, Atom, Bag, Block, Branch, Call, Clock, ClockStep, ColumnRef, Edge, Exponents, FOREVER,
    Frame, FrameBounds, FrameEnd, FrameUnit, Function, Interval, Latest, LatestSide, Named, Nulls,
    OrderRef, Ordering, Output, Parted, Query, Rank, Recursion, Refresh, Representation, Rows,
    SortKey, Span, Spans, StepTable, Strategy, TimeCondition, Timed,
};
pub use ringview_expr::Scalar;
