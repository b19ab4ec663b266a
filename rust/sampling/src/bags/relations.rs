//! The relations of the acyclic join of a query, and the words of the query's rows in its results.
//!
//! Invariant: every word of a row of the query is found from a tuple of one relation of the acyclic join. Cost: that of a
//! plan, once.

use ringview_core::Result;
use ringview_query::graph::ghd::{Ghd, to_f64};

use super::Relation;
use super::context::{Code, Source};
use super::plan::{BagDescription, Plan};
use crate::{Atom, Index};

/// A reference to a word of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRef {
    /// The relation of the acyclic join.
    pub(super) atom: usize,
    pub(super) location: Location,
}

impl WordRef {
    /// The relation of the acyclic join whose tuple has it.
    #[must_use]
    pub fn atom(&self) -> usize {
        self.atom
    }

    /// The word of its row, where it is one.
    #[must_use]
    pub fn word(&self) -> Option<usize> {
        match self.location {
            Location::Word(word) => Some(word),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// A word of its row.
    Word(usize),
    /// The value, or a word of the row, of a code: the bag, the number of the code, and the word.
    Code(usize, usize, usize),
}

/// The relations of the acyclic join of a query.
#[derive(Clone, Debug)]
pub struct Relations {
    /// Number of the query's relations.
    pub(super) relations: usize,
    pub(super) plan: Plan,
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

    /// The bags.
    #[must_use]
    pub fn descriptions(&self) -> &[BagDescription] {
        &self.plan.descriptions
    }

    /// The largest number of rows of a bag or a relation, as a power of that of the query's.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.ghd().map_or(1.0, |ghd| to_f64(ghd.width))
    }

    /// The relations of the query that are relations of the acyclic join, and grouped.
    #[must_use]
    pub fn grouped(&self) -> Vec<usize> {
        let atoms = self.plan.atoms.iter().zip(&self.plan.sources);
        let of = atoms.filter_map(|(atom, source)| match source {
            Source::Relation(relation) if atom.grouped => Some(*relation),
            _ => None,
        });
        of.collect()
    }

    /// The reference to a word of a relation's rows in results.
    ///
    /// # Panics
    /// If there is no such relation.
    #[must_use]
    pub fn word_ref(&self, relation: usize, word: usize) -> WordRef {
        if let Some(atom) = self.plan.atom(Source::Relation(relation)) {
            let location = Location::Word(word);
            return WordRef { atom, location };
        }
        let (bag, input) = self.joined(relation);
        let atom = self.plan.atom(Source::Bag(bag)).unwrap_or_default();
        let plan = &self.plan.bags[bag];
        let code = |wanted: Code| plan.codes.iter().position(|code| *code == wanted);
        let variables = &plan.inputs[input].variables;
        let location = match variables.get(word) {
            Some(&(variable, _)) if variable < plan.outer => Location::Word(variable),
            Some(&(variable, _)) => match code(Code::Value(variable)) {
                Some(code) => Location::Code(bag, code, 0),
                None => self.in_row(bag, variable),
            },
            None => match plan
                .carried
                .iter()
                .position(|&of| of == (input, word - variables.len()))
            {
                Some(carried) => Location::Word(plan.outer + carried),
                None => Location::Code(bag, code(Code::Row(input)).unwrap_or_default(), word),
            },
        };
        WordRef { atom, location }
    }

    /// The bag and input of a relation that is no relation of the acyclic join: its rows are there as a whole.
    pub(super) fn joined(&self, relation: usize) -> (usize, usize) {
        let joins =
            |&(bag, _): &(usize, usize)| self.plan.descriptions[bag].joins.contains(&relation);
        let found = self
            .plan
            .readers(Source::Relation(relation))
            .into_iter()
            .find(joins);
        found.unwrap_or_else(|| unreachable!("a relation is in the join"))
    }

    /// A variable that is a word of the row of some input.
    fn in_row(&self, bag: usize, variable: usize) -> Location {
        let plan = &self.plan.bags[bag];
        let found = plan.codes.iter().enumerate().find_map(|(at, code)| {
            let &Code::Row(input) = code else { return None };
            let word = plan.inputs[input]
                .variables
                .iter()
                .position(|&(v, _)| v == variable)?;
            Some(Location::Code(bag, at, word))
        });
        found.unwrap_or_else(|| unreachable!("a variable is in a code, or in a row that is"))
    }
}
