//! State shared by the propagations over one set of relations: buffers kept between batches, the counted steps, and the
//! last check of the budget.
//!
//! Invariant: nothing of a propagation stays in the buffers that a later one reads. Cost: the memory that the largest
//! propagation needed.

use ringview_core::{Budget, Result};
use ringview_ring::PayloadRing;

use super::matches::Matches;
use super::sides::SearchScratch;
use crate::delta::{Delta, GatherScratch};
use crate::directory::KeyScratch;
use crate::group::Grouper;
use crate::keyed_table::KeyedTable;
use crate::relation::Relation;

/// See the module.
#[derive(Debug)]
pub struct Work<R: PayloadRing> {
    /// Rows added to a relation, looked up in one, or paired with matches: what complexity is
    /// tested by.
    pub steps: u64,
    /// Room for packing keys.
    pub keys: KeyScratch,
    /// Room for gathering.
    pub gather: GatherScratch,
    /// Room for grouping.
    pub grouper: Grouper,
    pub(super) slots: Vec<u32>,
    pub(super) rows: Vec<u32>,
    pub(super) matches: Found,
    pub(super) product: Vec<u64>,
    pub(super) scratch: R::Scratch,
    pub(super) intersection: Intersection,
    pub(super) walk: Walk,
    /// Deltas that were propagated along branches.
    pub(super) branches: Vec<Delta>,
    /// Bytes of the relations at the last check of a budget, and what that budget had counted as held by then.
    seen: (u64, u64),
}

impl<R: PayloadRing> Default for Work<R> {
    fn default() -> Self {
        Self {
            steps: 0,
            keys: KeyScratch::default(),
            gather: GatherScratch::default(),
            grouper: Grouper::default(),
            slots: Vec::new(),
            rows: Vec::new(),
            matches: Found::default(),
            product: Vec::new(),
            scratch: R::Scratch::default(),
            intersection: Intersection::default(),
            walk: Walk::default(),
            branches: Vec::new(),
            seen: (0, 0),
        }
    }
}

impl<R: PayloadRing> Work<R> {
    /// Gives back all room, after a batch as no later one will be.
    pub fn release(&mut self) {
        *self = Self {
            steps: self.steps,
            seen: self.seen,
            ..Self::default()
        };
    }

    /// Counts `rows` rows that were met on the way into a relation, and checks the budget now and
    /// then. A row with a wide payload counts for more.
    ///
    /// # Errors
    /// The error of the budget.
    #[inline]
    pub fn met(
        &mut self,
        relations: &[Relation<R>],
        into: usize,
        rows: usize,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let words = R::stride(relations[into].shape()) as u64;
        if budget.is_due(rows as u64 * (1 + words / 16)) {
            return self.ask(relations, budget);
        }
        Ok(())
    }

    #[cold]
    fn ask(&mut self, relations: &[Relation<R>], budget: &Budget<'_>) -> Result<()> {
        budget.ask()?;
        if !budget.has_limit() {
            return Ok(());
        }
        let tables = relations.iter().filter_map(Relation::table);
        let bytes = tables.map(KeyedTable::memory_usage).sum::<usize>() as u64;
        let (before, counted) = std::mem::replace(&mut self.seen, (bytes, budget.counted()));
        // Before the first check, the size at the last count is unknown.
        if counted == budget.counted() {
            budget.grown(bytes.saturating_sub(before))?;
        }
        Ok(())
    }
}

/// The matches of the rows of a delta in several relations.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// By relation, the slots of the rows that are left.
    pub(super) slots: Vec<Vec<u32>>,
    /// The rows that are left, if not all are.
    pub(super) rows: Option<Vec<u32>>,
    /// Room for either.
    pub(super) scratch: Vec<u32>,
}

/// Room for a walk. One within another makes its own.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) matches: Matches,
    /// A block of pairs.
    pub(super) block: Delta,
    /// The sums of earlier ones that wait.
    pub(super) sums: Delta,
    /// Slots of the pairs in the relation of the step behind, and their keys there.
    pub(super) found: Vec<u32>,
    pub(super) columns: Vec<Vec<u64>>,
}

/// Room for intersecting, kept between batches.
#[derive(Clone, Debug, Default)]
pub(super) struct Intersection {
    /// By side: the group of each row in its index.
    pub(super) groups: Vec<Vec<u32>>,
    /// By row: the size of its smallest group, and whose that is.
    pub(super) smallest: Vec<(u32, u32)>,
    /// By side: the rows that walk it.
    pub(super) walkers: Vec<Vec<u32>>,
    /// Pairs of a walk that no filter denies: rows, their places in the group of the row, and what
    /// is found there: slots of the walked relation, or fingerprints where these are whole.
    pub(super) rows: Vec<u32>,
    pub(super) places: Vec<u32>,
    pub(super) there: Vec<u32>,
    /// Number of pairs; entries behind them in the three are of no use.
    pub(super) pairs: usize,
    /// The keys of the pairs, by register, and where they are in the other relations.
    pub(super) columns: Vec<Vec<u64>>,
    pub(super) looked_up: Vec<Vec<u32>>,
    /// Pairs that were found: rows and, by side, slots.
    pub(super) found_rows: Vec<u32>,
    pub(super) found: Vec<Vec<u32>>,
    pub(super) keys: KeyScratch,
    pub(super) search: SearchScratch,
}
