//! The view tree of a variable order, and which of its views are stored.
//!
//! The paper's figure 3: at each variable, a view joins its children and marginalises the variable
//! if it is bound; a relation hangs under its lowest variable. Views that would only repeat their
//! one child are not made, and chains are composed, so every inner view joins at least two. The
//! paper's figure 5: a view is stored if a sibling may change. Cost: linear in order and atoms.

use crate::hypergraph::Hypergraph;
use crate::plan::{Node, OrderNode, PlanAtom, VarId, Variable, ViewTree};
use crate::set::Set;

/// Builds the tree of an order in which each atom's variables lie on one path.
pub(crate) fn build(
    order: &[OrderNode],
    graph: &Hypergraph,
    atoms: &[PlanAtom],
    variables: &[Variable],
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
            nodes[child].parent = Some(id);
        }
        if nodes[id].atom.is_none() {
            nodes[id].name = name(&nodes[id].variables, variables);
        }
    }
    let mut tree = ViewTree { nodes, root };
    store(&mut tree, graph.dynamic);
    tree
}

/// The atoms below each node.
pub(crate) fn relations(tree: &ViewTree) -> Vec<Set> {
    let mut below: Vec<Set> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let own = node.atom.map_or(Set::default(), Set::one);
        let all = node.children.iter().fold(own, |set, c| set | below[*c]);
        below.push(all);
    }
    below
}

struct Grower<'a> {
    graph: &'a Hypergraph,
    atoms: &'a [PlanAtom],
    rank: Vec<usize>,
    lowest: Vec<Option<VarId>>,
    nodes: Vec<Node>,
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
        if node.atom.is_none() {
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
            self.push(name, Some(atom), Vec::new(), keys, Vec::new())
        };
        atoms.into_iter().map(leaf).collect()
    }

    fn join(&mut self, variables: Vec<VarId>, children: Vec<usize>) -> usize {
        let all: Set = children
            .iter()
            .flat_map(|child| self.nodes[*child].keys.iter().copied())
            .collect();
        let joined: Set = variables.iter().copied().collect();
        let keys = self.keys(all - (joined - self.graph.free));
        self.push(String::new(), None, variables, keys, children)
    }

    fn keys(&self, variables: Set) -> Vec<VarId> {
        let mut keys: Vec<VarId> = variables.iter().collect();
        keys.sort_by_key(|variable| self.rank[*variable]);
        keys
    }

    fn push(
        &mut self,
        name: String,
        atom: Option<usize>,
        variables: Vec<VarId>,
        keys: Vec<VarId>,
        children: Vec<usize>,
    ) -> usize {
        self.nodes.push(Node {
            name,
            atom,
            variables,
            keys,
            children,
            parent: None,
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

/// Marks what deltas will look up: the siblings of whatever may change.
fn store(tree: &mut ViewTree, dynamic: Set) {
    let below = relations(tree);
    for id in 0..tree.nodes.len() {
        tree.nodes[id].stored = match tree.nodes[id].parent {
            None => true,
            Some(parent) => tree.nodes[parent]
                .children
                .iter()
                .any(|sibling| *sibling != id && below[*sibling].meets(dynamic)),
        };
    }
}
