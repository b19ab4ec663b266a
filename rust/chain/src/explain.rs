//! A chain explained in the words of any view: its tree, its classes, what a change of rank 1
//! costs.
//!
//! As a query a chain joins A_i[X_i, X_i+1] and keeps the first and the last variable. Costs are
//! multiply-adds: at each level one vector meets the sibling, and where the view is stored the
//! product of both is added to it. Cost: linear in the views.

use ringview_explain::{
    ChangeFacts, Choice, Explanation, How, Meeting, NodeFacts, NodeKind, NodeSize, OrderFacts,
    PathCost,
};

use crate::MatrixChain;
use crate::update::{name, shape};

fn variable(at: usize) -> String {
    format!("X{}", at + 1)
}

impl MatrixChain {
    /// The chain as a join: each matrix with its variables by position.
    #[must_use]
    pub fn relations(&self) -> Vec<(String, Vec<usize>)> {
        let relation = |at: usize| (name(at, at), vec![at, at + 1]);
        (0..self.matrices()).map(relation).collect()
    }

    /// Its variables, each with whether the product keeps it.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, bool)> {
        let count = self.matrices();
        let kept = |at: usize| at == 0 || at == count;
        (0..=count).map(|at| (variable(at), kept(at))).collect()
    }

    /// The tree of views: for each its content, the reason why it is stored, the cost of a change
    /// of rank 1. The caller adds the class of the join.
    #[must_use]
    pub fn explanation(&self) -> Explanation {
        let count = self.matrices();
        let last = OrderFacts {
            variable: variable(count),
            free: true,
            children: self.summed_below(self.views.root()),
        };
        let first = OrderFacts {
            variable: variable(0),
            free: true,
            children: vec![last],
        };
        let nodes = 0..self.views.nodes.len();
        let mut explanation = Explanation {
            bytes: Some(self.memory_usage() as u64),
            engine: Choice {
                name: "viewtree".to_owned(),
                because: "a product of matrices is a join that sums the inner variables away"
                    .to_owned(),
            },
            form: Choice {
                name: "matrices".to_owned(),
                because: format!(
                    "keys are dense ranges; multiplied as {}: the fewest multiplications, then the \
                     least work a change",
                    self.order()
                ),
            },
            order: vec![first],
            nodes: nodes.clone().map(|node| self.node_facts(node)).collect(),
            changes: (0..count).map(|at| self.change_facts(at)).collect(),
            change: "a change of rank 1, in multiply-adds".to_owned(),
            ..Explanation::default()
        };
        let held = |node: usize| NodeSize {
            rows: None,
            bytes: self.bytes(node),
            updates: self.views.nodes[node].updates,
        };
        explanation.fill(&nodes.map(held).collect::<Vec<_>>());
        explanation
    }

    fn bytes(&self, node: usize) -> u64 {
        let part = self.views.nodes[node].part.as_ref();
        part.map_or(0, |part| part.memory_usage() as u64)
    }

    /// The variable that a view sums away, with those below.
    fn summed_below(&self, node: usize) -> Vec<OrderFacts> {
        let Some((left, right)) = self.views.nodes[node].children else {
            return Vec::new();
        };
        let mut children = self.summed_below(left);
        children.extend(self.summed_below(right));
        vec![OrderFacts {
            variable: variable(self.views.nodes[right].first),
            free: false,
            children,
        }]
    }

    fn node_facts(&self, node: usize) -> NodeFacts {
        let view = &self.views.nodes[node];
        let (rows, columns) = shape(&self.views, node);
        let keys = vec![variable(view.first), variable(view.last + 1)];
        let name = name(view.first, view.last);
        let joined = view
            .children
            .map(|(_, right)| variable(self.views.nodes[right].first));
        let joined: Vec<String> = joined.into_iter().collect();
        let because = match (view.children, view.parent, self.sibling(node)) {
            (_, None, _) => "it is the result".to_owned(),
            (.., Some(sibling)) if self.views.nodes[sibling].changes => {
                format!("changes of {} meet it", self.label(sibling))
            }
            (None, ..) => "it is one of the matrices".to_owned(),
            _ => "no change meets it".to_owned(),
        };
        NodeFacts {
            label: format!("{name}[{}]", keys.join(", ")),
            name,
            kind: if view.children.is_none() {
                NodeKind::Matrix
            } else {
                NodeKind::View
            },
            table: None,
            filtered: false,
            is_static: !view.changes,
            keys,
            joins: joined.clone(),
            summed: joined,
            payload: format!("{rows} x {columns} reals"),
            stored: view.stored,
            because,
            closes: None,
            space: None,
            children: view
                .children
                .map_or(Vec::new(), |(left, right)| vec![left, right]),
            parent: view.parent,
            rows: None,
            bytes: None,
            updates: None,
            shared_with: Vec::new(),
        }
    }

    fn label(&self, node: usize) -> String {
        let view = &self.views.nodes[node];
        name(view.first, view.last)
    }

    fn change_facts(&self, at: usize) -> ChangeFacts {
        let is_static = !self.views.nodes[at].changes;
        let (mut meets, mut cost, mut node) = (Vec::new(), 0, at);
        loop {
            let (rows, columns) = shape(&self.views, node);
            cost += if self.views.nodes[node].stored {
                rows * columns
            } else {
                0
            };
            let (Some(parent), Some(sibling)) = (self.views.nodes[node].parent, self.sibling(node))
            else {
                break;
            };
            let (rows, columns) = shape(&self.views, sibling);
            cost += rows * columns;
            let (own, other) = (&self.views.nodes[node], &self.views.nodes[sibling]);
            let shared = own.first.max(other.first);
            meets.push(Meeting {
                at: parent,
                sibling,
                how: How::Vector,
                known: vec![variable(shared)],
            });
            node = parent;
        }
        let cost = cost.to_string();
        let path = PathCost {
            leaf: at,
            cost: cost.clone(),
            constant: false,
            meets,
        };
        ChangeFacts {
            relation: name(at, at),
            is_static,
            constant: false,
            cost: if is_static {
                "static: never changes".to_owned()
            } else {
                cost
            },
            climbs: if is_static { Vec::new() } else { vec![path] },
        }
    }

    fn sibling(&self, node: usize) -> Option<usize> {
        let (left, right) = self.views.nodes[self.views.nodes[node].parent?].children?;
        Some(if node == left { right } else { left })
    }
}
