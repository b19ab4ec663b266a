//! Building expressions: kinds are aligned, constants folded.
//!
//! Invariant: whatever is built here satisfies what [`Op`] promises of its operands. Decimals stay
//! exact: sums align to the larger scale, products add scales, and only a double makes a double.

use ringview_core::{Error, Result, Type};

use crate::bind::polynomial::{Constant, Kind, Op, Polynomial};

/// Decimals have at most 38 digits, so no more can lie behind the point.
const MAX_SCALE: i8 = 38;

impl Kind {
    /// The kind in which values of both kinds can be added exactly.
    pub(crate) fn common(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Real, _) | (_, Kind::Real) => Kind::Real,
            (Kind::Int, Kind::Int) => Kind::Int,
            (left, right) => Kind::Decimal {
                scale: left.scale().max(right.scale()),
            },
        }
    }

    /// The kind of a product.
    pub fn product(self, other: Kind) -> Result<Kind> {
        Ok(match (self, other) {
            (Kind::Real, _) | (_, Kind::Real) => Kind::Real,
            (Kind::Int, Kind::Int) => Kind::Int,
            (left, right) => {
                let scale = left
                    .scale()
                    .checked_add(right.scale())
                    .filter(|scale| (-MAX_SCALE..=MAX_SCALE).contains(scale));
                Kind::Decimal {
                    scale: scale.ok_or_else(too_many_digits)?,
                }
            }
        })
    }

    /// Digits after the point; 0 for integers.
    pub(crate) fn scale(self) -> i8 {
        match self {
            Kind::Decimal { scale } => scale,
            Kind::Int | Kind::Real => 0,
        }
    }
}

impl Polynomial {
    /// An integer.
    #[must_use]
    pub fn int(value: i64) -> Polynomial {
        Polynomial::literal(Kind::Int, Constant::Int(value))
    }

    pub(crate) fn real(value: f64) -> Polynomial {
        Polynomial::literal(Kind::Real, Constant::Real(value))
    }

    pub(crate) fn decimal(value: i128, scale: i8) -> Polynomial {
        Polynomial::literal(Kind::Decimal { scale }, Constant::Decimal(value))
    }

    pub(crate) fn literal(kind: Kind, value: Constant) -> Polynomial {
        Polynomial {
            kind,
            op: Op::Literal { value },
        }
    }

    /// A column of the atom, read as a kind of number.
    #[must_use]
    pub fn column(column: usize, ty: Type, kind: Kind) -> Polynomial {
        Polynomial {
            kind,
            op: Op::Column { column, ty },
        }
    }

    pub(crate) fn value(&self) -> Option<Constant> {
        match self.op {
            Op::Literal { value } => Some(value),
            _ => None,
        }
    }

    /// Whether this is the constant 1, of any kind.
    pub fn is_one(&self) -> bool {
        match self.value() {
            Some(Constant::Int(value)) => value == 1,
            Some(Constant::Real(value)) => value == 1.0,
            Some(Constant::Decimal(value)) => power_of_ten(self.kind.scale()) == Some(value),
            None => false,
        }
    }

    /// The same number in another kind, one that can hold it.
    pub fn convert(self, kind: Kind) -> Result<Polynomial> {
        if kind == self.kind {
            return Ok(self);
        }
        if let Some(value) = self.value() {
            let value = convert_number(value, self.kind, kind)?;
            return Ok(Polynomial::literal(kind, value));
        }
        // One conversion does what two would; to Real only if the first loses nothing, as here.
        let operand = match self.op {
            Op::Convert { operand } => operand,
            _ => Box::new(self),
        };
        Ok(Polynomial {
            kind,
            op: Op::Convert { operand },
        })
    }

    pub(crate) fn add(self, other: Polynomial) -> Result<Polynomial> {
        let (left, right) = Polynomial::unify(self, other)?;
        let folded = fold(
            &left,
            &right,
            i64::checked_add,
            i128::checked_add,
            |a, b| a + b,
        )?;
        Ok(folded.unwrap_or_else(|| Polynomial {
            kind: left.kind,
            op: Op::Add {
                left: Box::new(left),
                right: Box::new(right),
            },
        }))
    }

    pub(crate) fn subtract(self, other: Polynomial) -> Result<Polynomial> {
        let (left, right) = Polynomial::unify(self, other)?;
        let folded = fold(
            &left,
            &right,
            i64::checked_sub,
            i128::checked_sub,
            |a, b| a - b,
        )?;
        Ok(folded.unwrap_or_else(|| Polynomial {
            kind: left.kind,
            op: Op::Subtract {
                left: Box::new(left),
                right: Box::new(right),
            },
        }))
    }

    /// The product, constants multiplied.
    ///
    /// # Errors
    /// `Overflow` where constants do not fit, `Unsupported` where a product has too many digits.
    pub fn multiply(self, other: Polynomial) -> Result<Polynomial> {
        let kind = self.kind.product(other.kind)?;
        if self.is_one() {
            return other.convert(kind);
        }
        if other.is_one() {
            return self.convert(kind);
        }
        let factor = |expr: Polynomial| match (kind, expr.kind) {
            (Kind::Real, _) => expr.convert(Kind::Real),
            (Kind::Decimal { .. }, Kind::Int) => expr.convert(Kind::Decimal { scale: 0 }),
            _ => Ok(expr),
        };
        let (left, right) = (factor(self)?, factor(other)?);
        let folded = fold(
            &left,
            &right,
            i64::checked_mul,
            i128::checked_mul,
            |a, b| a * b,
        )?;
        let op = match folded {
            Some(Polynomial { op, .. }) => op,
            None => Op::Multiply {
                left: Box::new(left),
                right: Box::new(right),
            },
        };
        Ok(Polynomial { kind, op })
    }

