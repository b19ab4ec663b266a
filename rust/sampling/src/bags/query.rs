//! A sample of any join: rows of the query's relations go to the bags that they are in, and what these tell to the
//! sample of the acyclic join.
//!
//! Invariant: after each call the relations of the acyclic join have what their sources have. Cost: see the module.

use ringview_core::{Budget, Result};

use super::Relation;
use super::bag::Bag;
use super::cascade::{Came, Cascade};
use super::ground::Source;
use super::relations::{Place, Relations, What};
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
/// sample.settle(&budget)?;
/// sample.commit();
/// assert_eq!(sample.sample().len(), 1);
/// let result = sample.sample().results().next().unwrap();
/// let c = sample.place(1, 1);
/// assert_eq!(sample.word(result, c), 3);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuerySample<P = All> {
    pub(super) relations: Relations,
    pub(super) bags: Vec<Bag>,
    pub(super) sample: JoinSample<P>,
    /// By relation of the query: that of the acyclic join that it is.
    direct: Vec<Option<usize>>,
    /// By bag: the relation of the acyclic join that it is.
    of_bag: Vec<Option<usize>>,
    readers: Readers,
    /// By relation of the acyclic join, while rows come.
    came: Vec<Came>,
}

/// By relation of the query, and by bag: the parts that it is, each of a bag.
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

    /// A sample over relations that are planned.
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
            came: vec![Came::default(); plan.atoms.len()],
            readers,
            bags,
            sample,
            relations,
        })
    }

    /// How the query is kept.
    #[must_use]
    pub fn relations(&self) -> &Relations {
        &self.relations
    }

    /// The sample of the acyclic join.
    #[must_use]
    pub fn sample(&self) -> &JoinSample<P> {
        &self.sample
    }

    /// The same, to change what is no row.
    pub fn sample_mut(&mut self) -> &mut JoinSample<P> {
        &mut self.sample
    }

    /// A row of a relation comes. It has a word for each column, those of the join variables first.
    ///
    /// # Errors
    /// As of [`JoinSample::insert`], and what the budget says. The transaction must then be rolled back.
    pub fn insert(&mut self, relation: usize, row: &[u64], budget: &Budget<'_>) -> Result<()> {
        self.insert_all(relation, row, 1, budget)
    }

    /// So many rows of a relation come, which stand one after the other. See [`JoinSample::insert_all`].
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
            cascade.come((bags, 0), at, (rows, count))?;
        }
        cascade.bring_all()
    }

    /// A row of a relation leaves. False if there is none with these words.
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
            there = there && cascade.leave((bags, 0), at, row)?;
        }
        Ok(there)
    }

    /// What changes are told through: the bags, who reads what, and the way to the sample.
    fn cascade<'a, 'm>(
        &'a mut self,
        budget: &'a Budget<'m>,
    ) -> (&'a mut [Bag], &'a Readers, Cascade<'a, 'm, P>) {
        let cascade = Cascade {
            sample: &mut self.sample,
            of_bag: &self.of_bag,
            readers: &self.readers.bags,
            came: &mut self.came,
            budget,
        };
        (&mut self.bags, &self.readers, cascade)
    }

    /// Ends what a transaction changes. See [`JoinSample::prepare`].
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
        self.came.iter_mut().for_each(Came::clear);
        self.sample.rollback();
        self.bags.iter_mut().for_each(Bag::rollback);
    }

    /// Where a word of a relation's rows stands in results.
    #[must_use]
    pub fn place(&self, relation: usize, word: usize) -> Place {
        self.relations.place(relation, word)
    }

    /// A word of a result.
    #[must_use]
    pub fn word(&self, result: &[u32], place: Place) -> u64 {
        self.word_of(result[place.atom], place)
    }

    /// A word behind a tuple of the relation of a place.
    #[must_use]
    pub fn word_of(&self, tuple: u32, place: Place) -> u64 {
        let row = self.sample.index().row(place.atom, tuple);
        match place.what {
            What::Word(word) => row[word],
            What::Code(bag, code, word) => self.bags[bag].word(row, code, word),
        }
    }

    /// Calls `see` with the words of all rows of a relation at some places.
    pub fn each_word(&self, relation: usize, words: &[usize], see: &mut dyn FnMut(u64)) {
        if let Some(atom) = self.direct[relation] {
            let index = self.sample.index();
            for tuple in index.tuples(atom) {
                let row = index.row(atom, tuple);
                words.iter().for_each(|&word| see(row[word]));
            }
            return;
        }
        let (bag, part) = self.relations.joined(relation);
        self.bags[bag].each_word(part, words, see);
    }

    /// How many rows of a relation are there, at most.
    #[must_use]
    pub fn rows(&self, relation: usize) -> usize {
        match self.direct[relation] {
            Some(atom) => self.sample.index().numbers(atom),
            None => {
                let (bag, part) = self.relations.joined(relation);
                self.bags[bag].rows(part)
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
