//! A plan as the delta rules of its relations: what a change meets from its leaf to the root.
//!
//! Invariant: the order of the siblings is the plan's, which `explain` reads too: fully bound ones come
//! first, since they can only make the delta smaller, then those that a unique key determines. How
//! such a rule becomes a path, `ringview_relation::join` knows. Cost: once a path.

use ringview_relation::join::{Join, LevelRule, Rule};
use ringview_ring::PayloadRing;

use ringview_view::fields::Fields;

use crate::plan::Plan;

/// How the payloads of a plan are multiplied: the ring's part of a delta rule.
pub(crate) trait ProductPlan<R: PayloadRing> {
    /// What the payloads of a node hold.
    fn shape(&self, node: usize) -> R::Shape;
    /// The products that turn payloads of child `from` into those of `node`, one a sibling.
    fn products(
        &self,
        plan: &Plan,
        node: usize,
        from: usize,
        siblings: &[usize],
    ) -> Vec<R::Product>;
}

/// The delta rule of a leaf, given the siblings that are met at each node, in order. Its relations
/// are the nodes.
pub(crate) fn rule<R: PayloadRing>(
    plan: &Plan,
    fields: &Fields,
    ring: &dyn ProductPlan<R>,
    leaf: usize,
    met: &[Vec<usize>],
) -> Rule<R> {
    let nodes = &plan.tree.nodes;
    let key = |node: usize| fields.of_all(&nodes[node].keys);
    let mut levels = Vec::new();
    let mut child = leaf;
    while let Some(node) = nodes[child].parent {
        let siblings = &met[child];
        let products = ring.products(plan, node, child, siblings);
        let join = |(&relation, product)| Join {
            relation,
            fields: key(relation),
            product,
        };
        levels.push(LevelRule {
            joins: siblings.iter().zip(products).map(join).collect(),
            into: node,
            keep: key(node),
            intersect: true,
        });
        child = node;
    }
    Rule {
        from: leaf,
        fields: key(leaf),
        levels,
    }
}
