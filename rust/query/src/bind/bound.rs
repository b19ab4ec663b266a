//! A checked query: atoms, variables, filters and outputs over terms numbered once for the whole
//! query.
//!
//! Invariants: term 0 is the count, and the terms are distinct; whatever an output reads is a term,
//! a measure or a companion. The atoms of a companion are the query's, in the same order. Nothing
//! here says how it is maintained: each engine places the terms in a plan of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::{Result, Schema, Type};

use crate::bind::computed::Results;
use crate::bind::nested::Condition;
use crate::bind::polynomial::{Kind, Polynomial, Predicate};
use crate::graph::order::OrderNode;
use crate::logical::{Function, Representation, Rows};

/// A variable's position in [`Bound::variables`].
pub type VarId = usize;

/// Catalog in which `bind` looks tables up.
pub trait Catalog {
    /// Description of a table; `Error::UnknownTable` if there is none.
    fn table(&self, name: &str) -> Result<TableInfo>;
}

/// Description of a table for planning.
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    /// Its columns.
    pub schema: Arc<Schema>,
    /// Whether it never changes once a view reads it.
    pub is_static: bool,
    /// Whether a row may be read with a negative count, which cancels one that was read before it.
    pub cancels: bool,
    /// Roughly how many rows it has or will have, if known: relations with more rows change more.
    pub rows: Option<u64>,
    /// Columns of which no two rows agree.
    pub unique: Option<Vec<usize>>,
    /// Of a view: further columns, by name, that hold more than a value and cannot be read.
    pub cofactors: Vec<String>,
}

/// A checked query.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The relations, one an occurrence.
    pub atoms: Vec<PlanAtom>,
    /// Atoms of subqueries, in the order of their numbers, which continue those of `atoms`.
    pub inner: Vec<PlanAtom>,
    /// Condition on the rows of the join, beyond equalities and filters.
    pub condition: Option<Condition>,
    /// The variables: join classes and group-by columns.
    pub variables: Vec<Variable>,
    /// The sums of products that outputs read; the first is the count.
    pub terms: Vec<Term>,
    /// The columns of the result.
    pub outputs: Vec<PlanOutput>,
    /// Measures that `results` reads.
    pub measures: Vec<PlanOutput>,
    /// Columns that are computed of groups, and which groups are rows of the result; all where absent.
    pub results: Option<Results>,
    /// Row-by-row computation, where the query is no join.
    pub rows: Option<Rows>,
    /// Representation of the rows of the join, where they and not groups are the result.
    pub bag: Option<Representation>,
    /// Whether each row of a join that is kept factorised is there once.
    pub distinct: bool,
    /// The features of COFACTOR.
    pub features: Option<Features>,
    /// The values that MIN, MAX and COUNT(DISTINCT) are read from, a column each.
    pub companions: Vec<Companion<Bound>>,
    /// The variable order that the user gives, whole.
    pub order: Option<Vec<OrderNode>>,
    /// By atom: the exponent of the threshold of its heavy values, where the user gives one; empty
    /// where the query gives none.
    pub epsilons: Vec<Option<f64>>,
}

/// One occurrence of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanAtom {
    /// The table.
    pub table: String,
    /// The name under which the query speaks of it.
    pub alias: String,
    /// Condition on the rows that take part; all where absent. Holds also the equalities between
    /// columns of this atom that belong to one variable.
    pub filter: Option<Predicate>,
    /// The columns of the table that are read at all, ascending.
    pub columns: Vec<usize>,
    /// Nullable columns that join: a row with NULL in any of them is dropped.
    pub join_columns_not_null: Vec<usize>,
    /// Whether the table never changes once the view is there.
    pub is_static: bool,
    /// As of [`TableInfo`].
    pub cancels: bool,
    /// Columns of which no two rows of the table agree.
    pub unique: Option<Vec<usize>>,
    /// The columns of the table.
    pub schema: Arc<Schema>,
    /// Roughly how many rows it has, if that is known.
    pub rows: Option<u64>,
}

/// A variable of the query.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The name of its first column; with the alias where two variables would share a name.
    pub name: String,
    /// (atom, table column), one for each atom that has the variable, by atom. If an atom has two
    /// columns in the class, the first represents both and the atom's filter equates them.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Kind of number of the sum.
    pub kind: Kind,
    /// A constant.
    pub coefficient: Polynomial,
    /// By atom: an expression over its columns; 1 where absent.
    pub factors: BTreeMap<usize, Polynomial>,
    /// By atom: columns that must not be NULL, ascending.
    pub not_null: BTreeMap<usize, Vec<usize>>,
}

