//! A checked query: atoms, variables, filters and outputs over terms numbered once for the whole query.
//!
//! Invariants: term 0 is the count, and the terms are distinct; whatever an output reads is a term, a
//! measure or a companion. The atoms of a companion are the query's, in the same order. Nothing here
//! says how it is maintained: each engine places the terms in a plan of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringview_core::{Error, Result, Schema, Type};
use serde::{Deserialize, Serialize};

use crate::bind::companion::Companion;
use crate::bind::computed::{Computed, Having};
use crate::bind::expr::{Expr, Kind, Predicate};
use crate::bind::features::Features;
use crate::bind::nested::{Where, each_read};
use crate::graph::hypergraph::Hypergraph;
use crate::graph::order::OrderNode;
use crate::graph::set::Set;
use crate::logical::{Function, Representation};

/// A variable's position in [`Bound::variables`].
pub type VarId = usize;

/// Where `bind` looks tables up.
pub trait Catalog {
    /// What is known of a table; `Error::UnknownTable` if there is none.
    fn table(&self, name: &str) -> Result<TableInfo>;
}

/// What planning needs to know of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    /// Its columns.
    pub schema: Arc<Schema>,
    /// Whether it never changes once a view reads it.
    pub is_static: bool,
    /// Roughly how many rows it has or will have, if known: relations with more rows change more.
    pub rows: Option<u64>,
    /// Columns of which no two rows agree.
    pub unique: Option<Vec<usize>>,
    /// Of a view: further columns, by name, that hold more than a value and cannot be read.
    pub cofactors: Vec<String>,
}

/// A checked query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The relations, one an occurrence.
    pub atoms: Vec<PlanAtom>,
    /// Those of queries within, in the order of their numbers, which go on from `atoms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<PlanAtom>,
    /// Which rows of the join take part, beyond equalities and filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Where>,
    /// The variables: join classes and group-by columns.
    pub variables: Vec<Variable>,
    /// The sums of products that outputs read; the first is the count.
    pub terms: Vec<Term>,
    /// The columns of the result.
    pub outputs: Vec<PlanOutput>,
    /// What computed columns and `having` read.
    pub measures: Vec<PlanOutput>,
    /// Which groups are rows of the result; all where absent.
    pub having: Option<Having>,
    /// How the rows of the join are kept, where the result is they and not groups.
    pub bag: Option<Representation>,
    /// Whether each row of a join that is kept factorised is there once.
    pub distinct: bool,
    /// The features of COFACTOR.
    pub features: Option<Features>,
    /// The values that MIN, MAX and COUNT(DISTINCT) are read from, a column each.
    pub companions: Vec<Companion<Bound>>,
    /// The variable order that the user gives, whole.
    pub order: Option<Vec<OrderNode>>,
    /// By atom: the exponent of the threshold of its heavy values, where the user gives one; empty where
    /// the query gives none.
    pub epsilons: Vec<Option<f64>>,
}

/// One occurrence of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanAtom {
    /// The table.
    pub table: String,
    /// The name under which the query speaks of it.
    pub alias: String,
    /// Which rows take part; all where absent. Holds also the equalities between columns of this
    /// atom that belong to one variable.
    pub filter: Option<Predicate>,
    /// The columns of the table that are read at all, ascending.
    pub columns: Vec<usize>,
    /// Nullable columns that join: a row with NULL in any of them is dropped.
    pub join_columns_not_null: Vec<usize>,
    /// Whether the table never changes once the view is there.
    pub is_static: bool,
    /// Columns of which no two rows of the table agree.
    pub unique: Option<Vec<usize>>,
    /// The columns of the table.
    pub schema: Arc<Schema>,
    /// Roughly how many rows it has, if that is known.
    pub rows: Option<u64>,
}

/// A variable of the query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// The name of its first column; with the alias where two variables would share a name.
    pub name: String,
    /// (atom, table column), one for each atom that has the variable, by atom. Where an atom has
    /// two columns in the class, the first stands for both and the atom's filter equates them.
    pub columns: Vec<(usize, usize)>,
    /// Further columns of its atoms that are equal to those.
    pub others: Vec<(usize, usize)>,
    /// A type that holds the values of all its columns. Equal values have equal words in all.
    pub ty: Type,
    /// Whether it may be NULL: only where it does not join.
    pub nullable: bool,
    /// Whether the result is grouped by it; else it is bound, and marginalised.
    pub free: bool,
}

/// A sum over the rows of the join: a coefficient times factors of its atoms, 0 where a column that
/// must not be NULL is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// What kind of number the sum is.
    pub kind: Kind,
    /// A constant.
    pub coefficient: Expr,
    /// By atom: an expression over its columns; 1 where absent.
    pub factors: BTreeMap<usize, Expr>,
    /// By atom: columns that must not be NULL, ascending.
    pub not_null: BTreeMap<usize, Vec<usize>>,
}

