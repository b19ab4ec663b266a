//! Explanations of all views and blocks below a view.
//!
//! Invariant: views are listed in an order in which each follows those that it reads itself, once, even if several
//! paths lead to it. Cost: linear in the nodes of all of them.

use std::collections::{BTreeMap, BTreeSet};

use ringview_explain::{Below, Explanation, Read};

use super::Graph;
use super::node::Node;
use crate::plan::{Input, Source};

impl Graph {
    /// The views and blocks below some sources, each behind those that it reads; and the position of each.
    pub(crate) fn below(&self, sources: &[Source]) -> (Vec<Below>, BTreeMap<u64, usize>) {
        let mut open: Vec<Source> = sources.to_vec();
        let mut found = BTreeSet::new();
        while let Some(source) = open.pop() {
            let node = match source {
                Source::View(id) => self.position(self.node_id(id)),
                Source::Table(_) => None,
            };
            if let Some(node) = node.map(|at| &self.nodes[at])
                && found.insert(node.id)
            {
                open.extend(node.sources());
            }
        }
        let ordered = self.levels.iter().flatten().map(|&at| &self.nodes[at]);
        let (mut below, mut places) = (Vec::new(), BTreeMap::new());
        for view in ordered.filter(|view| found.contains(&view.id)) {
            let names = self.declared_as(view.id).map(|declared| declared.id);
            for id in names.chain([view.id]) {
                places.insert(id, below.len());
            }
            below.push(Below {
                what: self.label(view),
                view: Explanation {
                    reads: reads(&view.inputs, &places),
                    ..self.explanation(view)
                },
            });
        }
        (below, places)
    }

    /// Name of a view in explanations that list blocks, too.
    pub(crate) fn label(&self, view: &Node) -> String {
        if let Some(declared) = self.declared_as(view.id).next() {
            return format!("view {}", declared.name);
        }
        let mut owners = self.declared.iter();
        let owner = owners.find(|owner| self.with_blocks(owner.node).contains(&view.id));
        let owner = owner.map_or("", |owner| &*owner.name);
        format!("block {} of view {owner}", view.name)
    }
}

/// Reads of a query among views with a position, each once.
pub(crate) fn reads(inputs: &[Input], places: &BTreeMap<u64, usize>) -> Vec<Read> {
    let mut reads: Vec<Read> = Vec::new();
    for Input { source, atom } in inputs {
        let Source::View(id) = source else { continue };
        let below = places.get(id).map(|&below| Read {
            name: atom.table.clone(),
            below,
        });
        reads.extend(below.filter(|read| !reads.contains(read)));
    }
    reads
}
