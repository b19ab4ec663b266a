//! Conditions of nested queries, and the renaming of their columns.
//!
//! Invariant: a column of depth d, in a subquery that is nested d deep, is one of the rows of the outermost query. Cost:
//! O(size of the condition).

use ringview_core::Result;
use ringview_expr::Scalar;
use ringview_query::{Named, Query};

/// A condition, and the subqueries that it names by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct NestedPredicate {
    pub(super) conditions: Vec<Scalar>,
    pub(super) subqueries: Vec<Query>,
}

/// A column reference: how many levels further out its query is, its atom, and its name.
type Standing = (usize, usize, String);

type To<'t> = &'t dyn Fn(usize, usize, &str) -> Standing;

impl NestedPredicate {
    /// Appends others; their subqueries are numbered after its own.
    pub(super) fn append(&mut self, others: NestedPredicate) -> Result<()> {
        let by = self.subqueries.len();
        for one in others.conditions {
            self.conditions.push(numbered(one, by)?);
        }
        self.subqueries.extend(others.subqueries);
        Ok(())
    }

    /// The same with the numbers of the atoms increased.
    pub(super) fn shifted(&self, by: usize) -> Result<Self> {
        self.mapped(0, &|beyond, atom, name| {
            let by = if beyond == 0 { by } else { 0 };
            (beyond, atom + by, name.to_owned())
        })
    }

    /// The same over atoms whose columns have other names.
    pub(super) fn renamed(&self, names: &dyn Fn(usize, &str) -> String) -> Result<Self> {
        self.mapped(0, &|beyond, atom, name| {
            let name = match beyond {
                0 => names(atom, name),
                _ => name.to_owned(),
            };
            (beyond, atom, name)
        })
    }

    /// The same as a subquery names it: columns of here and around are one further out.
    pub(super) fn deepened(&self) -> Result<Self> {
        self.mapped(0, &|beyond, atom, name| (beyond + 1, atom, name.to_owned()))
    }

    fn mapped(&self, level: usize, to: To<'_>) -> Result<Self> {
        let conditions = self.conditions.iter().map(|one| mapped(one, level, to));
        let queries = self.subqueries.iter();
        let subqueries = queries.map(|query| mapped_query(query, level + 1, to));
        Ok(Self {
            conditions: conditions.collect::<Result<_>>()?,
            subqueries: subqueries.collect::<Result<_>>()?,
        })
    }

    /// The columns of the rows themselves that are read.
    pub(super) fn read(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for one in &self.conditions {
            note_columns(one, 0, &mut found);
        }
        for query in &self.subqueries {
            note_query(query, 1, &mut found);
        }
        found
    }
}

/// A condition with the numbers of its subqueries increased.
fn numbered(one: Scalar, by: usize) -> Result<Scalar> {
    if by == 0 {
        return Ok(one);
    }
    Named::renamed(&one, &mut |named| match named {
        Named::Subquery(number) => Some(Named::Subquery(number + by).expr()),
        Named::Column { .. } => None,
    })
}

/// A condition with the columns of the query at `level`, and of its outer queries, mapped by `to`.
fn mapped(one: &Scalar, level: usize, to: To<'_>) -> Result<Scalar> {
    Named::renamed(one, &mut |named| match named {
        Named::Column {
            depth,
            atom,
            column,
        } if depth >= level => {
            let (beyond, atom, column) = to(depth - level, atom, &column);
            let depth = beyond + level;
            let named = Named::Column {
                depth,
                atom,
                column,
            };
            Some(named.expr())
        }
        _ => None,
    })
}

fn mapped_query(query: &Query, level: usize, to: To<'_>) -> Result<Query> {
    let condition = query.condition.as_ref();
    let queries = query.subqueries.iter();
    let subqueries = queries.map(|one| mapped_query(one, level + 1, to));
    Ok(Query {
        condition: condition.map(|one| mapped(one, level, to)).transpose()?,
        subqueries: subqueries.collect::<Result<_>>()?,
        ..query.clone()
    })
}

fn note_query(query: &Query, level: usize, found: &mut Vec<(usize, String)>) {
    if let Some(condition) = &query.condition {
        note_columns(condition, level, found);
    }
    let subqueries = query.subqueries.iter();
    subqueries.for_each(|one| note_query(one, level + 1, found));
}

fn note_columns(of: &Scalar, level: usize, found: &mut Vec<(usize, String)>) {
    for named in of.columns().filter_map(Named::meant) {
        if let Named::Column {
            depth,
            atom,
            column,
        } = named
            && depth == level
        {
            found.push((atom, column));
        }
    }
}
