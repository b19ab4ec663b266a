//! What a condition on the rows of a join compares: values that may be queries themselves (RPAI
//! paper, 4.1).
//!
//! Invariant, checked when it is bound: a query within shows one aggregate, or one expression over
//! aggregates, and has no groups, so it is one value. It may name columns of the queries around it,
//! so many queries further out. The atoms of a query and of all within it have one numbering: its
//! own, then those of each query within, as the condition names them from left to right.

use super::{Atom, Compared, Condition, Query, Scalar};

impl Compared {
    /// The same over columns of the query itself alone, if it is that.
    #[must_use]
    pub fn scalar(&self) -> Option<Scalar> {
        let both = |left: &Compared, right: &Compared| {
            Some((left.scalar()?.into(), right.scalar()?.into()))
        };
        Some(match self {
            Compared::Column {
                depth: 0,
                atom,
                column,
            } => Scalar::Column {
                atom: *atom,
                column: column.clone(),
            },
            Compared::Literal { value } => Scalar::Literal {
                value: value.clone(),
            },
            Compared::Add { left, right } => {
                let (left, right) = both(left, right)?;
                Scalar::Add { left, right }
            }
            Compared::Subtract { left, right } => {
                let (left, right) = both(left, right)?;
                Scalar::Subtract { left, right }
            }
            Compared::Multiply { left, right } => {
                let (left, right) = both(left, right)?;
                Scalar::Multiply { left, right }
            }
            Compared::Negate { operand } => Scalar::Negate {
                operand: operand.scalar()?.into(),
            },
            Compared::Column { .. } | Compared::Divide { .. } | Compared::Query { .. } => {
                return None;
            }
        })
    }

    /// Calls `see` with the queries in it, but not with those within them.
    pub fn each_query<'a>(&'a self, see: &mut dyn FnMut(&'a Query)) {
        match self {
            Compared::Column { .. } | Compared::Literal { .. } => {}
            Compared::Add { left, right }
            | Compared::Subtract { left, right }
            | Compared::Multiply { left, right }
            | Compared::Divide { left, right } => {
                left.each_query(see);
                right.each_query(see);
            }
            Compared::Negate { operand } => operand.each_query(see),
            Compared::Query { query } => see(query),
        }
    }
}

impl<S> Condition<S> {
    /// The same over other operands; `None` where there is none for one of them.
    pub fn try_map<T>(&self, make: &mut dyn FnMut(&S) -> Option<T>) -> Option<Condition<T>> {
        Some(match self {
            Condition::Compare {
                comparison,
                left,
                right,
            } => Condition::Compare {
                comparison: *comparison,
                left: make(left)?,
                right: make(right)?,
            },
            Condition::In { operand, list } => Condition::In {
                operand: make(operand)?,
                list: list.clone(),
            },
            Condition::Like {
                operand,
                pattern,
                escape,
                insensitive,
            } => Condition::Like {
                operand: make(operand)?,
                pattern: pattern.clone(),
                escape: *escape,
                insensitive: *insensitive,
            },
            Condition::IsNull { operand } => Condition::IsNull {
                operand: make(operand)?,
            },
            Condition::And { operands } => Condition::And {
                operands: operands
                    .iter()
                    .map(|one| one.try_map(make))
                    .collect::<Option<_>>()?,
            },
            Condition::Or { operands } => Condition::Or {
                operands: operands
                    .iter()
                    .map(|one| one.try_map(make))
                    .collect::<Option<_>>()?,
            },
            Condition::Not { operand } => Condition::Not {
                operand: Box::new(operand.try_map(make)?),
            },
            Condition::Constant { value } => Condition::Constant { value: *value },
        })
    }

    /// Calls `see` with everything that is compared, from left to right.
    pub fn each_operand<'a>(&'a self, see: &mut dyn FnMut(&'a S)) {
        match self {
            Condition::Compare { left, right, .. } => {
                see(left);
                see(right);
            }
            Condition::In { operand, .. }
            | Condition::Like { operand, .. }
            | Condition::IsNull { operand } => see(operand),
            Condition::And { operands } | Condition::Or { operands } => {
                operands
                    .iter()
                    .for_each(|operand| operand.each_operand(see));
            }
            Condition::Not { operand } => operand.each_operand(see),
            Condition::Constant { .. } => {}
        }
    }
}

impl Query {
    /// The queries that its condition compares, without those within them.
    #[must_use]
    pub fn within(&self) -> Vec<&Query> {
        let mut within = Vec::new();
        if let Some(condition) = &self.condition {
            condition.each_operand(&mut |one| one.each_query(&mut |query| within.push(query)));
        }
        within
    }

    /// Its atoms and those of all queries within it, by their numbers.
    #[must_use]
    pub fn all_atoms(&self) -> Vec<&Atom> {
        let within = self.within();
        let inner = within.into_iter().flat_map(Query::all_atoms);
        self.atoms.iter().chain(inner).collect()
    }
}
