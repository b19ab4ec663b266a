//! The logical query, as it arrives: names not yet resolved, nothing checked.
//!
//! Invariant: none beyond its shape; [`crate::bind()`] checks names and types. Its JSON form is what
//! other languages send, so field and variant names are a contract: unknown fields are refused.
//! It is the paper's `SELECT X1, .., Xf, SUM(g(..) * ..) FROM R1 .. Rn GROUP BY X1, .., Xf`
//! (section 2) with filters on single atoms.

use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// A join with group-by aggregates.
///
/// ```
/// use ringview_query::Query;
/// let query = Query::from_json(r#"{
///     "atoms": [{"table": "orders", "alias": "o", "filter": null}],
///     "joins": [],
///     "group_by": [{"atom": 0, "column": "day"}],
///     "outputs": [
///         {"kind": "group", "name": "day", "column": {"atom": 0, "column": "day"}},
///         {"kind": "aggregate", "name": "orders", "function": "count", "argument": null}],
///     "order": null}"#)?;
/// assert_eq!(query.atoms[0].table, "orders");
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// The relations that are joined; a table may occur more than once.
    pub atoms: Vec<Atom>,
    /// Columns that must be equal, two at a time or more.
    #[serde(default)]
    pub joins: Vec<Vec<ColumnRef>>,
    /// The free variables.
    #[serde(default)]
    pub group_by: Vec<ColumnRef>,
    /// The columns of the result, in order.
    pub outputs: Vec<Output>,
    /// Rows of the join itself, each as often as it is there, in the place of groups; absent for
    /// groups.
    #[serde(default)]
    pub bag: Option<Bag>,
    /// Which groups are rows of the result; all where absent.
    #[serde(default)]
    pub having: Option<Condition<Measure>>,
    /// The variable order, a forest; chosen by cost where absent.
    #[serde(default)]
    pub order: Option<Vec<OrderRef>>,
}

/// A result that is the join itself: a bag of rows over the columns of `group_by`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bag {
    /// How it is kept; chosen where absent.
    #[serde(default)]
    pub representation: Option<Representation>,
    /// Whether each row is there once, however often it joins. As a listing that is the groups.
    #[serde(default)]
    pub distinct: bool,
}

/// How the rows of a join are kept (paper, section 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Representation {
    /// Unions and products, distributed over the views; rows are made when they are read.
    Factorised,
    /// One key a distinct row, with its multiplicity.
    Listing,
}

/// One occurrence of a table in a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Atom {
    /// The table.
    pub table: String,
    /// The name under which the query speaks of it.
    pub alias: String,
    /// Which of its rows take part; all where absent.
    #[serde(default)]
    pub filter: Option<Condition>,
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

/// One column of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Output {
    /// The value by which rows are grouped.
    Group {
        /// Its name in the result.
        name: String,
        /// A column of `group_by`, or one that equals it.
        column: ColumnRef,
    },
    /// A value computed over the rows of the group.
    Aggregate {
        /// Its name in the result.
        name: String,
        /// How.
        function: Function,
        /// Over what; absent for `COUNT(*)` alone.
        #[serde(default)]
        argument: Option<Scalar>,
    },
    /// A value computed from aggregates and the values by which rows are grouped.
    Expression {
        /// Its name in the result.
        name: String,
        /// How.
        value: Measure,
    },
    /// Counts, sums and sums of products of numeric columns, as one degree-m payload, and what
    /// categorical columns add to it. One a view.
    Cofactor {
        /// Its name.
        name: String,
        /// The numeric features.
        columns: Vec<ColumnRef>,
        /// The categorical features.
        #[serde(default)]
        categorical: Vec<ColumnRef>,
        /// What happens to rows with NULL in a feature.
        #[serde(default)]
        nulls: Nulls,
    },
}

/// What a view does with a row that has NULL in a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nulls {
    /// The change that brings it fails.
    #[default]
    Refuse,
    /// The row is left out.
    Skip,
}

impl Output {
    /// Its name in the result.
    pub fn name(&self) -> &str {
        match self {
            Output::Group { name, .. }
            | Output::Aggregate { name, .. }
            | Output::Expression { name, .. }
            | Output::Cofactor { name, .. } => name,
        }
    }
}

/// An aggregate function. Those of two arguments take y, then x, and the rows where neither is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// The sum of the values that are not NULL.
    Sum,
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

/// A variable of an order that the user gives, with what is below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderRef {
    /// Any column of the variable.
    pub variable: ColumnRef,
    /// The variables directly below.
    #[serde(default)]
    pub children: Vec<OrderRef>,
}

impl Query {
    /// Reads the JSON form.
    pub fn from_json(text: &str) -> Result<Query> {
        serde_json::from_str(text).map_err(|problem| Error::Value {
            place: "the query".to_owned(),
            problem: problem.to_string(),
        })
    }

    /// Writes the JSON form.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|problem| Error::Value {
            place: "the query".to_owned(),
            problem: problem.to_string(),
        })
    }
}
