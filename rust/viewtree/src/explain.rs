//! What a view has now, beside what its plan says of it. Cost: linear in the nodes.

use ringview_explain::{Explanation, NodeSize};

use crate::maintained::NodeStatus;
use crate::view_tree::Kept;

impl Kept {
    /// How it is kept, why, what that costs, and what each node holds now.
    pub(crate) fn explanation(&self) -> Explanation {
        let mut explanation = self.plan.explanation();
        explanation.fill(&held(&self.describe()));
        // The plan speaks of them in the same order.
        for (beside, (nodes, bytes)) in explanation.beside.iter_mut().zip(self.beside.describe()) {
            beside.view.fill(&held(&nodes));
            beside.view.bytes = Some(bytes as u64);
        }
        explanation
    }
}

fn held(nodes: &[NodeStatus]) -> Vec<NodeSize> {
    let held = |node: &NodeStatus| NodeSize {
        rows: node.rows.map(|rows| rows as u64),
        bytes: node.bytes as u64,
        updates: node.updates,
    };
    nodes.iter().map(held).collect()
}
