//! The view-tree engine: joins with group-by aggregates, kept fresh by deltas along leaf-to-root paths.
//!
//! A plan's variable order gives a tree of views, each the join of its children with its bound
//! variables summed away (paper, figures 2 and 3). A change of a relation climbs from its leaf:
//! at each view it meets the siblings, which are kept (paper, figures 4 and 5). For q-hierarchical
//! queries that is one probe a view; else it walks the groups that the change touches.
//!
//! | file | holds |
//! |---|---|
//! | `plan/` | what a bound query becomes: variable order, views, payloads, and how that is told |
//! | `program` | a plan as the delta rules of its relations |
//! | `tree/` | a tree at work: views as relations, and what climbs over them |
//! | `tree/payloads`, `cofactor/` | where payloads come from: sums of products, the degree-m ring |
//! | `tree/indicator` | which keys a relation has: what bounds views over parts of cycles |
//! | `factors/` | the climb of a change that is a product of factors |
//! | `companion`, `multiset` | the values of a column by group, in order: MIN, MAX, COUNT(DISTINCT) |
//! | `beside` | all that stands beside a tree: companions, COFACTOR where there are sums |
//! | `categories` | the categorical features of COFACTOR, read from companions |
//! | `result`, `changes` | the result as Arrow, and what moved in it |
//! | `moved` | what moved in the result, as rows for the views that read it |
//! | `lookup` | rows of the root by their keys |
//! | `cells`, `columns`, `computed`, `statistics` | its columns: values, sums, expressions and HAVING, variances |
//! | `cofactors` | the column of a COFACTOR |
//! | `maintained` | a tree behind an interface that does not name its ring |
//! | `bag` | the rows of a join as a listing |
//! | `factorised/` | the third form: the rows of a join as unions of products |
//! | `explain` | what a view has now, beside what its plan says |
//! | `strings` | which strings all of these hold |
//! | `settle` | what may not fit its column is refused before it is kept |
//! | `engine` | view trees, as the database asks for them |
//! | `view_tree` | a maintained view, whole, in any form |
//! | `groups`, `listing`, `logged` | the forms that are the root's part, as answers, and what moves in them |

mod bag;
mod beside;
mod categories;
mod cells;
mod changes;
mod cofactor;
mod cofactors;
mod columns;
mod companion;
mod computed;
mod engine;
mod explain;
mod factorised;
mod factors;
mod groups;
mod listing;
mod logged;
mod lookup;
mod maintained;
mod moved;
mod multiset;
pub mod plan;
mod program;
mod result;
mod settle;
mod statistics;
mod strings;
mod tree;
mod view_tree;

pub use engine::ViewTrees;
pub use view_tree::view;

/// An overflow, with the words for where.
pub(crate) fn overflow(place: String) -> ringview_core::Error {
    ringview_core::Error::Overflow { place }
}
