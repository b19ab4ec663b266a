//! A companion at work: the values of a column by group, for MIN, MAX, COUNT(DISTINCT) and categories.
//!
//! Its tree is the view's join with a column, or two, as free variables more: what its root gained and
//! lost is taken in by `values` at the commit, so within a transaction only the tree moves. Cost: that of
//! the tree, and O(log n) comparisons a value that comes or leaves.

use std::sync::Arc;

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_query::VarId;
use ringview_relation::Part;
use ringview_view::RowDelta;
use ringview_view::answer::Members;
use ringview_view::answer::values::{GroupValues, SUMMARY, Tally, ValueSource, When};
use ringview_view::fields::Fields;
use ringview_view::part::PartRows;

use crate::maintained::{Maintained, NodeStatus};
use crate::plan;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// The values of one column, or of two together, by group.
pub(crate) struct Companion {
    tree: Tree<SumProductPayloads>,
    values: GroupValues,
    /// What the payloads of its root are made of.
    members: Members,
}

impl Companion {
    /// An empty companion of a view with these fields and this root key.
    pub(crate) fn new(
        companion: &plan::Companion,
        fields: &Fields,
        keys: &[VarId],
    ) -> Result<Self> {
        let plan = Arc::new(companion.plan.clone());
        let payloads = SumProductPayloads::compile(&plan)?;
        let tree = Tree::new(Arc::clone(&plan), payloads);
        let inner_keys = &plan.tree.nodes[plan.tree.root].keys;
        let all = tree.fields.of_all(inner_keys);
        let members = plan.members();
        let source = ValueSource::new(
            companion,
            (fields, keys),
            (&tree.fields, inner_keys),
            (|term| members.words(term), &plan.outputs),
        );
        Ok(Self {
            values: GroupValues::new(source, &tree.fields.layout(&all)),
            members,
            tree,
        })
    }

    /// Its groups with their values, each with its count and sums.
    pub(crate) fn rows(&self) -> PartRows<'_> {
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

    pub(crate) fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.tree.apply(rows, budget)
    }

    pub(crate) fn seal(&mut self) {
        self.tree.seal();
    }

    pub(crate) fn settle(&self) -> Result<()> {
        Maintained::settle(&self.tree)
    }

    pub(crate) fn rollback(&mut self) {
        Maintained::rollback(&mut self.tree);
    }

    /// Takes in what the transaction changed, and keeps it.
    pub(crate) fn commit(&mut self, dictionary: &Dictionary) {
        if let Some(root) = self.tree.result() {
            self.values.absorb(root, dictionary);
        }
        let root = self.tree.commit_root();
        self.values.follow(root.as_ref());
    }

    /// A summary for each of some keys of the view.
    pub(crate) fn summaries(
        &self,
        keys: &[Vec<u64>],
        rows: usize,
        when: When<'_>,
    ) -> Vec<[u64; SUMMARY]> {
        match self.tree.result() {
            Some(root) => self.values.summaries(root, keys, rows, when),
            None => vec![[0; SUMMARY]; rows],
        }
    }

    /// A tally for each of some keys of the view. O(values).
    pub(crate) fn tallies(&self, keys: &[Vec<u64>], rows: usize, when: When<'_>) -> Vec<Tally> {
        match self.tree.result() {
            Some(root) => self.values.tallies(root, keys, rows, when),
            None => vec![Tally::new(); rows],
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.tree.views.iter().filter_map(|view| view.part())
    }

    /// Bytes that it takes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.parts().map(Part::memory_usage).sum::<usize>()
            + Maintained::memory_usage(&self.tree)
            + self.values.memory_usage()
    }

    /// The same, by what is quickly counted.
    pub(crate) fn bytes(&self) -> usize {
        self.parts().map(Part::memory_usage).sum::<usize>() + self.values.bytes(self.tree.result())
    }

    /// What each node of its tree holds.
    pub(crate) fn describe(&self) -> Vec<NodeStatus> {
        Maintained::describe(&self.tree)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.tree.work.steps
    }

    /// Checks the invariants; for tests.
    pub(crate) fn check(&self) {
        self.parts().for_each(Part::check);
        self.values.check(self.tree.result());
    }
}

/// What it holds besides its tree are the keys of its root again.
impl HoldsStrings for Companion {
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
