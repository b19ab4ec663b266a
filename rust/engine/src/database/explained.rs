//! Explanations of views with all that they read: the whole DAG below.
//!
//! Invariant: sources below a view are listed in an order in which each follows those that it reads itself, once, even
//! if several paths lead to it. Cost: linear in the nodes of all of them.

use ringview_core::{Error, Result};
use ringview_explain::{Below, CostWarning, Explanation};
use ringview_query::Query;

use super::Database;
use crate::catalogue::choose::By;
use crate::graph::below::reads;
use crate::plan::{Planned, Source};

impl Database {
    /// Explanation of a view: its tree, the cost of a change, rows and bytes of each node; and the same of the blocks
    /// and views that it reads.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_explanation(&self, name: &str) -> Result<Explanation> {
        let (declared, node) = (
            self.state.graph.declared(name)?,
            self.state.graph.view(name)?,
        );
        let sources: Vec<Source> = node.sources().collect();
        let (below, places) = self.state.graph.below(&sources);
        let others = self.state.graph.declared_as(node.id);
        let others = others.filter(|other| other.id != declared.id);
        Ok(Explanation {
            view: Some(name.to_owned()),
            query: serde_json::to_value(&declared.query).ok(),
            shared_with: others.map(|other| other.name.clone()).collect(),
            merged: self.state.graph.merged(node),
            below,
            reads: reads(&node.inputs, &places),
            ..self.state.graph.explanation(node)
        })
    }

    /// Why a change of a view, or of a block of its query, may cost more than the rows of the keys that it has.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_warnings(&self, name: &str) -> Result<Vec<CostWarning>> {
        let family = self
            .state
            .graph
            .with_blocks(self.state.graph.view(name)?.id);
        let nodes = self.state.graph.nodes.iter();
        let nodes = nodes.filter(|node| family.contains(&node.id));
        Ok(nodes
            .filter_map(|node| self.state.graph.explanation(node).warning)
            .collect())
    }

    /// Explanation of a view of this query, if it were created.
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
        let sources: Vec<Source> = plans.iter().flat_map(Planned::sources).collect();
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
                    reads: reads(&planned.inputs, &places),
                    ..planned.choice.explanation()
                },
            });
        }
        Ok(Explanation {
            query: serde_json::to_value(query).ok(),
            below,
            reads: reads(&last.inputs, &places),
            ..last.choice.explanation()
        })
    }
}

fn nothing() -> Error {
    Error::Value {
        place: "the query".to_owned(),
        problem: "plans to nothing; this is a fault of ringview, so please report it".to_owned(),
    }
}
