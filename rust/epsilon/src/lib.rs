//! IVM^epsilon: sums over joins that no view tree keeps in constant time, at O(N^max(e, 1-e)) a change.
//!
//! The join of three relations of which two pairs or more join on variables of their own costs a walk over the
//! variables between two of them whenever the third changes; the triangle is the smallest. Values in few tuples (light)
//! make short walks; values in many tuples (heavy) are few, and walks through light values between two heavy ones are
//! summed beforehand in auxiliary views.
//!
//! Theorem (Kara, Ngo, Nikolic, Olteanu, Zhang: theorems 3, 16 and 37): with thresholds N^e a change of one
//! tuple costs O(N^max(e, 1-e)) amortised, rebalancing included, the result is there at once, and the
//! state takes O(N^max(1, min(1+e, 2-2e))): linear at e = 1/2, where a change costs O(sqrt N), which is
//! optimal if the OMv conjecture holds.
//!
//! So are kept: joins of three relations; Loomis-Whitney joins, of any number of relations which each lack
//! other variables; the path of four relations; and of triangles not only sums, but the rows.
//!
//! Difference from the paper: a value is counted over all relations that join on it, not in each separately, so it is
//! heavy or light for all of them. The bounds are those of refined partitions (appendix D) with as many times the heavy
//! values; a change of a triangle has two cases in place of sixteen skew-aware views, the path six views in place of
//! fourteen.
//!
//! | file | holds |
//! |---|---|
//! | `query/` | joins by what they join on: which class, which keys |
//! | `algebra` | the ring of the payloads, with the few constants that moving tuples needs |
//! | `strategy/` | relations, partitions, auxiliary views and delta rules, made from a query: a file a class |
//! | `machine/` | changes: the case of each row, what follows, what is counted; transactions |
//! | `bulk` | rows that are many beside what is there, loaded by a worst-case optimal join |
//! | `graph` | the triangles of a graph, counted at once |
//! | `rebalance` | the size invariant; values that change from heavy to light and back |
//! | `engine` | the engine, as the database sees it: what it keeps, and why not the rest |
//! | `plan/` | from a bound query to relations, fields and components of payloads; as an explanation |
//! | `view/` | rows of tables in, groups or rows out: machines behind the trait of all views |

mod algebra;
mod bulk;
mod engine;
mod graph;
mod machine;
mod plan;
mod query;
mod rebalance;
mod strategy;
mod view;

pub use algebra::Algebra;
pub use engine::HeavyLight;
pub use graph::{GraphKind, Triangles, count_triangles};
pub use machine::{Machine, PartSizes, Rebalancings, RowBlock, RowCursor};
pub use query::{Class, Epsilon, Query, Refused};
