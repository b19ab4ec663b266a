//! A view tree at work: a change of one relation climbs from its leaf to the root.
//!
//! Invariant: between transactions every kept view equals its definition over the rows applied so
//! far. During one, each view remembers what it was, so the whole is undone exactly.
//!
//! Cost: the rows of the delta, times one probe a sibling, or times the groups that it walks.

mod check;
pub(crate) mod indicator;
mod load;
mod paths;
pub(crate) mod payloads;
mod state;

use std::sync::Arc;

use crate::plan::Plan;
use ringview_core::{Budget, Result};
use ringview_relation::join::{self, Path, Propagation};
use ringview_relation::{Delta, KeyedTable, Relation, Relocated};
use ringview_ring::{Overflow, PayloadRing};
use ringview_view::RowDelta;
use ringview_view::fields::Fields;
use ringview_view::read::key_column;

use crate::program::ProductPlan;
use crate::tree::indicator::Watch;
use crate::tree::paths::{Paths, keep_order, watches};
use crate::tree::state::KeyColumn;
pub(crate) use crate::tree::state::{LeafScratch, Load, Payloads, Recentred, Recentring, Tree};

impl<P: Payloads + ProductPlan<P::Ring>> Tree<P> {
    /// An empty tree. Views over static relations alone are kept until `seal`, even where no
    /// change will ever join with them: loading does.
    pub(crate) fn new(plan: Arc<Plan>, payloads: P) -> Self {
        let fields = Fields::new(&plan.variables);
        let nodes = &plan.tree.nodes;
        let view = |node: usize| {
            // Indicators that change are maintained from their leaf, which is stored.
            let kept = nodes[node].stored || plan.is_static(node);
            let shape = payloads.shape(node);
            let table = kept.then(|| {
                let layout = fields.layout(&fields.of_all(&nodes[node].keys));
                KeyedTable::new(layout, P::Ring::stride(&shape))
            });
            Relation::new(nodes[node].name.clone(), shape, table)
        };
        let mut views: Vec<Relation<P::Ring>> = (0..nodes.len()).map(view).collect();
        let Paths {
            leaves,
            leaves_of,
            projections,
        } = Paths::compile(&plan, &fields, &payloads, &mut views);
        keep_order(&leaves, &projections, &mut views);
        let watches = watches(&plan, &fields, &views, projections);
        Self {
            plan,
            fields,
            views,
            leaves,
            leaves_of,
            is_watched: watches.iter().any(Option::is_some),
            watches,
            payloads,
            work: join::Work::default(),
            scratch: LeafScratch::default(),
            loading: Vec::new(),
        }
    }

    /// Keeps larger exact sums from now on, in all views; whether the ring has any. The running
    /// transaction continues. O(keys of all views).
    #[cold]
    pub(crate) fn grow(&mut self) -> bool {
        if !self.payloads.grow() {
            return false;
        }
        for view in &mut self.views {
            view.grow();
        }
        self.compile();
        true
    }

    /// Compiles the paths anew, for payloads of other shapes.
    pub(super) fn compile(&mut self) {
        let Paths {
            leaves,
            leaves_of,
            projections,
        } = Paths::compile(&self.plan, &self.fields, &self.payloads, &mut self.views);
        (self.leaves, self.leaves_of) = (leaves, leaves_of);
        let watched = self.watches.iter_mut().flatten();
        let indicators = watched.flat_map(|watch| &mut watch.indicators);
        for indicator in indicators {
            let mut all = projections.iter();
            if let Some(path) = all.find(|path| path.from == indicator.path.from) {
                indicator.path = Arc::clone(path);
            }
        }
    }
}

impl<P: Payloads> Tree<P> {
    /// Whether the running transaction's changes can stay: all sums that are kept fit.
    pub(crate) fn fits(&self) -> bool {
        self.views.iter().all(Relation::fits)
    }

