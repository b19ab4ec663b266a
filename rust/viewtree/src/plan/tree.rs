//! The view tree of a variable order, and which of its views are stored.
//!
//! The paper's figure 3: at each variable, a view joins its children and marginalises the variable
//! if it is bound; a relation hangs under its lowest variable. Views that would only repeat their
//! one child are not made, and chains are composed, so every inner view joins at least two. The
//! paper's figure 7: a view over a part of a cycle also joins indicator projections. The paper's
//! figure 5: a view is stored if a sibling may change. Cost: linear in order and atoms, but for one
//! GYO reduction a view.

use crate::plan::{Node, OrderNode, PlanAtom, VarId, Variable, ViewTree};
use ringview_query::graph::hypergraph::Hypergraph;
use ringview_query::graph::indicator::indicators;
use ringview_query::graph::set::Set;

/// Builds the tree of an order in which each atom's variables lie on one path.
pub(crate) fn build(
    order: &[OrderNode],
    graph: &Hypergraph,
    atoms: &[PlanAtom],
    variables: &[Variable],
    with_indicators: bool,
) -> ViewTree {
    let mut rank = vec![0; variables.len()];
    preorder(order, &mut 0, &mut rank);
    let lowest = |edge: &Set| edge.iter().max_by_key(|v| rank[*v]);
    let mut grower = Grower {
        lowest: graph.edges.iter().map(lowest).collect(),
        nodes: Vec::new(),
        rank,
        graph,
        atoms,
        with_indicators,
    };
    let mut roots: Vec<usize> = order.iter().map(|node| grower.grow(node)).collect();
    roots.extend(grower.leaves(None));
    let root = match roots[..] {
        [root] => root,
        _ => grower.join(Vec::new(), roots),
    };
    let mut nodes = grower.nodes;
    for id in 0..nodes.len() {
        for child in nodes[id].children.clone() {
            nodes[child].parents.push(id);
        }
        if nodes[id].is_inner() {
            nodes[id].name = name(&nodes[id].variables, variables);
        }
    }
    let mut tree = ViewTree { nodes, root };
    store(&mut tree, graph.dynamic);
    tree
}

/// The atoms that each node depends on: those below it, and those whose indicators are.
pub(crate) fn relations(tree: &ViewTree) -> Vec<Set> {
    let mut below: Vec<Set> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let own = node.atom.or(node.indicator);
        let own = own.map_or(Set::default(), Set::one);
        let all = node.children.iter().fold(own, |set, c| set | below[*c]);
        below.push(all);
    }
    below
}

/// The atoms whose rows make up some views.
pub(crate) fn atoms_below(nodes: &[Node], views: &[usize]) -> Set {
    views.iter().fold(Set::default(), |set, &view| {
        let Node { atom, children, .. } = &nodes[view];
        let own = atom.map_or(Set::default(), Set::one);
        set | own | atoms_below(nodes, children)
    })
}

struct Grower<'a> {
    graph: &'a Hypergraph,
    atoms: &'a [PlanAtom],
    rank: Vec<usize>,
    lowest: Vec<Option<VarId>>,
    nodes: Vec<Node>,
    with_indicators: bool,
}

impl Grower<'_> {
    /// The view at a variable, or the one below it if there is nothing to join.
    fn grow(&mut self, at: &OrderNode) -> usize {
        let mut children: Vec<usize> = at.children.iter().map(|node| self.grow(node)).collect();
        children.extend(self.leaves(Some(at.variable)));
        let [child] = children[..] else {
            return self.join(vec![at.variable], children);
        };
        let bound = !self.graph.free.contains(at.variable);
        let node = &mut self.nodes[child];
        if node.is_inner() {
            node.variables.insert(0, at.variable);
            node.keys.retain(|key| !(bound && *key == at.variable));
        }
        child
    }

    /// The leaves directly under a variable, or under none.
    fn leaves(&mut self, variable: Option<VarId>) -> Vec<usize> {
        let here = |atom: &usize| self.lowest[*atom] == variable;
        let atoms: Vec<usize> = (0..self.atoms.len()).filter(here).collect();
        let leaf = |atom: usize| {
            let keys = self.keys(self.graph.edges[atom]);
            let name = self.atoms[atom].alias.clone();
            let id = self.push(name, Vec::new(), keys, Vec::new());
            self.nodes[id].atom = Some(atom);
            id
        };
        atoms.into_iter().map(leaf).collect()
    }

    fn join(&mut self, variables: Vec<VarId>, mut children: Vec<usize>) -> usize {
        let of = |child: &usize| self.nodes[*child].keys.iter().copied().collect();
        let schemas: Vec<Set> = children.iter().map(of).collect();
        let all = schemas.iter().fold(Set::default(), |set, keys| set | *keys);
        let joined: Set = variables.iter().copied().collect();
        let keys = self.keys(all - (joined - self.graph.free));
        if self.with_indicators {
            let below = atoms_below(&self.nodes, &children);
            for (atom, variables) in indicators(self.graph, &schemas, below) {
                children.push(self.indicator(atom, variables));
            }
        }
        self.push(String::new(), variables, keys, children)
    }

    /// The leaf that projects an atom.
    fn indicator(&mut self, atom: usize, variables: Set) -> usize {
        let keys = self.keys(variables);
        let name = format!("∃ {}", self.atoms[atom].alias);
        let id = self.push(name, Vec::new(), keys, Vec::new());
        self.nodes[id].indicator = Some(atom);
        id
    }

    fn keys(&self, variables: Set) -> Vec<VarId> {
        let mut keys: Vec<VarId> = variables.iter().collect();
        keys.sort_by_key(|variable| self.rank[*variable]);
        keys
    }

    fn push(
        &mut self,
        name: String,
        variables: Vec<VarId>,
        keys: Vec<VarId>,
        children: Vec<usize>,
    ) -> usize {
        self.nodes.push(Node {
            name,
            atom: None,
            indicator: None,
            variables,
            keys,
            children,
            parents: Vec::new(),
            stored: false,
        });
        self.nodes.len() - 1
    }
}

fn preorder(order: &[OrderNode], next: &mut usize, rank: &mut [usize]) {
    for node in order {
        rank[node.variable] = *next;
        *next += 1;
        preorder(&node.children, next, rank);
    }
}

fn name(variables: &[VarId], all: &[Variable]) -> String {
    if variables.is_empty() {
        return "V".to_owned();
    }
    let names: Vec<&str> = variables.iter().map(|v| all[*v].name.as_str()).collect();
    format!("V@{}", names.join(","))
}

/// Marks the views that deltas look up: the siblings of views that may change, and the leaves of indicators that may
/// change.
fn store(tree: &mut ViewTree, dynamic: Set) {
    let below = relations(tree);
    for id in 0..tree.nodes.len() {
        tree.nodes[id].stored = match tree.nodes[id].parent() {
            None => true,
            Some(parent) => tree.nodes[parent]
                .children
                .iter()
                .any(|sibling| *sibling != id && below[*sibling].meets(dynamic)),
        };
    }
    let projected: Set = tree
        .nodes
        .iter()
        .filter_map(|node| node.indicator)
        .collect();
    for node in &mut tree.nodes {
        let atom = node.atom.filter(|atom| dynamic.contains(*atom));
        node.stored |= atom.is_some_and(|atom| projected.contains(atom));
    }
}
