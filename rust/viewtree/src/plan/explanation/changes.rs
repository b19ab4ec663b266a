//! Cost of a change of each relation: the siblings that it meets between its leaf and the root.
//!
//! Invariant: these are the steps that the engine compiles, in its order; a climb is called constant
//! exactly if each of them holds at most one partner for a row of the change. Cost: the probes of
//! each path.

use std::fmt::Write;

use ringview_explain::{ChangeFacts, CostWarning, How, Meeting, PathCost};

use crate::plan::meetings::{Meeting as Met, meetings};
use crate::plan::tree;
use crate::plan::{Plan, VarId};
use ringview_query::graph::probe::Probe;
use ringview_query::graph::set::Set;
use ringview_query::hypergraph;

impl Plan {
    pub(crate) fn change_facts(&self) -> Vec<ChangeFacts> {
        let met = self.all_meetings();
        let atoms = 0..self.atoms.len();
        atoms.map(|atom| self.change(atom, &met)).collect()
    }

    /// Cost of a change of one row of an atom, as text: `O(1)`, or the groups that it walks. Then the cost of a change
    /// of the atom's indicator projections: a key appears or disappears.
    #[must_use]
    pub fn update_cost(&self, atom: usize) -> String {
        self.change(atom, &self.all_meetings()).cost
    }

    /// That a change meets all rows of a table that changes too, for they share no column: a product of tables.
    pub(crate) fn warning(&self, changes: &[ChangeFacts]) -> Option<CostWarning> {
        let is_product = |met: &&Meeting| {
            let sibling = &self.tree.nodes[met.sibling];
            met.how == How::All && !sibling.keys.is_empty() && !self.is_static(met.sibling)
        };
        let of = |change: &ChangeFacts| {
            let mut climbs = change.climbs.iter();
            let (propagate, met) = climbs.find_map(|propagate| {
                let met = propagate.meets.iter().find(is_product)?;
                Some((propagate, met))
            })?;
            let (relation, all) = (&change.relation, self.view(met.sibling));
            Some(CostWarning {
                cost: propagate.cost.clone(),
                because: format!("a row of {relation} is combined with every row of {all}"),
                instead: None,
            })
        };
        changes.iter().find_map(of)
    }

    /// Siblings met at each node, by node.
    fn all_meetings(&self) -> Vec<Vec<Met>> {
        let graph = hypergraph(&self.atoms, &self.variables);
        let below = tree::relations(&self.tree);
        let nodes = 0..self.tree.nodes.len();
        let met = |node| meetings(&graph, &self.tree, &below, node);
        nodes.map(met).collect()
    }

    fn change(&self, atom: usize, met: &[Vec<Met>]) -> ChangeFacts {
        let nodes = self.tree.nodes.iter().enumerate();
        let of = nodes.filter(|(_, node)| node.atom.or(node.indicator) == Some(atom));
        let mut leaves: Vec<usize> = of.map(|(id, _)| id).collect();
        // The relation itself, then its projections.
        leaves.sort_by_key(|leaf| self.tree.nodes[*leaf].atom.is_none());
        let climbs: Vec<PathCost> = leaves
            .into_iter()
            .map(|leaf| self.propagate(leaf, met))
            .collect();
        let is_static = self.atoms[atom].is_static;
        let mut cost = String::new();
        for propagate in &climbs {
            let _ = match self.tree.nodes[propagate.leaf].indicator {
                None => write!(cost, "{}", propagate.cost),
                Some(_) => {
                    write!(
                        cost,
                        "; where {} changes, {}",
                        self.view(propagate.leaf),
                        propagate.cost
                    )
                }
            };
        }
        ChangeFacts {
            relation: self.atoms[atom].alias.clone(),
            is_static,
            constant: climbs.iter().all(|propagate| propagate.constant),
            cost: if is_static {
                "static: never changes".to_owned()
            } else {
                cost
            },
            climbs: if is_static { Vec::new() } else { climbs },
        }
    }

    /// Siblings that a change meets from a leaf to the root.
    fn propagate(&self, leaf: usize, met: &[Vec<Met>]) -> PathCost {
        let (mut meets, mut walked): (Vec<Meeting>, Vec<String>) = (Vec::new(), Vec::new());
        let mut from = leaf;
        while let Some(at) = self.tree.nodes[from].parent() {
            for met in &met[from] {
                let keys = self.tree.nodes[met.node].keys.iter().copied();
                let (how, known) = match met.probe {
                    Probe::One => (How::Key, keys.collect()),
                    Probe::Unique(known) => (How::UniqueKey, known),
                    Probe::Group(known) => {
                        walked.push(self.group(met.node, known));
                        let all = keys.filter(|key| known.contains(*key)).count() == 0;
                        (if all { How::All } else { How::Group }, known)
                    }
                    Probe::Either(known) => {
                        if let Some(last) = walked.last_mut() {
                            let other = self.group(met.node, known);
                            *last = match last.strip_suffix(')') {
                                Some(first) if first.starts_with("min(") => {
                                    format!("{first}, {other})")
                                }
                                _ => format!("min({last}, {other})"),
                            };
                        }
                        (How::SmallerGroup, known)
                    }
                };
                let known = self.bound_keys(met.node, known);
                meets.push(Meeting {
                    at,
                    sibling: met.node,
                    how,
                    known: self.names(known),
                });
            }
            from = at;
        }
        let constant = walked.is_empty();
        let cost = if constant {
            "O(1)".to_owned()
        } else {
            format!("O({})", walked.join(" * "))
        };
        PathCost {
            leaf,
            cost,
            constant,
            meets,
        }
    }

    /// The part of a view that a change walks when some of the variables are bound.
    fn group(&self, view: usize, known: Set) -> String {
        let known = self.bound_keys(view, known);
        if known.is_empty() {
            self.view(view)
        } else {
            format!("group of ({}) in {}", self.listed(&known), self.view(view))
        }
    }

    /// The variables of a view's key that are known.
    fn bound_keys(&self, view: usize, known: Set) -> Vec<VarId> {
        let keys = self.tree.nodes[view].keys.iter().copied();
        keys.filter(|key| known.contains(*key)).collect()
    }
}
