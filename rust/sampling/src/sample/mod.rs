//! k results of a join, every set of k with equal chances, while its relations change.
//!
//! Invariant: after `settle` the sample holds k of the results that pass the predicate, uniform among the
//! sets of k and without replacement, or all if they are fewer; the law of the sample with its w is the
//! one that `law` proves. Every transaction ends with `commit`, or with `rollback`, after which sample, w, skip and generator
//! are what they were; only the order of positions in the index may differ, which no law depends on.
//!
//! A tuple that comes brings a batch of results, which the reservoir skips through (Theorem 4.3). Tuples of one
//! relation that come together have batches that do not depend on each other: all are linked first, then where the
//! reservoir might stop is sought at once, then it is told of one after the other what was found. A
//! tuple that leaves takes results from the sample with it; others take their places by the walk of `law`
//! over the positions of the whole join, before the next tuple comes and in `settle`. The first delete
//! builds what only deletes need: where rows are, who holds which tuple, and the record of all results.
//!
//! Cost: O(N log N + k log N log(r / k)) for N tuples that come. A delete costs what it moves in the
//! index, and O(|J| / r') positions for each result replaced, r' being the results that are not held: a join of hardly more
//! than k results is walked as a whole.
//!
//! | file | holds |
//! |---|---|
//! | `offer` | what tuples bring is skipped through |
//! | `places` | what is held, and what a transaction wrote over |
//! | `events` | which tuples a transaction brought and took |
//! | `draw` | draws from the whole join |
//! | `walk` | [`Walk`]: positions in random order |

mod draw;
mod events;
mod offer;
mod places;
mod walk;

use ringview_core::{Budget, Error, Result};
use serde::{Deserialize, Serialize};

use crate::index::Search;
use crate::{Atom, Index, Law};
use events::Events;
use places::Places;
pub(crate) use walk::Walk;

/// So many tuples are linked before what they bring is looked at.
const TOGETHER: usize = 4096;

