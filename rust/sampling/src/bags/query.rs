//! A sample of any join: rows of the query's relations update their bags, and the rows of bags the sample of the acyclic
//! join.
//!
//! Invariant: after each call the relations of the acyclic join hold the rows of their sources. Cost: see the module.

use ringview_core::{Budget, Result};

use super::Relation;
use super::bag::Bag;
use super::cascade::{Cascade, Pending};
use super::context::Source;
use super::relations::{Location, Relations, WordRef};
use crate::sample::{All, JoinSample, Predicate};

/// A sample of the results of any join.
///
/// ```
/// use ringview_core::Budget;
/// use ringview_sampling::{All, QuerySample, Relation};
/// // Triangles: r(a, b), s(b, c), t(c, a).
/// let triangle = [[0, 1], [1, 2], [2, 0]].map(|v| Relation::distinct(v.to_vec(), 2));
/// let mut sample = QuerySample::new(&triangle, 10, 7, All)?;
/// let budget = Budget::free();
/// for (relation, edge) in [(0, [1, 2]), (1, [2, 3]), (2, [3, 1]), (1, [2, 4])] {
///     sample.insert(relation, &edge, &budget)?;
/// }
/// sample.prepare(&budget)?;
/// sample.commit();
/// assert_eq!(sample.sample().len(), 1);
/// let result = sample.sample().results().next().unwrap();
/// let c = sample.word_ref(1, 1);
/// assert_eq!(sample.word(result, c), 3);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuerySample<P = All> {
    pub(super) relations: Relations,
    pub(super) bags: Vec<Bag>,
    pub(super) sample: JoinSample<P>,
    /// By relation of the query: its relation of the acyclic join, if it is one.
    direct: Vec<Option<usize>>,
    /// By bag: its relation of the acyclic join, if it is one.
    of_bag: Vec<Option<usize>>,
    readers: Readers,
    /// By relation of the acyclic join: rows not inserted yet.
    pending: Vec<Pending>,
}

/// By relation of the query, and by bag: the inputs of bags that read it.
#[derive(Clone, Debug)]
struct Readers {
    relations: Vec<Vec<(usize, usize)>>,
    bags: Vec<Vec<(usize, usize)>>,
}

impl<P: Predicate> QuerySample<P> {
    /// A sample of up to `k` results of the join of these relations.
    ///
    /// # Errors
    /// As of [`JoinSample::new`]; `Unsupported` for more variables than a decomposition takes.
    pub fn new(relations: &[Relation], k: u64, seed: u64, predicate: P) -> Result<QuerySample<P>> {
        QuerySample::of(Relations::new(relations)?, (k, seed), predicate)
    }

    /// A sample over planned relations.
    ///
    /// # Errors
    /// As of `new`.
    pub fn of(relations: Relations, (k, seed): (u64, u64), predicate: P) -> Result<QuerySample<P>> {
        let plan = &relations.plan;
        let sample = JoinSample::new(&plan.atoms, k, seed, predicate)?;
        let bags: Vec<Bag> = plan.bags.iter().cloned().map(Bag::new).collect();
        let all = (0..relations.relations).map(Source::Relation);
        let of_bags = (0..bags.len()).map(Source::Bag);
        let readers = Readers {
            relations: all.clone().map(|of| plan.readers(of)).collect(),
            bags: of_bags.clone().map(|of| plan.readers(of)).collect(),
        };
        Ok(QuerySample {
            direct: all.map(|of| plan.atom(of)).collect(),
            of_bag: of_bags.map(|of| plan.atom(of)).collect(),
            pending: vec![Pending::default(); plan.atoms.len()],
            readers,
            bags,
            sample,
            relations,
        })
    }

    /// The relations of the acyclic join.
    #[must_use]
    pub fn relations(&self) -> &Relations {
        &self.relations
    }

    /// The sample of the acyclic join.
    #[must_use]
    pub fn sample(&self) -> &JoinSample<P> {
        &self.sample
    }

    /// The same, to change all but rows.
    pub fn sample_mut(&mut self) -> &mut JoinSample<P> {
        &mut self.sample
    }

    /// Inserts a row of a relation. It has a word for each column, those of the join variables first.
    ///
    /// # Errors
    /// As of [`JoinSample::insert`], and the errors of the budget. The transaction must then be rolled back.
    pub fn insert(&mut self, relation: usize, row: &[u64], budget: &Budget<'_>) -> Result<()> {
        self.insert_all(relation, row, 1, budget)
    }