impl Term {
    /// The number of rows.
    #[must_use]
    pub fn rows() -> Self {
        Self {
            kind: Kind::Int,
            coefficient: Expr::int(1),
            factors: BTreeMap::new(),
            not_null: BTreeMap::new(),
        }
    }
}

/// What a row of an atom contributes to a term, beside its multiplicity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Columns that must not be NULL, ascending; else the factor is 0.
    pub not_null: Vec<usize>,
    /// An expression over the columns of the atom; 1 where absent.
    pub value: Option<Expr>,
}

/// One column of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanOutput {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub kind: OutputKind,
}

/// Where a column of the result comes from. Its numbers are terms of the query: an engine says where
/// each of them stands in its payloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OutputKind {
    /// A free variable.
    Group {
        /// Which.
        variable: VarId,
    },
    /// The sum of the terms; NULL where `nonnull` is 0.
    Sum {
        /// The terms to add, all of one kind.
        terms: Vec<usize>,
        /// How many rows had a value.
        nonnull: usize,
    },
    /// What that sum lacks once it is a double; NULL where `nonnull` is 0.
    SumRest {
        /// The terms to add, all of one kind.
        terms: Vec<usize>,
        /// How many rows had a value.
        nonnull: usize,
    },
    /// The whole degree-m payload: counts, sums and sums of products of the features.
    Cofactor,
    /// A count.
    Count {
        /// The term that counts.
        term: usize,
    },
    /// The sum of the terms divided by `nonnull`; NULL where that is 0.
    Avg {
        /// The terms to add, all of one kind.
        terms: Vec<usize>,
        /// How many rows had a value.
        nonnull: usize,
    },
    /// A variance, covariance, correlation or regression.
    Statistic {
        /// Which.
        function: Function,
        /// What it is computed from.
        moments: Moments,
    },
    /// The least or the greatest value; NULL where there is none.
    Extreme {
        /// Which companion holds the values.
        companion: usize,
        /// The greatest, not the least.
        greatest: bool,
    },
    /// How many different values there are.
    Distinct {
        /// Which companion holds the values.
        companion: usize,
    },
    /// Computed from the plan's measures.
    Computed {
        /// How.
        value: Computed,
    },
}

/// Counts, sums and sums of products over the rows where no argument is NULL. Each sum is a list of
/// terms to add; what a function does not need is empty. Where the arguments are exact, so are
/// these, and products of integers are Decimal of scale 0, which has room for squares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// How many rows.
    pub count: usize,
    /// Sum of x.
    pub x: Vec<usize>,
    /// Sum of y.
    pub y: Vec<usize>,
    /// Sum of x squared.
    pub xx: Vec<usize>,
    /// Sum of x times y.
    pub xy: Vec<usize>,
    /// Sum of y squared.
    pub yy: Vec<usize>,
}

impl Variable {
    /// Whether a column of an atom has its value.
    #[must_use]
    pub fn holds(&self, place: (usize, usize)) -> bool {
        self.columns.contains(&place) || self.others.contains(&place)
    }
}

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
            each_read(condition, 0..outer, &mut |atom, column| {
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

    /// What the rows of an atom contribute to each term, in their order, where each factor stands at its
    /// own atom and coefficients at the first.
    ///
    /// # Errors
    /// `Overflow` where a coefficient has no number.
    pub fn factors(&self, atom: usize) -> Result<Vec<Option<Factor>>> {
        let factor = |term: &Term| {
            let mut value = term.factors.get(&atom).cloned();
            if atom == 0 && !term.coefficient.is_one() {
                let own = value.unwrap_or(Expr::int(1));
                value = Some(term.coefficient.clone().multiply(own)?);
            }
            let not_null = term.not_null.get(&atom).cloned().unwrap_or_default();
            Ok(Some(Factor { not_null, value }))
        };
        self.terms.iter().map(factor).collect()
    }

    /// The atoms of the query and of those within it, by their numbers: those that join, then the others. A change of
    /// the rows of an atom goes by that number.
    pub fn all_atoms(&self) -> impl Iterator<Item = &PlanAtom> {
        self.atoms.iter().chain(&self.inner)
    }

    /// Whether its condition compares with queries within.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        let mut nested = false;
        if let Some(condition) = &self.condition {
            condition.each_query(&mut |_| nested = true);
        }
        nested
    }

    /// Refuses a condition, for an engine (or what one makes) that knows equalities and filters alone.
    ///
    /// # Errors
    /// `Unsupported` where there is one.
    pub fn refuse_condition(&self, who: &str) -> Result<()> {
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
    // A variable stands for a unique column only through the column that is its own.
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
