//! One side of a comparison, and what it means.
//!
//! Invariant: a value has one meaning: a number of some kind, a Boolean, a day, a tick, or a string. Cost: none.

use ringview_core::{Error, Result};

use crate::bind::domain::{Domain, nearest_single};
use crate::bind::nested::{Quantity, Value};
use crate::bind::polynomial::{Constant, Kind, Polynomial};

/// One side of a comparison.
#[derive(Clone)]
pub(crate) enum Side {
    Null,
    /// A constant in quotes, which becomes what it is compared with.
    Quoted(String),
    TypedValue(TypedValue),
}

/// A value and what it means.
#[derive(Clone)]
pub(crate) struct TypedValue {
    pub(super) value: Value,
    /// None of a string.
    pub(super) domain: Option<Domain>,
    pub(super) kind: Kind,
    /// The constant that it is, of its kind.
    pub(super) constant: Option<Constant>,
    /// Whether it is a float32.
    pub(super) single: bool,
    /// Whether it may be NULL, as far as that is known.
    pub(super) nullable: bool,
}

impl TypedValue {
    pub(super) fn number(value: Value, kind: Kind) -> Self {
        Self {
            value,
            domain: Some(Domain::Number),
            kind,
            constant: None,
            single: false,
            nullable: true,
        }
    }

    /// A constant.
    pub(super) fn literal(expr: &Polynomial, domain: Domain) -> Option<Self> {
        let (kind, value) = (expr.kind, expr.value()?);
        Some(Self {
            value: Value::Constant(Quantity::constant(kind, value)),
            domain: Some(domain),
            kind,
            constant: Some(value),
            single: false,
            nullable: false,
        })
    }

    /// A constant beside a float32 as a float32, as in a filter.
    pub(super) fn narrowed(self, beside: &TypedValue, quoted: bool) -> Self {
        let single = match self.constant {
            Some(Constant::Real(value)) if quoted => Some(f64::from(value as f32)),
            Some(number) => nearest_single(number, self.kind.scale()),
            None => None,
        };
        match single {
            Some(value) if beside.single => {
                let number = Value::Constant(Quantity::Real(value));
                TypedValue {
                    constant: Some(Constant::Real(value)),
                    ..TypedValue::number(number, Kind::Real)
                }
            }
            _ => self,
        }
    }

    /// A number, for arithmetic and for sums.
    pub(super) fn into_number(self, place: &str) -> Result<Self> {
        match self.domain {
            Some(Domain::Number) => Ok(self),
            other => Err(Error::Type {
                place: place.to_owned(),
                expected: "a number".to_owned(),
                found: other.map_or("a string".to_owned(), |domain| domain.describe()),
            }),
        }
    }
}
