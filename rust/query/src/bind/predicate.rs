//! Predicates put together and simplified, in three-valued logic.
//!
//! Invariant: what is built here is true, false or unknown for exactly the rows for which its parts
//! say so. Cost: linear in the parts.

use std::cmp::Ordering;

use crate::bind::polynomial::{Comparison, Constant, Predicate};

pub(crate) const TRUE: Predicate = Predicate::Constant { value: Some(true) };
pub(crate) const FALSE: Predicate = Predicate::Constant { value: Some(false) };
pub(crate) const UNKNOWN: Predicate = Predicate::Constant { value: None };

/// All of them, without what does not matter.
pub fn all(operands: Vec<Predicate>) -> Predicate {
    let mut flat = Vec::new();
    for operand in operands {
        match operand {
            TRUE => {}
            FALSE => return FALSE,
            Predicate::And { operands } => flat.extend(operands),
            operand => flat.push(operand),
        }
    }
    match flat.len() {
        0 => TRUE,
        1 => flat.swap_remove(0),
        _ => Predicate::And { operands: flat },
    }
}

/// Any of them, without what does not matter.
pub(crate) fn any(operands: Vec<Predicate>) -> Predicate {
    let mut flat = Vec::new();
    for operand in operands {
        match operand {
            FALSE => {}
            TRUE => return TRUE,
            Predicate::Or { operands } => flat.extend(operands),
            operand => flat.push(operand),
        }
    }
    match flat.len() {
        0 => FALSE,
        1 => flat.swap_remove(0),
        _ => Predicate::Or { operands: flat },
    }
}

/// The opposite; unknown stays unknown.
pub(crate) fn negated(of: Predicate) -> Predicate {
    match of {
        Predicate::Constant { value } => Predicate::Constant {
            value: value.map(|value| !value),
        },
        Predicate::Not { operand } => *operand,
        operand => Predicate::Not {
            operand: Box::new(operand),
        },
    }
}

/// Whether it is true, false or unknown (`None`); that is always known.
pub(crate) fn is(operand: Predicate, value: Option<bool>) -> Predicate {
    match (operand, value) {
        (Predicate::Constant { value: own }, value) => Predicate::Constant {
            value: Some(own == value),
        },
        // These are never unknown.
        (Predicate::IsNull { .. } | Predicate::Is { .. }, None) => FALSE,
        (known @ (Predicate::IsNull { .. } | Predicate::Is { .. }), Some(true)) => known,
        (operand, value) => Predicate::Is {
            operand: Box::new(operand),
            value,
        },
    }
}

/// Equalities of one operand with constants, as a list; `None` if they are something else.
pub(crate) fn as_list(equalities: &[Predicate], null: bool) -> Option<Predicate> {
    let Predicate::Compare { left, .. } = equalities.first()? else {
        return None;
    };
    let mut list = Vec::with_capacity(equalities.len());
    for equality in equalities {
        match equality {
            Predicate::Compare { left: l, right, .. } if l == left => list.push(right.value()?),
            _ => return None,
        }
    }
    list.sort_by(|a, b| order(*a, *b).unwrap_or(Ordering::Equal));
    list.dedup();
    let operand = left.clone();
    Some(Predicate::In {
        operand,
        list,
        null,
    })
}

/// Order of two numbers of one kind.
pub(crate) fn order(a: Constant, b: Constant) -> Option<Ordering> {
    match (a, b) {
        (Constant::Int(a), Constant::Int(b)) => Some(a.cmp(&b)),
        (Constant::Decimal(a), Constant::Decimal(b)) => Some(a.cmp(&b)),
        (Constant::Real(a), Constant::Real(b)) => a.partial_cmp(&b),
        _ => None,
    }
}

/// A comparison of which the outcome is known.
pub(crate) fn truth(comparison: Comparison, order: Ordering) -> Predicate {
    let value = comparison.holds(order);
    Predicate::Constant { value: Some(value) }
}

impl Predicate {
    /// Whether every row passes.
    pub(crate) fn is_true(&self) -> bool {
        *self == TRUE
    }

    /// The conjuncts: it is TRUE if each of them is.
    pub fn conjuncts(&self) -> Vec<&Predicate> {
        match self {
            Predicate::And { operands } => operands.iter().flat_map(Predicate::conjuncts).collect(),
            one => vec![one],
        }
    }

    /// Calls `see` with every column, by position.
    pub fn each_column(&self, see: &mut (impl FnMut(usize) + ?Sized)) {
        match self {
            Predicate::Constant { .. } => {}
            Predicate::Compare { left, right, .. } => {
                left.each_column(see);
                right.each_column(see);
            }
            Predicate::In { operand, .. } => operand.each_column(see),
            Predicate::Text { column, .. } => see(*column),
            Predicate::IsNull { columns } => columns.iter().for_each(|column| see(*column)),
            Predicate::And { operands } | Predicate::Or { operands } => {
                operands.iter().for_each(|operand| operand.each_column(see));
            }
            Predicate::Not { operand } | Predicate::Is { operand, .. } => operand.each_column(see),
        }
    }
}
