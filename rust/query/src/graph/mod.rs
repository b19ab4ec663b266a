//! A query as a hypergraph: variables are vertices, relations are edges.
//!
//! | file | holds |
//! |---|---|
//! | `set` | sets of variables and of relations, as words |
//! | `hypergraph` | the hypergraph, its acyclicity by GYO reductions, what unique keys determine |
//! | `classes` | what a query is like: acyclic, hierarchical and kin, or a counterexample |
//! | `cover` | fractional edge covers: how large joins get |
//! | `ghd/` | decompositions of cyclic queries into bags, of least fractional width |
//! | `order/` | variable orders, chosen by cost |
//! | `indicator` | the relations that keep views over parts of cycles small |
//! | `probe` | what a change meets on its way up |

pub mod classes;
pub mod cover;
pub mod ghd;
pub mod hypergraph;
pub mod indicator;
pub mod order;
pub mod probe;
pub mod set;
