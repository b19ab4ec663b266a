//! Any join as an acyclic one: relations that keys combine are one, and cycles are bags.
//!
//! Invariant: the sample that is kept is one of the results of the query; it holds a row of a bag where the
//! query has a row of each of its relations, and what that row is stands in its codes. Every change of a relation is
//! told to the bags that it is in, and the rows that come to them, or leave, are changes of the acyclic join's
//! relations: a result comes with the last of its rows, whatever their order. Cost: O(N^w log N) for N changes of a query of
//! fractional hypertree width w, and that of the sample (paper, Theorem 5.4); nothing where the query
//! is acyclic and nothing is combined.
//!
//! | file | holds |
//! |---|---|
//! | `relation` | [`Relation`]: a relation of a query |
//! | `plan` | which relations the acyclic join has |
//! | `units` | relations that are one by keys |
//! | `relations` | [`Relations`]: these, and where the words of results are |
//! | `query` | [`QuerySample`]: a sample of any join |
//! | `cascade` | a change on its way through bags to the sample |
//! | `resume` | what is held as words that outlive numbers |
//! | `bag` | a join whose changes are told |
//! | `ground` | what every bag stands on: its plan, ids of values |
//! | `cycle/` | a bag of a cycle: a variable after the other |
//! | `keyed/` | a bag of relations that keys combine: a relation after the other |
//! | `numbers` | dense numbers for rows of ids |

mod bag;
mod cascade;
mod cycle;
mod ground;
mod keyed;
mod numbers;
mod plan;
mod query;
mod relation;
mod relations;
mod resume;
mod units;

pub use plan::Told;
pub use query::QuerySample;
pub use relation::Relation;
pub use relations::{Place, Relations};
pub(crate) use resume::Kept;
