//! A view: the query as it came, its plan, and the tree that maintains it.

use std::sync::Arc;

use ringview_core::{Dictionary, Result};
use ringview_explain::Explanation;
use ringview_query::{Query, Representation};
use ringview_viewtree::plan::Plan;
use ringview_viewtree::{Follower, ViewTree};

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) name: String,
    /// Tells it from all other views that there were; given by the database.
    pub(crate) id: u64,
    /// As what it was written.
    pub(crate) text: Option<String>,
    pub(crate) query: Query,
    pub(crate) plan: Arc<Plan>,
    pub(crate) tree: ViewTree,
    /// The place in the changes of whoever asks the view itself, once somebody did.
    pub(crate) own: Option<Follower>,
}

impl View {
    /// An empty view.
    pub(crate) fn new(name: &str, query: &Query, plan: Plan) -> Result<View> {
        let plan = Arc::new(plan);
        Ok(View {
            name: name.to_owned(),
            id: 0,
            own: None,
            text: None,
            query: query.clone(),
            tree: ViewTree::new(Arc::clone(&plan))?,
            plan,
        })
    }

    /// Whether it reads a table.
    pub(crate) fn reads(&self, table: &str) -> bool {
        self.plan.atoms.iter().any(|atom| atom.table == table)
    }

    /// How many groups it has, or rows of a join and how they are kept.
    fn size(&self) -> String {
        let kept = match self.plan.bag {
            None => return format!("{} groups", self.tree.groups()),
            Some(Representation::Factorised) => "kept factorised",
            Some(Representation::Listing) => "kept as a listing",
        };
        match self.tree.len(&Dictionary::new()) {
            Ok(rows) => format!("{rows} rows {kept}"),
            Err(problem) => format!("{kept}; {problem}"),
        }
    }

    /// How it is maintained, and what each node holds now.
    pub(crate) fn explanation(&self) -> Explanation {
        Explanation {
            view: Some(self.name.clone()),
            size: Some(self.size()),
            query: serde_json::to_value(&self.query).ok(),
            ..self.tree.explanation()
        }
    }
}
