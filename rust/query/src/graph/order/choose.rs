//! Choosing a variable order by cost.
//!
//! Top down: a connected part of the query takes one variable as its root and falls into smaller components. The cost
//! of a component does not depend on the order above it, so components are solved once each: exactly, by trying every
//! root, up to [`EXACT`] variables; beyond, only the root with the least cost of its own view is tried. Variables with
//! the same atoms are interchangeable and stay together. Cost: at most 2^EXACT components, one small linear program
//! each. In a tie the variable named first wins.

use std::collections::HashMap;

use crate::graph::cover::Covers;
use crate::graph::hypergraph::Hypergraph;
use crate::graph::indicator::indicators;
use crate::graph::order::cost::Cost;
use crate::graph::order::node::{OrderNode, chain, with_locals};
use crate::graph::probe::{Probe, Sibling, probes};
use crate::graph::set::Set;

/// Components with at most this many groups are solved exactly.
const EXACT: usize = 9;

/// The best order found. `rows` says how much each atom's table changes, where that is known.
pub fn choose(graph: &Hypergraph, rows: &[Option<u64>], with_indicators: bool) -> Vec<OrderNode> {
    choose_counted(graph, rows, with_indicators).0
}

/// The same, with the steps that it took: cells of covers, and pairs of siblings looked at.
pub fn choose_counted(
    graph: &Hypergraph,
    rows: &[Option<u64>],
    with_indicators: bool,
) -> (Vec<OrderNode>, u64) {
    let mut chooser = Chooser::new(graph, rows);
    chooser.with_indicators = with_indicators;
    let all: Set = (0..chooser.groups.len()).collect();
    let mut order = Vec::new();
    for component in chooser.components(all) {
        order.extend(chooser.order(component));
    }
    let steps = chooser.steps + chooser.covers.steps;
    (with_locals(order, graph), steps)
}

/// Whether two orders cost the same in the width of views, the groups that changes walk and free variables below bound
/// ones: then they are equally good but for a constant factor.
pub fn are_tied(
    graph: &Hypergraph,
    rows: &[Option<u64>],
    with_indicators: bool,
    (one, other): (&[OrderNode], &[OrderNode]),
) -> bool {
    let mut chooser = Chooser::new(graph, rows);
    chooser.with_indicators = with_indicators;
    let [one, other] = [one, other].map(|order| chooser.cost_of(order).1);
    one.is_tied_with(&other)
}

/// Join variables of the same atoms, free ones first.
struct VariableGroup {
    variables: Vec<usize>,
    set: Set,
    atoms: Set,
}

struct Chooser<'a> {
    graph: &'a Hypergraph,
    groups: Vec<VariableGroup>,
    /// By atom: its groups.
    edges: Vec<Set>,
    /// By atom: how much it changes; 0 if it never does.
    weights: Vec<u128>,
    covers: Covers,
    with_indicators: bool,
    /// Pairs of siblings looked at.
    steps: u64,
    /// By component: its cost and its root.
    solved: HashMap<Set, (Cost, usize)>,
}

