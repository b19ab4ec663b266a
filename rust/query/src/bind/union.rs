//! Queries over one join, combined: with the same groups, one query that has the terms of all of them; with other
//! groups, whether it is one join.
//!
//! Invariant: the union has the atoms, filters, variables and groups of each, and the terms of all, each once, the
//! count first; so each of them is read from its groups, by terms alone. The union has no outputs of its own: HAVING,
//! computed columns and names stay with each query. Queries with MIN, MAX, COUNT(DISTINCT) and COFACTOR are excluded,
//! since these are no sums. Cost: O(terms of both) comparisons a query.

use super::bound::{Bound, Moments, OutputKind, PlanAtom, PlanOutput, Variable};

impl Bound {
    /// Whether its result is read from groups of sums alone, which may be those of other queries too.
    #[must_use]
    pub fn is_sums(&self) -> bool {
        self.condition.is_none()
            && self.inner.is_empty()
            && self.rows.is_none()
            && self.bag.is_none()
            && self.features.is_none()
            && self.companions.is_empty()
    }

    /// Whether another query has the same join and the same groups, over the same tables.
    #[must_use]
    pub fn joins_as(&self, other: &Self) -> bool {
        let mut atoms = self.atoms.iter().zip(&other.atoms);
        let mut variables = self.variables.iter().zip(&other.variables);
        self.is_sums()
            && other.is_sums()
            && self.atoms.len() == other.atoms.len()
            && self.variables.len() == other.variables.len()
            && self.order == other.order
            && self.epsilons == other.epsilons
            && atoms.all(|(one, other)| is_same_atom(one, other))
            && variables.all(|(one, other)| is_same_variable(one, other))
    }

    /// Whether another query is over the same join, whatever its groups: then both may have inner views in common. Not
    /// where the user orders the variables of one.
    #[must_use]
    pub fn joins_like(&self, other: &Self) -> bool {
        let mut atoms = self.atoms.iter().zip(&other.atoms);
        let joined = |query: &Self| -> Vec<Variable> {
            let joined = query.variables.iter();
            let joined = joined.filter(|variable| variable.columns.len() > 1);
            joined
                .map(|variable| Variable {
                    free: false,
                    ..variable.clone()
                })
                .collect()
        };
        let (one, two) = (joined(self), joined(other));
        self.is_sums()
            && other.is_sums()
            && self.atoms.len() == other.atoms.len()
            && self.order.is_none()
            && other.order.is_none()
            && self.epsilons == other.epsilons
            && atoms.all(|(one, other)| is_same_atom(one, other))
            && one.len() == two.len()
            && one
                .iter()
                .all(|one| two.iter().any(|other| is_same_variable(one, other)))
    }

    /// Shows groups at the most, for what is shown of the terms is the affair of others.
    pub fn output_groups(&mut self) {
        let is_group = |output: &PlanOutput| matches!(output.kind, OutputKind::Group { .. });
        if !self.outputs.iter().all(is_group) {
            self.outputs.clear();
        }
        self.measures.clear();
        self.results = None;
    }

    /// Takes in the terms of a query that [joins as](Self::joins_as) it, and shows groups at the most.
    pub fn take_in(&mut self, other: &Self) {
        if other.terms.len() > 1 {
            self.outputs.clear();
        }
        self.output_groups();
        for term in &other.terms {
            if !self.terms.contains(term) {
                self.terms.push(term.clone());
            }
        }
        self.note_columns();
    }

    /// Keeps the terms that are marked.
    pub fn retain_terms(&mut self, read: &[bool]) {
        let mut marks = read.iter();
        self.terms.retain(|_| marks.next() == Some(&true));
        self.note_columns();
    }

    /// Positions of its terms among those of another query; `None` if one is missing.
    #[must_use]
    pub fn terms_in(&self, other: &Self) -> Option<Vec<usize>> {
        let place = |term| other.terms.iter().position(|one| one == term);
        self.terms.iter().map(place).collect()
    }
}

impl PlanOutput {
    /// The same, with its terms at other positions.
    #[must_use]
    pub fn renumbered(&self, terms: &[usize]) -> Self {
        Self {
            kind: self.kind.renumbered(terms),
            ..self.clone()
        }
    }
}

impl OutputKind {
    fn renumbered(&self, to: &[usize]) -> Self {
        let all = |terms: &[usize]| -> Vec<usize> { terms.iter().map(|&term| to[term]).collect() };
        match self.clone() {
            Self::Sum { terms, nonnull } => Self::Sum {
                terms: all(&terms),
                nonnull: to[nonnull],
            },
            Self::SumRest { terms, nonnull } => Self::SumRest {
                terms: all(&terms),
                nonnull: to[nonnull],
            },
            Self::Avg { terms, nonnull } => Self::Avg {
                terms: all(&terms),
                nonnull: to[nonnull],
            },
            Self::Count { term } => Self::Count { term: to[term] },
            Self::Statistic { function, moments } => Self::Statistic {
                function,
                moments: Moments {
                    count: to[moments.count],
                    x: all(&moments.x),
                    y: all(&moments.y),
                    xx: all(&moments.xx),
                    xy: all(&moments.xy),
                    yy: all(&moments.yy),
                },
            },
            same @ (Self::Group { .. }
            | Self::Cofactor
            | Self::Extreme { .. }
            | Self::Distinct { .. }
            | Self::Row { .. }
            | Self::Computed { .. }) => same,
        }
    }
}

/// Whether the same rows take part; names aside, and the columns that are summed.
fn is_same_atom(one: &PlanAtom, other: &PlanAtom) -> bool {
    one.filter == other.filter
        && one.join_columns_not_null == other.join_columns_not_null
        && one.is_static == other.is_static
        && one.unique == other.unique
        && one.schema == other.schema
}

/// Whether both are the same columns; the name aside.
fn is_same_variable(one: &Variable, other: &Variable) -> bool {
    one.columns == other.columns
        && one.others == other.others
        && one.ty == other.ty
        && one.nullable == other.nullable
        && one.free == other.free
}
