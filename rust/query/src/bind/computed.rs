//! What a row of the result is computed from: expressions over aggregates and groups, and HAVING.
//!
//! Invariant: operands have the types that an operation's doc states, so that an evaluator never
//! converts on its own.

use ringview_core::Type;
use serde::{Deserialize, Serialize};

use crate::bind::expr::{Comparison, Constant};

/// A typed expression over the measures of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Computed {
    /// The type of its values. Arithmetic gives int64, decimal128(38, s) or float64.
    pub ty: Type,
    /// How.
    pub op: ComputedOp,
}

/// How an expression is computed. It is NULL if an operand is, but for `Coalesce` and `NullIf`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ComputedOp {
    /// NULL.
    Null,
    /// A number, or the word of a bool, a date or a timestamp as an Int.
    Number {
        /// Its value, of the kind of the type.
        value: Constant,
    },
    /// A string.
    Text {
        /// Its value.
        value: String,
    },
    /// A measure.
    Measure {
        /// Position in the plan's measures.
        measure: usize,
    },
    /// Both operands are of the expression's type.
    Add {
        /// Left operand.
        left: Box<Computed>,
        /// Right operand.
        right: Box<Computed>,
    },
    /// Both operands are of the expression's type.
    Subtract {
        /// Left operand.
        left: Box<Computed>,
        /// Right operand.
        right: Box<Computed>,
    },
    /// Both operands are doubles, or both exact with scales that add up to the result's.
    Multiply {
        /// Left operand.
        left: Box<Computed>,
        /// Right operand.
        right: Box<Computed>,
    },
    /// Both operands are doubles; by zero as IEEE 754 says.
    Divide {
        /// Left operand.
        left: Box<Computed>,
        /// Right operand.
        right: Box<Computed>,
    },
    /// The operand is of the expression's type.
    Negate {
        /// The operand.
        operand: Box<Computed>,
    },
    /// An exact operand times a factor: more digits after the point, or a finer unit of time.
    Scale {
        /// The operand.
        operand: Box<Computed>,
        /// Times what; always a [`Constant::Decimal`].
        factor: Constant,
    },
    /// An exact number as a double.
    Real {
        /// The operand.
        operand: Box<Computed>,
        /// Its digits after the point.
        scale: i8,
    },
    /// The first operand that is not NULL; all are of the expression's type.
    Coalesce {
        /// The operands.
        operands: Vec<Computed>,
    },
    /// NULL where `left` equals `right`, else `operand`. Those two are of one type.
    NullIf {
        /// What is returned.
        operand: Box<Computed>,
        /// The same, to be compared.
        left: Box<Computed>,
        /// What it is compared with.
        right: Box<Computed>,
    },
}

/// A condition on the rows of the result, in three-valued logic; rows for which it is true are
/// kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Having {
    /// Always the same.
    Constant {
        /// Which.
        value: bool,
    },
    /// Both operands are of one type. NaN equals itself and is greater than all other numbers.
    Compare {
        /// Which comparison.
        comparison: Comparison,
        /// Left operand.
        left: Computed,
        /// Right operand.
        right: Computed,
    },
    /// `operand LIKE pattern`, of strings.
    Like {
        /// The operand.
        operand: Computed,
        /// With `%` and `_`.
        pattern: String,
        /// The character that makes the next one literal.
        escape: Option<char>,
        /// Whether case is ignored.
        insensitive: bool,
    },
    /// Never unknown.
    IsNull {
        /// The operand.
        operand: Computed,
    },
    /// All of them.
    And {
        /// The operands.
        operands: Vec<Having>,
    },
    /// Any of them.
    Or {
        /// The operands.
        operands: Vec<Having>,
    },
    /// Its opposite; unknown stays unknown.
    Not {
        /// The operand.
        operand: Box<Having>,
    },
}

impl Computed {
    pub(crate) fn new(ty: Type, op: ComputedOp) -> Computed {
        Computed { ty, op }
    }
}
