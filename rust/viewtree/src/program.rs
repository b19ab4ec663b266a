//! A plan as the delta rules of its relations: what a change meets from its leaf to the root.
//!
//! Invariant: the order of the siblings is the plan's, which `explain` reads too. Fully bound ones are first, since
//! they can only make the delta smaller, then those that a unique key determines. If several views are made of one, the
//! path branches. `ringview_relation::join` compiles a rule to a path. Cost: once a path.

use ringview_relation::join::{Join, LevelRule, Path, Rule};
use ringview_relation::{KeyField, Relation};
use ringview_ring::PayloadRing;

use ringview_view::fields::Fields;

use crate::plan::Plan;

/// Products of the payloads of a plan: the ring's part of a delta rule.
pub(crate) trait ProductPlan<R: PayloadRing> {
    /// Shape of the payloads of a node.
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

/// All that paths are made of.
pub(crate) struct Program<'a, R: PayloadRing> {
    pub(crate) plan: &'a Plan,
    pub(crate) fields: &'a Fields,
    pub(crate) ring: &'a dyn ProductPlan<R>,
    /// By node and parent, the siblings that are met there, in order.
    pub(crate) met: &'a [Vec<Vec<usize>>],
}

impl<R: PayloadRing> Program<'_, R> {
    /// The path of a leaf, with its branches. Its relations are the nodes.
    pub(crate) fn path(
        &self,
        leaf: usize,
        packing: &[KeyField],
        views: &mut [Relation<R>],
    ) -> Path<R> {
        self.path_over((leaf, None), packing, views)
    }

    /// The path from a node into one of the views that are made of it, or the only one, and on.
    fn path_over(
        &self,
        (from, first): (usize, Option<usize>),
        packing: &[KeyField],
        views: &mut [Relation<R>],
    ) -> Path<R> {
        let nodes = &self.plan.tree.nodes;
        let mut levels: Vec<LevelRule<R>> =
            first.map(|nth| self.level(from, nth)).into_iter().collect();
        let mut end = levels.last().map_or(from, |level| level.into);
        while let [parent] = nodes[end].parents[..] {
            levels.push(self.level(end, 0));
            end = parent;
        }
        let rule = Rule {
            from,
            fields: self.key(from),
            levels,
        };
        let mut path = rule.compile(packing, views);
        for nth in 0..nodes[end].parents.len() {
            let branch = self.path_over((end, Some(nth)), packing, views);
            path.branches.push(branch);
        }
        path
    }

    fn key(&self, node: usize) -> Vec<usize> {
        self.fields.of_all(&self.plan.tree.nodes[node].keys)
    }

    /// Rule for a delta of a node at one of the views that are made of it.
    fn level(&self, child: usize, nth: usize) -> LevelRule<R> {
        let node = self.plan.tree.nodes[child].parents[nth];
        let siblings = &self.met[child][nth];
        let products = self.ring.products(self.plan, node, child, siblings);
        let join = |(&relation, product)| Join {
            relation,
            fields: self.key(relation),
            product,
        };
        LevelRule {
            joins: siblings.iter().zip(products).map(join).collect(),
            into: node,
            keep: self.key(node),
            intersect: true,
        }
    }
}
