//! What a sample holds in words that outlive its index, and a sample that goes on from them.
//!
//! Invariant: a tuple is told by the words of the query's rows behind it, so ids, numbers and the order of
//! rows may be others when they are read; equal rows are told apart by being told twice. Cost: O(k) to tell, O(N) to go on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ground::{Code, Source};
use super::{QuerySample, Relations};
use crate::sample::{Counters, Predicate};
use crate::{Index, ReservoirState};

/// A sample without the rows of its tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) state: ReservoirState,
    pub(crate) met: Counters,
    /// By relation of the acyclic join: the tuples that are held.
    pub(crate) tuples: Vec<Tuples>,
    /// By place, which of these in each relation.
    pub(crate) results: Vec<u32>,
}

/// Tuples by the words behind each, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tuples {
    pub(crate) count: usize,
    pub(crate) words: Vec<u64>,
}

impl Relations {
    /// What the words behind a tuple of the acyclic join are: words of which relations' rows.
    pub(crate) fn behind_tuple(&self, atom: usize) -> Vec<(usize, usize)> {
        let bag = match self.plan.sources[atom] {
            Source::Relation(relation) => {
                let columns = self.plan.atoms[atom].columns;
                return (0..columns).map(|word| (relation, word)).collect();
            }
            Source::Bag(bag) => bag,
        };
        let plan = &self.plan.bags[bag];
        let row = |part: usize, word: usize| match plan.parts[part].source {
            Source::Relation(relation) => (relation, word),
            Source::Bag(_) => unreachable!("what is carried, or a whole row, is of a relation"),
        };
        let outer = (0..plan.outer).map(|variable| self.origin(bag, variable));
        let carried = plan.carried.iter();
        let carried =
            carried.map(|&(part, word)| row(part, plan.parts[part].variables.len() + word));
        let mut all: Vec<(usize, usize)> = outer.chain(carried).collect();
        for code in &plan.codes {
            match *code {
                Code::Value(variable) => all.push(self.origin(bag, variable)),
                Code::Row(part) => all.extend((0..plan.width(part)).map(|word| row(part, word))),
            }
        }
        all
    }

    /// A relation that has a variable of a bag, and in which word.
    fn origin(&self, bag: usize, variable: usize) -> (usize, usize) {
        let found = self.plan.bags[bag].parts.iter().find_map(|part| {
            let has = part.variables.iter().find(|(v, _)| *v == variable);
            has.map(|&(_, column)| (part.source, column))
        });
        match found {
            Some((Source::Relation(relation), column)) => (relation, column),
            Some((Source::Bag(inner), column)) => self.origin(inner, column),
            None => unreachable!("a variable is one of some part"),
        }
    }
}

impl<P: Predicate> QuerySample<P> {
    /// What is held, between transactions.
    pub(crate) fn kept(&self) -> Kept {
        let atoms = self.sample.index().atoms();
        let mut tuples = vec![Tuples::default(); atoms];
        let mut known: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); atoms];
        let mut results = Vec::with_capacity(self.sample.len() * atoms);
        for result in self.sample.results() {
            for (atom, &tuple) in result.iter().enumerate() {
                let next = known[atom].len() as u32;
                results.push(*known[atom].entry(tuple).or_insert_with(|| {
                    tuples[atom].count += 1;
                    self.tell_words(atom, tuple, &mut tuples[atom].words);
                    next
                }));
            }
        }
        let (state, met) = (self.sample.state().clone(), self.sample.counters());
        Kept {
            state,
            met,
            tuples,
            results,
        }
    }

    /// The words behind a tuple.
    fn tell_words(&self, atom: usize, tuple: u32, out: &mut Vec<u64>) {
        let row = self.sample.index().row(atom, tuple);
        match self.relations.plan.sources[atom] {
            Source::Relation(_) => out.extend(row),
            Source::Bag(bag) => self.bags[bag].decode(row, out),
        }
    }

    /// Goes on from what a sample of the same query over the same rows held. None, and nothing has changed, if
    /// it cannot be that.
    pub(crate) fn go_on(&mut self, kept: &Kept) -> Option<()> {
        let atoms = self.sample.index().atoms();
        let all = usize::try_from(kept.state.held())
            .ok()?
            .checked_mul(atoms)?;
        let sound = kept.state.is_of(self.sample.state().k())
            && (kept.tuples.len(), kept.results.len()) == (atoms, all);
        if !sound {
            return None;
        }
        let tuples: Vec<Vec<u32>> = (0..atoms)
            .map(|atom| self.find_words(atom, &kept.tuples[atom]))
            .collect::<Option<_>>()?;
        let place = |(at, &nth): (usize, &u32)| tuples[at % atoms].get(nth as usize).copied();
        let results = kept.results.iter().enumerate().map(place);
        let results: Vec<u32> = results.collect::<Option<_>>()?;
        let mut seen: Vec<&[u32]> = results.chunks(atoms).collect();
        seen.sort_unstable();
        let differ = seen.windows(2).all(|pair| pair[0] != pair[1]);
        if !differ || !results.chunks(atoms).all(|result| self.joins(result)) {
            return None;
        }
        self.sample.resume((kept.state.clone(), kept.met), results);
        Some(())
    }

    /// A tuple for each row by the words behind it.
    fn find_words(&mut self, atom: usize, tuples: &Tuples) -> Option<Vec<u32>> {
        let width = self.relations.behind_tuple(atom).len();
        if tuples.count.checked_mul(width)? != tuples.words.len() {
            return None;
        }
        let mut rows = Vec::new();
        for nth in 0..tuples.count {
            let words = &tuples.words[nth * width..][..width];
            match self.relations.plan.sources[atom] {
                Source::Relation(_) => rows.extend(words),
                Source::Bag(bag) => self.bags[bag].encode(words, &mut rows)?,
            }
        }
        self.sample.tuples_of(atom, &rows, tuples.count)
    }

    /// Whether tuples are a result that counts.
    fn joins(&self, result: &[u32]) -> bool {
        let index: &Index = self.sample.index();
        let mut values = BTreeMap::new();
        let agree = self
            .relations
            .plan
            .atoms
            .iter()
            .enumerate()
            .all(|(at, atom)| {
                let words = atom.variables.iter().zip(index.row(at, result[at]));
                words
                    .into_iter()
                    .all(|(v, &word)| *values.entry(*v).or_insert(word) == word)
            });
        agree && self.sample.counts(result)
    }
}
