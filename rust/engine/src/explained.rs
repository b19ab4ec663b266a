//! How views are kept, told with all that they read: the whole DAG below.
//!
//! Invariant: what is below comes in an order in which each stands behind what it reads itself, once,
//! however many ways lead to it. Cost: linear in the nodes of all of them.

use std::collections::BTreeSet;

use ringview_core::{Error, Result};
use ringview_explain::{Below, Explanation};
use ringview_query::Query;

use crate::choose::By;
use crate::database::Database;
use crate::names::Source;
use crate::view::NamedView;

impl Database {
    /// How a view is maintained: its tree, what a change costs, rows and bytes of each node; and the same
    /// of the blocks and views that it reads.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn view_explanation(&self, name: &str) -> Result<Explanation> {
        let view = self.view(name)?;
        Ok(Explanation {
            below: self.below(&view.sources),
            ..view.explanation()
        })
    }

    /// How a view of this query would be maintained.
    ///
    /// # Errors
    /// What `create_view` would refuse in the query.
    pub fn explanation(&self, query: &Query) -> Result<Explanation> {
        let mut plans = self.plans(query, By::Choice(None))?;
        let sources: Vec<Source> = plans.iter().flat_map(|plan| plan.sources.clone()).collect();
        let Some(last) = plans.pop() else {
            return Err(nothing());
        };
        let mut below = self.below(&sources);
        below.extend(plans.into_iter().map(|planned| {
            let name = planned.block.unwrap_or_default();
            Below {
                what: format!("block {name:?}"),
                view: Explanation {
                    view: Some(name.to_owned()),
                    query: serde_json::to_value(planned.query).ok(),
                    ..planned.chosen.explanation()
                },
            }
        }));
        Ok(Explanation {
            query: serde_json::to_value(query).ok(),
            below,
            ..last.chosen.explanation()
        })
    }

    /// The views and blocks below some sources, each behind those that it reads.
    fn below(&self, sources: &[Source]) -> Vec<Below> {
        let mut open: Vec<Source> = sources.to_vec();
        let mut found = BTreeSet::new();
        while let Some(source) = open.pop() {
            let view = self.views.iter().find(|v| Source::View(v.id) == source);
            if let Some(view) = view.filter(|view| found.insert(view.id)) {
                open.extend(&view.sources);
            }
        }
        let ordered = self.order.iter().map(|&at| &self.views[at]);
        let below = ordered.filter(|view| found.contains(&view.id));
        below
            .map(|view| Below {
                what: self.label(view),
                view: view.explanation(),
            })
            .collect()
    }

    /// What a view is called where blocks are told, too.
    pub(crate) fn label(&self, view: &NamedView) -> String {
        let owner = self.views.iter().find(|other| Some(other.id) == view.owner);
        match owner {
            Some(owner) => format!("block {} of view {}", view.name, owner.name),
            None => format!("view {}", view.name),
        }
    }
}

fn nothing() -> Error {
    Error::Value {
        place: "the query".to_owned(),
        problem: "plans to nothing; this is a fault of ringview, so please report it".to_owned(),
    }
}
