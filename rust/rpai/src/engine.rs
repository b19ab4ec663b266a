//! Aggregate indexes as an engine: what the database asks for.
//!
//! Invariant: it keeps sums over rows that a condition chooses which no other engine knows: one
//! that compares across tables, or with aggregates of queries within. All else it refuses, and says
//! nothing to. Cost: that of its plan.

use ringview_core::Result;
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_view::part::{GroupView, ListedView};
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::plan::Plan;
use crate::view::Correlated;

/// The engine `rpai`.
#[derive(Clone, Copy, Debug, Default)]
pub struct AggregateIndexes;

impl Engine for AggregateIndexes {
    fn name(&self) -> &str {
        "rpai"
    }

    fn concerns(&self, query: &Bound) -> bool {
        query.condition.is_some()
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        Ok(Box::new(Plan::new(query)?))
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
        // Rows that are there once are groups.
        let is_listed = self.query.bag.is_some() && !self.query.distinct;
        let keeper = Correlated::new(*self)?;
        Ok(match is_listed {
            true => Box::new(ListedView::new(keeper)),
            false => Box::new(GroupView::new(keeper)),
        })
    }
}
