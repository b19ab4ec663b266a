//! What moves in a result that is the root's part, for those who follow it: of groups and of listings.
//!
//! Invariant and cost: those of the log (`ringview_view::part`).

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Dictionary, LiveIds, Result};
use ringview_query::Bound;
use ringview_view::Follower;
use ringview_view::answer::{Members, ResultRows};
use ringview_view::part::{PartLog, Reading};

use crate::view_tree::{Form, Kept};

/// A form whose rows are the keys of the root.
#[derive(Debug)]
pub(crate) struct Logged<S> {
    log: PartLog,
    pub(crate) shows: S,
}

/// How rows of the root's part are shown.
pub(crate) trait Shows: std::fmt::Debug + Send + Sync {
    /// As that of a form.
    fn settle(&self, _kept: &Kept, _dictionary: &Dictionary) -> Result<()> {
        Ok(())
    }

    /// The tree keeps larger sums from now on.
    fn grow(&mut self, _kept: &Kept) {}

    /// Old rows (-1) and new ones (1) as they are told.
    fn told(&self, rows: ResultRows, multiplicities: Vec<i64>) -> (ResultRows, Vec<i64>) {
        (rows, multiplicities)
    }

    /// As that of a form.
    fn moved(&self, kept: &Kept, needed: &[bool], reading: Reading<'_, '_>) -> Result<Batch>;

    /// As that of a form.
    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)>;

    /// As that of a view.
    fn partial(
        &self,
        kept: &Kept,
        query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>>;

    /// As that of a form.
    fn size(&self, kept: &Kept) -> String;
}

impl<S> Logged<S> {
    pub(crate) fn new(shows: S) -> Self {
        Self {
            log: PartLog::default(),
            shows,
        }
    }
}

impl<S: Shows> Form for Logged<S> {
    fn settle(&mut self, kept: &Kept, dictionary: &Dictionary) -> Result<()> {
        self.shows.settle(kept, dictionary)
    }

    fn grow(&mut self, kept: &Kept, narrow: &Members) {
        self.log.grow(narrow, kept.rows());
        self.shows.grow(kept);
    }

    fn partial(
        &self,
        kept: &Kept,
        query: &Bound,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Option<Result<Vec<RecordBatch>>> {
        Some(self.shows.partial(kept, query, reading))
    }

    fn before_commit(&mut self, kept: &Kept, all_move: bool) {
        if self.log.is_followed() {
            self.log.before_commit(kept.rows(), all_move);
        }
    }

    fn after_commit(&mut self, kept: &mut Kept) {
        if self.log.is_followed() {
            self.log.after_commit(kept.rows());
        }
    }

    fn follow(&mut self, kept: &mut Kept, from_now: bool) -> Follower {
        self.log.follow(kept.rows(), from_now)
    }

    fn changes(
        &self,
        kept: &Kept,
        follower: &Follower,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        let (rows, multiplicities) = self.log.since(kept.rows(), follower);
        let (rows, multiplicities) = self.shows.told(rows, multiplicities);
        let assembler = kept.rows().assembler(dictionary);
        assembler.changes(rows, multiplicities)
    }

    fn advance(&mut self, kept: &mut Kept, follower: &Follower) {
        self.log.advance(kept.rows(), follower);
    }

    fn tidy(&mut self, kept: &Kept) {
        self.log.tidy(kept.rows());
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        self.log.has_moved(follower)
    }

    fn moved(&self, kept: &Kept, needed: &[bool], reading: Reading<'_, '_>) -> Result<Batch> {
        self.shows.moved(kept, needed, reading)
    }

    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)> {
        self.shows.rows_from(kept, place, needed, reading)
    }

    fn size(&self, kept: &Kept) -> String {
        self.shows.size(kept)
    }

    fn mark_strings(&self, kept: &Kept, held: &mut LiveIds) {
        self.log.mark_strings(kept.rows(), held);
    }

    fn string_words(&self, kept: &Kept) -> usize {
        self.log.string_words(kept.rows())
    }

    fn memory_usage(&self) -> usize {
        self.log.memory_usage()
    }
}
