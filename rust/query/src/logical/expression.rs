//! What a query computes and compares: expressions over columns, over aggregates, and conditions.
//!
//! Invariant: none beyond their shape, as for the query. A condition is the same over the columns
//! of an atom (a filter) and over the values of a result (HAVING).

use serde::{Deserialize, Serialize};

/// An aggregate function. Those of two arguments take y, then x, and the rows where neither is
/// NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// The sum of the values that are not NULL.
    Sum,
    /// What the sum of floats lacks once it is a double, as one; 0 where the sum is exact. For
    /// those who add sums up that were made apart.
    SumRest,
    /// How many rows, or how many values that are not NULL.
    Count,
    /// The mean of the values that are not NULL.
    Avg,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// How many different values that are not NULL.
    CountDistinct,
    /// The variance of a population.
    VarPop,
    /// The variance as estimated from a sample.
    VarSamp,
    /// The square root of `VarPop`.
    StddevPop,
    /// The square root of `VarSamp`.
    StddevSamp,
    /// The covariance of a population.
    CovarPop,
    /// The covariance as estimated from a sample.
    CovarSamp,
    /// Pearson's correlation.
    Corr,
    /// The slope of the least-squares line.
    RegrSlope,
    /// Where that line meets x = 0.
    RegrIntercept,
    /// How much of the variance of y the line explains.
    RegrR2,
    /// How many pairs there are.
    RegrCount,
}

/// An expression over aggregates and groups: what a row of the result is computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Measure {
    /// A column of `group_by`, or one that equals it.
    Group {
        /// Which.
        column: ColumnRef,
    },
    /// A value computed over the rows of the group.
    Aggregate {
        /// How.
        function: Function,
        /// Over what; none for `COUNT(*)`.
        arguments: Vec<Scalar>,
    },
    /// A constant.
    Literal {
        /// Which.
        value: Literal,
    },
    /// `left + right`
    Add {
        /// Left operand.
        left: Box<Measure>,
        /// Right operand.
        right: Box<Measure>,
    },
    /// `left - right`
    Subtract {
        /// Left operand.
        left: Box<Measure>,
        /// Right operand.
        right: Box<Measure>,
    },
    /// `left * right`
    Multiply {
        /// Left operand.
        left: Box<Measure>,
        /// Right operand.
        right: Box<Measure>,
    },
    /// `left / right`, always a double.
    Divide {
        /// Left operand.
        left: Box<Measure>,
        /// Right operand.
        right: Box<Measure>,
    },
    /// `-operand`
    Negate {
        /// The operand.
        operand: Box<Measure>,
    },
    /// The first operand that is not NULL.
    Coalesce {
        /// The operands.
        operands: Vec<Measure>,
    },
    /// NULL where both are equal, else the left one.
    NullIf {
        /// Left operand.
        left: Box<Measure>,
        /// Right operand.
        right: Box<Measure>,
    },
}

/// An expression over columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Scalar {
    /// A column.
    Column {
        /// Which of the query's atoms.
        atom: usize,
        /// The column's name in the atom's table.
        column: String,
    },
    /// A constant.
    Literal {
        /// Which.
        value: Literal,
    },
    /// `left + right`
    Add {
        /// Left operand.
        left: Box<Scalar>,
        /// Right operand.
        right: Box<Scalar>,
    },
    /// `left - right`
    Subtract {
        /// Left operand.
        left: Box<Scalar>,
        /// Right operand.
        right: Box<Scalar>,
    },
    /// `left * right`
    Multiply {
        /// Left operand.
        left: Box<Scalar>,
        /// Right operand.
        right: Box<Scalar>,
    },
    /// `-operand`
    Negate {
        /// The operand.
        operand: Box<Scalar>,
    },
}

/// A constant as it was written. Dates, timestamps and decimals are texts; a text takes the type of
/// what it is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Literal {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// An exact decimal: `"123.45"`.
    Decimal(String),
    /// A string.
    Text(String),
    /// `"1995-03-15"`
    Date(String),
    /// `"1995-03-15T00:00:00"`, with up to nine digits after the second.
    Timestamp(String),
}

/// A condition in SQL's three-valued logic: on the rows of one atom, or on those of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Condition<S = Scalar> {
    /// `left <comparison> right`
    Compare {
        /// Which comparison.
        comparison: Comparison,
        /// Left operand.
        left: S,
        /// Right operand.
        right: S,
    },
    /// `operand IN (list)`
    In {
        /// What is looked for.
        operand: S,
        /// Among what.
        list: Vec<Literal>,
    },
    /// `operand LIKE pattern`
    Like {
        /// A column of strings.
        operand: S,
        /// With `%` and `_`.
        pattern: String,
        /// The character that makes the next one literal.
        #[serde(default)]
        escape: Option<char>,
        /// ILIKE.
        #[serde(default)]
        insensitive: bool,
    },
    /// `operand IS NULL`
    IsNull {
        /// The operand.
        operand: S,
    },
    /// All of them.
    And {
        /// The operands.
        operands: Vec<Condition<S>>,
    },
    /// Any of them.
    Or {
        /// The operands.
        operands: Vec<Condition<S>>,
    },
    /// Its opposite; unknown stays unknown.
    Not {
        /// The operand.
        operand: Box<Condition<S>>,
    },
    /// TRUE or FALSE.
    Constant {
        /// Which.
        value: bool,
    },
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A column of an atom.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnRef {
    /// Which of the query's atoms.
    pub atom: usize,
    /// The column's name in the atom's table.
    pub column: String,
}
