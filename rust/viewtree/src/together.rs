//! The groups of several queries over one join, each by keys of its own: one set of views, of which those that their
//! trees have in common are kept once, and maintained once a change.
//!
//! Invariant: each root has the groups of its query over the rows applied so far. Cost: that of the views, each once,
//! however many groupings are made of it.

use std::fmt;
use std::sync::Arc;

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::{Explanation, NodeSize};
use ringview_query::VarId;
use ringview_relation::{KeyedTable, Relocated};
use ringview_view::answer::PayloadLayout;
use ringview_view::fields::Fields;
use ringview_view::result_table::{Grouped, Maintainer, ResultTable};
use ringview_view::{ProductDelta, RowDelta};

use crate::maintained::Maintained;
use crate::plan::Together;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// Maintains the groups of several queries.
pub(crate) struct SharedTree {
    plans: Together,
    tree: Tree<SumProductPayloads>,
    groupings: Vec<Grouping>,
}

/// Layout of the groups of one query.
struct Grouping {
    root: usize,
    fields: Fields,
    keys: Vec<VarId>,
    payload_layout: PayloadLayout,
}

impl SharedTree {
    /// Over no rows.
    pub(crate) fn new(mut plans: Together) -> Result<Self> {
        plans.plans.iter_mut().for_each(|plan| plan.output_groups());
        let payloads = SumProductPayloads::compile(&plans.whole)?;
        let tree = Tree::new(Arc::new(plans.whole.clone()), payloads);
        let mut all = Self {
            plans,
            tree,
            groupings: Vec::new(),
        };
        all.lay_out();
        Ok(all)
    }

    /// Works out what is read of each query's groups.
    fn lay_out(&mut self) {
        let grouping = |at: usize| {
            let root = self.plans.root(at);
            let mut payload_layout = self.plans.payload_layout(at);
            let width = self.tree.table(root).map(KeyedTable::stride);
            if width.is_some_and(|width| width != payload_layout.first()) {
                payload_layout.grow();
            }
            Grouping {
                root,
                fields: Fields::new(&self.plans.plans[at].variables),
                keys: self.plans.keys(at),
                payload_layout,
            }
        };
        self.groupings = (0..self.plans.plans.len()).map(grouping).collect();
    }

    fn rows(&self, at: usize) -> Option<ResultTable<'_>> {
        let grouping = self.groupings.get(at)?;
        Some(ResultTable {
            outputs: self.plans.plans[at].shown(),
            fields: &grouping.fields,
            keys: &grouping.keys,
            table: self.tree.table(grouping.root)?,
            auxiliary: &grouping.payload_layout,
        })
    }
}

impl Grouped for SharedTree {
    fn grouped(&self) -> ResultTable<'_> {
        let Some(rows) = self.rows(0) else {
            unreachable!("a root is kept")
        };
        rows
    }
}

impl Maintainer for SharedTree {
    fn grouping(&self, grouping: usize) -> Option<ResultTable<'_>> {
        self.rows(grouping)
    }

    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.tree.apply(rows, budget)
    }

    fn before_load(&mut self, atoms: &[usize]) {
        self.tree.before_load(atoms);
    }

    fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.tree.load(rows, budget)
    }

    fn end_load(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.tree.end_load(budget)
    }

    fn apply_factors(&mut self, product: ProductDelta<'_>, budget: &Budget<'_>) -> Result<bool> {
        if product.factors.iter().any(|factor| factor.batch.rows == 0) {
            return Ok(true);
        }
        Maintained::apply_factors(&mut self.tree, product, budget)
    }

    fn prepare(&mut self, _dictionary: &Dictionary, _budget: &Budget<'_>) -> Result<()> {
        if self.tree.grow_to_fit() {
            for grouping in &mut self.groupings {
                grouping.payload_layout.grow();
            }
        }
        self.tree.check_fits()
    }

    fn retain_terms(&mut self, read: &[Option<Vec<bool>>]) -> bool {
        let Some((plans, kept)) = self.plans.with_terms(read) else {
            return false;
        };
        let whole = Arc::new(plans.whole.clone());
        let done = self.tree.retain(whole, &kept) == Ok(true);
        if done {
            self.plans = plans;
            self.lay_out();
        }
        done
    }

    fn freeze(&mut self) {
        self.tree.freeze();
    }

    fn commit(&mut self, _dictionary: &Dictionary) -> Option<Relocated> {
        Maintained::commit(&mut self.tree);
        None
    }

    fn rollback(&mut self) {
        Maintained::rollback(&mut self.tree);
    }

    fn explanation(&self) -> Explanation {
        self.explanation_of(0, &[])
    }

    fn explanation_of(&self, grouping: usize, names: &[Vec<String>]) -> Explanation {
        let mut explanation = self.plans.plans[grouping].explanation();
        let own = &self.plans.placed[grouping].nodes;
        let held = self.tree.describe();
        let held = own.iter().map(|&node| NodeSize {
            rows: held[node].rows.map(|rows| rows as u64),
            bytes: held[node].bytes as u64,
            updates: held[node].updates,
        });
        explanation.fill(&held.collect::<Vec<_>>());
        let others = self.plans.placed.iter().zip(names).enumerate();
        for (_, (other, names)) in others.filter(|(at, _)| *at != grouping) {
            for (node, at) in explanation.nodes.iter_mut().zip(own) {
                if other.nodes.contains(at) {
                    node.shared_with.extend_from_slice(names);
                }
            }
        }
        explanation
    }

    fn memory_usage(&self) -> usize {
        let nodes = self.tree.describe();
        let nodes = nodes.iter().map(|node| node.bytes);
        Maintained::memory_usage(&self.tree) + nodes.sum::<usize>()
    }

    fn bytes(&self) -> usize {
        let tables = self.tree.views.iter().filter_map(|view| view.table());
        tables.map(KeyedTable::memory_usage).sum::<usize>() + self.tree.waiting()
    }

    fn steps(&self) -> u64 {
        Maintained::steps(&self.tree)
    }

    fn check(&self) {
        Maintained::check(&self.tree);
    }
}

impl fmt::Debug for SharedTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTree")
            .field("nodes", &self.tree.describe())
            .finish_non_exhaustive()
    }
}

impl HoldsStrings for SharedTree {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.tree.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.tree.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.tree.forget_strings(gone);
    }
}
