//! k results of a join, every set of k with equal chances, while its relations change.
//!
//! Invariant: after `settle` the sample holds k of the results that pass the predicate, uniform among the
//! sets of k and without replacement, or all if they are fewer; the law of the sample with its w is the
//! one that `law` proves. Every transaction ends with `commit`, or with `rollback`, after which sample, w, skip and generator
//! are what they were; only the order of positions in the index may differ, which no law depends on.
//!
//! A tuple that comes brings a batch of results, which the reservoir skips through (Theorem 4.3). A
//! tuple that leaves takes results from the sample with it; others take their places by the walk of `law`
//! over the positions of the whole join, before the next tuple comes and in `settle`. The first delete
//! builds what only deletes need: where rows are, who holds which tuple, and the record of all results.
//!
//! Cost: O(N log N + k log N log(r / k)) for N tuples that come. A delete costs what it moves in the
//! index, and O(|J| / r') positions for each result replaced, r' being the results that are not held: a join of hardly more
//! than k results is walked as a whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ringview_core::{Error, Meter, Result};

use crate::held::Held;
use crate::{Atom, Index, Law, Random};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
/// use ringview_core::Meter;
/// use ringview_sampling::{All, Atom, JoinSample};
/// let join = [Atom::new(vec![0], 2), Atom::new(vec![0], 2)];
/// let mut sample = JoinSample::new(&join, 3, 7, All)?;
/// for value in 0..10 {
///     sample.insert(0, &[value % 2, value])?;
///     sample.insert(1, &[value % 2, value])?;
/// }
/// sample.settle(&Meter::free())?;
/// sample.commit();
/// assert_eq!(sample.len(), 3); // of 50
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JoinSample<P = All> {
    index: Index,
    law: Law,
    predicate: P,
    /// A tuple of each relation, by place.
    results: Vec<u32>,
    held: Option<Held>,
    journal: Journal,
    met: Met,
    scratch: Vec<u32>,
}

/// What a transaction has changed.
#[derive(Clone, Debug, Default)]
struct Journal {
    /// The law and the counts before.
    before: Option<(Law, Met)>,
    tuples: Vec<Event>,
    places: Vec<Written>,
    /// What places held that were written, one after the other.
    old: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Came(usize, u32),
    Left(usize, u32),
}

