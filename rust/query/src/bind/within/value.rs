//! What is compared, bound: columns here and further out, constants, arithmetic, queries within.
//!
//! Invariant: a value that is bound has a meaning: a number of some kind, a Boolean, a day, a tick,
//! or a string. Arithmetic is on numbers; what is NULL whatever the rows is told at once. Cost:
//! linear in the expression.

use ringview_core::{Error, Result, Type};

use super::scope::{Around, Within};
use crate::bind::expr::{Constant, Expr, Kind};
use crate::bind::filter::{Domain, domain_of, instant, nearest_single};
use crate::bind::literal::date;
use crate::bind::nested::{Column, Value};
use crate::bind::scalar::{constant, shown};
use crate::bind::variables::resolve;
use crate::logical::{ColumnRef, Compared, Literal, Scalar};

/// One side of a comparison.
#[derive(Clone)]
pub(super) enum Side {
    Null,
    /// A constant in quotes, which becomes what it is compared with.
    Quoted(String),
    Known(Known),
}

/// A value and what it means.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) value: Value,
    /// None of a string.
    pub(super) domain: Option<Domain>,
    pub(super) kind: Kind,
    /// Whether it is a float32.
    pub(super) single: bool,
    /// Whether it may be NULL, as far as that is known.
    pub(super) nullable: bool,
}

impl Known {
    pub(super) fn number(value: Value, kind: Kind) -> Self {
        Self {
            value,
            domain: Some(Domain::Number),
            kind,
            single: false,
            nullable: true,
        }
    }

    /// A constant.
    pub(super) fn literal(expr: &Expr, domain: Domain) -> Option<Self> {
        let (kind, value) = (expr.kind, expr.value()?);
        Some(Self {
            value: Value::Constant { kind, value },
            domain: Some(domain),
            kind,
            single: false,
            nullable: false,
        })
    }

    pub(super) fn constant(&self) -> Option<Constant> {
        match self.value {
            Value::Constant { value, .. } => Some(value),
            _ => None,
        }
    }

