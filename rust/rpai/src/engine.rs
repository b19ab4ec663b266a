//! Aggregate indexes as an engine of the database.
//!
//! Invariant: it maintains sums over rows that pass a condition which no other engine maintains: one
//! that compares across tables, or with aggregates of subqueries. All else it refuses,
//! silently. Cost: that of its plan.

use ringview_core::Result;
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_view::result_table::{MaintainerView, Summarized};
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::plan::Plan;
use crate::view::Groups;

/// The engine `rpai`.
#[derive(Clone, Copy, Debug, Default)]
pub struct AggregateIndexes;

impl Engine for AggregateIndexes {
    fn name(&self) -> &str {
        "rpai"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        Refusal::thresholds(query, self.name())?;
        let plan = Plan::new(query).map_err(|problem| match query.condition {
            Some(_) => Refusal::from(problem),
            None => Refusal::from(problem).silent(),
        })?;
        Ok(Box::new(plan))
    }
}

impl Candidate for Plan {
    fn change(&self) -> Cost {
        self.cost()
    }

    fn space(&self) -> f64 {
        1.0
    }

    fn explanation(&self) -> Explanation {
        Plan::explanation(self, &self.machine.description())
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        let (query, companions) = (self.query.clone(), self.companions.clone());
        let make = |plan: &Plan| Groups::new(plan.clone());
        let maintainer = Summarized::new(Groups::new(*self)?, &companions, make)?;
        Ok(Box::new(MaintainerView::of(&query, maintainer)))
    }
}