#[derive(Clone, Copy, Debug)]
enum Written {
    Set(u32),
    Pushed,
    Popped,
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
            scratch: vec![0; atoms.len()],
            index,
            law,
            predicate,
            results: Vec::new(),
            held: None,
            journal: Journal::default(),
            met: Met::default(),
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
        self.results.chunks_exact(self.index.atoms())
    }

    /// How many results are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.results.len() / self.index.atoms()
    }

    /// Whether no result is held: the join has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.index.memory_usage()
            + self.results.capacity() * 4
            + self.held.as_ref().map_or(0, Held::memory_usage)
    }

    /// A tuple comes. `row` has a word for each column, those of the join variables first.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results, `Memory` if a relation has 2^31 tuples, and what the predicate says. The transaction
    /// must then be rolled back.
    pub fn insert(&mut self, atom: usize, row: &[u64]) -> Result<()> {
        self.begin();
        self.refill(&Meter::free())?;
        let tuple = self.index.add(atom, row);
        self.journal.tuples.push(Event::Came(atom, tuple));
        self.index.link(atom, tuple)?;
        let mut left = self.index.delta_len(atom, tuple)?;
        let length = left;
        while let Some(passed) = self.law.advance(left) {
            left -= passed + 1;
            let mut result = std::mem::take(&mut self.scratch);
            let found = self
                .index
                .delta_get(atom, tuple, length - left - 1, &mut result);
            let taken = self.stop(found, &result);
            self.scratch = result;
            taken?;
        }
        Ok(())
    }

    fn stop(&mut self, found: bool, result: &[u32]) -> Result<()> {
        let real = found && self.predicate.holds(&self.index, result)?;
        self.met.dummies += u64::from(!real);
        match self.law.stop(real) {
            None => {}
            Some(place) if place as usize == self.len() => self.push(result),
            Some(place) => self.set(place as u32, result),
        }
        self.met.came += u64::from(real);
        Ok(())
    }

    /// A tuple leaves. False if there is none with these words.
    pub fn delete(&mut self, atom: usize, row: &[u64]) -> bool {
        self.begin();
        let Some(tuple) = self.index.find(atom, row) else {
            return false;
        };
        self.journal.tuples.push(Event::Left(atom, tuple));
        self.index.unlink(atom, tuple);
        if self.held.is_none() {
            self.held = Some(Held::new(&self.results, self.index.atoms()));
        }
        while let Some(place) = self.held.as_ref().and_then(|held| held.with(atom, tuple)) {
            self.die(place);
        }
        true
    }

    fn die(&mut self, place: u32) {
        let width = self.index.atoms();
        let last = self.len() as u32 - 1;
        if place != last {
            let result = self.results[last as usize * width..].to_vec();
            // The last one is nowhere for a moment, so that no place is noted twice.
            self.pop();
            self.set(place, &result);
        } else {
            self.pop();
        }
        self.law.lose();
        self.met.died += 1;
    }

    /// Ends what a transaction changes: results that died are replaced.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results, what the predicate and the meter say. The
    /// transaction must then be rolled back.
    pub fn settle(&mut self, meter: &Meter<'_>) -> Result<()> {
        self.refill(meter)
    }

    fn refill(&mut self, meter: &Meter<'_>) -> Result<()> {
        if !self.law.is_short() {
            return Ok(());
        }
        let mut walk = Walk::new(self.index.len_upper()?);
        while self.law.is_short() && walk.left > 0 {
            meter.work(16)?;
            let position = walk.take(self.law.next_outside(walk.left));
            let mut result = std::mem::take(&mut self.scratch);
            let found = self.index.get(position, &mut result);
            let met = self.meet(found, &result);
            self.scratch = result;
            met?;
        }
        self.law.end_walk();
        Ok(())
    }

    fn meet(&mut self, found: bool, result: &[u32]) -> Result<()> {
        let held = self.held.as_ref();
        if held.is_some_and(|held| found && held.find(result, &self.results).is_some()) {
            return Ok(());
        }
        if !found || !self.predicate.holds(&self.index, result)? {
            self.met.dummies += 1;
            return Ok(());
        }
        self.met.came += 1;
        self.law.gain();
        self.push(result);
        Ok(())
    }

    /// Ends a transaction.
    pub fn commit(&mut self) {
        for event in self.journal.tuples.drain(..) {
            if let Event::Left(atom, tuple) = event {
                self.index.forget(atom, tuple);
            }
        }
        self.journal.before = None;
        self.journal.places.clear();
        ringview_core::empty(&mut self.journal.old);
    }

    /// Undoes a transaction.
    pub fn rollback(&mut self) {
        let tuples = std::mem::take(&mut self.journal.tuples);
        for event in tuples.iter().rev() {
            match *event {
                Event::Came(atom, tuple) => self.index.unlink(atom, tuple),
                // Every state on the way back was there before; a broken index says so again.
                Event::Left(atom, tuple) => drop(self.index.link(atom, tuple)),
            }
        }
        if self.index.is_broken() {
            // What was linked before fitted.
            drop(self.index.rebuild());
        }
        for event in tuples {
            if let Event::Came(atom, tuple) = event {
                self.index.forget(atom, tuple);
            }
        }
        self.restore_places();
        if let Some((law, met)) = self.journal.before.take() {
            (self.law, self.met) = (law, met);
        }
    }

    fn restore_places(&mut self) {
        let width = self.index.atoms();
        let mut old = std::mem::take(&mut self.journal.old);
        for written in std::mem::take(&mut self.journal.places).into_iter().rev() {
            let result = match written {
                Written::Pushed => Vec::new(),
                _ => old.split_off(old.len() - width),
            };
            match written {
                Written::Pushed => self.pop(),
                Written::Popped => self.push(&result),
                Written::Set(place) => self.set(place, &result),
            }
        }
        self.journal.places.clear();
        self.journal.old.clear();
    }

    fn begin(&mut self) {
        if self.journal.before.is_none() {
            self.journal.before = Some((self.law.clone(), self.met));
        }
    }

    fn push(&mut self, result: &[u32]) {
        self.results.extend_from_slice(result);
        self.journal.places.push(Written::Pushed);
        let place = self.len() as u32 - 1;
        if let Some(held) = &mut self.held {
            held.add(place, &self.results);
        }
    }

    fn pop(&mut self) {
        let place = self.len() as u32 - 1;
        if let Some(held) = &mut self.held {
            held.remove(place, &self.results);
        }
        let start = place as usize * self.index.atoms();
        self.journal.old.extend_from_slice(&self.results[start..]);
        self.results.truncate(start);
        self.journal.places.push(Written::Popped);
    }

    fn set(&mut self, place: u32, result: &[u32]) {
        if let Some(held) = &mut self.held {
            held.remove(place, &self.results);
        }
        let held = &mut self.results[place as usize * result.len()..][..result.len()];
        self.journal.old.extend_from_slice(held);
        held.copy_from_slice(result);
        self.journal.places.push(Written::Set(place));
        if let Some(held) = &mut self.held {
            held.add(place, &self.results);
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
        let width = self.index.atoms();
        // What each place held at first, walking back; and how many places there were.
        let mut first: BTreeMap<usize, &[u32]> = BTreeMap::new();
        let mut places = self.len();
        let mut touched = BTreeSet::new();
        let mut old = self.journal.old.chunks_exact(width).rev();
        for written in self.journal.places.iter().rev() {
            let place = match *written {
                Written::Set(place) => place as usize,
                Written::Pushed => places - 1,
                Written::Popped => places,
            };
            touched.insert(place);
            match written {
                Written::Pushed => {
                    places -= 1;
                    first.remove(&place);
                }
                Written::Set(_) => first.extend(old.next().map(|held| (place, held))),
                Written::Popped => {
                    places += 1;
                    first.extend(old.next().map(|held| (place, held)));
                }
            }
        }
        let now = touched.iter().filter(|&&place| place < self.len());
        let new = now.map(|&place| self.results[place * width..][..width].to_vec());
        (
            first.into_values().map(<[u32]>::to_vec).collect(),
            new.collect(),
        )
    }

    /// Draws `m` results of the whole join, one after the other; each is told to `take`. With
    /// replacement every draw has all results; without, those not drawn yet, and it ends when there are no more.
    ///
    /// # Errors
    /// `Value` if there is no result to draw with replacement; what the predicate and the meter say.
    pub fn draw(
        &mut self,
        m: u64,
        replacement: bool,
        seed: u64,
        meter: &Meter<'_>,
        take: impl FnMut(&Index, &[u32]),
    ) -> Result<()> {
        self.count_all()?;
        self.drawn(m, replacement, seed, meter, take)
    }

    /// The same, once `count_all` was called; before that there is nothing to draw from.
    ///
    /// # Errors
    /// As `draw`.
    pub fn drawn(
        &self,
        m: u64,
        replacement: bool,
        seed: u64,
        meter: &Meter<'_>,
        mut take: impl FnMut(&Index, &[u32]),
    ) -> Result<()> {
        if self.is_empty() && replacement && m > 0 {
            return Err(Error::Value {
                place: "a draw from a join".to_owned(),
                problem: "it has no results; draw when there are".to_owned(),
            });
        }
        let mut random = Random::new(seed);
        let mut result = vec![0; self.index.atoms()];
        let mut walk = Walk::new(self.positions().unwrap_or_default());
        let mut drawn = 0;
        while drawn < m && walk.left > 0 {
            meter.work(16)?;
            let chosen = random.below(walk.left);
            let position = if replacement {
                chosen
            } else {
                walk.take(chosen)
            };
            let found = self.index.get(position, &mut result);
            if found && self.predicate.holds(&self.index, &result)? {
                take(&self.index, &result);
                drawn += 1;
            }
        }
        Ok(())
    }

    /// Checks the index, and that the sample holds results of the join, none twice. For tests.
    ///
    /// # Panics
    /// If not.
    pub fn check(&self) {
        self.index.check();
        assert_eq!(self.law.held(), self.len() as u64);
        let mut seen: Vec<&[u32]> = self.results().collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), self.len(), "a result is held twice");
        if let Some(held) = &self.held {
            for (place, result) in self.results().enumerate() {
                assert_eq!(held.find(result, &self.results), Some(place as u32));
            }
        }
    }
}

/// Positions in random order, none twice: the walk of Fisher and Yates over an array of which only what
/// was exchanged is kept.
#[derive(Debug)]
struct Walk {
    left: u128,
    exchanged: HashMap<u128, u128>,
}

impl Walk {
    fn new(positions: u128) -> Walk {
        Walk {
            left: positions,
            exchanged: HashMap::new(),
        }
    }

    /// The position at a place of those that are left.
    fn take(&mut self, place: u128) -> u128 {
        self.left -= 1;
        let last = self.exchanged.remove(&self.left).unwrap_or(self.left);
        if place == self.left {
            return last;
        }
        self.exchanged.insert(place, last).unwrap_or(place)
    }
}