impl<'a> Chooser<'a> {
    fn new(graph: &'a Hypergraph, rows: &[Option<u64>]) -> Chooser<'a> {
        let mut groups: Vec<VariableGroup> = Vec::new();
        for (variable, atoms) in graph.atoms.iter().enumerate() {
            if atoms.len() < 2 {
                continue;
            }
            match groups.iter_mut().find(|group| group.atoms == *atoms) {
                Some(group) => {
                    group.variables.push(variable);
                    group.set.insert(variable);
                }
                None => groups.push(VariableGroup {
                    variables: vec![variable],
                    set: Set::one(variable),
                    atoms: *atoms,
                }),
            }
        }
        for group in &mut groups {
            group.variables.sort_by_key(|v| !graph.free.contains(*v));
        }
        let edge = |atom: usize| -> Set {
            let has = |group: &usize| groups[*group].atoms.contains(atom);
            (0..groups.len()).filter(has).collect()
        };
        Chooser {
            edges: (0..graph.edges.len()).map(edge).collect(),
            weights: weights(graph, rows),
            covers: Covers::new(&graph.edges),
            with_indicators: true,
            steps: 0,
            solved: HashMap::new(),
            groups,
            graph,
        }
    }

    /// The connected components of some groups.
    fn components(&self, groups: Set) -> Vec<Set> {
        let mut rest = groups;
        let mut components = Vec::new();
        while let Some(first) = rest.iter().next() {
            let mut component = Set::one(first);
            loop {
                let grown = self
                    .touching(component)
                    .iter()
                    .fold(component, |set, atom| set | (self.edges[atom] & groups));
                if grown == component {
                    break;
                }
                component = grown;
            }
            rest = rest - component;
            components.push(component);
        }
        components
    }

    /// The atoms that have any of the groups.
    fn touching(&self, groups: Set) -> Set {
        groups
            .iter()
            .fold(Set::default(), |set, group| set | self.groups[group].atoms)
    }

    fn order(&mut self, component: Set) -> Option<OrderNode> {
        let (_, root) = self.solve(component);
        let mut children = Vec::new();
        for below in self.components(component - Set::one(root)) {
            children.extend(self.order(below));
        }
        chain(&self.groups[root].variables, children)
    }

    fn solve(&mut self, component: Set) -> (Cost, usize) {
        if let Some(known) = self.solved.get(&component) {
            return *known;
        }
        let roots: Vec<usize> = if component.len() <= EXACT {
            component.iter().collect()
        } else {
            vec![self.promising(component)]
        };
        let mut best: Option<(Cost, usize)> = None;
        for root in roots {
            let mut cost = self.cost_at(component, root);
            for below in self.components(component - Set::one(root)) {
                cost = cost.with(self.solve(below).0);
            }
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, root));
            }
        }
        // A component has at least one group, so there is a best one.
        let best = best.unwrap_or_default();
        self.solved.insert(component, best);
        best
    }

    /// The root whose own view costs least and leaves the smallest rest.
    fn promising(&mut self, component: Set) -> usize {
        let mut best = None;
        for root in component.iter() {
            let components = self.components(component - Set::one(root));
            let rest = components.iter().map(|component| component.len()).max();
            let rank = (self.cost_at(component, root), rest, root);
            if best.is_none_or(|least| rank < least) {
                best = Some(rank);
            }
        }
        best.map_or(0, |(_, _, root)| root)
    }

    /// The groups of a part of an order, and what that costs.
    fn cost_of(&mut self, order: &[OrderNode]) -> (Set, Cost) {
        let (mut all, mut cost) = (Set::default(), Cost::default());
        for node in order {
            let (mut component, mut own) = self.cost_of(&node.children);
            let has = |group: &VariableGroup| group.set.contains(node.variable);
            if let Some(root) = self.groups.iter().position(has)
                && !component.contains(root)
            {
                component.insert(root);
                own = own.with(self.cost_at(component, root));
            }
            all |= component;
            cost = cost.with(own);
        }
        (all, cost)
    }

    /// The cost of the one view at a root over a component.
    fn cost_at(&mut self, component: Set, root: usize) -> Cost {
        let rest = component - Set::one(root);
        let free = self.graph.free;
        let mut views: Vec<Sibling> = Vec::new();
        for below in self.components(rest) {
            let atoms = self.touching(below);
            let variables = self.graph.variables(atoms);
            let inner = below
                .iter()
                .fold(Set::default(), |set, group| set | self.groups[group].set);
            // Variables below are marginalised unless free; bound locals are no variables.
            let keys = variables - (inner - free);
            views.push(Sibling { keys, atoms });
        }
        for atom in self.groups[root].atoms.iter() {
            if !self.edges[atom].meets(rest) {
                let keys = self.graph.edges[atom];
                let atoms = Set::one(atom);
                views.push(Sibling { keys, atoms });
            }
        }
        let joined = views.iter().fold(Set::default(), |set, v| set | v.keys);
        let mut covering = self.touching(component);
        if self.with_indicators {
            let schemas: Vec<Set> = views.iter().map(|view| view.keys).collect();
            for (atom, keys) in indicators(self.graph, &schemas, covering) {
                covering.insert(atom);
                let atoms = Set::one(atom);
                views.push(Sibling { keys, atoms });
            }
        }
        let width = self.covers.number(joined, covering);
        let bound = !self.groups[root].set.is_subset(free);
        let buried = rest
            .iter()
            .map(|group| (self.groups[group].set & free).len());
        let mut cost = Cost {
            width: (width * 1e6) as u64,
            buried: if bound {
                buried.sum::<usize>() as u64
            } else {
                0
            },
            views: u64::from(views.len() > 1),
            ..Cost::default()
        };
        for id in 0..views.len() {
            self.add_propagation(&views, id, &mut cost);
        }
        cost
    }

    /// Adds what changes below one view cost where it is joined with the others.
    fn add_propagation(&mut self, views: &[Sibling], id: usize, cost: &mut Cost) {
        let view = views[id];
        let weight: u128 = view.atoms.iter().map(|atom| self.weights[atom]).sum();
        if weight == 0 {
            return;
        }
        let mut siblings = views.to_vec();
        siblings.remove(id);
        self.steps += (siblings.len() * siblings.len()) as u64;
        let walks = probes(self.graph, view.keys, &siblings)
            .iter()
            .filter(|(_, probe)| matches!(probe, Probe::Group(_)))
            .count();
        let weighted = |number: usize| weight.saturating_mul(number as u128);
        cost.propagation = cost.propagation.saturating_add(weighted(walks));
        let probes = siblings.len() * view.keys.len();
        cost.probes = cost.probes.saturating_add(weighted(probes));
    }
}

/// Frequency of changes of each atom, by its rows. A table of unknown size counts as one of mean
/// size.
fn weights(graph: &Hypergraph, rows: &[Option<u64>]) -> Vec<u128> {
    let known: Vec<u128> = rows
        .iter()
        .flatten()
        .map(|rows| u128::from(*rows))
        .collect();
    let mean = known.iter().sum::<u128>() / (known.len().max(1) as u128);
    rows.iter()
        .enumerate()
        .map(|(atom, rows)| {
            if graph.dynamic.contains(atom) {
                rows.map_or(mean, u128::from) + 1
            } else {
                0
            }
        })
        .collect()
}
