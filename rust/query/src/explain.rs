//! A plan as text: the tree, what is stored, what a change of each relation costs.
//!
//! Cost: linear in the plan, but for the probes of each path.

use std::fmt::Write;

use crate::hypergraph::Hypergraph;
use crate::plan::{CofactorPlan, Node, Plan, VarId};
use crate::set::Set;
use crate::tree;
use crate::update::{Probe, Sibling, probes};

impl Plan {
    /// The plan as text.
    pub fn explain(&self) -> String {
        self.explain_with(&|_| String::new())
    }

    /// The plan as text, with a note after each node, by its position in the tree.
    pub fn explain_with(&self, note: &dyn Fn(usize) -> String) -> String {
        let mut rows = Vec::new();
        self.rows(self.tree.root, String::new(), String::new(), &mut rows);
        let wide = |row: &(usize, String, String)| row.1.chars().count();
        let width = rows.iter().map(wide).max().unwrap_or(0);
        let about = |row: &(usize, String, String)| row.2.chars().count();
        let note_at = rows.iter().map(about).max().unwrap_or(0);
        let mut text = self.headline();
        text.push_str("\n\nview tree\n");
        for (node, view, kept) in rows {
            let line = format!("  {view:width$}  {kept:note_at$}  {}", note(node));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push_str("\na change of one row\n");
        let names = self.atoms.iter().map(|atom| atom.alias.chars().count());
        let width = names.max().unwrap_or(0);
        for (id, atom) in self.atoms.iter().enumerate() {
            let _ = writeln!(text, "  {:width$}  {}", atom.alias, self.update_cost(id));
        }
        let values = self.companions.iter();
        let values = values.map(|companion| ("the values of", "by group", companion));
        if let Some(matrix) = &self.matrix {
            let plan = matrix.explain();
            let _ = write!(text, "\nbeside it, the products of the features\n{plan}");
        }
        let categories = self.cofactor.iter().flat_map(CofactorPlan::companions);
        let categories = categories.map(|companion| match companion.values.len() {
            1 => ("the categories of", "with their counts and sums", companion),
            _ => ("the pairs of categories of", "with their counts", companion),
        });
        for (what, how, companion) in values.chain(categories) {
            let plan = companion.plan.explain();
            let _ = write!(text, "\nbeside it, {what} {} {how}\n{plan}", companion.name);
        }
        text
    }

    /// What a change of one row of an atom costs, as text: `O(1)`, or which groups it walks. After
    /// it, what follows where the atom's indicator projections change: where a key is new or gone.
    pub fn update_cost(&self, atom: usize) -> String {
        if self.atoms.get(atom).is_some_and(|atom| atom.is_static) {
            return "static: never changes".to_owned();
        }
        let nodes = &self.tree.nodes;
        let leaf = nodes.iter().position(|node| node.atom == Some(atom));
        let mut text = self.path_cost(leaf);
        for (id, node) in nodes.iter().enumerate() {
            if node.indicator == Some(atom) {
                let cost = self.path_cost(Some(id));
                let _ = write!(text, "; where {} changes, {cost}", self.view(id));
            }
        }
        text
    }

    /// What a change costs from a leaf to the root.
    fn path_cost(&self, leaf: Option<usize>) -> String {
        let graph = Hypergraph::new(&self.atoms, &self.variables);
        let below = tree::relations(&self.tree);
        let nodes = &self.tree.nodes;
        let mut walked: Vec<String> = Vec::new();
        let mut at = leaf;
        while let Some(id) = at {
            at = nodes[id].parent;
            let Some(parent) = at else { break };
            let others = nodes[parent].children.iter().copied();
            let others: Vec<usize> = others.filter(|other| *other != id).collect();
            let sibling = |id: &usize| Sibling {
                keys: nodes[*id].keys.iter().copied().collect(),
                atoms: below[*id],
            };
            let siblings: Vec<Sibling> = others.iter().map(sibling).collect();
            let known: Set = nodes[id].keys.iter().copied().collect();
            for (which, probe) in probes(&graph, known, &siblings) {
                match probe {
                    Probe::One => {}
                    Probe::Group(known) => walked.push(self.group(others[which], known)),
                    Probe::Rival(known) => {
                        if let Some(last) = walked.last_mut() {
                            let rival = self.group(others[which], known);
                            *last = match last.strip_suffix(')') {
                                Some(first) if first.starts_with("min(") => {
                                    format!("{first}, {rival})")
                                }
                                _ => format!("min({last}, {rival})"),
                            };
                        }
                    }
                }
            }
        }
        if walked.is_empty() {
            "O(1)".to_owned()
        } else {
            format!("O({})", walked.join(" * "))
        }
    }

    /// The part of a view that a change walks when it knows some of the variables.
    fn group(&self, view: usize, known: Set) -> String {
        let keys = self.tree.nodes[view].keys.iter().copied();
        let known: Vec<VarId> = keys.filter(|key| known.contains(*key)).collect();
        if known.is_empty() {
            self.view(view)
        } else {
            format!("group of ({}) in {}", self.names(&known), self.view(view))
        }
    }

    /// A view's name with its keys; `∃[a, b] R` for an indicator projection.
    pub fn view(&self, node: usize) -> String {
        let Node {
            name,
            keys,
            indicator,
            ..
        } = &self.tree.nodes[node];
        match indicator {
            Some(atom) => format!("∃[{}] {}", self.names(keys), self.atoms[*atom].alias),
            None => format!("{name}[{}]", self.names(keys)),
        }
    }

    fn names(&self, variables: &[VarId]) -> String {
        let names: Vec<&str> = variables
            .iter()
            .map(|id| self.variables[*id].name.as_str())
            .collect();
        names.join(", ")
    }

    fn headline(&self) -> String {
        let class = &self.class;
        let mut words = vec![if class.acyclic { "acyclic" } else { "cyclic" }];
        if class.q_hierarchical {
            words.push("q-hierarchical");
        } else if class.hierarchical {
            words.push("hierarchical");
        }
        if class.free_connex {
            words.push("free-connex");
        }
        format!(
            "query: {}; width {}; views of {} keys",
            words.join(", "),
            shown(class.width),
            match shown(class.space).as_str() {
                "0" => "O(1)".to_owned(),
                "1" => "O(N)".to_owned(),
                power => format!("O(N^{power})"),
            }
        )
    }

    /// (node, its place in the drawing, what is kept of it), top to bottom.
    fn rows(
        &self,
        id: usize,
        branch: String,
        indent: String,
        rows: &mut Vec<(usize, String, String)>,
    ) {
        let node = &self.tree.nodes[id];
        let components = self.payload.nodes[id].len();
        let features = self.cofactor.as_ref().map_or(0, |c| c.nodes[id].len());
        let kept = match (node.stored, components) {
            (false, _) => "not stored".to_owned(),
            (true, _) if node.indicator.is_some() => "stored: 1".to_owned(),
            (true, _) if features > 0 => format!(
                "stored: degree-{features} matrix: count, {features} sums, {} products",
                features * (features + 1) / 2
            ),
            (true, 1) => "stored: count".to_owned(),
            (true, 2) => "stored: count, 1 sum".to_owned(),
            (true, more) => format!("stored: count, {} sums", more - 1),
        };
        let table = node.atom.map(|atom| &self.atoms[atom]);
        let of = match table {
            Some(atom) if atom.table != atom.alias => format!(" of {}", atom.table),
            _ => String::new(),
        };
        let filtered = match table {
            Some(atom) if atom.filter.is_some() => ", filtered",
            _ => "",
        };
        let fixed = match table {
            Some(atom) if atom.is_static => ", static",
            _ => "",
        };
        let view = format!("{branch}{}{of}{filtered}{fixed}", self.view(id));
        rows.push((id, view, kept));
        for (at, child) in node.children.iter().enumerate() {
            let last = at + 1 == node.children.len();
            let (tee, bar) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            let branch = format!("{indent}{tee}");
            self.rows(*child, branch, format!("{indent}{bar}"), rows);
        }
    }
}

/// A width: `1`, `1.5`, `1.333`.
fn shown(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