/// Which results of a join count.
pub trait Predicate {
    /// Whether a result, a tuple of each relation, does.
    ///
    /// # Errors
    /// Whatever keeps it from telling; the transaction is then rolled back.
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

/// What has happened to a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// Positions that were looked at and are no results.
    pub dummies: u64,
    /// Results that came in, the first k with them.
    pub came: u64,
    /// Results that died with a tuple.
    pub died: u64,
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
/// sample.settle(&Budget::free())?;
/// sample.commit();
/// assert_eq!(sample.len(), 3); // of 50
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JoinSample<P = All> {
    index: Index,
    law: Law,
    predicate: P,
    places: Places,
    events: Events,
    /// The law and the counts before the transaction.
    before: Option<(Law, Met)>,
    met: Met,
    search: Search,
    /// Tuples that come, and positions of what they bring, while they do.
    tuples: Vec<u32>,
    sought: Vec<(u32, u128)>,
    /// Results that come in: the place, and which of those sought.
    coming: Vec<(usize, usize)>,
}

impl<P: Predicate> JoinSample<P> {
    /// A sample of up to `k` results of the join of these relations.
    ///
    /// # Errors
    /// `Value` if k is 0 or there is no relation, `Memory` if the machine has no room for k results,
    /// `Unsupported` if the join is cyclic.
    pub fn new(atoms: &[Atom], k: u64, seed: u64, predicate: P) -> Result<JoinSample<P>> {
        let index = Index::new(atoms)?;
        let law = Law::new(k, seed)?;
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
            places: Places::new(atoms.len()),
            index,
            law,
            predicate,
            events: Events::default(),
            before: None,
            met: Met::default(),
            search: Search::default(),
            tuples: Vec::new(),
            sought: Vec::new(),
            coming: Vec::new(),
        })
    }

    /// The index of the join.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The state of the reservoir beside its results.
    #[must_use]
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// What has happened so far.
    #[must_use]
    pub fn met(&self) -> Met {
        self.met
    }

    /// The results held, in no order: a tuple of each relation, whose words the index has.
    pub fn results(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.places.results()
    }

    /// How many results are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether no result is held: the join has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.index.memory_usage() + self.places.memory_usage() + self.search.memory_usage()
    }

    /// A tuple comes. `row` has a word for each column, those of the join variables first.
    ///
    /// # Errors
    /// As `insert_all`.
    pub fn insert(&mut self, atom: usize, row: &[u64]) -> Result<()> {
        self.insert_all(atom, row, 1)
    }

    /// So many tuples of a relation come; their rows stand one after the other. The sample has the law that it has
    /// if they come one by one, and costs less.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results, `Memory` if a relation has 2^31 tuples, and what the predicate says. The transaction
    /// must then be rolled back.
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
            self.events.note(atom, true, &tuples);
            done = self.index.link(atom, &tuples);
            done = done.and_then(|()| self.offer(atom, &tuples));
            if done.is_err() {
                break;
            }
        }
        self.tuples = tuples;
        done
    }

    /// A tuple leaves. False if there is none with these words.
    pub fn delete(&mut self, atom: usize, row: &[u64]) -> bool {
        self.begin();
        let Some(tuple) = self.index.find(atom, row) else {
            return false;
        };
        self.events.note(atom, false, &[tuple]);
        self.index.unlink(atom, &[tuple]);
        while self.places.take_with(atom, tuple) {
            self.law.lose();
            self.met.died += 1;
        }
        true
    }

    /// Ends what a transaction changes: results that died are replaced.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results, what the predicate and the budget say. The
    /// transaction must then be rolled back.
    pub fn settle(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.refill(budget)
    }

    fn refill(&mut self, budget: &Budget<'_>) -> Result<()> {
        if !self.law.is_short() {
            return Ok(());
        }
        let mut walk = Walk::new(self.index.len_upper()?);
        while self.law.is_short() && walk.left > 0 {
            budget.work(16)?;
            let position = walk.take(self.law.next_outside(walk.left));
            self.index.search_all(&mut self.search, &[position]);
            let result = self.search.result(0);
            if result.is_some_and(|result| self.places.holds(result)) {
                continue;
            }
            let real = match result {
                Some(result) => self.predicate.holds(&self.index, result)?,
                None => false,
            };
            match result.filter(|_| real) {
                Some(result) => {
                    self.places.put(self.places.len(), result);
                    self.law.gain();
                    self.met.came += 1;
                }
                None => self.met.dummies += 1,
            }
        }
        self.law.end_walk();
        Ok(())
    }

    /// Ends a transaction.
    pub fn commit(&mut self) {
        let index = &mut self.index;
        self.events
            .each_left(|atom, tuple| index.forget(atom, tuple));
        self.events.clear();
        self.places.commit();
        self.before = None;
    }

    /// Undoes a transaction.
    pub fn rollback(&mut self) {
        for (atom, came, tuples) in self.events.back() {
            if came {
                self.index.unlink(atom, tuples);
            } else {
                // Every state on the way back was there before; a broken index says so again.
                drop(self.index.link(atom, tuples));
            }
        }
        if self.index.is_broken() {
            // What was linked before fitted.
            drop(self.index.rebuild());
        }
        for (atom, came, tuples) in self.events.back() {
            if came {
                tuples
                    .iter()
                    .for_each(|&tuple| self.index.forget(atom, tuple));
            }
        }
        self.events.clear();
        self.sought.clear();
        self.places.restore();
        if let Some((law, met)) = self.before.take() {
            (self.law, self.met) = (law, met);
        }
    }

    fn begin(&mut self) {
        if self.before.is_none() {
            self.before = Some((self.law.clone(), self.met));
        }
    }

    /// Keeps the record of all results from now on, which deletes and draws need. Linear in a relation.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results.
    pub fn count_all(&mut self) -> Result<()> {
        self.index.len_upper().map(drop)
    }

    /// How many positions all results have, once `count_all` was called.
    #[must_use]
    pub fn positions(&self) -> Option<u128> {
        self.index.positions()
    }

    /// What the running transaction moves: results that were held at its beginning and not now, with
    /// those that are held now and were not; one that changed its place may be in both.
    #[must_use]
    pub fn moved(&self) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        self.places.moved()
    }

    /// Goes on as a sample of the same rows did: with its law and what it met, holding these results, a tuple of
    /// each relation, one after the other. Between transactions.
    pub(crate) fn resume(&mut self, (law, met): (Law, Met), results: Vec<u32>) {
        (self.law, self.met) = (law, met);
        self.places.replace(results);
    }

    /// Whether a result counts; not if the predicate cannot tell.
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
        self.places.check();
        assert_eq!(self.law.held(), self.len() as u64);
    }
}
