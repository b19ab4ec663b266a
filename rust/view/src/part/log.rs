//! What moves in a part, for those who follow it.
//!
//! Invariant: a log is open for each transaction while somebody follows; it takes in what the part was
//! before the commit. Cost: O(keys touched) a transaction that is logged, nothing while nobody follows.

use arrow_array::RecordBatch;
use ringview_core::{Dictionary, LiveIds, Result};

use super::PartRows;
use crate::answer::followers::{Follower, Followers};
use crate::answer::{ChangeLog, Members, ResultRows};

/// Who follows a part, and what they were not given yet.
#[derive(Debug, Default)]
pub struct PartLog {
    followers: Followers<ChangeLog>,
}

impl PartLog {
    /// Whether somebody follows, or did at the last commit: else a transaction has nothing to tell.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.followers.is_followed()
    }

    /// The part keeps larger sums from now on; its payloads had the members `narrow`. O(keys logged).
    pub fn grow(&mut self, narrow: &Members, of: PartRows<'_>) {
        for log in self.followers.segments_mut() {
            log.grow(narrow, of.further.members());
        }
    }

    /// The running transaction is about to be committed; `all_move` if every row will be shown otherwise.
    pub fn before_commit(&mut self, of: PartRows<'_>, all_move: bool) {
        if let Some(log) = self.followers.open() {
            log.record(of.part, of.further);
            if all_move {
                log.record_all(of.part, of.further);
            }
        }
    }

    /// It is.
    pub fn after_commit(&mut self, of: PartRows<'_>) {
        if let Some(log) = self.followers.open() {
            log.settle(of.part);
        }
        if self.followers.lost_one() {
            self.tidy(of);
        }
    }

    /// As [`View::follow`](crate::View::follow).
    pub fn follow(&mut self, of: PartRows<'_>, from_now: bool) -> Follower {
        match from_now {
            true => {
                let empty = || ChangeLog::new(of.part, of.further);
                self.followers.join_here(empty)
            }
            false => self.followers.join(),
        }
    }

    /// What moved since a follower was last given it: old rows (-1) and new ones (1), or all rows.
    #[must_use]
    pub fn since(&self, of: PartRows<'_>, follower: &Follower) -> (ResultRows, Vec<i64>) {
        match self.followers.since(follower) {
            Some(logs) => ChangeLog::read(&logs, of.part, of.further),
            None => {
                let rows = of.all();
                let ones = vec![1; rows.rows];
                (rows, ones)
            }
        }
    }

    /// The same of groups, as [`View::changes`](crate::View::changes).
    ///
    /// # Errors
    /// As that.
    pub fn changes(
        &self,
        of: PartRows<'_>,
        follower: &Follower,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        let (rows, multiplicities) = self.since(of, follower);
        of.assembler(dictionary).changes(rows, multiplicities)
    }

    /// As [`View::advance`](crate::View::advance).
    pub fn advance(&mut self, of: PartRows<'_>, follower: &Follower) {
        let empty = || ChangeLog::new(of.part, of.further);
        let merge = |into: &mut _, from: &_, later: &[_]| merge(into, from, later, of);
        self.followers.advance(follower, empty, merge);
    }

    /// As [`View::tidy`](crate::View::tidy).
    pub fn tidy(&mut self, of: PartRows<'_>) {
        self.followers
            .tidy(|into, from, later| merge(into, from, later, of));
    }

    /// Whether a follower may be given something; true for one that was given nothing yet.
    #[must_use]
    pub fn has_moved(&self, follower: &Follower) -> bool {
        self.followers.has_moved(follower).unwrap_or(true)
    }

    /// Marks what logs hold of rows: keys, what the companions said of them, categories.
    pub fn mark_strings(&self, of: PartRows<'_>, held: &mut LiveIds) {
        let texts = of.fields.texts(of.keys);
        let logs = self.followers.segments();
        logs.for_each(|log| log.mark_strings(&texts, of.further.members(), held));
    }

    /// How many words that looks at.
    #[must_use]
    pub fn string_words(&self, of: PartRows<'_>) -> usize {
        let texts = of.fields.texts(of.keys).len();
        let logs = self.followers.segments();
        logs.map(|log| log.string_words(texts, of.further.members()))
            .sum()
    }

    /// Bytes of what is logged.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.followers.memory_usage()
    }
}

/// Makes one log of two, the second beginning where the first ends; `later` are those behind.
fn merge(
    into: &mut ChangeLog,
    from: &ChangeLog,
    later: &[(u64, ChangeLog)],
    of: PartRows<'_>,
) -> bool {
    into.absorb(from, later.iter().map(|(_, log)| log), of.part);
    true
}
