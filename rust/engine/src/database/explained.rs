//! How views are kept, told with all that they read: the whole DAG below.
//!
//! Invariant: what is below comes in an order in which each stands behind what it reads itself, once,
//! however many ways lead to it. Cost: linear in the nodes of all of them.

use ringview_core::{Error, Result};
use ringview_explain::{Below, CostWarning, Explanation};
use ringview_query::Query;

use super::Database;
use crate::catalogue::choose::By;
use crate::graph::below::reads;
use crate::graph::view::NamedView;
use crate::plan::Source;

impl Database {
    /// How a view is maintained: its tree, what a change costs, rows and bytes of each node; and the same
    /// of the blocks and views that it reads.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_explanation(&self, name: &str) -> Result<Explanation> {
        let view = self.state.graph.view(name)?;
        let (below, places) = self.state.graph.below(&view.sources);
        Ok(Explanation {
            below,
            reads: reads(&view.query, &view.sources, &places),
            ..view.explanation()
        })
    }

    /// Why a change of a view, or of a block of its query, may cost more than the rows of the keys that it has.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_warnings(&self, name: &str) -> Result<Vec<CostWarning>> {
        let view = self.state.graph.view(name)?;
        let blocks = self
            .state
            .graph
            .views
            .iter()
            .filter(|block| block.owner == Some(view.id));
        let explained = blocks.chain([view]).map(NamedView::explanation);
        Ok(explained.filter_map(|one| one.warning).collect())
    }

    /// How a view of this query would be maintained.
    ///
    /// # Errors
    /// What `create_view` would refuse in the query.
    pub fn explanation(&self, query: &Query) -> Result<Explanation> {
        self.explanation_with(query, None)
    }

    /// The same by the engine of a name; by the cheapest, if none is named.
    ///
    /// # Errors
    /// What `create_view_with` would refuse in the query or the name.
    pub fn explanation_with(&self, query: &Query, engine: Option<&str>) -> Result<Explanation> {
        let mut plans = self.catalogue().plans(query, By::Choice(engine))?;
        let sources: Vec<Source> = plans.iter().flat_map(|plan| plan.sources.clone()).collect();
        let Some(last) = plans.pop() else {
            return Err(nothing());
        };
        let (mut below, mut places) = self.state.graph.below(&sources);
        for planned in plans {
            let name = planned.block.as_deref().unwrap_or_default();
            places.insert(planned.id, below.len());
            below.push(Below {
                what: format!("block {name}"),
                view: Explanation {
                    view: Some(name.to_owned()),
                    query: serde_json::to_value(planned.asked.unwrap_or(&planned.query)).ok(),
                    reads: reads(&planned.query, &planned.sources, &places),
                    ..planned.chosen.explanation()
                },
            });
        }
        Ok(Explanation {
            query: serde_json::to_value(query).ok(),
            below,
            reads: reads(&last.query, &last.sources, &places),
            ..last.chosen.explanation()
        })
    }
}

fn nothing() -> Error {
    Error::Value {
        place: "the query".to_owned(),
        problem: "plans to nothing; this is a fault of ringview, so please report it".to_owned(),
    }
}
