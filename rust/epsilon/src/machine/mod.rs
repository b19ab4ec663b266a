//! A machine: a sum over a join of relations, kept under changes in transactions.
//!
//! Invariant: between changes the result is the sum over the join, each view is what `strategy` says,
//! partitions count the tuples that are there, and floor(N/4) <= |D| < N. A transaction is any number of
//! changes, then `prepare`, then `commit`; or, at any point, `rollback`, which undoes all to the bit.
//! Cost: that of `change` and `rebalance`.
//!
//! | file | holds |
//! |---|---|
//! | `change` | a change of one relation: the case of each row, what follows, what is counted |
//! | `classes` | what rows of a change are to the partitions |
//! | `groups` | groups that are read, and not kept |
//! | `rows` | the rows of a join, with constant delay |
//! | `described` | description of a machine |

mod change;
mod classes;
mod described;
mod groups;
mod rows;

use ringview_core::{Budget, Result, empty};
use ringview_relation::join::Work;
use ringview_relation::{KeyField, KeyedTable, Partition, Relation};
use ringview_ring::PayloadRing;

use crate::algebra::Algebra;
use crate::query::{Epsilon, Query, Refused};
use crate::strategy::Strategy;

pub use rows::{RowBlock, RowCursor};

pub(crate) use change::{picked, tuples_at};

/// Marks that may always stay.
const FEW: u64 = 1 << 12;

/// Numbers of rebalancings of a machine, in transactions that were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebalancings {
    /// Number of changes of the threshold base.
    pub major: u64,
    /// Number of values that changed from heavy to light or back under one threshold base.
    pub minor: u64,
}

/// Sizes of one relation's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSizes {
    /// All tuples.
    pub tuples: usize,
    /// Those whose keys are all heavy.
    pub heavy: usize,
}

/// Extent to which a change is propagated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All: tuples are inserted or deleted.
    All,
    /// All but the result: existing tuples enter other parts and views.
    Views,
}

/// State that a rollback restores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// The threshold base N.
    pub(crate) base: u64,
    /// |D|.
    pub(crate) tuples: u64,
    pub(crate) rebalancings: Rebalancings,
}

/// A count or sum over a join, kept under changes.
///
/// ```
/// use ringview_core::Budget;
/// use ringview_epsilon::{Algebra, Epsilon, Machine};
/// use ringview_relation::{Delta, KeyField};
/// use ringview_ring::NumberKind;
///
/// let vertex = KeyField { bits: 64, signed: true };
/// let count = Algebra::pointwise(&[NumberKind::Integer]);
/// let mut triangles = Machine::cycle(vertex, Epsilon::HALF, count);
/// let edges = Delta {
///     rows: 3,
///     columns: vec![vec![1, 2, 3], vec![2, 3, 1]],
///     payload: vec![1; 3],
///     width: 1,
///     wide: false,
/// };
/// let budget = Budget::free();
/// triangles.apply(0, &edges, &budget)?;
/// triangles.prepare(&budget)?;
/// triangles.commit();
/// // From each of its three vertices.
/// assert_eq!(triangles.result(), Some(&[3][..]));
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Machine<R: PayloadRing> {
    pub(crate) algebra: Algebra<R>,
    pub(crate) strategy: Strategy<R>,
    pub(crate) size: Size,
    committed: Size,
    pub(crate) work: Work<R>,
    pub(crate) scratch: R::Scratch,
    /// By value of the only partition: what rows of a change do there that meet each other. Else 0.
    marks: Vec<u8>,
}

impl<R: PayloadRing> Machine<R> {
    /// For a join of relations, each with an epsilon: that of the key which it shares with the one before
    /// it.
    ///
    /// # Errors
    /// For a join that is of no class that this keeps.
    pub fn new(
        query: &Query,
        epsilons: &[Epsilon],
        algebra: Algebra<R>,
    ) -> std::result::Result<Self, Refused> {
        Strategy::of(query, epsilons, &algebra).map(|strategy| Self::of(strategy, algebra))
    }

    /// For E(a, b) * E(b, c) * E(c, a) over one relation, the fields of whose key are packed alike.
    #[must_use]
    pub fn cycle(field: KeyField, epsilon: Epsilon, algebra: Algebra<R>) -> Self {
        Self::of(Strategy::cycle(field, epsilon, &algebra), algebra)
    }

    fn of(strategy: Strategy<R>, algebra: Algebra<R>) -> Self {
        let size = Size {
            base: 1,
            tuples: 0,
            rebalancings: Rebalancings::default(),
        };
        Self {
            algebra,
            strategy,
            size,
            committed: size,
            work: Work::default(),
            scratch: R::Scratch::default(),
            marks: Vec::new(),
        }
    }

    /// Ends the changes of a transaction: the last step that can fail.
    ///
    /// # Errors
    /// `Overflow` where a sum that is kept does not fit; what the budget says.
    pub fn prepare(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.fit()?;
        self.rebalance(budget)?;
        self.fit()
    }

    fn fit(&self) -> Result<()> {
        let unfit = self.strategy.relations.iter().find(|one| !one.fits());
        match unfit {
            Some(relation) => Err(relation.refusal(ringview_ring::Overflow { component: 0 })),
            None => Ok(()),
        }
    }

    /// Keeps the changes of the running transaction.
    pub fn commit(&mut self) {
        self.clear_log();
        let Strategy {
            inputs,
            relations,
            partitions,
            ..
        } = &mut self.strategy;
        for (number, relation) in relations.iter_mut().enumerate() {
            let changed = relation.commit();
            let Some(input) = inputs.iter_mut().find(|input| input.whole == number) else {
                continue;
            };
            empty(&mut input.toggled);
            if let Some(changed) = changed {
                changed.follow(&mut input.counted);
            }
        }
        partitions.iter_mut().for_each(Partition::commit);
        // Fewer slots than that have values that are left.
        if self.marks.capacity() as u64 > FEW + 16 * self.size.tuples {
            self.marks = Vec::new();
        }
        self.committed = self.size;
        self.refresh_rows();
    }

    /// Undoes the changes of the running transaction.
    pub fn rollback(&mut self) {
        let Strategy {
            inputs,
            relations,
            partitions,
            ..
        } = &mut self.strategy;
        relations.iter_mut().for_each(Relation::rollback);
        partitions.iter_mut().for_each(Partition::rollback);
        for input in inputs {
            for &slot in &input.toggled {
                input.counted[slot as usize] ^= true;
            }
            empty(&mut input.toggled);
            let slots = relations[input.whole].table().map_or(0, KeyedTable::slots);
            input.counted.truncate(slots);
        }
        self.size = self.committed;
        self.refresh_rows();
    }
}
