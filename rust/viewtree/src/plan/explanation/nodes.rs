//! The views of a plan: what each holds for its keys, whether it is kept and why, and why an indicator
//! projection is there.
//!
//! Cost: linear in the tree, but for the indicators' GYO reductions and a linear program a view.

use ringview_explain::{NodeFacts, NodeKind};

use crate::plan::tree;
use crate::plan::{Plan, VarId};
use ringview_query::graph::cover::Covers;
use ringview_query::graph::hypergraph::{Hypergraph, core};
use ringview_query::graph::set::Set;
use ringview_query::{Representation, hypergraph};

impl Plan {
    pub(crate) fn node_facts(&self) -> Vec<NodeFacts> {
        let graph = hypergraph(&self.atoms, &self.variables);
        let below = tree::relations(&self.tree);
        let mut covers = Covers::new(&graph.edges);
        let nodes = self.tree.nodes.iter().enumerate();
        nodes
            .map(|(id, node)| {
                let keys: Set = node.keys.iter().copied().collect();
                let children = node.children.iter();
                let joined = children.flat_map(|child| &self.tree.nodes[*child].keys);
                let summed: Set = joined.copied().filter(|key| !keys.contains(*key)).collect();
                let table = node.atom.map(|atom| &self.atoms[atom]);
                NodeFacts {
                    name: node.name.clone(),
                    label: self.view(id),
                    kind: match (node.atom, node.indicator, &node.children[..]) {
                        (Some(_), ..) => NodeKind::Relation,
                        (_, Some(_), _) => NodeKind::Indicator,
                        (.., [_]) => NodeKind::Sum,
                        _ => NodeKind::View,
                    },
                    table: node
                        .atom
                        .or(node.indicator)
                        .map(|atom| self.atoms[atom].table.clone()),
                    filtered: table.is_some_and(|table| table.filter.is_some()),
                    is_static: !below[id].meets(graph.dynamic),
                    keys: self.names(node.keys.iter().copied()),
                    joins: self.names(node.variables.iter().copied()),
                    summed: self.names(summed.iter()),
                    payload: self.storage(id),
                    stored: node.stored,
                    because: self.because(id, &graph, &below),
                    closes: node.indicator.map(|atom| self.closes(id, atom, &graph)),
                    space: Some(covers.number(keys, below[id])),
                    children: node.children.clone(),
                    parent: node.parent(),
                    rows: None,
                    bytes: None,
                    updates: None,
                    shared_with: Vec::new(),
                }
            })
            .collect()
    }

    /// Payload of a view for each of its keys.
    fn storage(&self, id: usize) -> String {
        let components = self.payload.nodes[id].len();
        let features = self.cofactor.as_ref().map_or(0, |c| c.nodes[id].len());
        match components {
            _ if self.tree.nodes[id].indicator.is_some() => "1".to_owned(),
            _ if features > 0 => format!(
                "degree-{features} matrix: count, {}, {}",
                many(features, "sum"),
                many(features * (features + 1) / 2, "product")
            ),
            1 => "count".to_owned(),
            more => format!("count, {}", many(more - 1, "sum")),
        }
    }

    /// Why a view is kept or not.
    fn because(&self, id: usize, graph: &Hypergraph, below: &[Set]) -> String {
        let nodes = &self.tree.nodes;
        let node = &nodes[id];
        if node.parent().is_none() {
            return "it is the result".to_owned();
        }
        if self.bag == Some(Representation::Factorised) && node.indicator.is_none() {
            return "rows are read from it".to_owned();
        }
        let siblings = node
            .parents
            .iter()
            .flat_map(|parent| &nodes[*parent].children);
        let siblings = siblings.filter(|sibling| **sibling != id);
        let met = siblings.fold(Set::default(), |set, sibling| set | below[*sibling]);
        let met: Vec<&str> = (met & graph.dynamic)
            .iter()
            .map(|atom| self.atoms[atom].alias.as_str())
            .collect();
        let described = nodes
            .iter()
            .any(|other| other.indicator.is_some() && other.indicator == node.atom);
        match (node.stored, met.is_empty()) {
            (true, false) => format!("changes of {} meet it", met.join(", ")),
            (true, true) if described => "its indicator projections are told from it".to_owned(),
            (true, true) => "it is read".to_owned(),
            (false, _) => "no change meets it".to_owned(),
        }
    }

    /// The cycle that an indicator projection closes.
    fn closes(&self, id: usize, atom: usize, graph: &Hypergraph) -> String {
        let nodes = &self.tree.nodes;
        let Some(parent) = nodes[id].parent() else {
            return String::new();
        };
        let keys = |id: usize| nodes[id].keys.iter().copied().collect::<Set>();
        // As `indicators` reduces them: the children, then the relations from outside.
        let views = nodes[parent]
            .children
            .iter()
            .copied()
            .filter(|c| nodes[*c].indicator.is_none());
        let views: Vec<usize> = views.collect();
        let joined = views
            .iter()
            .fold(Set::default(), |set, view| set | keys(*view));
        let projections = nodes[parent]
            .children
            .iter()
            .filter_map(|child| nodes[*child].indicator);
        let edges = views.iter().map(|view| keys(*view));
        let edges = edges.chain(projections.map(|atom| graph.edges[atom] & joined));
        let edges: Vec<Set> = edges.collect();
        let cycle = core(&edges).into_iter().filter_map(|edge| views.get(edge));
        let cycle: Vec<String> = cycle.map(|view| self.view(*view)).collect();
        format!(
            "{} closes a cycle with {}: {} has no more keys than it",
            self.atoms[atom].alias,
            cycle.join(", "),
            self.view(parent)
        )
    }

    /// A view's name with its keys; `∃[a, b] R` for an indicator projection. A table's keys are called
    /// as in the table: `S[c=b]` where its c is the variable b.
    #[must_use]
    pub fn view(&self, node: usize) -> String {
        let node = &self.tree.nodes[node];
        let of = node.atom.or(node.indicator);
        let keys = node.keys.iter().map(|id| self.called(*id, of));
        let keys = keys.collect::<Vec<_>>().join(", ");
        match node.indicator {
            Some(atom) => format!("∃[{keys}] {}", self.atoms[atom].alias),
            None => format!("{}[{keys}]", node.name),
        }
    }

    /// A variable by its name, after what an atom calls it if that is something else.
    fn called(&self, id: VarId, atom: Option<usize>) -> String {
        let variable = &self.variables[id];
        let mut columns = variable.columns.iter().skip(1);
        let own = columns.find(|(of, _)| Some(*of) == atom);
        let own = own.map(|&(of, column)| &self.atoms[of].schema.fields()[column].name);
        match own {
            Some(own) if *own != variable.name => format!("{own}={}", variable.name),
            _ => variable.name.clone(),
        }
    }

    pub(crate) fn listed(&self, variables: &[VarId]) -> String {
        self.names(variables.iter().copied()).join(", ")
    }
}

/// `1 sum`, `2 sums`
fn many(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
