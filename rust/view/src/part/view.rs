//! A view whose answer is groups, over whatever keeps them.
//!
//! Invariant: the part has the groups of the running transaction once the keeper has settled, and what
//! moved in it can be shown. Cost: that of the keeper, and of the log where somebody follows.

use std::fmt::Debug;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::Bound;

use super::partial::write_groups;
use super::{Grouped, PartLog, PartRows};
use crate::answer::followers::Follower;
use crate::answer::{Answer, Fallible};
use crate::rows::RowDelta;
use crate::view::View;

/// What keeps groups in a part. Methods as those of a [`View`].
pub trait Keeper: Grouped + HoldsStrings {
    /// Takes rows of the relation at one atom.
    ///
    /// # Errors
    /// As [`View::apply`].
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()>;

    /// Brings the part to what the rows make of it.
    ///
    /// # Errors
    /// As [`View::settle`].
    fn settle(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()>;

    /// Static relations have all their rows.
    fn seal(&mut self) {}

    /// Keeps the changes since the last commit, those of the part too.
    fn commit(&mut self, dictionary: &Dictionary);

    /// Undoes the changes since the last commit, those of the part too.
    fn rollback(&mut self);

    /// As [`View::partial`]: whoever keeps values of companions too says where.
    ///
    /// # Errors
    /// As that.
    fn partial(
        &self,
        query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        write_groups(query, self.grouped(), Vec::new(), reading)
    }

    /// How it is kept; how many groups there are, and bytes, are told beside it.
    fn explanation(&self) -> Explanation;

    /// Bytes that it takes.
    fn memory_usage(&self) -> usize;

    /// Rows handled so far.
    fn steps(&self) -> u64;

    /// Checks its invariants, those of the part left out; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    fn check(&self) {}
}

/// The view of a keeper.
#[derive(Debug)]
pub struct GroupView<K> {
    keeper: K,
    fallible: Option<Fallible>,
    log: PartLog,
    /// Which columns of the result other views read, of those that can be read.
    feed: Option<Vec<bool>>,
}

impl<K: Keeper> GroupView<K> {
    /// That of a keeper without groups.
    #[must_use]
    pub fn new(keeper: K) -> Self {
        let groups = keeper.grouped();
        let fallible = Fallible::of(groups.outputs, groups.further.members());
        Self {
            keeper,
            fallible,
            log: PartLog::default(),
            feed: None,
        }
    }

    /// The groups, and who follows them.
    pub(super) fn logged(&self) -> (PartRows<'_>, &PartLog) {
        (self.keeper.grouped(), &self.log)
    }

    /// What keeps the groups.
    pub(crate) fn keeper_mut(&mut self) -> &mut K {
        &mut self.keeper
    }

    /// Which columns of the result other views read, if some do.
    pub(super) fn fed(&self) -> Option<&[bool]> {
        self.feed.as_deref()
    }
}

impl<K: Keeper> Grouped for GroupView<K> {
    fn grouped(&self) -> PartRows<'_> {
        self.keeper.grouped()
    }
}

impl<K: Keeper> HoldsStrings for GroupView<K> {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.keeper.mark_strings(held);
        self.log.mark_strings(self.keeper.grouped(), held);
    }

    fn string_words(&self) -> usize {
        self.keeper.string_words() + self.log.string_words(self.keeper.grouped())
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.keeper.forget_strings(gone);
    }
}

impl<K: Keeper + 'static> View for GroupView<K> {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.keeper.apply(rows, budget)
    }

    fn seal(&mut self) {
        self.keeper.seal();
    }

    fn settle(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.keeper.settle(dictionary, budget)?;
        let groups = self.keeper.grouped();
        groups.settle(self.fallible.as_ref(), dictionary)
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        self.log.before_commit(self.keeper.grouped(), false);
        self.keeper.commit(dictionary);
        self.log.after_commit(self.keeper.grouped());
    }

    fn rollback(&mut self) {
        self.keeper.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn partial(
        &self,
        query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        self.keeper.partial(query, reading)
    }

    fn follow(&mut self, from_now: bool) -> Follower {
        self.log.follow(self.keeper.grouped(), from_now)
    }

    fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch> {
        let groups = self.keeper.grouped();
        self.log.changes(groups, follower, dictionary)
    }

    fn advance(&mut self, follower: &Follower) {
        self.log.advance(self.keeper.grouped(), follower);
    }

    fn tidy(&mut self) {
        self.log.tidy(self.keeper.grouped());
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        self.log.has_moved(follower)
    }

    fn feed(&mut self, needed: Option<&[bool]>) {
        self.feed = needed.map(<[bool]>::to_vec);
    }

    fn moved(&mut self, dictionary: &mut Dictionary, budget: &Budget<'_>) -> Result<Batch> {
        match &self.feed {
            Some(needed) => self.keeper.grouped().moved(needed, (dictionary, budget)),
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
        let groups = self.keeper.grouped();
        groups.rows_from(place, needed, (dictionary, budget))
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(format!("{} groups", self.keeper.grouped().groups())),
            bytes: Some(self.memory_usage() as u64),
            ..self.keeper.explanation()
        }
    }

    fn memory_usage(&self) -> usize {
        self.keeper.memory_usage() + self.log.memory_usage()
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.keeper.steps()
    }

    fn check(&self) {
        self.keeper.grouped().part.check();
        self.keeper.check();
    }
}
