//! The view-tree engine: joins with group-by aggregates, kept fresh by deltas along leaf-to-root paths.
//!
//! A plan's variable order gives a tree of views, each the join of its children with its bound
//! variables summed away (paper, figures 2 and 3). A change of a relation climbs from its leaf:
//! at each view it meets the siblings, which are kept (paper, figures 4 and 5). For q-hierarchical
//! queries that is one probe a view; else it walks the groups that the change touches.
//!
//! | file | holds |
//! |---|---|
//! | `plan/` | plan of a bound query: variable order, views, payloads, and its explanation |
//! | `program` | a plan as the delta rules of its relations |
//! | `tree/` | a tree at work: views as relations, and what climbs over them |
//! | `tree/payloads`, `cofactor/` | sources of payloads: sums of products, the degree-m ring |
//! | `tree/load` | rows that fill a tree: they are buffered, and propagated in the order of their keys |
//! | `tree/indicator` | which keys a relation has: what bounds views over parts of cycles |
//! | `factors/` | the climb of a change that is a product of factors |
//! | `values` | the values of a column by group: MIN, MAX, COUNT(DISTINCT), categories |
//! | `extremes/` | the least and the greatest alone: MIN and MAX over relations that never change |
//! | `root` | the keys and payloads of a root while a transaction runs |
//! | `auxiliary` | all state beside a tree: values, COFACTOR where there are sums |
//! | `maintained` | a tree behind an interface that does not name its ring |
//! | `maintainer` | the groups of a join: a tree and its auxiliary state |
//! | `together` | the groups of several queries, whose trees have views in common |
//! | `factorised/` | the rows of a join as unions of products |
//! | `strings` | which strings a tree holds |
//! | `engine` | view trees as an engine of the database |

mod auxiliary;
mod cofactor;
mod engine;
mod extremes;
mod factorised;
mod factors;
mod maintained;
mod maintainer;
pub mod plan;
mod program;
mod root;
mod strings;
mod together;
mod tree;
mod values;

pub use engine::{ViewTrees, view};

/// An overflow, with the words for where.
pub(crate) fn overflow(place: String) -> ringview_core::Error {
    ringview_core::Error::Overflow { place }
}
