//! Heavy and light parts as an engine of the database.
//!
//! Invariant: it keeps sums over joins of the classes 3R2 and 3R3, Loomis-Whitney joins and the 4-path, and rows of the
//! class 3R3; it refuses all else with the condition that fails. It is used if the query names it, and automatically if
//! the tables have so many rows that the worst change matters. Cost: that of its plan.

use std::sync::Arc;

use ringview_core::Result;
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_view::result_table::MaintainerView;
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::plan::Plan;
use crate::query::Epsilon;
use crate::view::{GroupsOnRead, HeavyLightRows, HeavyLightSums};

/// Minimum size of the smallest updated table above which a view is kept here: the walk of a hub's neighbourhood, as a view tree does it, takes forty
/// times as long there as a change here, and a change among vertices of few edges takes at most half as long
/// again here as in a tree. `make bench` measures both: `toggles` hubs and cliques, `triangles` a network.
const CROSSOVER: u64 = 10_000;

/// The engine `epsilon`.
#[derive(Clone, Copy, Debug)]
pub struct HeavyLight {
    /// The exponent of the thresholds of its views, where a query gives none.
    pub epsilon: Epsilon,
}

impl Default for HeavyLight {
    fn default() -> Self {
        Self {
            epsilon: Epsilon::HALF,
        }
    }
}

impl Engine for HeavyLight {
    fn name(&self) -> &str {
        "epsilon"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        // Most queries are of no class that it is for.
        let plan = Plan::new(query, self.epsilon).map_err(|problem| {
            let refusal = Refusal::from(problem);
            if query.epsilons.is_empty() {
                refusal.silent()
            } else {
                refusal
            }
        })?;
        Ok(Box::new(plan))
    }
}

impl Candidate for Plan {
    fn change(&self) -> Cost {
        // Fresh groups are all groups, read.
        match self.join.read_from {
            Some(_) => Cost::power(1.0 + self.time()),
            None => Cost::power(self.time()),
        }
    }

    fn crossover(&self) -> Option<u64> {
        // A tree keeps rows in linear room, and finds each by its position. Groups that are computed as they are
        // read are opt-in. The measured case is a sum over all rows.
        let has_groups = self.query.variables.iter().any(|variable| variable.free);
        let is_measured = !(self.has_rows || self.query.features.is_some() || has_groups);
        is_measured.then_some(CROSSOVER)
    }

    fn space(&self) -> f64 {
        Plan::space(self)
    }

    fn explanation(&self) -> Explanation {
        Plan::explanation(self)
    }

    fn keeps_groups(&self) -> bool {
        !self.has_rows && self.join.read_from.is_none()
    }

    fn make_groups(mut self: Box<Self>) -> Result<Box<dyn View>> {
        self.query.output_groups();
        self.make()
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        if self.has_rows {
            return Ok(Box::new(HeavyLightRows::new(Arc::new(*self))?));
        }
        if self.join.read_from.is_some() {
            return Ok(Box::new(GroupsOnRead::new(Arc::new(*self))?));
        }
        let sums = HeavyLightSums::new(Arc::new(*self))?;
        Ok(Box::new(MaintainerView::groups(sums)))
    }
}
