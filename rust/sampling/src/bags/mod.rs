//! Any join as an acyclic one: relations that keys combine are one, and cycles are bags.
//!
//! Invariant: the sample that is kept is one of the results of the query; it holds a row of a bag where the
//! query has a row of each of its relations, and what that row is stands in its codes. Every change of a relation is
//! told to the bags that it is in, and the rows that come to them, or leave, are changes of the acyclic join's
//! relations: a result comes with the last of its rows, whatever their order. Cost: O(N^w log N) for N changes of a query of
//! fractional hypertree width w, and that of the sample (paper, Theorem 5.4); nothing where the query
//! is acyclic and nothing is combined.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | which relations the acyclic join has |
//! | `bag` | a join whose changes are told |
//! | `steps` | in which order a change meets the other relations |
//! | `resume` | what is held as words that outlive numbers |
//! | `part` | the rows of a relation in a bag, and paths to them |
//! | `numbers` | dense numbers for values and rows |

mod bag;
mod numbers;
mod part;
mod plan;
mod resume;
mod steps;

use ringview_core::{Meter, Result};
use ringview_query::graph::ghd::Ghd;

use crate::sample::{All, JoinSample, Predicate};
use crate::{Atom, Index};
use bag::{Bag, Code, Source};
use plan::Plan;
pub use plan::Told;
pub(crate) use resume::Kept;

/// A relation of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The join variable that each of its first columns holds; no variable stands twice.
    pub variables: Vec<usize>,
    /// Columns in all, each of one word.
    pub columns: usize,
    /// Sets of columns such that no two rows agree on all of one.
    pub keys: Vec<Vec<usize>>,
    /// Whether many rows may agree on all join variables.
    pub repeats: bool,
    /// Columns whose words are to stand in the rows of the acyclic join, where a predicate reads them.
    pub carried: Vec<usize>,
}

impl Relation {
    /// A relation whose rows are distinct.
    #[must_use]
    pub fn distinct(variables: Vec<usize>, columns: usize) -> Relation {
        Relation {
            keys: vec![(0..columns).collect()],
            repeats: columns > variables.len(),
            carried: Vec::new(),
            variables,
            columns,
        }
    }

    /// A relation whose rows may come many times.
    #[must_use]
    pub fn bag(variables: Vec<usize>, columns: usize) -> Relation {
        Relation {
            keys: Vec::new(),
            repeats: true,
            carried: Vec::new(),
            variables,
            columns,
        }
    }

    /// The keys that are of variables alone, as these.
    fn keys_of_variables(&self) -> Vec<Vec<usize>> {
        let of = |key: &Vec<usize>| -> Option<Vec<usize>> {
            key.iter()
                .map(|&column| self.variables.get(column).copied())
                .collect()
        };
        self.keys.iter().filter_map(of).collect()
    }
}

/// Where a word of a result is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The relation of the acyclic join.
    atom: usize,
    what: What,
}

impl Place {
    /// The relation of the acyclic join whose tuple tells.
    #[must_use]
    pub fn atom(&self) -> usize {
        self.atom
    }

