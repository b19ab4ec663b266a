//! Decimals as the integers of their units: one word, one instruction an operation, where two halves would take several.
//!
//! Invariant: a column of at most 18 digits is a word as it is kept, so an expression over such columns has the integer
//! that the decimal is in units of its scale, or leaves the range of a word, which is an overflow: then the decimals
//! themselves have the answer. Cost: linear in the expression.

use ringview_core::Type;
use ringview_query::{Constant, Kind, Op, Polynomial};

/// Decimals that are compared, in the units of the column: a comparison by digits that it has not is left alone.
pub(super) fn of_both(left: &Polynomial, right: &Polynomial) -> Option<(Polynomial, Polynomial)> {
    let unit = unit(left)?.max(unit(right)?);
    Some((in_larger(left, unit)?, in_larger(right, unit)?))
}

/// A decimal in its units.
pub(super) fn of(value: &Polynomial) -> Option<Polynomial> {
    let Kind::Decimal { scale } = value.kind else {
        return None;
    };
    let both =
        |left: &Polynomial, right: &Polynomial| Some((Box::new(of(left)?), Box::new(of(right)?)));
    let op = match &value.op {
        Op::Column { .. } | Op::Literal { .. } => return in_larger(value, 1),
        Op::Add { left, right } => {
            let (left, right) = both(left, right)?;
            Op::Add { left, right }
        }
        Op::Subtract { left, right } => {
            let (left, right) = both(left, right)?;
            Op::Subtract { left, right }
        }
        Op::Multiply { left, right } => {
            let (left, right) = both(left, right)?;
            Op::Multiply { left, right }
        }
        Op::Negate { operand } => Op::Negate {
            operand: Box::new(of(operand)?),
        },
        Op::Convert { operand } => {
            let (own, operand) = match operand.kind {
                Kind::Decimal { scale } => (scale, of(operand)?),
                Kind::Int => (0, (**operand).clone()),
                Kind::Real => return None,
            };
            let power = i64::try_from(power(scale, own)?).ok()?;
            Op::Multiply {
                left: Box::new(operand),
                right: Box::new(Polynomial::int(power)),
            }
        }
    };
    let kind = Kind::Int;
    Some(Polynomial { kind, op })
}

/// How many units of a decimal are one of what it is converted from; 1 where nothing is converted.
fn unit(value: &Polynomial) -> Option<i128> {
    match (&value.op, value.kind) {
        (Op::Convert { operand }, Kind::Decimal { scale }) => match operand.kind {
            Kind::Decimal { scale: own } => power(scale, own),
            _ => None,
        },
        (_, Kind::Decimal { .. }) => Some(1),
        _ => None,
    }
}

fn power(scale: i8, own: i8) -> Option<i128> {
    let digits = i32::from(scale) - i32::from(own);
    10i128.checked_pow(digits.try_into().ok()?)
}

/// A column or a constant in units so many times as large, as an integer.
fn in_larger(value: &Polynomial, times: i128) -> Option<Polynomial> {
    match &value.op {
        Op::Literal {
            value: Constant::Decimal(value),
        } if value % times == 0 => Some(Polynomial::int(i64::try_from(value / times).ok()?)),
        Op::Convert { operand } if unit(value) == Some(times) => in_larger(operand, 1),
        Op::Column { column, ty } if times == 1 && is_short(ty) => {
            Some(Polynomial::column(*column, Type::Int64, Kind::Int))
        }
        _ => None,
    }
}

fn is_short(ty: &Type) -> bool {
    matches!(ty, Type::Decimal { precision, .. } if *precision <= 18)
}
