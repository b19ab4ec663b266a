//! Expressions as a user would write them, for messages.

use ringview_query::{Constant, Kind, Op, Polynomial};

/// `price * (1 - discount)`; conversions are not shown.
pub(crate) fn of(expr: &Polynomial, names: &dyn Fn(usize) -> String) -> String {
    match &expr.op {
        Op::Column { column, .. } => names(*column),
        Op::Literal { value } => literal(*value, expr.kind),
        Op::Add { left, right } => format!("{} + {}", of(left, names), of(right, names)),
        Op::Subtract { left, right } => format!("{} - {}", of(left, names), nested(right, names)),
        Op::Multiply { left, right } => {
            format!("{} * {}", nested(left, names), nested(right, names))
        }
        Op::Negate { operand } => format!("-{}", nested(operand, names)),
        Op::Convert { operand } => of(operand, names),
    }
}

fn nested(expr: &Polynomial, names: &dyn Fn(usize) -> String) -> String {
    match &expr.op {
        Op::Add { .. } | Op::Subtract { .. } => format!("({})", of(expr, names)),
        Op::Convert { operand } => nested(operand, names),
        _ => of(expr, names),
    }
}

fn literal(value: Constant, kind: Kind) -> String {
    match (value, kind) {
        (Constant::Int(value), _) => value.to_string(),
        (Constant::Real(value), _) => value.to_string(),
        (Constant::Decimal(value), Kind::Decimal { scale }) if scale > 0 => {
            let digits = usize::from(scale.unsigned_abs());
            let padded = format!("{:0>width$}", value.unsigned_abs(), width = digits + 1);
            let (whole, part) = padded.split_at(padded.len() - digits);
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{whole}.{part}")
        }
        (Constant::Decimal(value), Kind::Decimal { scale }) if scale < 0 => {
            format!("{value}e{}", scale.unsigned_abs())
        }
        (Constant::Decimal(value), _) => value.to_string(),
    }
}
