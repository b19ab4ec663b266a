//! View trees as an engine: what the database asks for.
//!
//! Invariant: it refuses only what no tree can keep, with the reason of its planner. Cost: that of the
//! plan; the view is built when it is made.

use std::sync::Arc;

use ringview_core::Result;
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::maintainer::view;
use crate::plan::{Plan, Planning};

/// The engine `viewtree`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ViewTrees {
    /// What its planning may use.
    pub planning: Planning,
}

impl Engine for ViewTrees {
    fn name(&self) -> &str {
        "viewtree"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        Refusal::thresholds(query, self.name())?;
        Ok(Box::new(Plan::new(query.clone(), self.planning)?))
    }
}

impl Candidate for Plan {
    fn change(&self) -> Cost {
        self.dearest_change()
    }

    fn space(&self) -> f64 {
        self.class.space
    }

    fn explanation(&self) -> Explanation {
        Plan::explanation(self)
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        view(Arc::new(*self))
    }
}
