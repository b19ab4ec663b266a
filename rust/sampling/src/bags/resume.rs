//! The state of a sample in words that outlive its index, and a sample that resumes from it.
//!
//! Invariant: a tuple is written as the words of the query's rows behind it, so ids, numbers and the order of rows may differ
//! when they are read; equal rows are written as often as they are held. Cost: O(k) to write, O(N) to resume.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::context::{Code, Source};
use super::{QuerySample, Relations};
use crate::sample::{Counters, Predicate};
use crate::{Index, ReservoirState};

/// A sample without the rows of its tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SampleState {
    pub(crate) state: ReservoirState,
    pub(crate) met: Counters,
    /// By relation of the acyclic join: the tuples that are held.
    pub(crate) tuples: Vec<Tuples>,
    /// By result, which of these in each relation.
    pub(crate) results: Vec<u32>,
}

/// Tuples by the words behind each, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tuples {
    pub(crate) count: usize,
    pub(crate) words: Vec<u64>,
}

impl Relations {
    /// The words behind a tuple of the acyclic join, as words of relations' rows.
    pub(crate) fn words_of_tuple(&self, atom: usize) -> Vec<(usize, usize)> {
        let bag = match self.plan.sources[atom] {
            Source::Relation(relation) => {
                let columns = self.plan.atoms[atom].columns;
                return (0..columns).map(|word| (relation, word)).collect();
            }
            Source::Bag(bag) => bag,
        };
        let plan = &self.plan.bags[bag];
        let row = |input: usize, word: usize| match plan.inputs[input].source {
            Source::Relation(relation) => (relation, word),
            Source::Bag(_) => unreachable!("what is carried, or a whole row, is of a relation"),
        };
        let outer = (0..plan.outer).map(|variable| self.origin(bag, variable));
        let carried = plan.carried.iter();
        let carried =
            carried.map(|&(input, word)| row(input, plan.inputs[input].variables.len() + word));
        let mut all: Vec<(usize, usize)> = outer.chain(carried).collect();
        for code in &plan.codes {
            match *code {
                Code::Value(variable) => all.push(self.origin(bag, variable)),
                Code::Row(input) => all.extend((0..plan.width(input)).map(|word| row(input, word))),
            }
        }
        all
    }

    /// A relation that has a variable of a bag, and in which word.
    fn origin(&self, bag: usize, variable: usize) -> (usize, usize) {
        let found = self.plan.bags[bag].inputs.iter().find_map(|input| {
            let has = input.variables.iter().find(|(v, _)| *v == variable);
            has.map(|&(_, column)| (input.source, column))
        });
        match found {
            Some((Source::Relation(relation), column)) => (relation, column),
            Some((Source::Bag(inner), column)) => self.origin(inner, column),
            None => unreachable!("a variable is one of some input"),
        }
    }
}

impl<P: Predicate> QuerySample<P> {
    /// The state, between transactions.
    pub(crate) fn state(&self) -> SampleState {
        let atoms = self.sample.index().atoms();
        let mut tuples = vec![Tuples::default(); atoms];
        let mut known: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); atoms];
        let mut results = Vec::with_capacity(self.sample.len() * atoms);
        for result in self.sample.results() {
            for (atom, &tuple) in result.iter().enumerate() {
                let next = known[atom].len() as u32;
                results.push(*known[atom].entry(tuple).or_insert_with(|| {
                    tuples[atom].count += 1;
                    self.decode(atom, tuple, &mut tuples[atom].words);
                    next
                }));
            }
        }
        let (state, met) = (self.sample.state().clone(), self.sample.counters());
        SampleState {
            state,
            met,
            tuples,
            results,
        }
    }

    /// The words behind a tuple.
    fn decode(&self, atom: usize, tuple: u32, out: &mut Vec<u64>) {
        let row = self.sample.index().row(atom, tuple);
        match self.relations.plan.sources[atom] {
            Source::Relation(_) => out.extend(row),
            Source::Bag(bag) => self.bags[bag].decode(row, out),
        }
    }

    /// Resumes from the state of a sample of the same query over the same rows. None, and nothing has changed, if it is
    /// none.
    pub(crate) fn resume(&mut self, state: &SampleState) -> Option<()> {
        let atoms = self.sample.index().atoms();
        let all = usize::try_from(state.state.items())
            .ok()?
            .checked_mul(atoms)?;
        let sound = state.state.is_of(self.sample.state().k())
            && (state.tuples.len(), state.results.len()) == (atoms, all);
        if !sound {
            return None;
        }
        let tuples: Vec<Vec<u32>> = (0..atoms)
            .map(|atom| self.encode(atom, &state.tuples[atom]))
            .collect::<Option<_>>()?;
        let place = |(at, &nth): (usize, &u32)| tuples[at % atoms].get(nth as usize).copied();
        let results = state.results.iter().enumerate().map(place);
        let results: Vec<u32> = results.collect::<Option<_>>()?;
        let mut seen: Vec<&[u32]> = results.chunks(atoms).collect();
        seen.sort_unstable();
        let differ = seen.windows(2).all(|pair| pair[0] != pair[1]);
        if !differ || !results.chunks(atoms).all(|result| self.joins(result)) {
            return None;
        }
        self.sample
            .resume((state.state.clone(), state.met), results);
        Some(())
    }

    /// A tuple for each row by the words behind it.
    fn encode(&mut self, atom: usize, tuples: &Tuples) -> Option<Vec<u32>> {
        let width = self.relations.words_of_tuple(atom).len();
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
