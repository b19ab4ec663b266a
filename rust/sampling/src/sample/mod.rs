//! k results of a join, every set of k with equal chances, while its relations change.
//!
//! Invariant: after `prepare` the sample holds k of the results that pass the predicate, uniform among the sets of k and
//! without replacement, or all if they are fewer; `state` proves the law of the sample and its w. Every transaction ends
//! with `commit`, or with `rollback`, after which sample, w, skip and generator are as before it; only the order of positions
//! in the index may differ, on which no law depends.
//!
//! Each inserted tuple has a batch of results, through which the reservoir skips (Theorem 4.3). The batches of tuples of one
//! relation that are inserted together are independent of each other: all are linked first, then the positions at which
//! the reservoir might stop are looked up at once, then they are examined one after the other. A deleted tuple deletes
//! results of the sample; others replace them by the walk of `state` over the positions of the whole join, before the
//! next insert and in `prepare`. The first delete builds what only deletes need: an index of rows, the results that hold each
//! tuple, and the record of all results.
//!
//! Cost: O(N log N + k log N log(r / k)) for N inserts. A delete costs the groups that it moves in the index, and
//! O(|J| / r') positions for each result replaced, r' being the results that are not held: a join of hardly more than k
//! results is walked as a whole.
//!
//! | file | holds |
//! |---|---|
//! | `offer` | skips through the batches of inserted tuples |
//! | `results` | the results held, and an undo log |
//! | `occurrences` | the results that hold a tuple, for deletes |
//! | `events` | tuples inserted and deleted by a transaction |
//! | `draw` | draws from the whole join |
//! | `walk` | [`Walk`]: positions in random order |

mod draw;
mod events;
mod occurrences;
mod offer;
mod results;
mod walk;

use ringview_core::{Budget, Error, Result};
use serde::{Deserialize, Serialize};

use crate::index::Search;
use crate::{Atom, Index, ReservoirState};
use events::Events;
use results::Results;
pub(crate) use walk::Walk;

/// So many tuples are linked before their results are offered.
const TOGETHER: usize = 4096;

/// Filter of the results of a join.
pub trait Predicate {
    /// Whether a result, a tuple of each relation, does.
    ///
    /// # Errors
    /// Any error of the evaluation; the transaction is then rolled back.
    fn holds(&self, index: &Index, result: &[u32]) -> Result<bool>;
}

/// All results count.
#[derive(Clone, Copy, Debug, Default)]
pub struct All;

impl Predicate for All {
    fn holds(&self, _: &Index, _: &[u32]) -> Result<bool> {
        Ok(true)
    }
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Dummies met.
    pub dummies: u64,
    /// Results admitted, the first k with them.
    pub admitted: u64,
    /// Results deleted with a tuple.
    pub deleted: u64,
}

/// A sample of a join.
///
/// ```
/// use ringview_core::Budget;
/// use ringview_sampling::{All, Atom, JoinSample};
/// let join = [Atom::new(vec![0], 2), Atom::new(vec![0], 2)];
/// let mut sample = JoinSample::new(&join, 3, 7, All)?;
/// for value in 0..10 {
///     sample.insert(0, &[value % 2, value])?;
///     sample.insert(1, &[value % 2, value])?;
/// }
/// sample.prepare(&Budget::free())?;
/// sample.commit();
/// assert_eq!(sample.len(), 3); // of 50
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JoinSample<P = All> {
    index: Index,
    state: ReservoirState,
    predicate: P,
    results: Results,
    events: Events,
    /// State and counters before the transaction.
    before: Option<(ReservoirState, Counters)>,
    counters: Counters,
    search: Search,
    /// Buffers of an insert: tuples, and positions at which the reservoir might stop.
    tuples: Vec<u32>,
    stops: Vec<(u32, u128)>,
    /// Results admitted: the place, and the number of the stop.
    admitted: Vec<(usize, usize)>,
}

impl<P: Predicate> JoinSample<P> {
    /// A sample of up to `k` results of the join of these relations.
    ///
    /// # Errors
    /// `Value` if k is 0 or there is no relation, `Memory` if the machine has no room for k results,
    /// `Unsupported` if the join is cyclic.
    pub fn new(atoms: &[Atom], k: u64, seed: u64, predicate: P) -> Result<JoinSample<P>> {
        let index = Index::new(atoms)?;
        let state = ReservoirState::new(k, seed)?;
        let needed = k.saturating_mul(4 * atoms.len() as u64);
        let limit = ringview_core::available().unwrap_or(u64::MAX);
        if needed > limit || k >= u64::from(u32::MAX) {
            return Err(Error::Memory {
                what: format!("a sample of {k} results"),
                needed,
                limit,
                instead: "ask for a smaller k",
            });
        }
        Ok(JoinSample {
            results: Results::new(atoms.len()),
            index,
            state,
            predicate,
            events: Events::default(),
            before: None,
            counters: Counters::default(),
            search: Search::default(),
            tuples: Vec::new(),
            stops: Vec::new(),
            admitted: Vec::new(),
        })
    }

    /// The index of the join.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The state of the reservoir without its results.
    #[must_use]
    pub fn state(&self) -> &ReservoirState {
        &self.state
    }

    /// Counts of events so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The results held, in no order: a tuple of each relation, whose words the index has.
    pub fn results(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.results.results()
    }