    pub(crate) fn negate(self) -> Result<Polynomial> {
        let folded = match self.value() {
            Some(Constant::Int(value)) => value.checked_neg().map(Constant::Int),
            Some(Constant::Decimal(value)) => value.checked_neg().map(Constant::Decimal),
            Some(Constant::Real(value)) => Some(Constant::Real(-value)),
            None => {
                return Ok(Polynomial {
                    kind: self.kind,
                    op: Op::Negate {
                        operand: Box::new(self),
                    },
                });
            }
        };
        let value = folded.ok_or_else(overflow)?;
        Ok(Polynomial::literal(self.kind, value))
    }

    /// Both expressions in their common kind.
    pub(crate) fn unify(left: Polynomial, right: Polynomial) -> Result<(Polynomial, Polynomial)> {
        let kind = left.kind.common(right.kind);
        Ok((left.convert(kind)?, right.convert(kind)?))
    }

    /// Calls `see` with every column, by position.
    pub fn each_column(&self, see: &mut (impl FnMut(usize) + ?Sized)) {
        match &self.op {
            Op::Column { column, .. } => see(*column),
            Op::Literal { .. } => {}
            Op::Negate { operand } | Op::Convert { operand } => operand.each_column(see),
            Op::Add { left, right }
            | Op::Subtract { left, right }
            | Op::Multiply { left, right } => {
                left.each_column(see);
                right.each_column(see);
            }
        }
    }

    /// Whether it reads a column of decimals.
    #[must_use]
    pub fn reads_decimals(&self) -> bool {
        match &self.op {
            Op::Column { ty, .. } => matches!(ty, Type::Decimal { .. }),
            Op::Literal { .. } => false,
            Op::Negate { operand } | Op::Convert { operand } => operand.reads_decimals(),
            Op::Add { left, right }
            | Op::Subtract { left, right }
            | Op::Multiply { left, right } => left.reads_decimals() || right.reads_decimals(),
        }
    }

    /// Turns every column into that one.
    pub fn read_from(&mut self, column: usize, ty: &Type) {
        match &mut self.op {
            Op::Column { .. } => {
                let ty = ty.clone();
                self.op = Op::Column { column, ty };
            }
            Op::Literal { .. } => {}
            Op::Negate { operand } | Op::Convert { operand } => operand.read_from(column, ty),
            Op::Add { left, right }
            | Op::Subtract { left, right }
            | Op::Multiply { left, right } => {
                left.read_from(column, ty);
                right.read_from(column, ty);
            }
        }
    }
}

fn fold(
    left: &Polynomial,
    right: &Polynomial,
    ints: impl Fn(i64, i64) -> Option<i64>,
    decimals: impl Fn(i128, i128) -> Option<i128>,
    reals: impl Fn(f64, f64) -> f64,
) -> Result<Option<Polynomial>> {
    let (Some(a), Some(b)) = (left.value(), right.value()) else {
        return Ok(None);
    };
    let value = match (a, b) {
        (Constant::Int(a), Constant::Int(b)) => ints(a, b).map(Constant::Int),
        (Constant::Decimal(a), Constant::Decimal(b)) => decimals(a, b).map(Constant::Decimal),
        (Constant::Real(a), Constant::Real(b)) => Some(reals(a, b))
            .filter(|x| x.is_finite())
            .map(Constant::Real),
        // Operands that were not unified are not folded.
        _ => return Ok(None),
    };
    let value = value.ok_or_else(overflow)?;
    Ok(Some(Polynomial::literal(left.kind, value)))
}

fn convert_number(value: Constant, from: Kind, to: Kind) -> Result<Constant> {
    let wide = match value {
        Constant::Int(value) => i128::from(value),
        Constant::Decimal(value) => value,
        Constant::Real(value) => return Ok(Constant::Real(value)),
    };
    Ok(match to {
        Kind::Int => Constant::Int(i64::try_from(wide).map_err(|_| overflow())?),
        Kind::Decimal { scale } => {
            let factor = scale.checked_sub(from.scale()).and_then(power_of_ten);
            let value = factor.and_then(|factor| wide.checked_mul(factor));
            Constant::Decimal(value.ok_or_else(overflow)?)
        }
        Kind::Real => Constant::Real(nearest_real(wide, from.scale())),
    })
}

/// The double nearest to `value * 10^-scale`; through text, because only parsing rounds just once.
fn nearest_real(value: i128, scale: i8) -> f64 {
    format!("{value}e{}", -i16::from(scale))
        .parse()
        .unwrap_or(f64::NAN)
}

pub(crate) fn power_of_ten(digits: i8) -> Option<i128> {
    10i128.checked_pow(u32::try_from(digits).ok()?)
}

fn overflow() -> Error {
    Error::Overflow {
        place: "a constant expression of the query".to_owned(),
    }
}

pub(crate) fn too_many_digits() -> Error {
    Error::Unsupported {
        what: format!("arithmetic on decimals with more than {MAX_SCALE} digits after the point"),
        why: "decimals have at most 38 digits".to_owned(),
        instead: "declare the columns with fewer digits after the point, or as float64".to_owned(),
    }
}
