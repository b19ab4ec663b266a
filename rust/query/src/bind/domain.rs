//! Domains of columns, and constants as values of the domain that they are compared with.
//!
//! Invariant: nothing is rounded on the way. Cost: O(length of the constant).

use ringview_core::{Error, Result, TimeUnit, Type};

use crate::bind::literal::{date, decimal, per_second, timestamp};
use crate::bind::polynomial::{Constant, Kind, Op, Polynomial};

/// Domain of the values of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Domain {
    Number,
    Bool,
    Date,
    /// `zoned` is unknown for constants: they are taken as UTC where compared with a zoned column.
    Timestamp {
        unit: TimeUnit,
        zoned: Option<bool>,
    },
}

/// Kind and domain of the values of a column; none for values in the dictionary.
pub(crate) fn domain_of(ty: &Type) -> Option<(Kind, Domain)> {
    Some(match ty {
        ty if ty.is_interned() => return None,
        Type::Bool => (Kind::Int, Domain::Bool),
        Type::Date32 => (Kind::Int, Domain::Date),
        Type::Timestamp { unit, timezone } => {
            let zoned = Some(timezone.is_some());
            (Kind::Int, Domain::Timestamp { unit: *unit, zoned })
        }
        Type::Float32 | Type::Float64 => (Kind::Real, Domain::Number),
        Type::Decimal { scale, .. } => (Kind::Decimal { scale: *scale }, Domain::Number),
        // Read as a signed word, a large uint64 would be negative.
        Type::UInt64 => (Kind::Decimal { scale: 0 }, Domain::Number),
        _ => (Kind::Int, Domain::Number),
    })
}

/// A constant beside a float32 column as a float32, so that `x = 0.1` finds 0.1: integers, decimals
/// and what is quoted; one with an exponent is a double, and the column is compared as one.
pub(crate) fn narrowed(beside: &Polynomial, constant: Polynomial, quoted: bool) -> Polynomial {
    let single = matches!(
        &beside.op,
        Op::Column {
            ty: Type::Float32,
            ..
        }
    );
    match constant.value() {
        Some(Constant::Real(value)) if single && quoted => {
            Polynomial::real(f64::from(value as f32))
        }
        Some(number) if single => {
            nearest_single(number, constant.kind.scale()).map_or(constant, Polynomial::real)
        }
        _ => constant,
    }
}

/// The float32 next to an exact number; none for a double.
pub(crate) fn nearest_single(number: Constant, scale: i8) -> Option<f64> {
    let text = match number {
        Constant::Int(value) => value.to_string(),
        Constant::Decimal(value) => format!("{value}e-{scale}"),
        Constant::Real(_) => return None,
    };
    // By text, since on the way by a double it may be rounded twice.
    text.parse::<f32>().ok().map(f64::from)
}

/// A constant in quotes, as what it is compared with.
pub(crate) fn coerce(text: &str, domain: Domain, kind: Kind) -> Result<(Polynomial, Domain)> {
    let wrong = |expected: &str| Error::Value {
        place: format!("the constant '{text}'"),
        problem: format!("expected {expected}, as it is compared with one"),
    };
    let expr = match domain {
        Domain::Number if kind == Kind::Real => {
            let value: Option<f64> = text.trim().parse().ok();
            let value = value.filter(|value| value.is_finite());
            Polynomial::real(value.ok_or_else(|| wrong("a number"))?)
        }
        Domain::Number => {
            let (value, scale) = decimal(text)?;
            match (scale, i64::try_from(value)) {
                (0, Ok(value)) => Polynomial::int(value),
                _ => Polynomial::decimal(value, scale),
            }
        }
        Domain::Bool => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" => Polynomial::int(1),
            "false" | "f" => Polynomial::int(0),
            _ => return Err(wrong("'true' or 'false'")),
        },
        Domain::Date => Polynomial::int(date(text)?),
        Domain::Timestamp { unit: of, .. } => {
            let (mut ticks, mut unit) = timestamp(text)?;
            if unit == TimeUnit::Nanosecond && of != unit {
                // A text that is compared with microseconds is read as some.
                (ticks, unit) = (ticks.div_euclid(1_000), TimeUnit::Microsecond);
            }
            return Ok((
                Polynomial::int(ticks),
                Domain::Timestamp { unit, zoned: None },
            ));
        }
    };
    Ok((expr, domain))
}

/// By what two values are multiplied to be numbers of one meaning: ticks of the finer unit where they
/// are of time; none where they have no meaning in common.
pub(crate) fn in_one_domain(left: Domain, right: Domain) -> Option<(i64, i64)> {
    match (left, right) {
        (Domain::Number, Domain::Number)
        | (Domain::Bool, Domain::Bool)
        | (Domain::Date, Domain::Date) => return Some((1, 1)),
        (Domain::Number | Domain::Bool, _) | (_, Domain::Number | Domain::Bool) => return None,
        _ => {}
    }
    if let (Some(one), Some(other)) = (zoned(left), zoned(right))
        && one != other
    {
        return None;
    }
    let (left, right) = (day_fraction(left), day_fraction(right));
    let finest = left.max(right);
    Some((finest / left, finest / right))
}

/// Into how many parts a value's unit divides the day.
fn day_fraction(domain: Domain) -> i64 {
    match domain {
        Domain::Timestamp { unit, .. } => 86_400 * per_second(unit),
        Domain::Date | Domain::Number | Domain::Bool => 1,
    }
}

/// Ticks in a finer unit. Years after 2262 have no 64-bit nanoseconds, hence 128 bits.
pub(crate) fn times(expr: Polynomial, factor: i64) -> Result<Polynomial> {
    if factor == 1 {
        return Ok(expr);
    }
    if let Some(Constant::Int(value)) = expr.value()
        && let Some(value) = value.checked_mul(factor)
    {
        return Ok(Polynomial::int(value));
    }
    expr.convert(Kind::Decimal { scale: 0 })?
        .multiply(Polynomial::decimal(factor.into(), 0))
}

fn zoned(domain: Domain) -> Option<bool> {
    match domain {
        Domain::Timestamp { zoned, .. } => zoned,
        _ => None,
    }
}

impl Domain {
    /// For messages.
    pub(crate) fn describe(self) -> String {
        match self {
            Domain::Number => "a number",
            Domain::Bool => "a bool",
            Domain::Date => "a date",
            Domain::Timestamp {
                zoned: Some(true), ..
            } => "a timestamp with a time zone",
            Domain::Timestamp { .. } => "a timestamp without a time zone",
        }
        .to_owned()
    }
}
