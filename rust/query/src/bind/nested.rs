//! Conditions on the rows of a join that compare values with aggregates of queries within (RPAI
//! paper, 4.1).
//!
//! A [`Where`] is over columns of its own query and of those around it. Invariant: it is TRUE for
//! exactly the rows that SQL chooses; what is FALSE and what is unknown are not told apart, so NOT
//! is gone, pushed down to the comparisons. Both sides of a comparison have one meaning (numbers,
//! days, ticks of one unit, Booleans, words of strings), exact where neither is a double. NULL
//! meets NULL: an aggregate of nothing but a count, and a quotient by zero, are NULL, and no
//! comparison with NULL is TRUE. Cost: none; this is data.

use std::ops::Range;

use ringview_core::Type;

use crate::bind::expr::{Comparison, Constant, Kind, Predicate};

/// Which rows of a join are chosen: those for which it is TRUE.
#[derive(Clone, Debug, PartialEq)]
pub enum Where {
    /// Both sides are numbers, or words of strings, which are compared by `=` and `<>` alone; not
    /// TRUE if either is NULL.
    Compare {
        /// Which comparison.
        comparison: Comparison,
        /// Left operand.
        left: Value,
        /// Right operand.
        right: Value,
    },
    /// Whether a value is NULL, or is not.
    IsNull {
        /// The value.
        operand: Value,
        /// Whether it is to be NULL.
        null: bool,
    },
    /// What is told by the row of one atom alone; only where it is one of several operands of an
    /// OR, for an atom has a filter.
    Row {
        /// Which of the query's own atoms.
        atom: usize,
        /// Over the columns of its table.
        predicate: Predicate,
    },
    /// All of them; TRUE if there is none.
    And {
        /// The operands.
        operands: Vec<Where>,
    },
    /// One of them; never TRUE if there is none.
    Or {
        /// The operands.
        operands: Vec<Where>,
    },
}

/// A value, of numbers as they come: sums, differences and products of exact numbers are exact,
/// with a double all is one.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A constant.
    Constant {
        /// Of this kind.
        kind: Kind,
        /// Its value.
        value: Constant,
    },
    /// A column.
    Column {
        /// Which.
        column: Column,
        /// Its type: how its words are read. A string, a day, a tick and a Boolean are the integers
        /// of their words.
        ty: Type,
    },
    /// An aggregate of the query whose output this is.
    Aggregate {
        /// Position in its aggregates.
        aggregate: usize,
    },
    /// The sum.
    Add {
        /// Left operand.
        left: Box<Value>,
        /// Right operand.
        right: Box<Value>,
    },
    /// The difference.
    Subtract {
        /// Left operand.
        left: Box<Value>,
        /// Right operand.
        right: Box<Value>,
    },
    /// The product.
    Multiply {
        /// Left operand.
        left: Box<Value>,
        /// Right operand.
        right: Box<Value>,
    },
    /// The quotient, a double; NULL by zero.
    Divide {
        /// Left operand.
        left: Box<Value>,
        /// Right operand.
        right: Box<Value>,
    },
    /// The one value of a query within.
    Query {
        /// Which.
        query: Box<Nested>,
    },
}

/// A column as it is seen from a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// Of the query so many further out; 0 is the one whose condition, aggregate or output this is.
    pub depth: usize,
    /// Which of that query's own atoms.
    pub atom: usize,
    /// Position in the table's schema.
    pub column: usize,
}

/// A query within: one value for each row of those around it. Without rows its count is 0, all else
/// NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    /// Its own atoms, as numbers of [`Bound::all_atoms`](crate::Bound::all_atoms); each with a
    /// filter of its own.
    pub atoms: Range<usize>,
    /// Which rows of their product take part: equalities that join them too.
    pub condition: Where,
    /// What is aggregated: over columns of its own atoms.
    pub aggregates: Vec<Aggregate>,
    /// Its value: over constants and its aggregates.
    pub output: Value,
}

/// What is aggregated; values that are NULL take no part.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    /// How many rows, or values.
    Count {
        /// The value; rows where absent.
        argument: Option<Value>,
    },
    /// The sum.
    Sum {
        /// Of what.
        argument: Value,
    },
    /// The mean, a double.
    Avg {
        /// Of what.
        argument: Value,
    },
    /// The least.
    Min {
        /// Of what.
        argument: Value,
    },
    /// The greatest.
    Max {
        /// Of what.
        argument: Value,
    },
}

