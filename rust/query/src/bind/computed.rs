//! Expressions over aggregates and groups: columns of the result, and the condition on its groups (HAVING).
//!
//! They are expressions over the measures of a query, a column each, and are evaluated over Arrow for all rows at once.
//! Invariant: a measure is called by its number. Cost: compiling each expression once.

use std::sync::Arc;

use datafusion_expr::Expr;
use ringview_core::{Field, Result, Schema, Type};
use ringview_expr::Projection;

/// Expressions over measures, compiled: HAVING is the filter.
#[derive(Clone, Debug)]
pub struct Results {
    exprs: Vec<Expr>,
    having: Option<Expr>,
    projection: Arc<Projection>,
}

impl PartialEq for Results {
    fn eq(&self, other: &Self) -> bool {
        (&self.exprs, &self.having) == (&other.exprs, &other.having)
    }
}

impl Results {
    /// Whether some groups are no rows of the result.
    #[must_use]
    pub fn has_condition(&self) -> bool {
        self.having.is_some()
    }

    /// Compiles columns, each with its name, and a condition; `measures` have types, and may be NULL.
    pub(crate) fn new(
        columns: Vec<(Expr, String)>,
        having: Option<Expr>,
        measures: Vec<(Type, bool)>,
    ) -> Result<Self> {
        let field =
            |(at, (ty, nullable)): (usize, (Type, bool))| Field::new(at.to_string(), ty, nullable);
        let schema = Schema::new(measures.into_iter().enumerate().map(field).collect())?;
        let exprs = columns.iter().map(|(expr, _)| expr.clone()).collect();
        let place =
            |(expr, name): (Expr, String)| (expr, format!("the column {name:?} of the result"));
        let filter = having.clone().map(|having| (having, "HAVING".to_owned()));
        let columns = columns.into_iter().map(place).collect();
        Ok(Self {
            exprs,
            having,
            projection: Arc::new(Projection::of(filter, columns, &schema)?),
        })
    }

    /// The expressions over the measures.
    #[must_use]
    pub fn projection(&self) -> &Projection {
        &self.projection
    }
}
