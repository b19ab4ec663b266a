//! The views of a tree, and its interface to the source of its payloads.
//!
//! Invariant: the tree is the same for every ring; what differs is behind [`Payloads`]. Cost: none.

use std::ops::Range;
use std::sync::Arc;

use ringview_core::{Batch, Dictionary, Error, FreedIds, Result};
use ringview_relation::join::{self, Path};
use ringview_relation::{Delta, Relation};
use ringview_ring::{CofactorShape, Expansion, Groups, PayloadRing};
use ringview_view::fields::{Aspect, Fields};
use ringview_view::read::Selection;

use super::indicator::Watch;
use crate::plan::{Plan, RetainedNode};

/// The views of a plan and the paths between them.
pub(crate) struct Tree<P: Payloads> {
    pub(crate) plan: Arc<Plan>,
    pub(crate) fields: Fields,
    pub(crate) views: Vec<Relation<P::Ring>>,
    /// The leaves, those of an atom one after the other.
    pub(super) leaves: Vec<Leaf<P::Ring>>,
    /// By atom: which of the leaves are its own.
    pub(super) leaves_of: Vec<Range<usize>>,
    /// By atom: its indicator projections, if it has any.
    pub(crate) watches: Vec<Option<Watch<P::Ring>>>,
    /// Whether any atom has.
    pub(super) is_watched: bool,
    pub(crate) payloads: P,
    /// Scratch state that climbs share. Its steps count rows at leaves and in factors too.
    pub(crate) work: join::Work<P::Ring>,
    pub(crate) scratch: LeafScratch,
    /// Rows that wait while the tree is filled.
    pub(crate) loading: Vec<Load>,
}

/// Entry point of the rows of an atom.
pub(super) struct Leaf<R: PayloadRing> {
    pub(super) path: Arc<Path<R>>,
    /// Source of the fields of its key, in the order of the key.
    pub(super) key_columns: Vec<KeyColumn>,
    /// Its registers keep their memory.
    pub(super) delta: Delta,
}

/// A column of a table that is a field of a leaf's key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyColumn {
    pub(super) aspect: Aspect,
    pub(super) column: usize,
}

/// Buffers for the rows of a leaf, reused between batches.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeafScratch {
    pub(crate) selection: Selection,
    /// Slots of a leaf whose tuples appeared or disappeared.
    pub(super) toggled: Vec<(u32, i64)>,
}

/// Rows of an atom that wait at a leaf.
#[derive(Debug)]
pub(crate) struct Load {
    pub(super) leaf: usize,
    pub(super) delta: Delta,
}

impl Load {
    /// Bytes in use: room that was never touched takes no memory.
    pub(crate) fn memory_usage(&self) -> usize {
        let columns = self.delta.columns.iter().map(Vec::len);
        (columns.sum::<usize>() + self.delta.payload.len()) * size_of::<u64>()
    }
}

/// Origins and shape of the payloads once the running transaction is kept.
#[derive(Clone, Debug)]
pub(crate) struct Recentring {
    /// The origins, then the reaches, as words.
    pub(crate) origins: Vec<u64>,
    pub(crate) shape: CofactorShape,
    /// By how much rows grow, by feature of the root, if origins are about to move.
    pub(crate) by: Option<Vec<Expansion>>,
}

/// Hooks for payloads that are counted from moving origins. By default there is no origin.
pub(crate) trait Recentred: Send + Sync {
    /// Before the selected rows of a batch are read at a leaf.
    fn foresee(_tree: &mut Tree<Self>, _leaf: usize, _batch: &Batch) -> Result<()>
    where
        Self: Payloads + Sized,
    {
        Ok(())
    }

    /// A member of every row of a result, as of the last commit: the origins that payloads are
    /// counted from.
    fn origins(&self) -> &[u64] {
        &[]
    }

    /// Before a commit: how it will show the payloads of the root; `None` where they have no origins, or
    /// those shown stay.
    fn recentring(_tree: &mut Tree<Self>) -> Option<Recentring>
    where
        Self: Payloads + Sized,
    {
        None
    }

    /// The running transaction's changes have been committed.
    fn commit(_tree: &mut Tree<Self>)
    where
        Self: Payloads + Sized,
    {
    }

    /// The running transaction's changes are undone.
    fn rollback(&mut self) {}
}

/// Source of a tree's payloads.
pub(crate) trait Payloads: Recentred {
    /// The ring.
    type Ring: PayloadRing;

    /// Whether the payloads of rows stay what they are while other rows are read.
    const CAN_WAIT: bool = false;

    /// Selects the rows of a batch that take part at a leaf.
    fn select(
        &mut self,
        leaf: usize,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()>;

    /// The payloads of the selected rows, times `sign`, summed by group into `out`.
    fn read(
        &mut self,
        leaf: usize,
        batch: &Batch,
        selection: &Selection,
        sign: i64,
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> Result<()>;

    /// As `read`, for sums that did not fit: of the ring's widened shape. Whether they are.
    ///
    /// # Errors
    /// The problem that was met, where there is no such shape or it has not room enough either.
    fn read_wide(
        &mut self,
        _leaf: (usize, &Batch, &Selection),
        _sign: i64,
        _groups: Groups<'_>,
        _out: &mut Vec<u64>,
        problem: Error,
    ) -> Result<bool> {
        Err(problem)
    }

    /// Brings its shapes to the ring's grown ones; whether there are any.
    fn grow(&mut self) -> bool {
        false
    }

    /// Leaves a tree, between two transactions, only these nodes, which are those of a plan in their order, with these
    /// components; whether it could. O(keys of all nodes).
    ///
    /// # Errors
    /// What the plan's expressions cannot be compiled for; the tree is then as before.
    fn retain(_tree: &mut Tree<Self>, _plan: Arc<Plan>, _kept: &[RetainedNode]) -> Result<bool>
    where
        Self: Sized,
    {
        Ok(false)
    }

    /// Drops cached results of filters for freed strings.
    fn forget_strings(&mut self, gone: &FreedIds);

    /// Bytes that it takes.
    fn memory_usage(&self) -> usize;
}
