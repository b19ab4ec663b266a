//! A tree behind an interface that does not name its ring: what a view needs of it.

use std::fmt;
use std::sync::Arc;

use ringview_core::{Budget, HoldsStrings, Result};
use ringview_relation::{KeyedTable, Relation};
use ringview_ring::Overflow;
use ringview_view::{ProductDelta, RowDelta};

use crate::factors::Factored;
use crate::plan::{Plan, RetainedNode};
use crate::program::ProductPlan;
use crate::tree::Load;
use crate::tree::Recentring;
use crate::tree::Tree;
use crate::tree::indicator::Watch;
use ringview_view::fields::Fields;

/// Status of a node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The name of the view.
    pub name: String,
    /// Keys it holds; `None` if it is not kept.
    pub rows: Option<usize>,
    /// Bytes it takes, indexes included.
    pub bytes: usize,
    /// Rows of changes that have reached it, those that were undone left out. At a leaf, the rows
    /// that took part; above, what became of them; of a product, the rows of its factors.
    pub updates: u64,
}

/// A tree over any ring. Called once a batch, so that the indirection costs nothing.
pub(crate) trait Maintained: HoldsStrings + Send + Sync {
    /// Applies rows of one relation.
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()>;
    /// As [`View::before_load`](ringview_view::View::before_load).
    fn before_load(&mut self, atoms: &[usize]);
    /// As [`View::load`](ringview_view::View::load).
    fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()>;
    /// As [`View::end_load`](ringview_view::View::end_load).
    fn end_load(&mut self, budget: &Budget<'_>) -> Result<()>;
    /// Applies the product of some factors; false, and nothing done, if this ring cannot.
    fn apply_factors(&mut self, product: ProductDelta<'_>, budget: &Budget<'_>) -> Result<bool>;
    /// Keeps sums of integers in 128 bits from now on where one does not fit 64; whether that changed. O(keys of
    /// all nodes) then, else O(nodes).
    fn grow_to_fit(&mut self) -> bool;
    /// Refuses sums of the running transaction that do not fit where they are kept.
    fn check_fits(&self) -> Result<()>;
    /// Before a commit: how it will show the payloads of the root; `None` where they have no origins, or
    /// those shown stay.
    fn recentring(&mut self) -> Option<Recentring>;
    /// The running transaction's changes stay.
    fn commit(&mut self);
    /// The running transaction's changes are undone.
    fn rollback(&mut self);
    /// Leaves only these nodes, which are those of a plan in their order, with these components; whether it could.
    /// O(keys of all nodes).
    fn retain(&mut self, plan: Arc<Plan>, kept: &[RetainedNode]) -> Result<bool>;
    /// Ends loading of static relations.
    fn freeze(&mut self);
    /// The table of the root.
    fn result(&self) -> Option<&KeyedTable>;
    /// The table of a node, if it is kept.
    fn table(&self, node: usize) -> Option<&KeyedTable>;
    /// The same, to add or refresh an index.
    fn table_mut(&mut self, node: usize) -> Option<&mut KeyedTable>;
    /// Rows of one relation as its leaf stores them: keys, field by field, and counts.
    fn read(&mut self, rows: RowDelta<'_>) -> Result<(Vec<Vec<u64>>, Vec<u64>)>;
    /// Applies keys of a leaf, as `read` gives them.
    fn apply_keys(
        &mut self,
        atom: usize,
        columns: Vec<Vec<u64>>,
        times: &[i64],
        budget: &Budget<'_>,
    ) -> Result<()>;
    /// The fields of the variables.
    fn fields(&self) -> &Fields;
    /// Words that end each row of a result, as of the last commit.
    fn origins(&self) -> &[u64];
    /// Status of each node.
    fn describe(&self) -> Vec<NodeStatus>;
    /// Bytes beside those of the nodes.
    fn memory_usage(&self) -> usize;
    /// Bytes of the rows that wait, which are among those.
    fn waiting(&self) -> usize;
    /// Rows handled so far.
    fn steps(&self) -> u64;
    /// Checks the invariants of every table.
    fn check(&self);
}

impl fmt::Debug for dyn Maintained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.describe()).finish()
    }
}