impl Term {
    /// The number of rows.
    #[must_use]
    pub fn rows() -> Self {
        Self {
            kind: Kind::Int,
            coefficient: Polynomial::int(1),
            factors: BTreeMap::new(),
            not_null: BTreeMap::new(),
        }
    }
}

/// Contribution of a row of an atom to a term, besides its multiplicity.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Columns that must not be NULL, ascending; else the factor is 0.
    pub not_null: Vec<usize>,
    /// An expression over the columns of the atom; 1 where absent.
    pub value: Option<Polynomial>,
}

/// One column of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOutput {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Source of the column.
    pub kind: OutputKind,
}

/// Source of a column of the result. Its numbers are terms of the query: an engine maps each to a
/// field of its payloads.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputKind {
    /// A free variable.
    Group {
        /// The variable.
        variable: VarId,
    },
    /// The sum of the terms; NULL where `nonnull` is 0.
    Sum {
        /// The terms to add, all of one kind.
        terms: Vec<usize>,
        /// The term that counts rows with a value.
        nonnull: usize,
    },
    /// Exact sum of the terms less its rounding to a double; NULL where `nonnull` is 0.
    SumRest {
        /// The terms to add, all of one kind.
        terms: Vec<usize>,
        /// The term that counts rows with a value.
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
        /// The term that counts rows with a value.
        nonnull: usize,
    },
    /// A variance, covariance, correlation or regression.
    Statistic {
        /// The function.
        function: Function,
        /// The terms that it is computed from.
        moments: Moments,
    },
    /// The least or the greatest value; NULL where there is none.
    Extreme {
        /// The companion that holds the values.
        companion: usize,
        /// The greatest, not the least.
        greatest: bool,
    },
    /// Number of different values.
    Distinct {
        /// The companion that holds the values.
        companion: usize,
    },
    /// Computed from one row of what the query reads.
    Row {
        /// Whether it may be NULL.
        nullable: bool,
    },
    /// Computed from the plan's measures.
    Computed {
        /// Position among the columns of its results.
        column: usize,
    },
}

/// Counts, sums and sums of products over the rows where no argument is NULL. Each sum is a list of
/// terms to add; those that a function does not need are empty. If the arguments are exact, so are
/// these, and products of integers are Decimal of scale 0, which is wide enough for squares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// The term that counts the rows.
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

/// A view that holds the values of one column, or of some together, by group: as it is bound, or as
/// an engine plans it.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion<P> {
    /// The columns, for people.
    pub name: String,
    /// Its plan. Its outputs are the groups, the values, then sums, if there are any.
    pub plan: P,
    /// The free variables of the view, each with its variable in `plan`.
    pub groups: Vec<(VarId, VarId)>,
    /// Whether its values are read in their order; for COUNT(DISTINCT) alone they need none.
    pub ordered: bool,
    /// The values, never NULL.
    pub values: Vec<CompanionValue>,
}

/// A column whose values a companion holds.
#[derive(Clone, Debug, PartialEq)]
pub struct CompanionValue {
    /// Its type.
    pub ty: Type,
    /// The variable in the companion's plan that holds them. It may be one of the groups.
    pub variable: VarId,
}

impl<P> Companion<P> {
    /// The same, planned otherwise.
    ///
    /// # Errors
    /// Those of `plan`.
    pub fn map<Q>(self, plan: impl FnOnce(P) -> Result<Q>) -> Result<Companion<Q>> {
        Ok(Companion {
            name: self.name,
            plan: plan(self.plan)?,
            groups: self.groups,
            ordered: self.ordered,
            values: self.values,
        })
    }
}

/// The features of a COFACTOR.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// The names of the numeric ones.
    pub names: Vec<String>,
    /// Their columns, as (atom, column).
    pub numeric: Vec<(usize, usize)>,
    /// The columns of the categorical ones.
    pub categorical: Vec<(usize, usize)>,
    /// The categorical ones: counts and sums of the numeric ones, by category.
    pub categories: Vec<Companion<Bound>>,
    /// Counts by pair of categories of two of them, by their positions.
    pub pairs: Vec<CategoryPair<Bound>>,
}

/// Two categorical features.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryPair<P> {
    /// The first, by its position among the categorical features.
    pub left: usize,
    /// The second.
    pub right: usize,
    /// Its counts.
    pub counts: Companion<P>,
}

impl Features {
    /// Every companion: a categorical feature each, then a pair each.
    pub fn companions(&self) -> impl Iterator<Item = &Companion<Bound>> {
        let pairs = self.pairs.iter().map(|pair| &pair.counts);
        self.categories.iter().chain(pairs)
    }
}
