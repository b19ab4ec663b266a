//! Polynomials of the columns of an atom, and predicates over them: columns by position, constants
//! typed, conversions explicit.
//!
//! Invariant: the operands of an operator have the kinds that its doc states, so that an evaluator
//! never converts on its own. Constants are folded when a polynomial is built.

use ringview_core::Type;
use ringview_expr::Scalar;

pub use crate::logical::Comparison;

/// Kind of number of a polynomial or a payload component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// A constant. Its variant is the one of the kind of its polynomial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// Of kind [`Kind::Int`].
    Int(i64),
    /// Of kind [`Kind::Decimal`], in units of 10^-scale.
    Decimal(i128),
    /// Of kind [`Kind::Real`].
    Real(f64),
}

/// Sums and products of columns and constants, typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Polynomial {
    /// Kind of number that it yields.
    pub kind: Kind,
    /// Its operation.
    pub op: Op,
}

/// Operation that computes a polynomial. The result is NULL if any of its columns is.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A column of the atom. Integers, bool, date32 and timestamps (their ticks) are of kind Int,
    /// decimals of kind Decimal at their own scale, floats Real; a string is the Int of its word, which only equals. A uint64 is Decimal of scale 0
    /// where it is compared, and Int where it is summed (a value above 2^63 - 1 is an overflow).
    Column {
        /// Position in the table's schema.
        column: usize,
        /// The column's type.
        ty: Type,
    },
    /// A constant.
    Literal {
        /// Of the polynomial's kind.
        value: Constant,
    },
    /// Both operands are of the polynomial's kind.
    Add {
        /// Left operand.
        left: Box<Polynomial>,
        /// Right operand.
        right: Box<Polynomial>,
    },
    /// Both operands are of the polynomial's kind.
    Subtract {
        /// Left operand.
        left: Box<Polynomial>,
        /// Right operand.
        right: Box<Polynomial>,
    },
    /// Both operands are Int, both Real, or both Decimal with scales that add up to the result's.
    Multiply {
        /// Left operand.
        left: Box<Polynomial>,
        /// Right operand.
        right: Box<Polynomial>,
    },
    /// The operand is of the polynomial's kind.
    Negate {
        /// The operand.
        operand: Box<Polynomial>,
    },
    /// To the polynomial's kind: Int or Decimal to a Decimal of at least that scale (times a power
    /// of ten), anything to Real.
    Convert {
        /// The operand.
        operand: Box<Polynomial>,
    },
}

/// A condition on the rows of an atom: true, false or unknown; only rows for which it is true pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Always the same.
    Constant {
        /// `None` is unknown.
        value: Option<bool>,
    },
    /// Both operands are of the same kind. Unknown if either is NULL.
    Compare {
        /// The comparison operator.
        comparison: Comparison,
        /// Left operand.
        left: Polynomial,
        /// Right operand.
        right: Polynomial,
    },
    /// Unknown if the operand is NULL, or if it is not found and the list has a NULL.
    In {
        /// The value looked for.
        operand: Polynomial,
        /// Sorted, without duplicates, of the operand's kind.
        list: Vec<Constant>,
        /// Whether the list has a NULL.
        null: bool,
    },
    /// Any condition on one string column: it is decided once a distinct string.
    Text {
        /// Position in the table's schema.
        column: usize,
        /// The condition, over the plain name of the column.
        condition: Scalar,
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
    /// True where the operand is just this, false elsewhere: IS TRUE, IS FALSE, IS UNKNOWN.
    Is {
        /// The operand.
        operand: Box<Predicate>,
        /// `None` is unknown.
        value: Option<bool>,
    },
}
