//! Columns of its tables that a bound query reads, the factors that it multiplies, and its
//! hypergraph.
//!
//! Invariant: a column that nothing reads is in no relation. Cost: linear in the query.

use std::collections::BTreeSet;

use ringview_core::{Error, Result};

use crate::bind::bound::{Bound, Factor, Features, PlanAtom, Term, Variable};
use crate::bind::nested::each_read;
use crate::bind::polynomial::Polynomial;
use crate::graph::hypergraph::Hypergraph;
use crate::graph::set::Set;

impl Bound {
    /// Notes for each atom which of its columns are read at all.
    pub(crate) fn note_columns(&mut self) {
        let outer = self.atoms.len();
        let mut read: Vec<BTreeSet<usize>> = (0..outer).map(|id| self.columns_read(id)).collect();
        for atom in &self.inner {
            let mut columns: BTreeSet<usize> = atom.join_columns_not_null.iter().copied().collect();
            if let Some(filter) = &atom.filter {
                filter.each_column(&mut |column| {
                    columns.insert(column);
                });
            }
            read.push(columns);
        }
        if let Some(condition) = &self.condition {
            let own: Vec<usize> = (0..outer).collect();
            each_read(condition, &own, &mut |atom, column| {
                read[atom].insert(column);
            });
        }
        let atoms = self.atoms.iter_mut().chain(&mut self.inner);
        for (atom, columns) in atoms.zip(read) {
            atom.columns = columns.into_iter().collect();
        }
    }

    fn columns_read(&self, id: usize) -> BTreeSet<usize> {
        let atom = &self.atoms[id];
        let mut columns: BTreeSet<usize> = atom.join_columns_not_null.iter().copied().collect();
        let own = self.variables.iter().flat_map(|v| &v.columns);
        columns.extend(own.filter(|(of, _)| *of == id).map(|(_, column)| *column));
        let mut see = |column: usize| {
            columns.insert(column);
        };
        if let Some(filter) = &atom.filter {
            filter.each_column(&mut see);
        }
        for term in &self.terms {
            term.not_null
                .get(&id)
                .into_iter()
                .flatten()
                .for_each(|column| see(*column));
            if let Some(factor) = term.factors.get(&id) {
                factor.each_column(&mut see);
            }
        }
        let features = self.features.iter();
        for feature in features
            .clone()
            .flat_map(|f| &f.numeric)
            .filter(|place| place.0 == id)
        {
            see(feature.1);
        }
        let beside = features
            .flat_map(Features::companions)
            .chain(&self.companions);
        for companion in beside {
            companion.plan.atoms[id]
                .columns
                .iter()
                .for_each(|column| see(*column));
        }
        columns
    }

    /// Contribution of the rows of an atom to each term, in their order; each factor belongs to its
    /// own atom, and coefficients to the first.
    ///
    /// # Errors
    /// `Overflow` where a coefficient has no number.
    pub fn factors(&self, atom: usize) -> Result<Vec<Option<Factor>>> {
        let factor = |term: &Term| {
            let mut value = term.factors.get(&atom).cloned();
            if atom == 0 && !term.coefficient.is_one() {
                let own = value.unwrap_or(Polynomial::int(1));
                value = Some(term.coefficient.clone().multiply(own)?);
            }
            let not_null = term.not_null.get(&atom).cloned().unwrap_or_default();
            Ok(Some(Factor { not_null, value }))
        };
        self.terms.iter().map(factor).collect()
    }

    /// The atoms of the query and of those within it, by their numbers: those that join, then the
    /// others. A change of the rows of an atom is addressed by that number.
    pub fn all_atoms(&self) -> impl Iterator<Item = &PlanAtom> {
        self.atoms.iter().chain(&self.inner)
    }

    /// Whether its condition compares with queries within.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        let mut nested = false;
        if let Some(condition) = &self.condition {
            condition.blocks(&mut |_| nested = true);
        }
        nested
    }

    /// Refuses a condition, for an engine (or a part of one) that supports equalities and filters
    /// alone.
    ///
    /// # Errors
    /// `Unsupported` where there is one.
    pub fn refuse_condition(&self, who: &str) -> Result<()> {
        if self.rows.is_some() {
            return Err(Error::Unsupported {
                what: "a query that computes row by row".to_owned(),
                why: format!("{who} joined by equality"),
                instead: "leave engine= out".to_owned(),
            });
        }
        if self.condition.is_none() {
            return Ok(());
        }
        let (what, instead) = match self.is_nested() {
            true => (
                "a subquery in a condition",
                "leave engine= out, so that an engine takes it that knows subqueries; or read the \
                 subquery in FROM, joined by equality",
            ),
            false => (
                "a condition that compares columns of two tables",
                "join in a subquery that shows the columns, and put the condition around it: \
                 FROM (SELECT .. FROM .. JOIN ..) AS q WHERE ..",
            ),
        };
        Err(Error::Unsupported {
            what: what.to_owned(),
            why: format!(
                "{who} joined by equality, and rows that tell by themselves whether they take part"
            ),
            instead: instead.to_owned(),
        })
    }

    /// The query's hypergraph.
    #[must_use]
    pub fn graph(&self) -> Hypergraph {
        hypergraph(&self.atoms, &self.variables)
    }
}

/// The hypergraph of some atoms over their variables.
#[must_use]
pub fn hypergraph(atoms: &[PlanAtom], variables: &[Variable]) -> Hypergraph {
    let of = |variable: &Variable| variable.columns.iter().map(|(atom, _)| *atom).collect();
    let free = |id: &usize| variables[*id].free;
    let changes = |id: &usize| !atoms[*id].is_static;
    // A variable represents a unique column only through the column that is its own.
    let variable = |atom: usize, column: usize| {
        let stands = |v: &Variable| v.columns.contains(&(atom, column));
        variables.iter().position(stands)
    };
    let determinant = |(id, atom): (usize, &PlanAtom)| -> Option<Set> {
        let unique = atom.unique.as_ref()?.iter();
        unique.map(|column| variable(id, *column)).collect()
    };
    Hypergraph::new(
        variables.iter().map(of).collect(),
        (0..variables.len()).filter(free).collect(),
        (0..atoms.len()).filter(changes).collect(),
        atoms.iter().enumerate().map(determinant).collect(),
    )
}
