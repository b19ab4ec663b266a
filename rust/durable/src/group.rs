//! Group commit: transactions of several threads, on disk with one commit.
//!
//! Invariant: the outcome of a group is that of its transactions one after the other; each is on disk before its call
//! returns, and no reader sees one before. Cost: one commit of the file a group. Threads that arrive during another's
//! commit wait for the database, and the first that has it does the work of all. If a transaction fails, all are undone
//! and applied one by one: a group with a refused transaction costs twice as much.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ringview_core::Result;
use ringview_engine::{Change, Poll};

use crate::applied::BatchId;
use crate::database::DurableDatabase;
use crate::record::Record;

/// Transactions that are written together at the most: nobody waits for long for others.
const MOST: usize = 64;

/// A transaction that is ready to be written, with rows of its own.
#[derive(Debug)]
pub struct Prepared(Record);

impl Prepared {
    /// A transaction, of which the net effect counts if `net`, with an identity. O(bytes of its rows).
    ///
    /// # Errors
    /// `Value` for rows that Arrow cannot write.
    pub fn new(changes: &[Change<'_>], (net, id): (bool, Option<BatchId>)) -> Result<Self> {
        Record::changes(changes, net, id).map(Self)
    }
}

/// A waiting transaction, and its outcome.
#[derive(Debug)]
pub struct Waiting {
    record: Record,
    outcome: OnceLock<Result<bool>>,
}

impl Waiting {
    /// Its outcome, once it was applied: as of [`DurableDatabase::apply`].
    #[must_use]
    pub fn outcome(&self) -> Option<Result<bool>> {
        self.outcome.get().cloned()
    }

    fn is(&self, outcome: Result<bool>) {
        // Nobody else does it: whoever does has taken it from those that wait.
        let _ = self.outcome.set(outcome);
    }
}

/// The transactions that wait for one database.
///
/// ```
/// use ringview_durable::{DurableDatabase, Group, Opening, Prepared};
/// use ringview_engine::Options;
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("sales.ringview");
/// let mut db = DurableDatabase::open(&path, Options::default(), Opening::default(), &mut |_| Ok(()))?;
/// let group = Group::default();
/// let first = group.join(Prepared::new(&[], (false, None))?);
/// let second = group.join(Prepared::new(&[], (false, None))?);
/// let before = db.commits();
/// assert!(group.run(&mut db, &second, &mut |_| Ok(()))?);
/// assert_eq!(first.outcome(), Some(Ok(true)));
/// assert_eq!(db.commits() - before, 1);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Group {
    waiting: Mutex<VecDeque<Arc<Waiting>>>,
}

impl Group {
    /// Lets a transaction wait: whoever has the database next does it.
    pub fn join(&self, Prepared(record): Prepared) -> Arc<Waiting> {
        let waiting = Arc::new(Waiting {
            record,
            outcome: OnceLock::new(),
        });
        self.lock().push_back(Arc::clone(&waiting));
        waiting
    }

    /// Takes a transaction back that nobody did.
    pub fn leave(&self, own: &Arc<Waiting>) {
        self.lock().retain(|waiting| !Arc::ptr_eq(waiting, own));
    }

    /// Applies waiting transactions until the caller's own is done, and returns its outcome. `poll` is called for all
    /// that are applied together, and then for one's own.
    ///
    /// # Errors
    /// As [`DurableDatabase::apply`].
    pub fn run(
        &self,
        database: &mut DurableDatabase,
        own: &Arc<Waiting>,
        poll: Poll<'_>,
    ) -> Result<bool> {
        loop {
            if let Some(outcome) = own.outcome() {
                return outcome;
            }
            let mut waiting = self.lock();
            let most = MOST.min(waiting.len());
            let mut group: Vec<_> = waiting.drain(..most).collect();
            drop(waiting);
            if group.is_empty() {
                group.push(Arc::clone(own));
            }
            database.apply_group(&group, own, poll);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DurableDatabase {
    fn apply_group(&mut self, group: &[Arc<Waiting>], own: &Arc<Waiting>, poll: Poll<'_>) {
        self.compact_if_due();
        let together = self.joinable(group);
        if together.len() > 1 {
            let records = together.iter().map(|waiting| &waiting.record);
            if self.apply_written(records, false, poll).is_ok() {
                together.iter().for_each(|waiting| waiting.is(Ok(true)));
            }
        }
        for waiting in group
            .iter()
            .filter(|waiting| waiting.outcome.get().is_none())
        {
            let done = match Arc::ptr_eq(waiting, own) {
                true => self.apply_one(&waiting.record, poll),
                false => self.apply_one(&waiting.record, &mut |_| Ok(())),
            };
            waiting.is(done);
        }
    }

    /// Those that can be done as one: in each, changes count in their order, none was applied before, and what it may do
    /// does not hang on rows that leave between them.
    fn joinable<'a>(&self, group: &'a [Arc<Waiting>]) -> Vec<&'a Waiting> {
        let mut seen = BTreeSet::new();
        let leaves = |table: &str| self.keeps_for_a_time(table);
        let joinable = |waiting: &&Waiting| match waiting.record.identity() {
            _ if waiting.record.depends_on_time(leaves) => false,
            (_, true) => false,
            (None, false) => true,
            (Some(id), false) => !self.is_applied(id) && seen.insert(id.clone()),
        };
        group
            .iter()
            .map(|waiting| &**waiting)
            .filter(joinable)
            .collect()
    }

    fn apply_one(&mut self, record: &Record, poll: Poll<'_>) -> Result<bool> {
        let (id, net) = record.identity();
        if id.is_some_and(|id| self.is_applied(id)) {
            return Ok(false);
        }
        self.apply_written([record], net, poll).map(|()| true)
    }
}