    /// A constant beside a float32 as a float32, as in a filter.
    pub(super) fn narrowed(self, beside: &Known, quoted: bool) -> Self {
        let single = match self.constant() {
            Some(Constant::Real(value)) if quoted => Some(f64::from(value as f32)),
            Some(number) => nearest_single(number, self.kind.scale()),
            None => None,
        };
        match single {
            Some(value) if beside.single => {
                let (kind, value) = (Kind::Real, Constant::Real(value));
                Known::number(Value::Constant { kind, value }, kind)
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

impl Within<'_> {
    /// Binds one side of a comparison.
    pub(super) fn side(&mut self, compared: &Compared, around: &Around<'_>) -> Result<Side> {
        Ok(match compared {
            Compared::Column {
                depth,
                atom,
                column,
            } => Side::Known(around.column(*depth, *atom, column)?),
            Compared::Literal { value } => literal(value)?,
            Compared::Add { left, right } => self.pair(left, right, around, |left, right| {
                Ok(Known::number(
                    Value::Add {
                        left: left.value.into(),
                        right: right.value.into(),
                    },
                    left.kind.common(right.kind),
                ))
            })?,
            Compared::Subtract { left, right } => {
                self.pair(left, right, around, |left, right| Ok(subtract(left, right)))?
            }
            Compared::Multiply { left, right } => self.pair(left, right, around, multiply)?,
            Compared::Divide { left, right } => self.pair(left, right, around, |left, right| {
                let (left, right) = (left.value.into(), right.value.into());
                Ok(Known::number(Value::Divide { left, right }, Kind::Real))
            })?,
            Compared::Negate { operand } => {
                let zero = Compared::Literal {
                    value: Literal::Int(0),
                };
                self.pair(&zero, operand, around, |left, right| {
                    Ok(subtract(left, right))
                })?
            }
            Compared::Query { query } => self.query(query, around)?,
        })
    }

    /// What two numbers make; NULL if either is.
    fn pair(
        &mut self,
        left: &Compared,
        right: &Compared,
        around: &Around<'_>,
        make: impl FnOnce(Known, Known) -> Result<Known>,
    ) -> Result<Side> {
        let (left, right) = (self.side(left, around)?, self.side(right, around)?);
        both(left, right, make)
    }
}

/// What two numbers make; NULL if either is.
pub(super) fn both(
    left: Side,
    right: Side,
    make: impl FnOnce(Known, Known) -> Result<Known>,
) -> Result<Side> {
    match (number(left)?, number(right)?) {
        (Some(left), Some(right)) => Ok(Side::Known(make(left, right)?)),
        _ => Ok(Side::Null),
    }
}

fn number(side: Side) -> Result<Option<Known>> {
    match side {
        Side::Null => Ok(None),
        Side::Quoted(text) => Err(Error::Type {
            place: "arithmetic in a condition".to_owned(),
            expected: "a number".to_owned(),
            found: shown(&Literal::Text(text)),
        }),
        Side::Known(known) => known.into_number("arithmetic in a condition").map(Some),
    }
}

pub(super) fn subtract(left: Known, right: Known) -> Known {
    let kind = left.kind.common(right.kind);
    let (left, right) = (left.value.into(), right.value.into());
    Known::number(Value::Subtract { left, right }, kind)
}

pub(super) fn multiply(left: Known, right: Known) -> Result<Known> {
    let kind = left.kind.product(right.kind)?;
    let (left, right) = (left.value.into(), right.value.into());
    Ok(Known::number(Value::Multiply { left, right }, kind))
}

/// A constant.
pub(super) fn literal(value: &Literal) -> Result<Side> {
    let (expr, domain) = match value {
        Literal::Null => return Ok(Side::Null),
        Literal::Text(text) => return Ok(Side::Quoted(text.clone())),
        Literal::Bool(value) => (Expr::int(i64::from(*value)), Domain::Bool),
        Literal::Date(text) => (Expr::int(date(text)?), Domain::Date),
        Literal::Timestamp(text) => instant(text)?,
        Literal::Int(_) | Literal::Float(_) | Literal::Decimal(_) => match constant(value)? {
            Some(expr) => (expr, Domain::Number),
            None => return Ok(Side::Null),
        },
    };
    Ok(Known::literal(&expr, domain).map_or(Side::Null, Side::Known))
}

impl Around<'_> {
    /// A column of the query so many further out.
    fn column(&self, depth: usize, atom: usize, name: &str) -> Result<Known> {
        let Some(query) = self.out(depth) else {
            return Err(Error::Value {
                place: "the query".to_owned(),
                problem: format!(
                    "column {name:?} is of a query {depth} further out, and there is none so far out"
                ),
            });
        };
        let column = ColumnRef {
            atom,
            column: name.to_owned(),
        };
        let (atom, column) = resolve(query.scopes, &column)?;
        let scope = &query.scopes[atom];
        let ty = scope.ty(column).clone();
        let (domain, kind) = match domain_of(&ty) {
            Some((kind, domain)) => (Some(domain), kind),
            None => (None, Kind::Int),
        };
        let nullable = scope.nullable(column);
        let column = Column {
            depth,
            atom,
            column,
        };
        Ok(Known {
            single: ty == Type::Float32,
            nullable,
            value: Value::Column { column, ty },
            domain,
            kind,
        })
    }
}

/// An expression over a query's own columns, as what is compared.
pub(super) fn compared(scalar: &Scalar) -> Compared {
    let both = |left: &Scalar, right: &Scalar| (compared(left).into(), compared(right).into());
    match scalar {
        Scalar::Column { atom, column } => Compared::Column {
            depth: 0,
            atom: *atom,
            column: column.clone(),
        },
        Scalar::Literal { value } => Compared::Literal {
            value: value.clone(),
        },
        Scalar::Add { left, right } => {
            let (left, right) = both(left, right);
            Compared::Add { left, right }
        }
        Scalar::Subtract { left, right } => {
            let (left, right) = both(left, right);
            Compared::Subtract { left, right }
        }
        Scalar::Multiply { left, right } => {
            let (left, right) = both(left, right);
            Compared::Multiply { left, right }
        }
        Scalar::Negate { operand } => Compared::Negate {
            operand: compared(operand).into(),
        },
    }
}
