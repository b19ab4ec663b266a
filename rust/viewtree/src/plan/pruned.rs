//! The payloads of a plan without the terms that nobody reads any more.
//!
//! Invariant: what stays is as it was, in the same order; component 0 of a node stays its count. Cost: O(components).

use crate::plan::{Component, Source, SumProduct, ViewTree};

/// A node that stays, of those that there were, and which of its components.
#[derive(Clone, Debug)]
pub(crate) struct RetainedNode {
    pub(crate) node: usize,
    pub(crate) components: Vec<usize>,
}

impl SumProduct {
    /// The same with the terms that are marked; and by node the components that stay.
    pub(crate) fn with_terms(&self, tree: &ViewTree, read: &[bool]) -> (Self, Vec<Vec<usize>>) {
        let mut used: Vec<Vec<bool>> = Vec::with_capacity(self.nodes.len());
        for components in &self.nodes {
            used.push((0..components.len()).map(|at| at == 0).collect());
        }
        let terms = || self.terms.iter().zip(read).filter(|(_, read)| **read);
        terms().for_each(|(&term, _)| used[tree.root][term] = true);
        // In reverse order a node follows its parents, so the components that they use are marked before.
        for (id, node) in tree.nodes.iter().enumerate().rev() {
            for (at, component) in self.nodes[id].iter().enumerate() {
                if let (true, Source::Product { children }) = (used[id][at], &component.source) {
                    let taken = node.children.iter().zip(children);
                    taken.for_each(|(&child, &component)| used[child][component] = true);
                }
            }
        }
        let kept = |used: &Vec<bool>| (0..used.len()).filter(|&at| used[at]).collect();
        let kept: Vec<Vec<usize>> = used.iter().map(kept).collect();
        let place =
            |node: usize, component: usize| kept[node].partition_point(|&at| at < component);
        let remapped = |node: usize, component: &Component| match &component.source {
            Source::Product { children } => {
                let taken = tree.nodes[node].children.iter().zip(children);
                let children = taken.map(|(&child, &component)| place(child, component));
                Component {
                    kind: component.kind,
                    source: Source::Product {
                        children: children.collect(),
                    },
                }
            }
            Source::Count | Source::Leaf(_) => component.clone(),
        };
        let nodes = kept.iter().enumerate().map(|(node, kept)| {
            let components = kept.iter().map(|&at| remapped(node, &self.nodes[node][at]));
            components.collect()
        });
        let pruned = Self {
            nodes: nodes.collect(),
            terms: terms().map(|(&term, _)| place(tree.root, term)).collect(),
        };
        (pruned, kept)
    }
}
