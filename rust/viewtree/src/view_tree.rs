//! A view over a join: its tree, the form of its result and its changes, whatever the ring.
//!
//! Invariant: what is `kept`, the tree and what stands beside it, has taken the rows that the form has
//! taken. Which form it is (groups, a listing, a factorised join) is asked once, at the birth; behind that
//! each does what it does. Cost: that of the tree, of what stands beside it, and of the form.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Dictionary, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, Representation, VarId};
use ringview_relation::Part;
use ringview_view::answer::weighed::each_once;
use ringview_view::answer::{Further, Members};
use ringview_view::part::{PartRows, Reading};
use ringview_view::{Answer, Follower, ProductDelta, RowDelta, View, multiplied_out};

use crate::beside::Beside;
use crate::cofactor::CofactorPayloads;
use crate::factorised::Factorised;
use crate::groups::Groups;
use crate::listing::Listing;
use crate::logged::Logged;
use crate::maintained::{Maintained, NodeStatus};
use crate::plan::Plan;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;

/// A maintained view: group-by counts, sums, averages or degree-m payloads over a join, or its rows.
pub(crate) struct ViewTree<F> {
    pub(crate) kept: Kept,
    pub(crate) form: F,
    /// Which columns of the result other views read, of those that can be read.
    feed: Option<Vec<bool>>,
}

/// What is kept in any form: the tree and what stands beside it.
pub(crate) struct Kept {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tree: Box<dyn Maintained>,
    pub(crate) beside: Beside,
}

/// What the form of a result does beside the tree: who is told what moved, and what only it keeps.
pub(crate) trait Form: fmt::Debug + Send + Sync {
    /// Whether it must see each row, so that a product of factors is multiplied out.
    const BY_ROW: bool = false;

    /// Applies rows to the tree.
    fn apply(&mut self, kept: &mut Kept, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        kept.tree.apply(rows, budget)
    }

    /// Whether what moved in the result can be shown; what is kept fits.
    fn settle(&mut self, _kept: &Kept, _dictionary: &Dictionary) -> Result<()> {
        Ok(())
    }

    /// The tree keeps larger sums from now on; payloads had the members `narrow`.
    fn grow(&mut self, _kept: &Kept, _narrow: &Members) {}

    /// The running transaction is about to be committed; `all_move` if every row will be shown otherwise.
    fn before_commit(&mut self, kept: &Kept, all_move: bool);

    /// It is.
    fn after_commit(&mut self, kept: &mut Kept);

    /// The running transaction's changes are undone, those of the tree already.
    fn rollback(&mut self, _kept: &mut Kept) {}

    /// As [`View::partial`]; `None` for rows as they are read.
    fn partial(
        &self,
        _kept: &Kept,
        _query: &Bound,
        _reading: (&Dictionary, &Budget<'_>),
    ) -> Option<Result<Vec<RecordBatch>>> {
        None
    }

    /// As [`View::follow`], and so on.
    fn follow(&mut self, kept: &mut Kept, from_now: bool) -> Follower;
    fn changes(
        &self,
        kept: &Kept,
        follower: &Follower,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch>;
    fn advance(&mut self, kept: &mut Kept, follower: &Follower);
    fn tidy(&mut self, kept: &Kept);
    fn has_moved(&self, follower: &Follower) -> bool;

    /// Whether other views read the result, from now on.
    fn feed(&mut self, _kept: &mut Kept, _is_read: bool) {}

    /// As [`View::moved`], in the columns that are needed.
    fn moved(&self, kept: &Kept, needed: &[bool], reading: Reading<'_, '_>) -> Result<Batch>;

    /// As [`View::rows_from`].
    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)>;

    /// How many rows there are and how they are kept, in words.
    fn size(&self, kept: &Kept) -> String;

    /// Marks the strings in what it remembers of rows that may have left.
    fn mark_strings(&self, kept: &Kept, held: &mut LiveIds);

    /// How many words that looks at.
    fn string_words(&self, kept: &Kept) -> usize;

    /// Bytes of what only it keeps.
    fn memory_usage(&self) -> usize;

    /// Work that only it does.
    fn steps(&self) -> u64 {
        0
    }

    /// Checks its invariants; for tests.
    fn check(&self, _kept: &Kept) {}
}

/// An empty view.
///
/// # Errors
/// What the plan's expressions cannot be compiled for.
pub fn view(plan: Arc<Plan>) -> Result<Box<dyn View>> {
    let mut kept = Kept::new(plan)?;
    Ok(match kept.plan.bag {
        None => Box::new(ViewTree {
            form: Logged::new(Groups::of(&kept.plan)),
            kept,
            feed: None,
        }),
        Some(Representation::Listing) => Box::new(ViewTree {
            form: Logged::new(Listing),
            kept,
            feed: None,
        }),
        Some(Representation::Factorised) => Box::new(ViewTree {
            form: Factorised::new(&kept.plan, &mut *kept.tree),
            kept,
            feed: None,
        }),
    })
}

impl Kept {
    fn new(plan: Arc<Plan>) -> Result<Self> {
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
        let mut beside = Beside::new(&plan, tree.fields())?;
        beside.take_origins(&*tree);
        Ok(Self { plan, tree, beside })
    }