    /// Ends loading: drops the views that only loading needed.
    pub(crate) fn freeze(&mut self) {
        for (view, node) in self.views.iter_mut().zip(&self.plan.tree.nodes) {
            if !node.stored {
                view.release();
            }
        }
        for (watch, atom) in self.watches.iter_mut().zip(&self.plan.atoms) {
            if atom.is_static {
                *watch = None;
            }
        }
    }

    /// Keeps the running transaction's changes; returns the new slots of the root, if they moved.
    pub(crate) fn commit_root(&mut self) -> Option<Relocated> {
        let mut root = None;
        for (id, view) in self.views.iter_mut().enumerate() {
            if !view.has_changed() {
                continue;
            }
            let moved = view.commit();
            if moved.is_none() && !self.is_watched {
                continue;
            }
            let atom = self.plan.tree.nodes[id].atom;
            if let Some(watch) = atom.and_then(|atom| self.watches[atom].as_mut()) {
                watch.commit(moved.as_ref());
            }
            if id == self.plan.tree.root {
                root = moved;
            }
        }
        root
    }

    /// The table of the root.
    pub(crate) fn result(&self) -> Option<&KeyedTable> {
        self.views[self.plan.tree.root].table()
    }

    /// Applies rows of one relation.
    pub(crate) fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let mut leaves = self.leaves_of[rows.atom].clone();
        leaves.try_for_each(|leaf| self.apply_at(leaf, rows, budget))
    }

    /// The same at one of the leaves of the relation.
    fn apply_at(&mut self, leaf: usize, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let path = Arc::clone(&self.leaves[leaf].path);
        let mut delta = std::mem::take(&mut self.leaves[leaf].delta);
        let outcome = self
            .read_leaf(leaf, rows, &mut delta)
            .and_then(|()| self.add(rows.atom, &path, &mut delta, budget));
        self.leaves[leaf].delta = delta;
        outcome
    }

    /// Adds the delta of a leaf, then what it means for its indicator projections.
    fn add(
        &mut self,
        atom: usize,
        path: &Path<P::Ring>,
        delta: &mut Delta,
        budget: &Budget<'_>,
    ) -> Result<()> {
        self.propagate(path, budget).apply(delta)?;
        match self.watches[atom].take() {
            None => Ok(()),
            Some(mut watch) => {
                let outcome = self.project(path.from, &mut watch, budget);
                self.watches[atom] = Some(watch);
                outcome
            }
        }
    }

    /// A climb over the views.
    fn propagate<'a, 'm>(
        &'a mut self,
        path: &'a Path<P::Ring>,
        budget: &'a Budget<'m>,
    ) -> Propagation<'a, 'm, P::Ring> {
        Propagation {
            relations: &mut self.views,
            path,
            work: &mut self.work,
            budget,
        }
    }

    /// After a change of a relation: the changes of its indicator projections, one after the other
    /// (paper, section 6). The relation is up to date, so V * dI meets it as it is now.
    fn project(
        &mut self,
        leaf: usize,
        watch: &mut Watch<P::Ring>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut toggled = std::mem::take(&mut self.scratch.toggled);
        watch.turn(&self.views[leaf], &mut toggled);
        for indicator in watch.indicators.iter_mut().filter(|_| !toggled.is_empty()) {
            let path = Arc::clone(&indicator.path);
            let stride = P::Ring::stride(self.views[path.from].shape());
            if let Some(table) = self.views[leaf].table() {
                indicator.change(table, &toggled, stride, &mut self.work.keys);
            }
            let delta = &mut indicator.delta;
            delta.wide = false;
            self.views[path.from].reached_by(delta.rows);
            self.propagate(&path, budget).apply(delta)?;
        }
        self.scratch.toggled = toggled;
        Ok(())
    }

    /// The paths of an atom.
    pub(crate) fn paths(&self, atom: usize) -> Vec<Arc<Path<P::Ring>>> {
        let leaves = self.leaves[self.leaves_of[atom].clone()].iter();
        leaves.map(|leaf| Arc::clone(&leaf.path)).collect()
    }

    /// The path of an atom of which there is one leaf.
    fn path(&self, atom: usize) -> Arc<Path<P::Ring>> {
        let leaves = self.leaves_of[atom].clone();
        debug_assert_eq!(leaves.len(), 1, "of the tree of one query");
        Arc::clone(&self.leaves[leaves.start].path)
    }

    /// The columns and payloads of rows at their leaf, which stays as it is.
    pub(crate) fn read(&mut self, rows: RowDelta<'_>) -> Result<(Vec<Vec<u64>>, Vec<u64>)> {
        let path = self.path(rows.atom);
        let mut delta = Delta::with_registers(path.registers);
        self.read_leaf(self.leaves_of[rows.atom].start, rows, &mut delta)?;
        delta.columns.truncate(path.keys.len());
        Ok((delta.columns, delta.payload))
    }

    /// Applies keys of a leaf, field by field, each so many times.
    pub(crate) fn apply_keys(
        &mut self,
        atom: usize,
        columns: Vec<Vec<u64>>,
        times: &[i64],
        budget: &Budget<'_>,
    ) -> Result<()> {
        let path = self.path(atom);
        let stride = P::Ring::stride(self.views[path.from].shape());
        let mut delta = Delta::with_registers(path.registers);
        for (&register, column) in path.keys.iter().zip(columns) {
            delta.columns[register] = column;
        }
        delta.rows = times.len();
        delta.width = stride;
        // The count is the first word, and the ring's one is a count of 1 alone.
        delta.payload.resize(delta.rows * stride, 0);
        let payloads = delta.payload.chunks_exact_mut(stride);
        payloads
            .zip(times)
            .for_each(|(payload, &times)| payload[0] = times as u64);
        self.add(atom, &path, &mut delta, budget)
    }

    /// The delta of a leaf: the rows that take part, their local columns summed away.
    fn read_leaf(&mut self, leaf: usize, rows: RowDelta<'_>, delta: &mut Delta) -> Result<()> {
        let path = Arc::clone(&self.leaves[leaf].path);
        let (batch, dictionary) = (rows.batch, rows.dictionary);
        self.work.steps += batch.rows as u64;
        let selection = &mut self.scratch.selection;
        self.payloads
            .select(path.from, batch, dictionary, selection)?;
        delta.rows = selection.len();
        self.views[path.from].reached_by(delta.rows);
        P::foresee(self, path.from, batch)?;
        let columns = self.leaves[leaf].key_columns.iter();
        for (&register, &KeyColumn { aspect, column }) in path.keys.iter().zip(columns) {
            let out = &mut delta.columns[register];
            out.clear();
            key_column(aspect, batch.column(column), &self.scratch.selection, out);
        }
        let selection = &self.scratch.selection;
        let join::Work {
            gather, grouper, ..
        } = &mut self.work;
        let shape = self.views[path.from].shape();
        let (wide, least) = (P::Ring::is_wide(shape), P::Ring::LEAST_GROUP);
        grouper.group_from(
            least,
            &delta.columns,
            &path.keys,
            delta.rows,
            &path.layout,
            wide,
        );
        let groups = grouper.groups();
        let leaf = (path.from, batch, selection);
        let out = &mut delta.payload;
        delta.wide = match self
            .payloads
            .read(leaf.0, batch, selection, rows.sign, groups, out)
        {
            Ok(()) => false,
            Err(problem) => self
                .payloads
                .read_wide(leaf, rows.sign, groups, out, problem)?,
        };
        delta.width = delta.payload.len() / groups.len().max(1);
        delta.narrow::<P::Ring>(shape);
        if let Some(rows) = grouper.representatives() {
            delta.gather(&path.keys, rows, gather);
        }
        Ok(())
    }

    /// Counts the rows that were met at a node, and checks now and then whether to continue.
    pub(crate) fn met(&mut self, node: usize, rows: usize, budget: &Budget<'_>) -> Result<()> {
        self.work.met(&self.views, node, rows, budget)
    }

    pub(crate) fn refuse(&self, node: usize, fault: Overflow) -> ringview_core::Error {
        self.views[node].refusal(fault)
    }
}
