//! Options of a text.
//!
//! Invariant: options without a meaning for a query are refused. Cost: O(outputs of the query).

use std::sync::Arc;

use ringview_core::{Result, SqlProblem};
use ringview_expr::UserFunction;
use ringview_query::{Exponents, Nulls, Output, Query, Refresh, Representation};
use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::error::bare;
use crate::order::Named;
use crate::parameters::Parameters;

/// Options of a text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// That of the text.
    pub dialect: Dialect,
    /// Values of its parameters.
    pub parameters: Parameters,
    /// A variable order; chosen by cost if absent.
    pub order: Option<Vec<Named>>,
    /// Whether conditions that compare across tables, or with subqueries, become joins with blocks alone, where an
    /// engine might keep them as written.
    pub in_blocks: bool,
    /// Whether rows without a partner are found by a condition, so that the query is one of joins and groups alone.
    pub only_joins: bool,
    /// Whether the query is answered once, so that what costs the least is a join where subqueries are correlated by
    /// equalities alone. No view is, so it is not written down.
    #[serde(skip)]
    pub once: bool,
    /// Whether a result that is computed of a block of ordered rows may be computed as it is read, and need not be kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_read: bool,
    /// Representation of the rows of a join; chosen if absent.
    pub representation: Option<Representation>,
    /// Handling of rows with NULL in a feature of COFACTOR; they are refused if absent.
    pub nulls: Option<Nulls>,
    /// The thresholds of heavy values, for an engine that has them.
    pub epsilon: Option<Exponents>,
    /// Recomputation that a change may cause: a limit set with the declaration of a view, so it is not written down.
    #[serde(skip)]
    pub refresh: Refresh,
    /// Whether a cast or a call that cannot be computed for a row is NULL there, and does not refuse the row.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub errors_as_null: bool,
    /// The functions of the user that the text may call: a definition keeps their signatures.
    #[serde(skip)]
    pub functions: Vec<Arc<UserFunction>>,
}

impl Options {
    /// Puts what the text cannot say into its query.
    ///
    /// # Errors
    /// `Sql` where the query has no place for it.
    pub(crate) fn apply(&self, query: &mut Query) -> Result<()> {
        let refused = |problem, what: &str| Err(bare(problem, None, what.to_owned()));
        if let Some(representation) = self.representation {
            let Some(bag) = &mut query.bag else {
                let what = "representation says how the rows of a join are kept; this view has groups, or rows that are \
                            computed: leave it out, or select plain columns";
                return refused(SqlProblem::Unsupported, what);
            };
            bag.representation = Some(representation);
        }
        if let Some(treated) = self.nulls {
            let mut is_there = false;
            for output in &mut query.outputs {
                if let Output::Cofactor { nulls, .. } = output {
                    (*nulls, is_there) = (treated, true);
                }
            }
            if !is_there {
                let what = "nulls= is about the features of COFACTOR, and there is none";
                return refused(SqlProblem::Query, what);
            }
        }
        if self.epsilon.is_some() {
            query.epsilon.clone_from(&self.epsilon);
        }
        query.check_refresh(self.refresh)
    }
}
