//! The groups of a join: a tree over any ring, and the auxiliary state of its groups.
//!
//! Invariant: the tree and what is beside it have taken the same rows. Cost: that of both.

use std::fmt;
use std::sync::Arc;

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::{Explanation, NodeSize};
use ringview_query::VarId;
use ringview_relation::{KeyedTable, Relocated};
use ringview_view::result_table::{Grouped, Maintainer, ResultTable};
use ringview_view::{ProductDelta, RowDelta};

use crate::auxiliary::AuxiliaryState;
use crate::cofactor::CofactorPayloads;
use crate::maintained::{Maintained, NodeStatus};
use crate::plan::{Plan, RetainedNode};
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// Maintains group-by counts, sums, averages or degree-m payloads over a join, or its rows with their counts.
pub(crate) struct TreeMaintainer {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tree: Box<dyn Maintained>,
    auxiliary: AuxiliaryState,
}

impl TreeMaintainer {
    /// Over no rows.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self> {
        let tree: Box<dyn Maintained> = match &plan.cofactor {
            Some(cofactor) => {
                let payloads = CofactorPayloads::compile(&plan, cofactor)?;
                Box::new(Tree::new(Arc::clone(&plan), payloads))
            }
            None => {
                let payloads = SumProductPayloads::compile(&plan)?;
                Box::new(Tree::new(Arc::clone(&plan), payloads))
            }
        };
        let none = AuxiliaryState::default();
        let mut all = Self {
            plan,
            tree,
            auxiliary: none,
        };
        all.auxiliary = AuxiliaryState::new(&all.plan, all.grouped())?;
        all.auxiliary.take_origins(&*all.tree);
        Ok(all)
    }

    /// The variables of the root's keys.
    fn keys(&self) -> &[VarId] {
        &self.plan.tree.nodes[self.plan.tree.root].keys
    }

    /// Status of each node of the plan's tree.
    fn describe(&self) -> Vec<NodeStatus> {
        self.tree.describe()
    }
}

impl Grouped for TreeMaintainer {
    fn grouped(&self) -> ResultTable<'_> {
        let Some(table) = self.tree.result() else {
            unreachable!("a root is kept")
        };
        ResultTable {
            outputs: self.plan.shown(),
            fields: self.tree.fields(),
            keys: self.keys(),
            table,
            auxiliary: &self.auxiliary,
        }
    }
}

impl Maintainer for TreeMaintainer {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.tree.apply(rows, budget)?;
        self.auxiliary.apply(rows, budget)
    }

    fn before_load(&mut self, atoms: &[usize]) {
        self.tree.before_load(atoms);
        self.auxiliary.before_load(atoms);
    }

    fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.tree.load(rows, budget)?;
        self.auxiliary.load(rows, budget)
    }

    fn end_load(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.tree.end_load(budget)?;
        self.auxiliary.end_load(budget)
    }

    /// If the payloads allow it, the product is multiplied out only at views that are kept.
    fn apply_factors(&mut self, product: ProductDelta<'_>, budget: &Budget<'_>) -> Result<bool> {
        if product.factors.iter().any(|factor| factor.batch.rows == 0) {
            return Ok(true);
        }
        // Auxiliary state reads rows.
        Ok(self.auxiliary.is_empty() && self.tree.apply_factors(product, budget)?)
    }

    fn prepare(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        if self.tree.grow_to_fit() {
            self.auxiliary.grow();
        }
        self.tree.check_fits()?;
        self.auxiliary
            .prepare(&mut *self.tree, (dictionary, budget))
    }

    fn retain_terms(&mut self, read: &[Option<Vec<bool>>]) -> bool {
        let [Some(read)] = read else {
            return false;
        };
        if self.plan.cofactor.is_some() || !self.auxiliary.is_empty() {
            return false;
        }
        let (payload, kept) = self.plan.payload.with_terms(&self.plan.tree, read);
        let plan = Arc::new(Plan {
            payload,
            ..Plan::clone(&self.plan)
        });
        let kept = kept.into_iter().enumerate();
        let kept: Vec<RetainedNode> = kept
            .map(|(node, components)| RetainedNode { node, components })
            .collect();
        let done = self.tree.retain(Arc::clone(&plan), &kept) == Ok(true);
        if done {
            let width = self.tree.result().map(KeyedTable::stride);
            self.auxiliary.lay_out(&plan, width);
            self.plan = plan;
        }
        done
    }

    fn freeze(&mut self) {
        self.tree.freeze();
        self.auxiliary.freeze();
    }

    fn commit(&mut self, dictionary: &Dictionary) -> Option<Relocated> {
        self.auxiliary.commit(dictionary);
        self.tree.commit();
        self.auxiliary.take_origins(&*self.tree);
        None
    }

    fn rollback(&mut self) {
        self.tree.rollback();
        self.auxiliary.rollback();
    }

    fn values(&self) -> Vec<ResultTable<'_>> {
        self.auxiliary.values()
    }

    fn explanation(&self) -> Explanation {
        let mut explanation = self.plan.explanation();
        explanation.fill(&sizes(&self.describe()));
        // The plan speaks of them in the same order.
        let auxiliary = self.auxiliary.describe();
        for (beside, (nodes, bytes)) in explanation.beside.iter_mut().zip(auxiliary) {
            beside.view.fill(&sizes(&nodes));
            beside.view.bytes = Some(bytes as u64);
        }
        explanation
    }

    fn memory_usage(&self) -> usize {
        let nodes = self.describe();
        self.auxiliary.memory_usage()
            + self.tree.memory_usage()
            + nodes.iter().map(|node| node.bytes).sum::<usize>()
    }

    fn bytes(&self) -> usize {
        let nodes = 0..self.plan.tree.nodes.len();
        let tables = nodes.filter_map(|node| self.tree.table(node));
        let tables = tables.map(KeyedTable::memory_usage).sum::<usize>();
        tables + self.tree.waiting() + self.auxiliary.bytes()
    }

    fn steps(&self) -> u64 {
        self.tree.steps() + self.auxiliary.steps()
    }

    fn check(&self) {
        self.tree.check();
        self.auxiliary.check(self.tree.result());
    }
}

fn sizes(nodes: &[NodeStatus]) -> Vec<NodeSize> {
    let size = |node: &NodeStatus| NodeSize {
        rows: node.rows.map(|rows| rows as u64),
        bytes: node.bytes as u64,
        updates: node.updates,
    };
    nodes.iter().map(size).collect()
}

impl fmt::Debug for TreeMaintainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeMaintainer")
            .field("nodes", &self.describe())
            .finish_non_exhaustive()
    }
}

impl HoldsStrings for TreeMaintainer {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.tree.mark_strings(held);
        self.auxiliary.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.tree.string_words() + self.auxiliary.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.tree.forget_strings(gone);
        self.auxiliary.forget_strings(gone);
    }
}
