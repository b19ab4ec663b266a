//! A compiled expression: steps from registers to registers.
//!
//! Invariant: a step reads what earlier steps wrote. Cost: one pass over the rows a step.

use ringview_query::Kind;

use crate::read::input::Load;

#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(usize),
    Constant([u64; 2]),
    /// A column of one word: read in place if all rows are wanted, else gathered to the register.
    Column(usize, usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Load(usize, Load),
    Add(Operand, Operand),
    Subtract(Operand, Operand),
    Multiply(Operand, Operand),
    Negate(Operand),
    /// From this kind; decimals are multiplied by the power of ten, or divided on the way to Real.
    Convert(Kind, Operand, i128),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) work: Work,
    pub(super) kind: Kind,
    pub(super) into: usize,
    /// Of reals with all their digits: which operands are expansions already. The result is one.
    pub(super) long: Option<(bool, bool)>,
}

/// A compiled expression with its registers.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(super) steps: Vec<Step>,
    pub(super) result: Operand,
    pub(super) kind: Kind,
    /// Whether the result is of expansions.
    pub(super) long: bool,
    pub(super) columns: Vec<usize>,
    pub(super) registers: Vec<Vec<u64>>,
    /// Its text in messages.
    pub(super) text: String,
}
