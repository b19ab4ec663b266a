//! A view: the query as it came, its plan, and the tree that maintains it.

use std::sync::Arc;

use ringview_core::{Result, Schema};
use ringview_query::{Plan, Query};
use ringview_viewtree::ViewTree;

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) name: String,
    pub(crate) query: Query,
    pub(crate) plan: Arc<Plan>,
    pub(crate) tree: ViewTree,
}

impl View {
    /// An empty view; `schemas` are those of the plan's atoms.
    pub(crate) fn new(name: &str, query: &Query, plan: Plan, schemas: &[Schema]) -> Result<View> {
        let plan = Arc::new(plan);
        Ok(View {
            name: name.to_owned(),
            query: query.clone(),
            tree: ViewTree::new(Arc::clone(&plan), schemas)?,
            plan,
        })
    }

    /// Whether it reads a table.
    pub(crate) fn reads(&self, table: &str) -> bool {
        self.plan.atoms.iter().any(|atom| atom.table == table)
    }

    /// How it is maintained, and what each node holds now.
    pub(crate) fn explain(&self) -> String {
        let nodes = self.tree.describe();
        let note = |node: usize| match nodes[node].rows {
            Some(rows) => format!("{rows} rows, {} bytes", nodes[node].bytes),
            None => String::new(),
        };
        format!(
            "view {:?}, {} groups, {} bytes\n{}",
            self.name,
            self.tree.groups(),
            self.tree.memory_usage(),
            self.plan.explain_with(&note)
        )
    }
}
