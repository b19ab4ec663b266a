//! The values of a column by group, for MIN, MAX, COUNT(DISTINCT) and categories: a tree of their own.
//!
//! Invariant: the tree is that of the view's join with a column, or two, as free variables more, and has taken the rows
//! that the view has taken. Cost: that of the tree.

use std::fmt;
use std::sync::Arc;

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_relation::{KeyedTable, Relocated};
use ringview_view::RowDelta;
use ringview_view::answer::PayloadLayout;
use ringview_view::result_table::{Grouped, Maintainer, ResultTable};

use crate::maintained::{Maintained, NodeStatus};
use crate::plan::Plan;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// The groups of a view with their values, each with its count and sums.
pub(crate) struct ValueTree {
    tree: Tree<SumProductPayloads>,
    /// The layout of the payloads of its root.
    payload_layout: PayloadLayout,
}

impl ValueTree {
    /// Of no rows.
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        let plan = Arc::new(plan.clone());
        let payloads = SumProductPayloads::compile(&plan)?;
        Ok(Self {
            payload_layout: plan.payload_layout(),
            tree: Tree::new(plan, payloads),
        })
    }

    /// Status of each node of its tree.
    pub(crate) fn describe(&self) -> Vec<NodeStatus> {
        Maintained::describe(&self.tree)
    }

    fn table_bytes(&self) -> usize {
        let tables = self.tree.views.iter().filter_map(|view| view.table());
        tables.map(KeyedTable::memory_usage).sum()
    }
}

impl fmt::Debug for ValueTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueTree")
            .field("nodes", &self.describe())
            .finish_non_exhaustive()
    }
}

impl Grouped for ValueTree {
    fn grouped(&self) -> ResultTable<'_> {
        let plan = &self.tree.plan;
        let Some(table) = self.tree.result() else {
            unreachable!("a root is kept")
        };
        ResultTable {
            outputs: plan.shown(),
            fields: &self.tree.fields,
            keys: &plan.tree.nodes[plan.tree.root].keys,
            table,
            auxiliary: &self.payload_layout,
        }
    }
}

impl Maintainer for ValueTree {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.tree.apply(rows, budget)
    }

    fn freeze(&mut self) {
        self.tree.freeze();
    }

    fn prepare(&mut self, _dictionary: &Dictionary, _meter: &Budget<'_>) -> Result<()> {
        Maintained::check_fits(&self.tree)
    }

    fn commit(&mut self, _dictionary: &Dictionary) -> Option<Relocated> {
        self.tree.commit_root()
    }

    fn rollback(&mut self) {
        Maintained::rollback(&mut self.tree);
    }

    fn explanation(&self) -> Explanation {
        self.tree.plan.explanation()
    }

    fn memory_usage(&self) -> usize {
        self.table_bytes() + Maintained::memory_usage(&self.tree)
    }

    fn bytes(&self) -> usize {
        self.table_bytes()
    }

    fn steps(&self) -> u64 {
        self.tree.work.steps
    }

    fn check(&self) {
        Maintained::check(&self.tree);
    }
}

impl HoldsStrings for ValueTree {
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
