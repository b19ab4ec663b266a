//! Blocks of aggregates, and the values and conditions in them.
//!
//! Invariant: FALSE and unknown are not distinguished, so NOT is pushed down into the comparisons.
//! Both sides of a comparison have one meaning (numbers, days, ticks of one unit, Booleans, words
//! of strings), exact where neither is a double. NULL meets NULL: an aggregate of nothing but a
//! count, and a quotient by zero, are NULL, and no comparison with NULL is TRUE. A column is named
//! by the number of blocks between it and the block of its relation, the relation's place there,
//! and its place in the table. Aggregates take columns of their own block alone. Cost: none; this
//! is data.

use super::number::Quantity;
use crate::bind::polynomial::{Comparison, Predicate};

/// One SELECT of aggregates. Within another: one value for each row of those around it; without
/// rows its count is 0, all else NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Relations of its rows; more than one are multiplied. As it is bound, these are numbers of
    /// [`Bound::all_atoms`](crate::Bound::all_atoms), each with a filter of its own; an engine may
    /// number the relations that it keeps instead.
    pub relations: Vec<usize>,
    /// Condition on the rows that take part, including the equalities that join them.
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
    /// Position among that block's relations.
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
    /// Its argument; none for a count of rows.
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

/// A value, of numbers in their own kinds: sums, differences and products of exact numbers are
/// exact; with a double all are doubles.
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

/// Condition on the rows of a join: it chooses those for which it is TRUE.
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
    /// A predicate on a row of one of the block's own relations alone. It occurs only as one of
    /// several operands of an OR, since otherwise it is in the filter of its atom. Engines decide
    /// it once a row, and read the verdict as a column: see [`Condition::with_verdicts`].
    Row(usize, Predicate),
}
