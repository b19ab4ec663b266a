//! Heavy and light parts as an engine: what the database asks for.
//!
//! Invariant: it keeps sums over joins of the classes 3R2 and 3R3, Loomis-Whitney joins and the 4-path, and
//! rows of the class 3R3; it refuses all else with the condition that fails. It is taken where it is asked for by
//! name, and by itself where the tables have so many rows that the worst change matters. Cost: that of its plan.

use std::sync::Arc;

use ringview_core::Result;
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_view::part::GroupView;
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use crate::plan::{Plan, is_of_one_group};
use crate::query::Epsilon;
use crate::view::{GroupsOnRead, HeavyLightRows, HeavyLightSums};

/// Rows from which on a view is kept here: the walk of a hub's neighbourhood, as a view tree does it, takes forty
/// times as long there as a change here, and a change among vertices of few edges takes at most half as long
/// again here as in a tree. `make bench` measures both: `toggles` hubs and cliques, `triangles` a network.
const PAYS_FROM: u64 = 10_000;

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

    fn pays_from(&self, query: &Bound) -> u64 {
        // A tree keeps rows in linear room, and finds each by its place; what was measured are sums over all.
        let has_groups = query.variables.iter().any(|variable| variable.free);
        match query.bag.is_some() || query.features.is_some() || has_groups {
            true => u64::MAX,
            false => PAYS_FROM,
        }
    }

    fn concerns(&self, query: &Bound) -> bool {
        // Groups that are read are another bargain: nobody gets it who has not asked.
        query.bag.is_some() || is_of_one_group(query)
    }

    fn has_thresholds(&self) -> bool {
        true
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        Ok(Box::new(Plan::new(query, self.epsilon)?))
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

    fn space(&self) -> f64 {
        Plan::space(self)
    }

    fn explanation(&self) -> Explanation {
        Plan::explanation(self)
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        if self.has_rows {
            return Ok(Box::new(HeavyLightRows::new(Arc::new(*self))?));
        }
        if self.join.read_from.is_some() {
            return Ok(Box::new(GroupsOnRead::new(Arc::new(*self))?));
        }
        let sums = HeavyLightSums::new(Arc::new(*self))?;
        Ok(Box::new(GroupView::new(sums)))
    }
}