    /// Number of results held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.results.len()
    }

    /// Whether no result is held: the join has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.index.memory_usage() + self.results.memory_usage() + self.search.memory_usage()
    }

    /// Inserts a tuple. `row` has a word for each column, those of the join variables first.
    ///
    /// # Errors
    /// As `insert_all`.
    pub fn insert(&mut self, atom: usize, row: &[u64]) -> Result<()> {
        self.insert_all(atom, row, 1)
    }

    /// Inserts so many tuples of a relation; their rows follow each other. The law of the sample is the same as if they were
    /// inserted one by one, at a lower cost.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results, `Memory` if a relation has 2^31 tuples, and the errors of the
    /// predicate. The transaction must then be rolled back.
    pub fn insert_all(&mut self, atom: usize, rows: &[u64], count: usize) -> Result<()> {
        self.begin();
        self.refill(&Budget::free())?;
        let columns = rows.len() / count.max(1);
        let mut tuples = std::mem::take(&mut self.tuples);
        let mut done = Ok(());
        for first in (0..count).step_by(TOGETHER) {
            let together = TOGETHER.min(count - first);
            let rows = &rows[first * columns..][..together * columns];
            self.index.add_all(atom, rows, together, &mut tuples);
            self.events.log(atom, true, &tuples);
            done = self.index.link(atom, &tuples);
            done = done.and_then(|()| self.offer(atom, &tuples));
            if done.is_err() {
                break;
            }
        }
        self.tuples = tuples;
        done
    }

    /// Deletes a tuple. False if there is none with these words.
    pub fn delete(&mut self, atom: usize, row: &[u64]) -> bool {
        self.begin();
        let Some(tuple) = self.index.find(atom, row) else {
            return false;
        };
        self.events.log(atom, false, &[tuple]);
        self.index.unlink(atom, &[tuple]);
        while self.results.remove_with(atom, tuple) {
            self.state.remove();
            self.counters.deleted += 1;
        }
        true
    }

    /// Prepares a commit: replaces deleted results.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results, and the errors of the predicate and the
    /// budget. The transaction must then be rolled back.
    pub fn prepare(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.refill(budget)
    }

    fn refill(&mut self, budget: &Budget<'_>) -> Result<()> {
        if !self.state.is_short() {
            return Ok(());
        }
        let mut walk = Walk::new(self.index.len_upper()?);
        while self.state.is_short() && walk.left > 0 {
            budget.work(16)?;
            let position = walk.take(self.state.next_outside(walk.left));
            self.index.search_all(&mut self.search, &[position]);
            let result = self.search.result(0);
            if result.is_some_and(|result| self.results.holds(result)) {
                continue;
            }
            let real = match result {
                Some(result) => self.predicate.holds(&self.index, result)?,
                None => false,
            };
            match result.filter(|_| real) {
                Some(result) => {
                    self.results.put(self.results.len(), result);
                    self.state.add();
                    self.counters.admitted += 1;
                }
                None => self.counters.dummies += 1,
            }
        }
        self.state.end_walk();
        Ok(())
    }

    /// Ends a transaction.
    pub fn commit(&mut self) {
        let index = &mut self.index;
        self.events
            .each_deleted(|atom, tuple| index.forget(atom, tuple));
        self.events.clear();
        self.results.commit();
        self.before = None;
    }

    /// Undoes a transaction.
    pub fn rollback(&mut self) {
        for (atom, inserted, tuples) in self.events.back() {
            if inserted {
                self.index.unlink(atom, tuples);
            } else {
                // Every state on the way back was there before; a broken index says so again.
                drop(self.index.link(atom, tuples));
            }
        }
        if self.index.is_broken() {
            // The tuples that were linked before do fit.
            drop(self.index.rebuild());
        }
        for (atom, inserted, tuples) in self.events.back() {
            if inserted {
                tuples
                    .iter()
                    .for_each(|&tuple| self.index.forget(atom, tuple));
            }
        }
        self.events.clear();
        self.stops.clear();
        self.results.restore();
        if let Some((state, counters)) = self.before.take() {
            (self.state, self.counters) = (state, counters);
        }
    }

    fn begin(&mut self) {
        if self.before.is_none() {
            self.before = Some((self.state.clone(), self.counters));
        }
    }

    /// Keeps the record of all results from now on, which deletes and draws need. Linear in a relation.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results.
    pub fn count_all(&mut self) -> Result<()> {
        self.index.len_upper().map(drop)
    }

    /// Number of positions of all results, once `count_all` was called.
    #[must_use]
    pub fn positions(&self) -> Option<u128> {
        self.index.positions()
    }

    /// The delta of the running transaction: results that were held at its beginning and not now, with
    /// those that are held now and were not; one that changed its place may be in both.
    #[must_use]
    pub fn delta(&self) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        self.results.delta()
    }

    /// Resumes a sample of the same rows: its state and counters, and its results, a tuple of each relation, one after the
    /// other. Between transactions.
    pub(crate) fn resume(
        &mut self,
        (state, counters): (ReservoirState, Counters),
        results: Vec<u32>,
    ) {
        (self.state, self.counters) = (state, counters);
        self.results.replace(results);
    }

    /// Whether a result counts; not if the predicate fails.
    pub(crate) fn counts(&self, result: &[u32]) -> bool {
        self.predicate.holds(&self.index, result).unwrap_or(false)
    }

    /// A tuple for each of so many rows of a relation, of equal rows different ones; None if there are not as many.
    pub(crate) fn tuples_of(
        &mut self,
        atom: usize,
        rows: &[u64],
        count: usize,
    ) -> Option<Vec<u32>> {
        self.index.tuples_of(atom, rows, count)
    }

    /// Checks the index, and that the sample holds results of the join, none twice. For tests.
    ///
    /// # Panics
    /// If not.
    pub fn check(&self) {
        self.index.check();
        self.results.check();
        assert_eq!(self.state.items(), self.len() as u64);
    }
}
