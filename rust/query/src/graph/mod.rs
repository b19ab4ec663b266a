//! A query as a hypergraph: variables are vertices, relations are edges.
//!
//! | file | holds |
//! |---|---|
//! | `set` | sets of variables and of relations, as words |
//! | `hypergraph` | the hypergraph, its acyclicity by GYO reductions, what unique keys determine |
//! | `cover` | fractional edge covers: how large joins get |
//! | `order/` | variable orders, chosen by cost |
//! | `indicator` | the relations that keep views over parts of cycles small |
//! | `probe` | what a change meets on its way up |

pub(crate) mod cover;
pub(crate) mod hypergraph;
pub(crate) mod indicator;
pub(crate) mod order;
pub(crate) mod probe;
pub(crate) mod set;
