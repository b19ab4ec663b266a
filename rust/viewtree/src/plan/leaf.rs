//! Inputs of a leaf from its atom: the columns that are keys, and the factors of its components.
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

    /// The leaves of each atom: one in the tree of one query.
    pub(crate) fn leaves(&self) -> Vec<Vec<usize>> {
        let mut leaves = vec![Vec::new(); self.atoms.len()];
        for (node, description) in self.tree.nodes.iter().enumerate() {
            if let Some(atom) = description.atom {
                leaves[atom].push(node);
            }
        }
        leaves
    }

    /// The columns of a leaf's table that are compared with others: those of its variables. Of a listing, they
    /// are those that join: NaN equals nothing, but a row may hold it.
    pub(crate) fn join_columns(&self, leaf: usize) -> Vec<usize> {
        let leaf = &self.tree.nodes[leaf];
        let listed = self.bag.is_some() && !self.distinct;
        let compared = |(id, variable): &(usize, &Variable)| {
            leaf.keys.contains(id) && (!listed || variable.columns.len() > 1)
        };
        let variables = self.variables.iter().enumerate().filter(compared);
        let columns = variables.flat_map(|(_, variable)| &variable.columns);
        let own = columns.filter(|(of, _)| Some(*of) == leaf.atom);
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
