//! The view tree of a join kept factorised (paper, section 7.3): payloads distributed over the views.
//!
//! At a variable x, `W@x` joins its children and keeps x beside what x depends on, and `V@x` above
//! it sums x away: for a key of `V@x`, the group of that key in `W@x` is the paper's payload, the
//! relation {x -> multiplicity}. A relation hangs under its lowest join variable; the columns that
//! it alone has are summed away above it, and under each key its rows are a union again.
//!
//! Invariant: all views are kept, with counts as payloads; a key is in a view exactly if it has a
//! row in the result of the subtree, and is in the indicator projections below. So whoever walks the
//! groups from the root meets no dead end. Over a part of a cycle, `W@x` also joins the projections
//! of the relations that close it, with ones as counts (section 6).
//! Chains of variables with one child share one pair of views. Cost: linear in order and atoms; the views together are
//! no larger than the joins at their variables, whatever the result's size.

use crate::plan::tree::atoms_below;
use crate::plan::{Node, OrderNode, PlanAtom, VarId, Variable, ViewTree};
use ringview_query::graph::hypergraph::Hypergraph;
use ringview_query::graph::indicator::indicators;
use ringview_query::graph::set::Set;

/// Builds the tree; returns the order without the variables that do not join.
pub(crate) fn build(
    order: Vec<OrderNode>,
    graph: &Hypergraph,
    atoms: &[PlanAtom],
    variables: &[Variable],
    with_indicators: bool,
) -> (Vec<OrderNode>, ViewTree) {
    let order = prune(order, graph);
    let mut grower = Grower {
        graph,
        cycles: with_indicators.then(|| graph.joins_only()),
        atoms,
        variables,
        // Columns of one atom follow all join variables.
        rank: (variables.len()..2 * variables.len()).collect(),
        nodes: Vec::new(),
    };
    rank(&order, &mut 0, &mut grower.rank);
    let mut roots: Vec<usize> = order.iter().map(|node| grower.grow(node)).collect();
    roots.extend(grower.leaves(None));
    let root = match roots[..] {
        [root] => root,
        _ => grower.push("W".to_owned(), None, Vec::new(), Set::default(), roots),
    };
    let mut nodes = grower.nodes;
    for id in 0..nodes.len() {
        for child in nodes[id].children.clone() {
            nodes[child].parents.push(id);
        }
    }
    (order, ViewTree { nodes, root })
}

/// Leaves out the variables of one atom; their children move up.
fn prune(order: Vec<OrderNode>, graph: &Hypergraph) -> Vec<OrderNode> {
    let prune_one = |node: OrderNode| {
        let children = prune(node.children, graph);
        let variable = node.variable;
        if graph.atoms[variable].len() > 1 {
            vec![OrderNode { variable, children }]
        } else {
            children
        }
    };
    order.into_iter().flat_map(prune_one).collect()
}

fn rank(order: &[OrderNode], next: &mut usize, ranks: &mut [usize]) {
    for node in order {
        ranks[node.variable] = *next;
        *next += 1;
        rank(&node.children, next, ranks);
    }
}

struct Grower<'a> {
    graph: &'a Hypergraph,
    /// The join's hypergraph, if indicators are used.
    cycles: Option<Hypergraph>,
    atoms: &'a [PlanAtom],
    variables: &'a [Variable],
    rank: Vec<usize>,
    nodes: Vec<Node>,
}

impl Grower<'_> {
    /// The views at a variable, or at the chain that starts with it: W, and V above it.
    fn grow(&mut self, top: &OrderNode) -> usize {
        let (mut at, mut chain) = (top, vec![top.variable]);
        let children = loop {
            let leaves = self.leaves(Some(at.variable));
            match &at.children[..] {
                [only] if leaves.is_empty() => {
                    at = only;
                    chain.push(at.variable);
                }
                below => {
                    let mut children: Vec<usize> = below.iter().map(|n| self.grow(n)).collect();
                    children.extend(leaves);
                    break children;
                }
            }
        };
        let mut children = children;
        let keys = children
            .iter()
            .fold(Set::default(), |set, child| set | self.keys(*child));
        children.extend(self.indicators(&children));
        let names: Vec<&str> = chain
            .iter()
            .map(|v| self.variables[*v].name.as_str())
            .collect();
        let name = names.join(",");
        let joined = self.push(format!("W@{name}"), None, chain.clone(), keys, children);
        let left = keys - chain.iter().copied().collect();
        self.push(format!("V@{name}"), None, chain, left, vec![joined])
    }

    fn keys(&self, node: usize) -> Set {
        self.nodes[node].keys.iter().copied().collect()
    }

    /// The projections of relations that form a cycle with some children.
    fn indicators(&mut self, children: &[usize]) -> Vec<usize> {
        let Some(cycles) = &self.cycles else {
            return Vec::new();
        };
        let schemas: Vec<Set> = children.iter().map(|child| self.keys(*child)).collect();
        let below = atoms_below(&self.nodes, children);
        let found = indicators(cycles, &schemas, below).into_iter();
        let leaf = |(atom, keys): (usize, Set)| {
            let name = format!("∃ {}", self.atoms[atom].alias);
            let id = self.push(name, None, Vec::new(), keys, Vec::new());
            self.nodes[id].indicator = Some(atom);
            id
        };
        found.map(leaf).collect()
    }

    /// The relations whose lowest join variable it is (or that join on nothing), each with the
    /// columns of its own summed away.
    fn leaves(&mut self, lowest: Option<VarId>) -> Vec<usize> {
        let mut leaves = Vec::new();
        for (atom, &edge) in self.graph.edges.iter().enumerate() {
            let joins: Set = edge
                .iter()
                .filter(|v| self.graph.atoms[*v].len() > 1)
                .collect();
            if joins.iter().max_by_key(|v| self.rank[*v]) != lowest {
                continue;
            }
            let alias = &self.atoms[atom].alias;
            let (name, summed) = (alias.clone(), format!("V@{alias}"));
            let leaf = self.push(name, Some(atom), Vec::new(), edge, Vec::new());
            let own = edge - joins;
            leaves.push(if own.is_empty() {
                leaf
            } else {
                self.push(summed, None, own.iter().collect(), joins, vec![leaf])
            });
        }
        leaves
    }

    fn push(
        &mut self,
        name: String,
        atom: Option<usize>,
        variables: Vec<VarId>,
        keys: Set,
        children: Vec<usize>,
    ) -> usize {
        let mut keys: Vec<VarId> = keys.iter().collect();
        keys.sort_by_key(|variable| self.rank[*variable]);
        self.nodes.push(Node {
            name,
            atom,
            indicator: None,
            variables,
            keys,
            children,
            parents: Vec::new(),
            stored: true,
        });
        self.nodes.len() - 1
    }
}
