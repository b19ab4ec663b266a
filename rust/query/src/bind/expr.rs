//! Bound expressions and predicates: columns by position, constants typed, conversions explicit.
//!
//! Invariant: the operands of an operator have the kinds that its doc states, so that an evaluator
//! never converts on its own. Constants are folded when an expression is built.

use std::cmp::Ordering;

use ringview_core::Type;
use serde::{Deserialize, Serialize};

pub use crate::logical::Comparison;

impl Comparison {
    /// Whether it is true of two values in this order.
    #[must_use]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Eq => order.is_eq(),
            Comparison::Ne => order.is_ne(),
            Comparison::Lt => order.is_lt(),
            Comparison::Le => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::Ge => order.is_ge(),
        }
    }

    /// The same with its sides exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
            Comparison::Eq | Comparison::Ne => self,
        }
    }

    /// The same, or its opposite.
    pub(crate) fn unless(self, negated: bool) -> Self {
        match (self, negated) {
            (same, false) => same,
            (Comparison::Eq, true) => Comparison::Ne,
            (Comparison::Ne, true) => Comparison::Eq,
            (Comparison::Lt, true) => Comparison::Ge,
            (Comparison::Ge, true) => Comparison::Lt,
            (Comparison::Gt, true) => Comparison::Le,
            (Comparison::Le, true) => Comparison::Gt,
        }
    }
}

/// What kind of number an expression or a payload component is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A 64-bit integer; leaving its range is an error.
    Int,
    /// A 128-bit integer in units of 10^-scale; leaving its range is an error.
    Decimal {
        /// Digits after the point.
        scale: i8,
    },
    /// A double.
    Real,
}

/// A constant. Its variant is the one of the kind of its expression.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Constant {
    /// Of kind [`Kind::Int`].
    Int(i64),
    /// Of kind [`Kind::Decimal`], in units of 10^-scale.
    #[serde(with = "wide")]
    Decimal(i128),
    /// Of kind [`Kind::Real`].
    Real(f64),
}

/// A typed expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    /// What kind of number it yields.
    pub kind: Kind,
    /// How.
    pub op: Op,
}

/// How an expression is computed. It is NULL if any of its columns is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A column of the atom. Integers, bool, date32 and timestamps (their ticks) are of kind Int,
    /// decimals of kind Decimal at their own scale, floats Real. A uint64 is Decimal of scale 0
    /// where it is compared, and Int where it is summed (a value above 2^63 - 1 is an overflow).
    Column {
        /// Position in the table's schema.
        column: usize,
        /// The column's type.
        ty: Type,
    },
    /// A constant.
    Literal {
        /// Of the expression's kind.
        value: Constant,
    },
    /// Both operands are of the expression's kind.
    Add {
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// Both operands are of the expression's kind.
    Subtract {
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// Both operands are Int, both Real, or both Decimal with scales that add up to the result's.
    Multiply {
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// The operand is of the expression's kind.
    Negate {
        /// The operand.
        operand: Box<Expr>,
    },
    /// To the expression's kind: Int or Decimal to a Decimal of at least that scale (times a power
    /// of ten), anything to Real.
    Convert {
        /// The operand.
        operand: Box<Expr>,
    },
}

/// A string in a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum TextOperand {
    /// A column of the atom.
    Column {
        /// Position in the table's schema.
        column: usize,
    },
    /// A constant.
    Literal {
        /// The string.
        value: String,
    },
}

/// A condition on the rows of an atom: true, false or unknown; only rows for which it is true pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Predicate {
    /// Always the same.
    Constant {
        /// `None` is unknown.
        value: Option<bool>,
    },
    /// Both operands are of the same kind. Unknown if either is NULL.
    Compare {
        /// Which comparison.
        comparison: Comparison,
        /// Left operand.
        left: Expr,
        /// Right operand.
        right: Expr,
    },
    /// Strings are ordered by their UTF-8 bytes. Unknown if either is NULL.
    CompareText {
        /// Which comparison.
        comparison: Comparison,
        /// Left operand.
        left: TextOperand,
        /// Right operand.
        right: TextOperand,
    },
    /// Unknown if the operand is NULL, or if it is not found and the list has a NULL.
    In {
        /// What is looked for.
        operand: Expr,
        /// Sorted, without duplicates, of the operand's kind.
        list: Vec<Constant>,
        /// Whether the list has a NULL.
        null: bool,
    },
    /// As `In`, over strings.
    InText {
        /// Position in the table's schema.
        column: usize,
        /// Sorted, without duplicates.
        list: Vec<String>,
        /// Whether the list has a NULL.
        null: bool,
    },
    /// Unknown if the column is NULL.
    Like {
        /// Position in the table's schema.
        column: usize,
        /// With `%` and `_`.
        pattern: String,
        /// The character that makes the next one literal.
        escape: Option<char>,
        /// Whether case is ignored.
        insensitive: bool,
    },
    /// Whether any of the columns is NULL.
    IsNull {
        /// Positions in the table's schema, all of them nullable; never empty.
        columns: Vec<usize>,
    },
    /// True if all are; false if any is; else unknown.
    And {
        /// The operands.
        operands: Vec<Predicate>,
    },
    /// True if any is; false if all are; else unknown.
    Or {
        /// The operands.
        operands: Vec<Predicate>,
    },
    /// Its opposite; unknown stays unknown.
    Not {
        /// The operand.
        operand: Box<Predicate>,
    },
}

/// JSON numbers end at 64 bits, so wider ones travel as text.
mod wide {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &i128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i128, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
