//! In which order numbers are keys: those of a scale, or doubles.
//!
//! Invariant: the kind of a value is fixed before any row is inserted, and so is that of the keys
//! that it is compared with. Cost: O(1); of a value, linear in it.

use ringview_core::{Result, Type};
use ringview_query::nested::{Column, Quantity, Value};

/// Kind of number of a value, fixed before any row is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Exact, with so many digits behind the point.
    Exact(u8),
    /// A double.
    Real,
}

impl Kind {
    /// The kind of a column. Strings, dates and times are the integers that encode them.
    pub(crate) fn of(ty: &Type) -> Self {
        match ty {
            Type::Float32 | Type::Float64 => Kind::Real,
            Type::Decimal { scale, .. } => Kind::Exact((*scale).max(0) as u8),
            _ => Kind::Exact(0),
        }
    }

    /// The kind in which two are compared.
    pub(crate) fn common(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Exact(a), Kind::Exact(b)) => Kind::Exact(a.max(b)),
            _ => Kind::Real,
        }
    }

    /// The number of a key.
    #[inline]
    pub(crate) fn number(self, key: i128) -> Quantity {
        match self {
            Kind::Exact(scale) => Quantity::Exact { units: key, scale },
            Kind::Real => {
                let word = key.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                let bits = word ^ ((word >> 63) as u64 >> 1) as i64;
                Quantity::Real(f64::from_bits(bits as u64))
            }
        }
    }

    /// A number as a key, in the order of numbers of the kind.
    #[inline]
    pub(crate) fn key(self, number: Quantity) -> Result<i128> {
        match self {
            Kind::Exact(scale) => number.units_at(scale),
            Kind::Real => {
                let real = match number.real() {
                    // All of them are one, the greatest.
                    real if real.is_nan() => f64::NAN.abs(),
                    real => real + 0.0,
                };
                // Doubles in the order of their bits, but for the sign; -0 is 0.
                let bits = real.to_bits() as i64;
                Ok(i128::from(bits ^ ((bits >> 63) as u64 >> 1) as i64))
            }
        }
    }
}

/// The kind of a value whose columns have these kinds.
pub(crate) fn kind(value: &Value, column: &impl Fn(Column) -> Kind) -> Kind {
    match value {
        Value::Constant(Quantity::Exact { scale, .. }) => Kind::Exact(*scale),
        Value::Constant(Quantity::Real(_) | Quantity::Sum(_)) | Value::Over(..) => Kind::Real,
        Value::Column(of) => column(*of),
        Value::Present(_) => Kind::Exact(0),
        // Aggregates and blocks have no type of their own.
        Value::Aggregate(_) | Value::Block(_) => Kind::Real,
        Value::Plus(a, b) | Value::Minus(a, b) => kind(a, column).common(kind(b, column)),
        Value::Times(a, b) => match (kind(a, column), kind(b, column)) {
            (Kind::Exact(a), Kind::Exact(b)) => Kind::Exact(a.saturating_add(b)),
            _ => Kind::Real,
        },
    }
}
