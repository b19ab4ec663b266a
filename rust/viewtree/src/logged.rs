//! What moves in a result that is the root's part, for those who follow it: of groups and of listings.
//!
//! Invariant: a log is open for each transaction while somebody follows; it takes in what the root was
//! before the commit. Cost: O(groups touched) a transaction that is logged, nothing while nobody
//! follows.

use arrow_array::RecordBatch;
use ringview_core::{Batch, Dictionary, Held, Meter, Result};
use ringview_relation::Part;
use ringview_view::Follower;
use ringview_view::answer::followers::Followers;
use ringview_view::answer::{ChangeLog, Further, ResultRows};

use crate::view_tree::{Form, Kept};

/// A form whose rows are the keys of the root.
#[derive(Debug)]
pub(crate) struct Logged<S> {
    followers: Followers<ChangeLog>,
    pub(crate) shows: S,
}

/// How rows of the root's part are shown.
pub(crate) trait Shows: std::fmt::Debug + Send + Sync {
    /// As that of a form.
    fn settle(&self, _kept: &Kept, _dictionary: &Dictionary) -> Result<()> {
        Ok(())
    }

    /// Old rows (-1) and new ones (1) as they are told.
    fn told(&self, rows: ResultRows, multiplicities: Vec<i64>) -> (ResultRows, Vec<i64>) {
        (rows, multiplicities)
    }

    /// As that of a form.
    fn moved(
        &self,
        kept: &Kept,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<Batch>;

    /// As that of a form.
    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<(Batch, Option<u64>)>;

    /// As that of a form.
    fn size(&self, kept: &Kept) -> String;
}

impl<S> Logged<S> {
    pub(crate) fn new(shows: S) -> Self {
        Self {
            followers: Followers::default(),
            shows,
        }
    }
}

impl<S: Shows> Form for Logged<S> {
    fn settle(&mut self, kept: &Kept, dictionary: &Dictionary) -> Result<()> {
        self.shows.settle(kept, dictionary)
    }

    fn before_commit(&mut self, kept: &Kept, all_move: bool) {
        if let (Some(log), Some(result)) = (self.followers.open(), kept.tree.result()) {
            log.record(result, &kept.beside);
            if all_move {
                log.record_all(result, &kept.beside);
            }
        }
    }

    fn after_commit(&mut self, kept: &mut Kept) {
        if let (Some(log), Some(result)) = (self.followers.open(), kept.tree.result()) {
            log.settle(result);
        }
        if self.followers.lost_one() {
            self.tidy(kept);
        }
    }

    fn follow(&mut self, kept: &mut Kept, from_now: bool) -> Follower {
        match kept.tree.result().filter(|_| from_now) {
            Some(result) => {
                let empty = || ChangeLog::new(result, &kept.beside);
                self.followers.join_here(empty)
            }
            None => self.followers.join(),
        }
    }

    fn changes(
        &self,
        kept: &Kept,
        follower: &Follower,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        let (rows, multiplicities) = match (self.followers.since(follower), kept.tree.result()) {
            (Some(logs), Some(result)) => ChangeLog::read(&logs, result, &kept.beside),
            _ => {
                let rows = kept.grouped();
                let ones = vec![1; rows.rows];
                (rows, ones)
            }
        };
        let (rows, multiplicities) = self.shows.told(rows, multiplicities);
        kept.of_groups(dictionary).changes(rows, multiplicities)
    }

    fn advance(&mut self, kept: &mut Kept, follower: &Follower) {
        if let Some(result) = kept.tree.result() {
            let empty = || ChangeLog::new(result, &kept.beside);
            let merge = |into: &mut _, from: &_, later: &[_]| merge(into, from, later, result);
            self.followers.advance(follower, empty, merge);
        }
    }

    fn tidy(&mut self, kept: &Kept) {
        if let Some(result) = kept.tree.result() {
            let merge = |into: &mut _, from: &_, later: &[_]| merge(into, from, later, result);
            self.followers.tidy(merge);
        }
    }

    fn has_moved(&self, follower: &Follower) -> Option<bool> {
        self.followers.has_moved(follower)
    }

    fn moved(
        &self,
        kept: &Kept,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<Batch> {
        self.shows.moved(kept, needed, reading)
    }

    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        reading: (&mut Dictionary, &Meter<'_>),
    ) -> Result<(Batch, Option<u64>)> {
        self.shows.rows_from(kept, place, needed, reading)
    }

    fn size(&self, kept: &Kept) -> String {
        self.shows.size(kept)
    }

    /// What logs hold of rows: keys, what the companions said of them, categories.
    fn mark_strings(&self, kept: &Kept, held: &mut Held) {
        let texts = kept.tree.fields().texts(kept.keys());
        let logs = self.followers.segments();
        logs.for_each(|log| log.mark_strings(&texts, kept.beside.members(), held));
    }

    fn string_words(&self, kept: &Kept) -> usize {
        let texts = kept.tree.fields().texts(kept.keys()).len();
        let logs = self.followers.segments();
        logs.map(|log| log.string_words(texts, kept.beside.members()))
            .sum()
    }

    fn memory_usage(&self) -> usize {
        self.followers.memory_usage()
    }
}

/// Makes one log of two, the second beginning where the first ends; `later` are those behind.
fn merge(
    into: &mut ChangeLog,
    from: &ChangeLog,
    later: &[(u64, ChangeLog)],
    result: &Part,
) -> bool {
    into.absorb(from, later.iter().map(|(_, log)| log), result);
    true
}
