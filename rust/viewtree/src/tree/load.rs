//! Rows that fill a tree: they are buffered at their leaf, and propagated together in the order of their keys.
//!
//! The fields of the views above are first in a leaf's key. So rows that meet there are adjacent, and are summed before
//! anything is looked up for them. Keys that are new are inserted in order, and enter their directory at once.
//! Invariant: rows of one atom are buffered at a time, and none between `end_load` and the next `load`. Cost: that of
//! sorting words for each row, and of each key beyond. At most [`MOST`] rows are buffered; those behind them are
//! propagated at once.

use std::sync::Arc;

use ringview_core::{Budget, Result};
use ringview_relation::Delta;
use ringview_relation::join::Path;
use ringview_view::RowDelta;

use super::{Load, Payloads, Tree};

/// Rows that wait.
const MOST: usize = if cfg!(debug_assertions) { 16 } else { 1 << 20 };

impl<P: Payloads> Tree<P> {
    /// Keeps of the views over static relations alone those that rows of these atoms will meet, loaded in this order:
    /// what is complete later than its siblings finds all of them, and none of them will look for it. O(nodes).
    pub(crate) fn before_load(&mut self, atoms: &[usize]) {
        if self.is_watched {
            return;
        }
        let nodes = &self.plan.tree.nodes;
        let complete: Vec<Option<usize>> = (0..nodes.len())
            .map(|node| self.complete_at(node, atoms))
            .collect();
        let is_last = |node: usize, parent: usize| {
            let mut others = nodes[parent]
                .children
                .iter()
                .filter(|&&other| other != node);
            complete[node].is_some() && others.all(|&other| complete[other] < complete[node])
        };
        for (node, of) in nodes.iter().enumerate() {
            let is_met = of.parents.iter().any(|&parent| !is_last(node, parent));
            if !is_met && !of.stored && self.plan.is_static(node) {
                self.views[node].release();
            }
        }
    }

    /// Position of an order at which the last rows of a view are read; `None` if some of its atoms are not in the
    /// order.
    fn complete_at(&self, node: usize, atoms: &[usize]) -> Option<usize> {
        let of = &self.plan.tree.nodes[node];
        match of.atom {
            Some(atom) => atoms.iter().position(|&one| one == atom),
            None => {
                let each = of.children.iter();
                let all = each.map(|&child| self.complete_at(child, atoms));
                all.collect::<Option<Vec<usize>>>()?.into_iter().max()
            }
        }
    }

    /// Takes rows of one relation, which wait if they can.
    pub(crate) fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let mut leaves = self.leaves_of[rows.atom].clone();
        leaves.try_for_each(|leaf| self.load_at(leaf, rows, budget))
    }

    fn load_at(&mut self, leaf: usize, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let path = Arc::clone(&self.leaves[leaf].path);
        if !P::CAN_WAIT || self.watches[rows.atom].is_some() || !self.waits_at(&path) {
            return self.apply_at(leaf, rows, budget);
        }
        let mut delta = std::mem::take(&mut self.leaves[leaf].delta);
        let read = self.read_leaf(leaf, rows, &mut delta);
        let waiting = |load: &Load| load.leaf == leaf;
        let strange = |load: &Load| load.leaf == leaf && !load.delta.is_like(&delta);
        let outcome = match read {
            Ok(()) if self.loading.iter().any(strange) => self.end_load(budget),
            read => read,
        };
        let mut rows = 0;
        if outcome.is_ok() {
            if !self.loading.iter().any(waiting) {
                let delta = Delta::with_registers(path.registers);
                self.loading.push(Load { leaf, delta });
            }
            for load in self.loading.iter_mut().filter(|load| waiting(load)) {
                load.delta.append(&path.keys, &delta);
                rows = load.delta.rows;
            }
        }
        self.leaves[leaf].delta = delta;
        outcome?;
        match rows > MOST {
            true => self.end_load(budget),
            false => Ok(()),
        }
    }

    /// Whether rows gain by propagating together. They do if their leaf is kept and empty: beside many others they gain
    /// nothing by their order. They also do if it is not kept, and they meet groups, each of which is then walked once
    /// for all.
    fn waits_at(&self, path: &Path<P::Ring>) -> bool {
        match self.views[path.from].table() {
            Some(table) => table.is_empty(),
            None => path.walks(),
        }
    }

    /// Propagates the rows that wait.
    pub(crate) fn end_load(&mut self, budget: &Budget<'_>) -> Result<()> {
        while let Some(load) = self.loading.pop() {
            self.end_load_at(load, budget)?;
        }
        Ok(())
    }

    /// The keys of a leaf stay in their order if its rows were in it, as later rows then will be. Otherwise they enter
    /// the directory at once, if rows change later.
    fn end_load_at(&mut self, Load { leaf, mut delta }: Load, budget: &Budget<'_>) -> Result<()> {
        let path = Arc::clone(&self.leaves[leaf].path);
        let Self { views, work, .. } = self;
        let leaf = &views[path.from];
        let (shape, layout) = (leaf.shape(), &path.layout);
        let scratch = (&mut work.grouper, &mut work.gather);
        let in_order = delta.is_in_order(&path.keys);
        // A leaf that is kept finds the rows of a key as it takes them in.
        let scattered = leaf.table().is_none();
        let summed = delta.sort::<P::Ring>(shape, &path.keys, layout, scattered, scratch);
        summed.map_err(|fault| leaf.refusal(fault))?;
        let outcome = self.propagate(&path, budget).apply_many(&mut delta);
        self.work.release();
        let changes = !self.plan.is_static(path.from);
        let table = self.views[path.from].table_mut();
        if let Some(table) = table.filter(|_| changes && !in_order) {
            table.enter_ordered();
        }
        outcome
    }
}
