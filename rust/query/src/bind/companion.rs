//! The views beside a view: MIN, MAX and COUNT(DISTINCT) are read from them, and categories.
//!
//! MIN and MAX have no inverse, so no ring payload keeps them under deletes. A companion is the
//! same join grouped by the groups and by the argument too, with a count: a value is in a group as
//! long as its key is in the companion. The one-hot block of a categorical feature is that too,
//! with the sums of the numeric features behind the count; that of two of them is grouped by both
//! (paper, section 7.2). Invariant: a companion's atoms are the view's, in the same order, so a
//! change of an atom is applied to both. Cost: what a view grouped by those columns more costs.

use datafusion_expr::lit;
use ringview_core::Result;

use crate::bind::aggregate::Aggregates;
use crate::bind::bound::{Bound, Companion, CompanionValue, PlanAtom, VarId};
use crate::bind::nested::Condition;
use crate::bind::predicate::all;
use crate::bind::scalar::Scope;
use crate::bind::variables::{ColumnPosition, Variables, variables};
use crate::logical::{ColumnRef, Function, Output};

/// Values that a companion has to hold.
pub(crate) struct Wanted<'a> {
    pub(crate) name: String,
    pub(crate) places: &'a [ColumnPosition],
    pub(crate) ordered: bool,
    /// Numeric columns to sum, as doubles; the view lets no row pass with NULL in one.
    pub(crate) sums: &'a [ColumnPosition],
}

/// A query whose atoms are bound, from which companions are derived.
pub(crate) struct Deriver<'a> {
    pub(crate) joins: &'a [Vec<ColumnRef>],
    pub(crate) groups: &'a [ColumnPosition],
    pub(crate) scopes: &'a [Scope<'a>],
    pub(crate) atoms: &'a [PlanAtom],
    pub(crate) inner: &'a [PlanAtom],
    pub(crate) condition: Option<&'a Condition>,
    pub(crate) variables: &'a Variables,
}

impl Deriver<'_> {
    /// The same join with no NULLs among the values, grouped by the groups and the values.
    pub(crate) fn derive(&self, wanted: &Wanted<'_>) -> Result<Companion<Bound>> {
        let mut kept = self.groups.to_vec();
        kept.extend_from_slice(wanted.places);
        let inner = variables(self.joins, &kept, self.scopes)?;
        let variable = |place: &ColumnPosition| inner.of[place];
        let mut groups: Vec<(VarId, VarId)> = Vec::new();
        for place in self.groups {
            let pair = (self.variables.of[place], variable(place));
            if !groups.contains(&pair) {
                groups.push(pair);
            }
        }
        let value = |place: &ColumnPosition| CompanionValue {
            ty: inner.key_type(*place, self.scopes),
            variable: variable(place),
        };
        let values = wanted.places.iter().map(value).collect();
        Ok(Companion {
            name: wanted.name.clone(),
            plan: self.bound(wanted, &kept, inner)?,
            groups,
            ordered: wanted.ordered,
            values,
        })
    }

    fn bound(
        &self,
        wanted: &Wanted<'_>,
        kept: &[ColumnPosition],
        inner: Variables,
    ) -> Result<Bound> {
        let mut atoms = self.atoms.to_vec();
        for place in wanted.places {
            let known = self.scopes[place.0].not_null(place.1);
            let filter = atoms[place.0].filter.take();
            let filter = all(filter.into_iter().chain([known]).collect());
            atoms[place.0].filter = (!filter.is_true()).then_some(filter);
        }
        let mut aggregates = Aggregates::new(self.scopes, &inner, wanted.sums);
        let named = |(at, place): (usize, &ColumnPosition)| Output::Group {
            name: at.to_string(),
            column: self.column(place),
        };
        let summed = |(at, place): (usize, &ColumnPosition)| Output::Aggregate {
            name: format!("sum {at}"),
            function: Function::Sum,
            // As a double.
            argument: Some((lit(1.0) * self.column(place).expr()).into()),
        };
        let sums = wanted.sums.iter().enumerate().map(summed);
        let outputs = kept.iter().enumerate().map(named).chain(sums);
        let outputs = outputs
            .map(|output| aggregates.output(&output))
            .collect::<Result<_>>()?;
        let terms = aggregates.terms;
        let mut bound = Bound {
            atoms,
            inner: self.inner.to_vec(),
            condition: self.condition.cloned(),
            variables: inner.all,
            terms,
            outputs,
            measures: Vec::new(),
            results: None,
            rows: None,
            bag: None,
            distinct: false,
            features: None,
            companions: Vec::new(),
            order: None,
            epsilons: Vec::new(),
        };
        bound.note_columns();
        Ok(bound)
    }

    fn column(&self, place: &ColumnPosition) -> ColumnRef {
        ColumnRef {
            atom: place.0,
            column: self.scopes[place.0].schema.fields()[place.1].name.clone(),
        }
    }
}
