//! A view by its name: the query as it came, the atoms that it reads, and what maintains it.

use ringview_core::Result;
use ringview_explain::Explanation;
use ringview_query::{PlanAtom, Query};
use ringview_view::{Answer, Follower, View};
use ringview_viewtree::plan::Plan;

#[derive(Debug)]
pub(crate) struct NamedView {
    pub(crate) name: String,
    /// Tells it from all other views that there were; given by the database.
    pub(crate) id: u64,
    /// As what it was written.
    pub(crate) text: Option<String>,
    pub(crate) query: Query,
    /// What it reads, by the atoms of its query.
    pub(crate) atoms: Vec<PlanAtom>,
    /// The names of its columns.
    pub(crate) columns: Vec<String>,
    pub(crate) tree: Box<dyn View>,
    /// The place in the changes of whoever asks the view itself, once somebody did.
    pub(crate) own: Option<Follower>,
}

impl NamedView {
    /// An empty view.
    pub(crate) fn new(name: &str, query: &Query, plan: Plan) -> Result<Self> {
        let outputs = plan.outputs.iter();
        Ok(Self {
            name: name.to_owned(),
            id: 0,
            own: None,
            text: None,
            query: query.clone(),
            atoms: plan.atoms.clone(),
            columns: outputs.map(|output| output.name.clone()).collect(),
            tree: ringview_viewtree::view(plan.into())?,
        })
    }

    /// Whether it reads a table.
    pub(crate) fn reads(&self, table: &str) -> bool {
        self.atoms.iter().any(|atom| atom.table == table)
    }

    /// What can be read of it.
    pub(crate) fn answer(&self) -> &dyn Answer {
        self.tree.answer()
    }

    /// How it is maintained, and what each node holds now.
    pub(crate) fn explanation(&self) -> Explanation {
        Explanation {
            view: Some(self.name.clone()),
            query: serde_json::to_value(&self.query).ok(),
            ..self.tree.explanation()
        }
    }
}