impl Aggregate {
    /// What it is about; none for a count of rows.
    #[must_use]
    pub fn argument(&self) -> Option<&Value> {
        match self {
            Aggregate::Count { argument } => argument.as_ref(),
            Aggregate::Sum { argument }
            | Aggregate::Avg { argument }
            | Aggregate::Min { argument }
            | Aggregate::Max { argument } => Some(argument),
        }
    }
}

impl Value {
    /// Calls `see` with every column of the query that it stands in and of those around that, as
    /// seen from there: what queries within read of their own is left out.
    pub fn each_column(&self, see: &mut dyn FnMut(Column)) {
        match self {
            Value::Constant { .. } | Value::Aggregate { .. } => {}
            Value::Column { column, .. } => see(*column),
            Value::Add { left, right }
            | Value::Subtract { left, right }
            | Value::Multiply { left, right }
            | Value::Divide { left, right } => {
                left.each_column(see);
                right.each_column(see);
            }
            Value::Query { query } => query.each_free(see),
        }
    }

    /// Calls `see` with the queries in it, but not with those within them.
    pub fn each_query<'a>(&'a self, see: &mut dyn FnMut(&'a Nested)) {
        match self {
            Value::Constant { .. } | Value::Aggregate { .. } | Value::Column { .. } => {}
            Value::Add { left, right }
            | Value::Subtract { left, right }
            | Value::Multiply { left, right }
            | Value::Divide { left, right } => {
                left.each_query(see);
                right.each_query(see);
            }
            Value::Query { query } => see(query),
        }
    }
}

impl Where {
    /// As [`Value::each_column`].
    pub fn each_column(&self, see: &mut dyn FnMut(Column)) {
        match self {
            Where::Compare { left, right, .. } => {
                left.each_column(see);
                right.each_column(see);
            }
            Where::IsNull { operand, .. } => operand.each_column(see),
            Where::Row { atom, predicate } => {
                let (depth, atom) = (0, *atom);
                predicate.each_column(&mut |column| {
                    see(Column {
                        depth,
                        atom,
                        column,
                    });
                });
            }
            Where::And { operands } | Where::Or { operands } => {
                operands.iter().for_each(|one| one.each_column(see));
            }
        }
    }

    /// Calls `see` with the queries in it, but not with those within them.
    pub fn each_query<'a>(&'a self, see: &mut dyn FnMut(&'a Nested)) {
        match self {
            Where::Compare { left, right, .. } => {
                left.each_query(see);
                right.each_query(see);
            }
            Where::IsNull { operand, .. } => operand.each_query(see),
            Where::Row { .. } => {}
            Where::And { operands } | Where::Or { operands } => {
                operands.iter().for_each(|one| one.each_query(see));
            }
        }
    }
}

impl Nested {
    /// Calls `see` with every column of the queries around it (its free columns), as seen from the
    /// next one out.
    pub fn each_free(&self, see: &mut dyn FnMut(Column)) {
        let mut further = |column: Column| {
            if let Some(depth) = column.depth.checked_sub(1) {
                see(Column { depth, ..column });
            }
        };
        self.condition.each_column(&mut further);
        for value in self.aggregates.iter().filter_map(Aggregate::argument) {
            value.each_column(&mut further);
        }
    }
}

/// Calls `see` with the number of an atom and the position of a column, for all that the condition
/// of a query over the atoms of these numbers reads.
pub(crate) fn each_read(condition: &Where, atoms: Range<usize>, see: &mut dyn FnMut(usize, usize)) {
    walk(condition, &[], &mut vec![atoms], see);
}

fn walk(
    condition: &Where,
    aggregates: &[Aggregate],
    around: &mut Vec<Range<usize>>,
    see: &mut dyn FnMut(usize, usize),
) {
    let mut mark = |column: Column| {
        let query = around.len().checked_sub(1 + column.depth);
        if let Some(query) = query {
            see(around[query].start + column.atom, column.column);
        }
    };
    condition.each_column(&mut mark);
    for value in aggregates.iter().filter_map(Aggregate::argument) {
        value.each_column(&mut mark);
    }
    let mut within: Vec<&Nested> = Vec::new();
    condition.each_query(&mut |query| within.push(query));
    for query in within {
        around.push(query.atoms.clone());
        walk(&query.condition, &query.aggregates, around, see);
        around.pop();
    }
}