    /// Inserts so many rows of a relation, one after the other. See [`JoinSample::insert_all`].
    ///
    /// # Errors
    /// As of `insert`.
    pub fn insert_all(
        &mut self,
        relation: usize,
        rows: &[u64],
        count: usize,
        budget: &Budget<'_>,
    ) -> Result<()> {
        if let Some(atom) = self.direct[relation] {
            self.sample.insert_all(atom, rows, count)?;
        }
        if self.readers.relations[relation].is_empty() {
            return Ok(());
        }
        let (bags, readers, mut cascade) = self.cascade(budget);
        for &at in &readers.relations[relation] {
            cascade.insert((bags, 0), at, (rows, count))?;
        }
        cascade.flush_all()
    }

    /// Deletes a row of a relation. False if there is none with these words.
    ///
    /// # Errors
    /// As of `insert`.
    pub fn delete(&mut self, relation: usize, row: &[u64], budget: &Budget<'_>) -> Result<bool> {
        let mut there = true;
        if let Some(atom) = self.direct[relation] {
            there = self.sample.delete(atom, row);
        }
        let (bags, readers, mut cascade) = self.cascade(budget);
        for &at in &readers.relations[relation] {
            there = there && cascade.delete((bags, 0), at, row)?;
        }
        Ok(there)
    }

    /// The bags, their readers, and the path of a change to the sample.
    fn cascade<'a, 'm>(
        &'a mut self,
        budget: &'a Budget<'m>,
    ) -> (&'a mut [Bag], &'a Readers, Cascade<'a, 'm, P>) {
        let cascade = Cascade {
            sample: &mut self.sample,
            of_bag: &self.of_bag,
            readers: &self.readers.bags,
            pending: &mut self.pending,
            budget,
        };
        (&mut self.bags, &self.readers, cascade)
    }

    /// Prepares a commit. See [`JoinSample::prepare`].
    ///
    /// # Errors
    /// As there.
    pub fn prepare(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.sample.prepare(budget)
    }

    /// Ends a transaction.
    pub fn commit(&mut self) {
        self.sample.commit();
        self.bags.iter_mut().for_each(Bag::commit);
    }

    /// Undoes a transaction.
    pub fn rollback(&mut self) {
        self.pending.iter_mut().for_each(Pending::clear);
        self.sample.rollback();
        self.bags.iter_mut().for_each(Bag::rollback);
    }

    /// The reference to a word of a relation's rows in results.
    #[must_use]
    pub fn word_ref(&self, relation: usize, word: usize) -> WordRef {
        self.relations.word_ref(relation, word)
    }

    /// A word of a result.
    #[must_use]
    pub fn word(&self, result: &[u32], word_ref: WordRef) -> u64 {
        self.word_of(result[word_ref.atom], word_ref)
    }

    /// A word of a tuple of the relation of a reference.
    #[must_use]
    pub fn word_of(&self, tuple: u32, word_ref: WordRef) -> u64 {
        let row = self.sample.index().row(word_ref.atom, tuple);
        match word_ref.location {
            Location::Word(word) => row[word],
            Location::Code(bag, code, word) => self.bags[bag].word(row, code, word),
        }
    }

    /// Calls `see` with some words of all rows of a relation.
    pub fn each_word(&self, relation: usize, words: &[usize], see: &mut dyn FnMut(u64)) {
        if let Some(atom) = self.direct[relation] {
            let index = self.sample.index();
            for tuple in index.tuples(atom) {
                let row = index.row(atom, tuple);
                words.iter().for_each(|&word| see(row[word]));
            }
            return;
        }
        let (bag, input) = self.relations.joined(relation);
        self.bags[bag].each_word(input, words, see);
    }

    /// Largest possible number of rows of a relation.
    #[must_use]
    pub fn rows(&self, relation: usize) -> usize {
        match self.direct[relation] {
            Some(atom) => self.sample.index().numbers(atom),
            None => {
                let (bag, input) = self.relations.joined(relation);
                self.bags[bag].rows(input)
            }
        }
    }

    /// Steps so far: those of the index, and rows met in bags.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let bags: u64 = self.bags.iter().map(Bag::steps).sum();
        self.sample.index().steps() + bags
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let bags: usize = self.bags.iter().map(Bag::memory_usage).sum();
        self.sample.memory_usage() + bags
    }

    /// Checks index, sample and bags. For tests.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub fn check(&self) {
        self.sample.check();
        self.bags.iter().for_each(Bag::check);
    }
}
