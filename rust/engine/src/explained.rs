//! How views are kept, told with all that they read: the whole DAG below.
//!
//! Invariant: what is below comes in an order in which each stands behind what it reads itself, once,
//! however many ways lead to it. Cost: linear in the nodes of all of them.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Error, Result};
use ringview_explain::{Below, CostWarning, Explanation, Read};
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
        let (below, places) = self.below(&view.sources);
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
        let view = self.view(name)?;
        let blocks = self
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
        let mut plans = self.plans(query, By::Choice(engine))?;
        let sources: Vec<Source> = plans.iter().flat_map(|plan| plan.sources.clone()).collect();
        let Some(last) = plans.pop() else {
            return Err(nothing());
        };
        let (mut below, mut places) = self.below(&sources);
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

    /// The views and blocks below some sources, each behind those that it reads; and where each stands.
    fn below(&self, sources: &[Source]) -> (Vec<Below>, BTreeMap<u64, usize>) {
        let mut open: Vec<Source> = sources.to_vec();
        let mut found = BTreeSet::new();
        while let Some(source) = open.pop() {
            let view = self.views.iter().find(|v| Source::View(v.id) == source);
            if let Some(view) = view.filter(|view| found.insert(view.id)) {
                open.extend(&view.sources);
            }
        }
        let ordered = self.order.iter().map(|&at| &self.views[at]);
        let (mut below, mut places) = (Vec::new(), BTreeMap::new());
        for view in ordered.filter(|view| found.contains(&view.id)) {
            places.insert(view.id, below.len());
            below.push(Below {
                what: self.label(view),
                view: Explanation {
                    reads: reads(&view.query, &view.sources, &places),
                    ..view.explanation()
                },
            });
        }
        (below, places)
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

/// Whom a query reads of those that stand somewhere, each once.
fn reads(query: &Query, sources: &[Source], places: &BTreeMap<u64, usize>) -> Vec<Read> {
    let mut reads: Vec<Read> = Vec::new();
    for (atom, source) in query.all_atoms().into_iter().zip(sources) {
        let Source::View(id) = source else { continue };
        let below = places.get(id).map(|&below| Read {
            name: atom.table.clone(),
            below,
        });
        reads.extend(below.filter(|read| !reads.contains(read)));
    }
    reads
}

fn nothing() -> Error {
    Error::Value {
        place: "the query".to_owned(),
        problem: "plans to nothing; this is a fault of ringview, so please report it".to_owned(),
    }
}
