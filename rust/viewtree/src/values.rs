//! The values of a column by group, for MIN, MAX, COUNT(DISTINCT) and categories: a tree of their own.
//!
//! Invariant: the tree is that of the view's join with a column, or two, as free variables more, and has taken the rows
//! that the view has taken. Cost: that of the tree.

use std::fmt;
use std::sync::Arc;

use ringview_core::{Dictionary, Gone, Held, HoldsStrings, Meter, Result};
use ringview_explain::Explanation;
use ringview_relation::{Moved, Part};
use ringview_view::RowDelta;
use ringview_view::answer::Members;
use ringview_view::part::{Grouped, Maintainer, PartRows};

use crate::maintained::{Maintained, NodeStatus};
use crate::plan::Plan;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// The groups of a view with their values, each with its count and sums.
pub(crate) struct ValueTree {
    tree: Tree<SumProductPayloads>,
    /// The layout of the payloads of its root.
    members: Members,
}

impl ValueTree {
    /// Of no rows.
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        let plan = Arc::new(plan.clone());
        let payloads = SumProductPayloads::compile(&plan)?;
        Ok(Self {
            members: plan.members(),
            tree: Tree::new(plan, payloads),
        })
    }

    /// What each node of its tree holds.
    pub(crate) fn describe(&self) -> Vec<NodeStatus> {
        Maintained::describe(&self.tree)
    }

    fn part_bytes(&self) -> usize {
        let parts = self.tree.views.iter().filter_map(|view| view.part());
        parts.map(Part::memory_usage).sum()
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
    fn grouped(&self) -> PartRows<'_> {
        let plan = &self.tree.plan;
        let Some(part) = self.tree.result() else {
            unreachable!("a root is kept")
        };
        PartRows {
            outputs: plan.shown(),
            fields: &self.tree.fields,
            keys: &plan.tree.nodes[plan.tree.root].keys,
            part,
            further: &self.members,
        }
    }
}

impl Maintainer for ValueTree {
    fn apply(&mut self, rows: RowDelta<'_>, meter: &Meter<'_>) -> Result<()> {
        self.tree.apply(rows, meter)
    }

    fn freeze(&mut self) {
        self.tree.freeze();
    }

    fn prepare(&mut self, _dictionary: &Dictionary, _meter: &Meter<'_>) -> Result<()> {
        Maintained::check_fits(&self.tree)
    }

    fn commit(&mut self, _dictionary: &Dictionary) -> Option<Moved> {
        self.tree.commit_root()
    }

    fn rollback(&mut self) {
        Maintained::rollback(&mut self.tree);
    }

    fn explanation(&self) -> Explanation {
        self.tree.plan.explanation()
    }

    fn memory_usage(&self) -> usize {
        self.part_bytes() + Maintained::memory_usage(&self.tree)
    }

    fn bytes(&self) -> usize {
        self.part_bytes()
    }

    fn steps(&self) -> u64 {
        self.tree.work.steps
    }

    fn check(&self) {
        Maintained::check(&self.tree);
    }
}

impl HoldsStrings for ValueTree {
    fn mark_strings(&self, held: &mut Held) {
        self.tree.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.tree.string_words()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        self.tree.forget_strings(gone);
    }
}
