//! What a leaf reads of its atom: the columns that are keys, and the factors of its components.
//!
//! Invariant: the factors of a leaf are those of its components, in their order.

use ringview_query::{Factor, Variable};

use crate::plan::{Plan, Source};

impl Plan {
    /// Whether a view is over static relations alone.
    pub(crate) fn is_static(&self, node: usize) -> bool {
        let of = &self.tree.nodes[node];
        match of.atom.or(of.indicator) {
            Some(atom) => self.atoms[atom].is_static,
            None => of.children.iter().all(|&child| self.is_static(child)),
        }
    }

    /// The leaf of each atom.
    pub(crate) fn leaves(&self) -> Vec<usize> {
        let mut leaves = vec![0; self.atoms.len()];
        for (node, description) in self.tree.nodes.iter().enumerate() {
            if let Some(atom) = description.atom {
                leaves[atom] = node;
            }
        }
        leaves
    }

    /// The columns of an atom that are compared with others: those of its variables. Of a listing, they
    /// are those that join: NaN equals nothing, but a row may hold it.
    pub(crate) fn compared_columns(&self, atom: usize) -> Vec<usize> {
        let listed = self.bag.is_some() && !self.distinct;
        let compared = |variable: &&Variable| !listed || variable.columns.len() > 1;
        let columns = self.variables.iter().filter(compared);
        let columns = columns.flat_map(|variable| &variable.columns);
        let own = columns.filter(|(of, _)| *of == atom);
        own.map(|&(_, column)| column).collect()
    }

    /// The factors of a leaf, 1 where absent.
    pub(crate) fn factors(&self, leaf: usize) -> Vec<Option<Factor>> {
        let components = self.payload.nodes[leaf].iter();
        let factor = components.map(|component| match &component.source {
            Source::Leaf(factor) => Some(factor.clone()),
            Source::Count | Source::Product { .. } => None,
        });
        factor.collect()
    }
}
