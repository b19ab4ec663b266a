//! Plans of several queries over one join whose groups differ, laid upon each other: what their trees have in common
//! is there once.
//!
//! Leaves of one atom with equal keys are one node, and so are views with equal children and keys, from the leaves up;
//! a node has the components of all. Orders are chosen one after the other, as in LMFAO: of those that cost no more
//! than the best in the width of views, the groups that changes walk and the places of kept views, the one that adds
//! the fewest nodes to those that are there.
//!
//! Invariant: each plan is found in the whole, node by node; a node of the whole has one set of children, so that the
//! ways of a change from a leaf to the roots part and never meet again. Cost: nodes times nodes, and a plan for each
//! order that is tried.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::Result;
use ringview_query::graph::order::{self, OrderNode};
use ringview_query::{Bound, Variable};
use ringview_view::answer::{PayloadField, PayloadLayout, TermSums};

use super::{Component, Plan, Planning, RetainedNode, Source, SumProduct, VarId, ViewTree};

/// Several plans, and the whole of them.
#[derive(Clone, Debug)]
pub struct Together {
    /// The plans.
    pub(crate) plans: Vec<Plan>,
    /// All nodes, with those that each is joined into; what else a plan says is the first one's.
    pub(crate) whole: Plan,
    /// By plan: where it is in the whole.
    pub(crate) placed: Vec<Placed>,
}

/// Placement of a plan in a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    /// By node.
    pub(crate) nodes: Vec<usize>,
    /// By node and component.
    pub(crate) components: Vec<Vec<usize>>,
    /// By variable.
    pub(crate) variables: Vec<VarId>,
}

impl Together {
    /// Plans some queries; `None` where one of them has no stored view in common with those before it.
    pub(crate) fn new(queries: &[Bound], planning: Planning) -> Option<Self> {
        let (first, others) = queries.split_first()?;
        let plan = Plan::new(first.clone(), planning).ok()?;
        let mut all = Self::of(vec![plan])?;
        for query in others {
            all = all.with(query, planning)?;
        }
        Some(all)
    }

    /// Lays plans upon each other; `None` where one of them keeps more than the sums of a tree.
    pub(crate) fn of(plans: Vec<Plan>) -> Option<Self> {
        let first = plans.first()?;
        let whole = Plan {
            variables: Vec::new(),
            tree: ViewTree {
                nodes: Vec::new(),
                root: 0,
            },
            payload: SumProduct {
                nodes: Vec::new(),
                terms: Vec::new(),
            },
            ..first.clone()
        };
        let mut all = Self {
            plans: Vec::new(),
            whole,
            placed: Vec::new(),
        };
        plans.into_iter().try_for_each(|plan| all.merge(plan))?;
        Some(all)
    }

    /// With one more query, by the order that adds the fewest nodes.
    fn with(&self, query: &Bound, planning: Planning) -> Option<Self> {
        let own = Plan::new(query.clone(), planning).ok()?;
        let graph = query.graph();
        let rows: Vec<Option<u64>> = query.atoms.iter().map(|atom| atom.rows).collect();
        let alike = |order: &Vec<OrderNode>| {
            order::are_tied(&graph, &rows, planning.indicators, (order, &own.order))
        };
        let others = self.plans.iter().filter_map(|plan| {
            let joined = renamed(&plan.order, &plan.variables, &own.variables);
            let order = order::with_locals(joined, &graph);
            is_whole(&order, own.variables.len()).then_some(order)
        });
        let others = others.filter(alike).map(|order| {
            let ordered = Bound {
                order: Some(order),
                ..query.clone()
            };
            Plan::new(ordered, planning)
        });
        let others: Vec<Plan> = others.collect::<Result<_>>().ok()?;
        let before = self.whole.tree.nodes.len();
        let with = [own].into_iter().chain(others).filter_map(|plan| {
            let mut all = self.clone();
            all.merge(plan)?;
            Some(all)
        });
        // The first of several, which is the query's own.
        let best = with.min_by_key(|all| all.whole.tree.nodes.len())?;
        let (plan, placed) = (best.plans.last()?, best.placed.last()?);
        let mut nodes = placed.nodes.iter().zip(&plan.tree.nodes);
        let shares = nodes.any(|(&at, node)| at < before && node.stored);
        shares.then_some(best)
    }