impl<P: Factored + ProductPlan<P::Ring>> Maintained for Tree<P> {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        Tree::apply(self, rows, budget)
    }

    fn before_load(&mut self, atoms: &[usize]) {
        Tree::before_load(self, atoms);
    }

    fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        Tree::load(self, rows, budget)
    }

    fn end_load(&mut self, budget: &Budget<'_>) -> Result<()> {
        Tree::end_load(self, budget)
    }

    fn apply_factors(&mut self, product: ProductDelta<'_>, budget: &Budget<'_>) -> Result<bool> {
        // Indicator projections are maintained from the rows of the leaf. A product that does not fit its numbers is
        // propagated row by row.
        if self.watches[product.atom].is_some() || !self.fits() {
            return Ok(false);
        }
        P::apply_factors(self, product, budget)
    }

    fn grow_to_fit(&mut self) -> bool {
        !self.fits() && self.grow()
    }

    fn check_fits(&self) -> Result<()> {
        match self.views.iter().position(|view| !view.fits()) {
            Some(node) => Err(self.refuse(node, Overflow { component: 0 })),
            None => Ok(()),
        }
    }

    fn recentring(&mut self) -> Option<Recentring> {
        P::recentring(self)
    }

    fn commit(&mut self) {
        self.commit_root();
        P::commit(self);
    }

    fn rollback(&mut self) {
        self.views.iter_mut().for_each(Relation::rollback);
        self.watches.iter_mut().flatten().for_each(Watch::rollback);
        self.payloads.rollback();
        self.loading.clear();
    }

    fn retain(&mut self, plan: Arc<Plan>, kept: &[RetainedNode]) -> Result<bool> {
        P::retain(self, plan, kept)
    }

    fn freeze(&mut self) {
        Tree::freeze(self);
    }

    fn result(&self) -> Option<&KeyedTable> {
        Tree::result(self)
    }

    fn table(&self, node: usize) -> Option<&KeyedTable> {
        self.views[node].table()
    }

    fn table_mut(&mut self, node: usize) -> Option<&mut KeyedTable> {
        self.views[node].table_mut()
    }

    fn read(&mut self, rows: RowDelta<'_>) -> Result<(Vec<Vec<u64>>, Vec<u64>)> {
        Tree::read(self, rows)
    }

    fn apply_keys(
        &mut self,
        atom: usize,
        columns: Vec<Vec<u64>>,
        times: &[i64],
        budget: &Budget<'_>,
    ) -> Result<()> {
        Tree::apply_keys(self, atom, columns, times, budget)
    }

    fn fields(&self) -> &Fields {
        &self.fields
    }

    fn origins(&self) -> &[u64] {
        self.payloads.origins()
    }

    fn describe(&self) -> Vec<NodeStatus> {
        let status = |view: &Relation<P::Ring>| NodeStatus {
            name: view.name().to_owned(),
            rows: view.table().map(KeyedTable::len),
            bytes: view.table().map_or(0, KeyedTable::memory_usage),
            updates: view.updates(),
        };
        self.views.iter().map(status).collect()
    }

    fn memory_usage(&self) -> usize {
        let watches = self.watches.iter().flatten().map(Watch::memory_usage);
        let views = self.views.iter().map(Relation::memory_usage);
        self.waiting()
            + self.payloads.memory_usage()
            + watches.sum::<usize>()
            + views.sum::<usize>()
    }

    fn waiting(&self) -> usize {
        self.loading.iter().map(Load::memory_usage).sum()
    }

    fn steps(&self) -> u64 {
        self.work.steps
    }

    fn check(&self) {
        self.views
            .iter()
            .filter_map(Relation::table)
            .for_each(KeyedTable::check);
        self.check_indicators();
    }
}
