//! View trees as an engine of the database.
//!
//! Invariant: it refuses only what no tree can keep, with the reason of its planner. Cost: that of the
//! plan; the view is built when it is made.

use std::sync::Arc;

use ringview_core::Result;
use ringview_explain::Explanation;
use ringview_query::{Bound, Representation};
use ringview_view::result_table::MaintainerView;
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::factorised::FactorisedView;
use crate::maintainer::TreeMaintainer;
use crate::plan::{Plan, Planning, Together};
use crate::together::SharedTree;

/// The engine `viewtree`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ViewTrees {
    /// Options of its planning.
    pub planning: Planning,
}

impl Engine for ViewTrees {
    fn name(&self) -> &str {
        "viewtree"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        Refusal::thresholds(query, self.name())?;
        let plan = Plan::new(query.clone(), self.planning).map_err(|problem| match query.rows {
            Some(_) => Refusal::from(problem).silent(),
            None => Refusal::from(problem),
        })?;
        Ok(Box::new(plan))
    }

    fn plan_together(&self, queries: &[Bound]) -> Option<Box<dyn Candidate>> {
        Some(Box::new(Together::new(queries, self.planning)?))
    }
}

/// Together they cost as much as the dearest of them.
impl Candidate for Together {
    fn change(&self) -> Cost {
        let all = self.plans.iter().map(Plan::dearest_change);
        all.fold(Cost::Constant, Cost::and)
    }

    fn space(&self) -> f64 {
        let all = self.plans.iter().map(|plan| plan.class.space);
        all.fold(0.0, f64::max)
    }

    fn explanation(&self) -> Explanation {
        self.plans[0].explanation()
    }

    fn keeps_groups(&self) -> bool {
        true
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        Ok(Box::new(MaintainerView::groups(SharedTree::new(*self)?)))
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

    fn keeps_groups(&self) -> bool {
        self.bag.is_none()
    }

    fn make_groups(mut self: Box<Self>) -> Result<Box<dyn View>> {
        self.output_groups();
        self.make()
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        view(Arc::new(*self))
    }
}

/// An empty view.
///
/// # Errors
/// What the plan's expressions cannot be compiled for.
pub fn view(plan: Arc<Plan>) -> Result<Box<dyn View>> {
    let maintainer = TreeMaintainer::new(plan)?;
    Ok(match maintainer.plan.bag {
        None => Box::new(MaintainerView::groups(maintainer)),
        Some(Representation::Listing) => Box::new(MaintainerView::listing(maintainer)),
        Some(Representation::Factorised) => Box::new(FactorisedView::new(maintainer)),
    })
}