    /// Lays one more plan upon those that are there.
    fn merge(&mut self, plan: Plan) -> Option<()> {
        let is_sums = plan.bag.is_none()
            && plan.cofactor.is_none()
            && plan.matrix.is_none()
            && plan.companions.is_empty();
        let projects = plan.tree.nodes.iter().any(|node| node.indicator.is_some());
        if !is_sums || projects {
            return None;
        }
        for (atom, other) in self.whole.atoms.iter_mut().zip(&plan.atoms) {
            atom.columns.extend(&other.columns);
            atom.columns.sort_unstable();
            atom.columns.dedup();
        }
        let mut placed = Placed::default();
        for variable in &plan.variables {
            placed.variables.push(self.variable(variable));
        }
        for node in 0..plan.tree.nodes.len() {
            let at = self.node(&plan, node, &placed);
            placed.nodes.push(at);
            let components = self.components(&plan, node, &placed);
            placed.components.push(components);
        }
        self.placed.push(placed);
        self.plans.push(plan);
        Some(())
    }

    fn variable(&mut self, variable: &Variable) -> VarId {
        let all = &mut self.whole.variables;
        let known = all.iter().position(|other| is_same(other, variable));
        let at = known.unwrap_or_else(|| {
            all.push(variable.clone());
            all.len() - 1
        });
        all[at].free |= variable.free;
        at
    }

    /// The node that is one of a plan, whose children are placed.
    fn node(&mut self, plan: &Plan, node: usize, placed: &Placed) -> usize {
        let own = &plan.tree.nodes[node];
        let keys: Vec<VarId> = own.keys.iter().map(|&id| placed.variables[id]).collect();
        let children = own.children.iter().map(|&child| placed.nodes[child]);
        let children: Vec<usize> = children.collect();
        let nodes = &mut self.whole.tree.nodes;
        let known = nodes.iter().position(|other| {
            other.atom == own.atom
                && is_same_set(&other.keys, &keys)
                && is_same_set(&other.children, &children)
        });
        let at = known.unwrap_or(nodes.len());
        if known.is_none() {
            let variables = own.variables.iter().map(|&id| placed.variables[id]);
            nodes.push(super::Node {
                variables: variables.collect(),
                keys,
                parents: Vec::new(),
                children: children.clone(),
                ..own.clone()
            });
            self.whole.payload.nodes.push(Vec::new());
            self.whole.tree.root = at;
        }
        let nodes = &mut self.whole.tree.nodes;
        nodes[at].stored |= own.stored;
        for child in children {
            let parents = &mut nodes[child].parents;
            if !parents.contains(&at) {
                parents.push(at);
            }
        }
        at
    }

    /// Positions of the components of a node of a plan. The node is placed, and the components of its children too.
    fn components(&mut self, plan: &Plan, node: usize, placed: &Placed) -> Vec<usize> {
        let (own, at) = (&plan.tree.nodes[node], placed.nodes[node]);
        let children = &self.whole.tree.nodes[at].children;
        let remapped = |component: &Component| match &component.source {
            Source::Product { children: taken } => {
                let taken = children.iter().map(|&child| {
                    let mut pairs = own.children.iter().zip(taken);
                    let pair = pairs.find(|(own, _)| placed.nodes[**own] == child);
                    pair.map_or(0, |(&own, &taken)| placed.components[own][taken])
                });
                Component {
                    kind: component.kind,
                    source: Source::Product {
                        children: taken.collect(),
                    },
                }
            }
            Source::Count | Source::Leaf(_) => component.clone(),
        };
        let remapped: Vec<Component> = plan.payload.nodes[node].iter().map(remapped).collect();
        let all = &mut self.whole.payload.nodes[at];
        let place = |component: Component| {
            let known = all.iter().position(|other| *other == component);
            known.unwrap_or_else(|| {
                all.push(component);
                all.len() - 1
            })
        };
        remapped.into_iter().map(place).collect()
    }

