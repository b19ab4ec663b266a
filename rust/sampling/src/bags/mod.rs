//! Any join as an acyclic one: relations are merged along keys, and cycles are bags.
//!
//! Invariant: the acyclic join has the results of the query. In the place of a row of each relation of a bag, a result
//! holds a row of the bag, whose codes name those rows. Each bag is updated by every relation in it, and its inserted
//! and deleted rows are changes of the acyclic join's relations: a result is inserted with the last of its rows,
//! whatever their order. Cost: O(N^w log N) for N changes of a query of fractional hypertree width w, and that of the
//! sample (paper, Theorem 5.4); nothing where the query is acyclic and nothing is merged.
//!
//! | file | holds |
//! |---|---|
//! | `relation` | [`Relation`]: a relation of a query |
//! | `plan` | the relations of the acyclic join |
//! | `merged` | relations merged along keys |
//! | `relations` | [`Relations`]: these, and the words of results |
//! | `query` | [`QuerySample`]: a sample of any join |
//! | `cascade` | a change on its way through bags to the sample |
//! | `resume` | the results of a sample as words that outlive numbers |
//! | `bag` | a join that emits its changes |
//! | `context` | the plan of a bag, and the ids of its values |
//! | `cycle/` | a bag of a cycle: a variable after the other |
//! | `keyed/` | a bag of relations that are merged along keys: a relation after the other |
//! | `numbers`, `groups` | dense numbers for rows of ids, and for those that agree on some columns |

mod bag;
mod cascade;
mod context;
mod cycle;
mod groups;
mod keyed;
mod merged;
mod numbers;
mod plan;
mod query;
mod relation;
mod relations;
mod resume;

pub use plan::BagDescription;
pub use query::QuerySample;
pub use relation::Relation;
pub use relations::{Relations, WordRef};
pub(crate) use resume::SampleState;