    /// The word of its row, where it is one.
    #[must_use]
    pub fn word(&self) -> Option<usize> {
        match self.what {
            What::Word(word) => Some(word),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A word of its row.
    Word(usize),
    /// The value behind a code: the bag, the variable and the place of the code.
    Value(usize, usize, usize),
    /// A word of the row behind a code: the bag and its part, the place of the code, and the word.
    Row((usize, usize), usize, usize),
}

/// A sample of the results of any join.
///
/// ```
/// use ringview_core::Meter;
/// use ringview_sampling::{All, QuerySample, Relation};
/// // Triangles: r(a, b), s(b, c), t(c, a).
/// let triangle = [[0, 1], [1, 2], [2, 0]].map(|v| Relation::distinct(v.to_vec(), 2));
/// let mut sample = QuerySample::new(&triangle, 10, 7, All)?;
/// let meter = Meter::free();
/// for (relation, edge) in [(0, [1, 2]), (1, [2, 3]), (2, [3, 1]), (1, [2, 4])] {
///     sample.insert(relation, &edge, &meter)?;
/// }
/// sample.settle(&meter)?;
/// sample.commit();
/// assert_eq!(sample.sample().len(), 1);
/// let result = sample.sample().results().next().unwrap();
/// let c = sample.place(1, 1);
/// assert_eq!(sample.word(result, c), 3);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuerySample<P = All> {
    relations: Relations,
    bags: Vec<Bag>,
    sample: JoinSample<P>,
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

/// The relations of the acyclic join that a query is kept as.
#[derive(Clone, Debug)]
pub struct Relations {
    /// How many the query has.
    relations: usize,
    plan: Plan,
}

impl Relations {
    /// Plans a query.
    ///
    /// # Errors
    /// `Unsupported` for more variables than a decomposition takes; `Value` if there is no relation, or one has
    /// more variables than columns.
    pub fn new(relations: &[Relation]) -> Result<Relations> {
        let plan = Plan::new(relations)?;
        Index::new(&plan.atoms)?;
        let relations = relations.len();
        Ok(Relations { relations, plan })
    }

    /// The relations.
    #[must_use]
    pub fn atoms(&self) -> &[Atom] {
        &self.plan.atoms
    }

    /// The decomposition, where the query is cyclic.
    #[must_use]
    pub fn ghd(&self) -> Option<&Ghd> {
        self.plan.ghd.as_ref()
    }

    /// What each bag is.
    #[must_use]
    pub fn told(&self) -> &[Told] {
        &self.plan.told
    }

    /// The largest number of rows of a bag or a relation, as a power of that of the query's.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.ghd().map_or(1.0, |ghd| ghd.width.value())
    }

    /// The relations of the query that are one of the acyclic join, and kept by groups.
    #[must_use]
    pub fn grouped(&self) -> Vec<usize> {
        let atoms = self.plan.atoms.iter().zip(&self.plan.sources);
        let of = atoms.filter_map(|(atom, source)| match source {
            Source::Relation(relation) if atom.grouped => Some(*relation),
            _ => None,
        });
        of.collect()
    }

    /// Where a word of a relation's rows stands in results.
    ///
    /// # Panics
    /// If there is no such relation.
    #[must_use]
    pub fn place(&self, relation: usize, word: usize) -> Place {
        if let Some(atom) = self.plan.atom(Source::Relation(relation)) {
            let what = What::Word(word);
            return Place { atom, what };
        }
        let (bag, part) = self.joined(relation);
        let atom = self.plan.atom(Source::Bag(bag)).unwrap_or_default();
        let plan = &self.plan.bags[bag];
        let code = |wanted: Code| plan.codes.iter().position(|code| *code == wanted);
        let variables = &plan.parts[part].variables;
        let what = match variables.get(word) {
            Some(&(variable, _)) if variable < plan.outer => What::Word(variable),
            Some(&(variable, _)) => match code(Code::Value(variable)) {
                Some(code) => What::Value(bag, variable, code),
                None => self.behind(bag, variable),
            },
            None => match plan
                .carried
                .iter()
                .position(|&of| of == (part, word - variables.len()))
            {
                Some(carried) => What::Word(plan.outer + carried),
                None => What::Row((bag, part), code(Code::Row(part)).unwrap_or_default(), word),
            },
        };
        Place { atom, what }
    }

    /// The part of a bag that a relation is which is no relation of the acyclic join: its rows are there as a whole.
    fn joined(&self, relation: usize) -> (usize, usize) {
        let joins = |&(bag, _): &(usize, usize)| self.plan.told[bag].joins.contains(&relation);
        let found = self
            .plan
            .readers(Source::Relation(relation))
            .into_iter()
            .find(joins);
        found.unwrap_or_else(|| unreachable!("a relation is in the join"))
    }

    /// A variable that the row of some part tells.
    fn behind(&self, bag: usize, variable: usize) -> What {
        let plan = &self.plan.bags[bag];
        let found = plan.codes.iter().enumerate().find_map(|(at, code)| {
            let &Code::Row(part) = code else { return None };
            let word = plan.parts[part]
                .variables
                .iter()
                .position(|&(v, _)| v == variable)?;
            Some(What::Row((bag, part), at, word))
        });
        found.unwrap_or_else(|| unreachable!("a variable is in a code, or in a row that is"))
    }
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
    /// As of [`JoinSample::insert`], and what the meter says. The transaction must then be rolled back.
    pub fn insert(&mut self, relation: usize, row: &[u64], meter: &Meter<'_>) -> Result<()> {
        self.insert_all(relation, row, 1, meter)
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
        meter: &Meter<'_>,
    ) -> Result<()> {
        if let Some(atom) = self.direct[relation] {
            self.sample.insert_all(atom, rows, count)?;
        }
        if self.readers.relations[relation].is_empty() {
            return Ok(());
        }
        let columns = rows.len() / count.max(1);
        let mut cascade = Cascade {
            sample: &mut self.sample,
            of_bag: &self.of_bag,
            readers: &self.readers.bags,
            came: &mut self.came,
            meter,
        };
        for nth in 0..count {
            let row = &rows[nth * columns..][..columns];
            for &at in &self.readers.relations[relation] {
                cascade.change((&mut self.bags, 0), at, row, true)?;
            }
        }
        (0..cascade.came.len()).try_for_each(|atom| cascade.bring(atom))
    }

    /// A row of a relation leaves. False if there is none with these words.
    ///
    /// # Errors
    /// As of `insert`.
    pub fn delete(&mut self, relation: usize, row: &[u64], meter: &Meter<'_>) -> Result<bool> {
        let mut there = true;
        if let Some(atom) = self.direct[relation] {
            there = self.sample.delete(atom, row);
        }
        let mut cascade = Cascade {
            sample: &mut self.sample,
            of_bag: &self.of_bag,
            readers: &self.readers.bags,
            came: &mut self.came,
            meter,
        };
        for &at in &self.readers.relations[relation] {
            there = there && cascade.change((&mut self.bags, 0), at, row, false)?;
        }
        Ok(there)
    }

    /// Ends what a transaction changes. See [`JoinSample::settle`].
    ///
    /// # Errors
    /// As there.
    pub fn settle(&mut self, meter: &Meter<'_>) -> Result<()> {
        self.sample.settle(meter)
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
        let code = |bag: usize, at: usize| -> u32 {
            (row[self.relations.plan.bags[bag].codes_at() + at / 2] >> (32 * (at % 2))) as u32
        };
        match place.what {
            What::Word(word) => row[word],
            What::Value(bag, variable, at) => self.bags[bag].value(variable, code(bag, at)),
            What::Row((bag, part), at, word) => self.bags[bag].word(part, code(bag, at), word),
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
        for row in self.bags[bag].rows(part) {
            words
                .iter()
                .for_each(|&word| see(self.bags[bag].word(part, row, word)));
        }
    }

    /// How many rows of a relation are there, at most.
    #[must_use]
    pub fn rows(&self, relation: usize) -> usize {
        match self.direct[relation] {
            Some(atom) => self.sample.index().numbers(atom),
            None => {
                let (bag, part) = self.relations.joined(relation);
                self.bags[bag].rows(part).count()
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

/// So many rows of a bag come to the sample together.
const TOGETHER: usize = 4096;

/// Rows of a relation of the acyclic join that came, of which the sample has not heard.
#[derive(Clone, Debug, Default)]
struct Came {
    words: Vec<u64>,
    count: usize,
}

impl Came {
    fn clear(&mut self) {
        self.words.clear();
        self.count = 0;
    }
}

/// A change on its way through bags to the sample.
struct Cascade<'a, 'm, P> {
    sample: &'a mut JoinSample<P>,
    of_bag: &'a [Option<usize>],
    readers: &'a [Vec<(usize, usize)>],
    came: &'a mut [Came],
    meter: &'a Meter<'m>,
}

impl<P: Predicate> Cascade<'_, '_, P> {
    /// A row of the acyclic join comes, with others.
    fn come(&mut self, atom: usize, row: &[u64]) -> Result<()> {
        let came = &mut self.came[atom];
        came.words.extend_from_slice(row);
        came.count += 1;
        match came.count < TOGETHER {
            true => Ok(()),
            false => self.bring(atom),
        }
    }

    /// The sample hears of the rows that came.
    fn bring(&mut self, atom: usize) -> Result<()> {
        let came = &mut self.came[atom];
        if came.count == 0 {
            return Ok(());
        }
        let done = self.sample.insert_all(atom, &came.words, came.count);
        came.clear();
        done
    }

    /// Tells a part of a bag, and whoever reads that bag; these stand behind it.
    fn change(
        &mut self,
        (bags, first): (&mut [Bag], usize),
        (bag, part): (usize, usize),
        row: &[u64],
        comes: bool,
    ) -> Result<bool> {
        let (here, behind) = bags[bag - first..]
            .split_first_mut()
            .unwrap_or_else(|| unreachable!("who reads a bag stands behind it"));
        let meter = self.meter;
        here.change(part, row, comes, meter, &mut |row, copies| {
            for _ in 0..copies {
                meter.work(1)?;
                if let Some(atom) = self.of_bag[bag] {
                    match comes {
                        true => self.come(atom, row)?,
                        false => {
                            let there = self.sample.delete(atom, row);
                            debug_assert!(there, "a row of a bag that left was there");
                        }
                    }
                }
                for &reader in &self.readers[bag] {
                    self.change((behind, bag + 1), reader, row, comes)?;
                }
            }
            Ok(())
        })
    }
}