    /// The variables of the root's keys.
    pub(crate) fn keys(&self) -> &[VarId] {
        &self.plan.tree.nodes[self.plan.tree.root].keys
    }

    /// The root's part, and all that makes rows of it.
    pub(crate) fn rows(&self) -> PartRows<'_> {
        let Some(part) = self.tree.result() else {
            unreachable!("a root is kept")
        };
        PartRows {
            outputs: self.plan.shown(),
            fields: self.tree.fields(),
            keys: self.keys(),
            part,
            further: &self.beside,
        }
    }

    /// What each node of the plan's tree holds.
    pub(crate) fn describe(&self) -> Vec<NodeStatus> {
        self.tree.describe()
    }
}

impl<F: Form> fmt::Debug for ViewTree<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewTree")
            .field("nodes", &self.kept.describe())
            .finish_non_exhaustive()
    }
}

impl<F: Form + 'static> View for ViewTree<F>
where
    Self: Answer,
{
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.form.apply(&mut self.kept, rows, budget)?;
        self.kept.beside.apply(rows, budget)
    }

    /// Where the payloads allow it, the product is multiplied out only at views that are kept.
    fn apply_product(&mut self, product: ProductDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        if product.factors.iter().any(|factor| factor.batch.rows == 0) {
            return Ok(());
        }
        // What stands beside reads rows, too.
        let by_row = F::BY_ROW || !self.kept.beside.is_empty();
        if !by_row && self.kept.tree.apply_factors(product, budget)? {
            return Ok(());
        }
        multiplied_out(self, product, budget)
    }

    fn seal(&mut self) {
        self.kept.tree.seal();
        self.kept.beside.seal();
    }

    fn settle(&mut self, dictionary: &Dictionary, _meter: &Budget<'_>) -> Result<()> {
        if self.kept.tree.grow_to_fit() {
            let narrow = self.kept.beside.members().clone();
            self.kept.beside.grow();
            self.form.grow(&self.kept, &narrow);
        }
        self.kept.tree.settle()?;
        self.kept.beside.settle()?;
        self.form.settle(&self.kept, dictionary)
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        let kept = &mut self.kept;
        let all_move = kept.tree.recentres() | kept.beside.recentres();
        self.form.before_commit(kept, all_move);
        kept.beside.commit(dictionary);
        kept.tree.commit();
        kept.beside.take_origins(&*kept.tree);
        self.form.after_commit(kept);
    }

    fn rollback(&mut self) {
        self.kept.tree.rollback();
        self.form.rollback(&mut self.kept);
        self.kept.beside.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn partial(
        &self,
        query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        let partial = self.form.partial(&self.kept, query, reading);
        partial.unwrap_or_else(|| each_once(self, reading.0, reading.1))
    }

    fn follow(&mut self, from_now: bool) -> Follower {
        self.form.follow(&mut self.kept, from_now)
    }

    fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch> {
        self.form.changes(&self.kept, follower, dictionary)
    }

    fn advance(&mut self, follower: &Follower) {
        self.form.advance(&mut self.kept, follower);
    }

    fn tidy(&mut self) {
        self.form.tidy(&self.kept);
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        self.form.has_moved(follower)
    }

    fn feed(&mut self, needed: Option<&[bool]>) {
        if needed.is_some() != self.feed.is_some() {
            self.form.feed(&mut self.kept, needed.is_some());
        }
        self.feed = needed.map(<[bool]>::to_vec);
    }

    fn moved(&mut self, dictionary: &mut Dictionary, budget: &Budget<'_>) -> Result<Batch> {
        match &self.feed {
            Some(needed) => self.form.moved(&self.kept, needed, (dictionary, budget)),
            None => Ok(Batch::new()),
        }
    }

    fn rows_from(
        &self,
        place: u64,
        needed: &[bool],
        dictionary: &mut Dictionary,
        budget: &Budget<'_>,
    ) -> Result<(Batch, Option<u64>)> {
        let reading = (dictionary, budget);
        self.form.rows_from(&self.kept, place, needed, reading)
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(self.form.size(&self.kept)),
            bytes: Some(self.memory_usage() as u64),
            ..self.kept.explanation()
        }
    }

    fn memory_usage(&self) -> usize {
        let nodes = self.kept.describe();
        self.form.memory_usage()
            + self.kept.beside.memory_usage()
            + self.kept.tree.memory_usage()
            + nodes.iter().map(|node| node.bytes).sum::<usize>()
    }

    fn bytes(&self) -> usize {
        let nodes = 0..self.kept.plan.tree.nodes.len();
        let parts = nodes.filter_map(|node| self.kept.tree.part(node));
        parts.map(Part::memory_usage).sum::<usize>()
            + self.kept.beside.bytes()
            + self.form.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.kept.tree.steps() + self.kept.beside.steps() + self.form.steps()
    }

    fn check(&self) {
        self.kept.tree.check();
        self.kept.beside.check(self.kept.tree.result());
        self.form.check(&self.kept);
    }
}
