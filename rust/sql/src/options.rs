//! Options of a translation.
//!
//! Invariant: none beyond its shape. Cost: none.

use ringview_query::Refresh;

use crate::dialect::Dialect;
use crate::order::Named;
use crate::parameters::Parameters;

/// Options of a translation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// That of the text.
    pub dialect: Dialect,
    /// What stands for its parameters.
    pub parameters: Parameters,
    /// A variable order; chosen by cost if absent.
    pub order: Option<Vec<Named>>,
    /// Whether conditions that compare across tables, or with subqueries, become joins with blocks alone, where an engine
    /// might keep them as they stand.
    pub in_blocks: bool,
    /// Whether rows that have no partner are told by a condition, so that the query is one of joins and groups alone.
    pub only_joins: bool,
    /// How much a change may compute anew.
    pub refresh: Refresh,
}