    /// The same without the terms that are not marked, and without plans that have no marks; and by node what stays of
    /// which.
    pub(crate) fn with_terms(
        &self,
        read: &[Option<Vec<bool>>],
    ) -> Option<(Self, Vec<RetainedNode>)> {
        let (mut plans, mut from) = (Vec::new(), Vec::new());
        for ((plan, placed), read) in self.plans.iter().zip(&self.placed).zip(read) {
            let Some(read) = read else { continue };
            let (payload, kept) = plan.payload.with_terms(&plan.tree, read);
            plans.push(Plan {
                payload,
                ..plan.clone()
            });
            from.push((placed, kept));
        }
        let mut all = Self::of(plans)?;
        let components = all.whole.payload.nodes.iter().map(Vec::len);
        let mut stay: Vec<RetainedNode> = components
            .map(|components| RetainedNode {
                node: 0,
                components: vec![0; components],
            })
            .collect();
        let mut renamed: BTreeMap<VarId, VarId> = BTreeMap::new();
        for (placed, (before, kept)) in all.placed.iter().zip(&from) {
            renamed.extend(
                before
                    .variables
                    .iter()
                    .copied()
                    .zip(placed.variables.iter().copied()),
            );
            for (node, &at) in placed.nodes.iter().enumerate() {
                stay[at].node = before.nodes[node];
                for (&component, &was) in placed.components[node].iter().zip(&kept[node]) {
                    stay[at].components[component] = before.components[node][was];
                }
            }
        }
        // Keys stay in their order.
        for (node, stays) in all.whole.tree.nodes.iter_mut().zip(&stay) {
            let keys = self.whole.tree.nodes[stays.node].keys.iter();
            node.keys = keys.map(|key| renamed[key]).collect();
        }
        Some((all, stay))
    }

    /// The node of the groups of a plan.
    pub(crate) fn root(&self, plan: usize) -> usize {
        self.placed[plan].nodes[self.plans[plan].tree.root]
    }

    /// The variables of its keys, as the plan numbers them.
    pub(crate) fn keys(&self, plan: usize) -> Vec<VarId> {
        let all = &self.placed[plan].variables;
        let keys = self.whole.tree.nodes[self.root(plan)].keys.iter();
        keys.filter_map(|key| all.iter().position(|id| id == key))
            .collect()
    }

    /// Layout of its payloads.
    pub(crate) fn payload_layout(&self, plan: usize) -> PayloadLayout {
        let (root, own) = (self.root(plan), &self.plans[plan]);
        let kinds = self.whole.payload.nodes[root].iter().map(|one| one.kind);
        let components = &self.placed[plan].components[own.tree.root];
        let terms = own.payload.terms.iter().map(|&term| components[term]);
        let mut payload_layout = PayloadLayout::default();
        payload_layout.push(PayloadField::Sums(TermSums::new(
            kinds.collect(),
            terms.collect(),
        )));
        payload_layout
    }
}

/// Whether both have the same columns; names and grouping are ignored.
fn is_same(one: &Variable, other: &Variable) -> bool {
    one.columns == other.columns
        && one.others == other.others
        && one.ty == other.ty
        && one.nullable == other.nullable
}

fn is_same_set(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && one.iter().all(|item| other.contains(item))
}

/// An order of the variables that join, as another query numbers them; what that does not have is left out.
fn renamed(order: &[OrderNode], from: &[Variable], to: &[Variable]) -> Vec<OrderNode> {
    let renamed_one = |node: &OrderNode| {
        let variable = &from[node.variable];
        let children = renamed(&node.children, from, to);
        let own = to.iter().position(|other| is_same(other, variable));
        match own.filter(|_| variable.columns.len() > 1) {
            Some(variable) => vec![OrderNode { variable, children }],
            None => children,
        }
    };
    order.iter().flat_map(renamed_one).collect()
}

/// Whether an order has all of so many variables.
fn is_whole(order: &[OrderNode], variables: usize) -> bool {
    fn note(order: &[OrderNode], seen: &mut BTreeSet<VarId>) {
        for node in order {
            seen.insert(node.variable);
            note(&node.children, seen);
        }
    }
    let mut seen = BTreeSet::new();
    note(order, &mut seen);
    seen.len() == variables
}
