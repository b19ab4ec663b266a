//! The relations of the acyclic join that a query is kept as, and where the words of its rows stand in results.
//!
//! Invariant: every word of a row of the query is found from a tuple of one relation of the acyclic join. Cost:
//! that of a plan, once.

use ringview_core::Result;
use ringview_query::graph::ghd::{Ghd, to_f64};

use super::Relation;
use super::ground::{Code, Source};
use super::plan::{Plan, Told};
use crate::{Atom, Index};

/// Where a word of a result is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The relation of the acyclic join.
    pub(super) atom: usize,
    pub(super) what: What,
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
pub(super) enum What {
    /// A word of its row.
    Word(usize),
    /// The value, or a word of the row, behind a code: the bag, the place of the code, and the word.
    Code(usize, usize, usize),
}

/// The relations of the acyclic join that a query is kept as.
#[derive(Clone, Debug)]
pub struct Relations {
    /// How many the query has.
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

    /// What each bag is.
    #[must_use]
    pub fn told(&self) -> &[Told] {
        &self.plan.told
    }

    /// The largest number of rows of a bag or a relation, as a power of that of the query's.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.ghd().map_or(1.0, |ghd| to_f64(ghd.width))
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
                Some(code) => What::Code(bag, code, 0),
                None => self.behind(bag, variable),
            },
            None => match plan
                .carried
                .iter()
                .position(|&of| of == (part, word - variables.len()))
            {
                Some(carried) => What::Word(plan.outer + carried),
                None => What::Code(bag, code(Code::Row(part)).unwrap_or_default(), word),
            },
        };
        Place { atom, what }
    }

    /// The part of a bag that a relation is which is no relation of the acyclic join: its rows are there as a whole.
    pub(super) fn joined(&self, relation: usize) -> (usize, usize) {
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
            Some(What::Code(bag, at, word))
        });
        found.unwrap_or_else(|| unreachable!("a variable is in a code, or in a row that is"))
    }
}
