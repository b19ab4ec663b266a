//! Blocks of aggregates, and the values and conditions in them.
//!
//! Invariant: what is FALSE and what is unknown are not told apart, so NOT is gone, pushed down to
//! the comparisons. Both sides of a comparison have one meaning (numbers, days, ticks of one unit,
//! Booleans, words of strings), exact where neither is a double. NULL meets NULL: an aggregate of
//! nothing but a count, and a quotient by zero, are NULL, and no comparison with NULL is TRUE. A
//! column is named by how many blocks further out its relation stands, the relation's place there,
//! and its place in the table. Aggregates take columns of their own block alone. Cost: none; this
//! is data.

use super::number::Quantity;
use crate::bind::polynomial::{Comparison, Predicate};

/// One SELECT of aggregates. Within another: one value for each row of those around it; without
/// rows its count is 0, all else NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What its rows come from; more than one are multiplied. As it is bound, these are numbers of
    /// [`Bound::all_atoms`](crate::Bound::all_atoms), each with a filter of its own; an engine may
    /// number what it keeps instead.
    pub relations: Vec<usize>,
    /// Which rows take part: equalities that join them too.
    pub condition: Condition,
    /// The columns of GROUP BY, of this block. Only outermost.
    pub group: Vec<Column>,
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
    /// The outputs: values over constants and the aggregates. A query within has one.
    pub outputs: Vec<Value>,
    /// Its place among the blocks of a query, by which engines find what they keep of it; 0 until
    /// [`Block::number`].
    pub number: usize,
}

impl Block {
    /// A block that shows its aggregates.
    #[must_use]
    pub fn new(relations: Vec<usize>, condition: Condition, aggregates: Vec<Aggregate>) -> Self {
        let outputs = (0..aggregates.len()).map(Value::Aggregate).collect();
        Self {
            relations,
            condition,
            group: Vec::new(),
            aggregates,
            outputs,
            number: 0,
        }
    }
}

/// A column of a relation in this block (`depth` 0), or so many blocks further out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// Blocks further out.
    pub depth: usize,
    /// Which of that block's relations.
    pub relation: usize,
    /// Position in the table's schema; behind it, the verdicts of [`Condition::Row`].
    pub column: usize,
}

/// An aggregate over the rows of a block; values that are NULL take no part.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    /// Rows.
    Count,
    /// Values.
    Counted(Value),
    /// The sum.
    Sum(Value),
    /// The mean, a double.
    Average(Value),
    /// The least.
    Min(Value),
    /// The greatest.
    Max(Value),
}

impl Aggregate {
    /// What it is about; none for a count of rows.
    #[must_use]
    pub fn argument(&self) -> Option<&Value> {
        match self {
            Aggregate::Count => None,
            Aggregate::Counted(value)
            | Aggregate::Sum(value)
            | Aggregate::Average(value)
            | Aggregate::Min(value)
            | Aggregate::Max(value) => Some(value),
        }
    }
}

/// A value, of numbers as they come: sums, differences and products of exact numbers are exact,
/// with a double all is one.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A constant.
    Constant(Quantity),
    /// A column. A string, a day, a tick and a Boolean are the integers of their words.
    Column(Column),
    /// 1 where columns are not NULL, else NULL.
    Present(Vec<Column>),
    /// An aggregate of the same block, in its outputs.
    Aggregate(usize),
    /// The sum.
    Plus(Box<Value>, Box<Value>),
    /// The difference.
    Minus(Box<Value>, Box<Value>),
    /// The product.
    Times(Box<Value>, Box<Value>),
    /// The quotient, a double; NULL by 0.
    Over(Box<Value>, Box<Value>),
    /// The one output of a query within.
    Block(Box<Block>),
}

/// Which rows of a join are chosen: those for which it is TRUE.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of them; TRUE if there is none.
    And(Vec<Condition>),
    /// One of them; never TRUE if there is none.
    Or(Vec<Condition>),
    /// Both sides are numbers, or words of strings, which are compared by `=` and `<>` alone; not
    /// TRUE if either is NULL.
    Compare(Value, Comparison, Value),
    /// Whether a value is NULL (or is not); never unknown.
    IsNull(Value, bool),
    /// What is told by the row of one of the block's own relations alone; only where it is one of
    /// several operands of an OR, for an atom has a filter. Engines decide it once a row, and read
    /// the verdict as a column: see [`Condition::with_verdicts`].
    Row(usize, Predicate),
}
