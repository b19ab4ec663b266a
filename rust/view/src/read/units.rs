//! Decimals as integers of their units: an operation is one instruction, where two words need several.
//!
//! Invariant: a decimal of at most 18 digits fits its low word. An expression over such columns is the decimal in units of
//! its scale, or overflows a word; then the caller evaluates the decimals themselves. Cost: linear in the expression.

use ringview_core::Type;
use ringview_query::{Constant, Kind, Op, Polynomial};

/// Both sides of a comparison as integers, if each is a constant, or a column times a constant. Both are divided by the
/// factor of the column; `None` if a constant is no multiple of it.
pub(super) fn of_both(left: &Polynomial, right: &Polynomial) -> Option<(Polynomial, Polynomial)> {
    let whole = |value: i128, times: i128| {
        let value = (value % times == 0).then_some(value / times)?;
        Some(Polynomial::int(i64::try_from(value).ok()?))
    };
    match (constant(left), constant(right)) {
        (None, Some(right)) => {
            let (left, times) = multiple(left)?;
            Some((left, whole(right, times)?))
        }
        (Some(left), None) => {
            let (right, times) = multiple(right)?;
            Some((whole(left, times)?, right))
        }
        _ => {
            let ((left, one), (right, other)) = (multiple(left)?, multiple(right)?);
            (one == other).then_some((left, right))
        }
    }
}

/// A constant that is exact.
fn constant(value: &Polynomial) -> Option<i128> {
    match value.op {
        Op::Literal {
            value: Constant::Int(value),
        } => Some(value.into()),
        Op::Literal {
            value: Constant::Decimal(value),
        } => Some(value),
        _ => None,
    }
}

/// A column as an integer, and the constant above 0 that it is multiplied by.
fn multiple(value: &Polynomial) -> Option<(Polynomial, i128)> {
    match &value.op {
        Op::Column { column, ty } => {
            let is_word = match value.kind {
                Kind::Int => *ty != Type::UInt64,
                Kind::Decimal { .. } => is_short(ty),
                Kind::Real => false,
            };
            is_word.then(|| (Polynomial::column(*column, Type::Int64, Kind::Int), 1))
        }
        Op::Convert { operand } => {
            let (column, times) = multiple(operand)?;
            Some((column, times.checked_mul(unit(value)?)?))
        }
        Op::Multiply { left, right } => {
            let (factor, value) = match constant(left) {
                Some(factor) => (factor, right),
                None => (constant(right)?, left),
            };
            let (column, times) = multiple(value)?;
            (factor > 0).then_some((column, times.checked_mul(factor)?))
        }
        _ => None,
    }
}

/// A decimal in its units.
pub(super) fn of(value: &Polynomial) -> Option<Polynomial> {
    if !matches!(value.kind, Kind::Decimal { .. }) {
        return None;
    }
    let both =
        |left: &Polynomial, right: &Polynomial| Some((Box::new(of(left)?), Box::new(of(right)?)));
    let op = match &value.op {
        Op::Column { column, ty } => {
            let column = || Polynomial::column(*column, Type::Int64, Kind::Int);
            return is_short(ty).then(column);
        }
        Op::Literal { .. } => return Some(Polynomial::int(i64::try_from(constant(value)?).ok()?)),
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
            let unit = i64::try_from(unit(value)?).ok()?;
            let operand = match operand.kind {
                Kind::Int => (**operand).clone(),
                _ => of(operand)?,
            };
            Op::Multiply {
                left: Box::new(operand),
                right: Box::new(Polynomial::int(unit)),
            }
        }
    };
    let kind = Kind::Int;
    Some(Polynomial { kind, op })
}

/// Number of units of a decimal in one unit of the operand that it is converted from.
fn unit(value: &Polynomial) -> Option<i128> {
    match (&value.op, value.kind) {
        (Op::Convert { operand }, Kind::Decimal { scale }) => match operand.kind {
            Kind::Decimal { scale: own } => power(scale, own),
            Kind::Int => power(scale, 0),
            Kind::Real => None,
        },
        _ => None,
    }
}

fn power(scale: i8, own: i8) -> Option<i128> {
    let digits = i32::from(scale) - i32::from(own);
    10i128.checked_pow(digits.try_into().ok()?)
}

fn is_short(ty: &Type) -> bool {
    matches!(ty, Type::Decimal { precision, .. } if *precision <= 18)
}
