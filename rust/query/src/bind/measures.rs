//! Binding of expressions over aggregates and of HAVING.
//!
//! Invariant: both sides of an operation are brought to one type, as SQL does it: `/` gives a
//! double, decimals stay exact, an integer beside a decimal becomes one, a date beside a timestamp
//! too. Cost: linear in the expression, but for the aggregates that it needs.

use ringview_core::{Error, Result, Type};

use crate::bind::aggregate::{Aggregates, kind_type};
use crate::bind::arithmetic::{power_of_ten, too_many_digits};
use crate::bind::bound::{OutputKind, PlanOutput};
use crate::bind::computed::{Computed, ComputedOp, Having};
use crate::bind::expr::{Comparison, Constant, Kind};
use crate::bind::filter::nearest_single;
use crate::bind::literal::{date, decimal, per_second, timestamp};
use crate::bind::scalar::{Purpose, number_kind};
use crate::logical::{Condition, Literal, Measure};

impl Aggregates<'_> {
    /// An expression of the output `name`.
    pub(crate) fn computed(&mut self, name: &str, measure: &Measure) -> Result<Computed> {
        let place = |what: &str| format!("{what} in {name:?}");
        let mut boxed = |side: &Measure| self.computed(name, side);
        match measure {
            Measure::Group { column } => {
                let found = self.group(name, column)?;
                Ok(self.measure(name, found))
            }
            Measure::Aggregate {
                function,
                arguments,
            } => {
                let found = self.aggregate(name, *function, arguments)?;
                Ok(self.measure(name, found))
            }
            Measure::Literal { value } => constant(value),
            Measure::Add { left, right } => {
                let (ty, left, right) = addends(&place("+"), boxed(left)?, boxed(right)?)?;
                let (left, right) = (left.into(), right.into());
                Ok(Computed::new(ty, ComputedOp::Add { left, right }))
            }
            Measure::Subtract { left, right } => {
                let (ty, left, right) = addends(&place("-"), boxed(left)?, boxed(right)?)?;
                let (left, right) = (left.into(), right.into());
                Ok(Computed::new(ty, ComputedOp::Subtract { left, right }))
            }
            Measure::Multiply { left, right } => multiply(&place("*"), boxed(left)?, boxed(right)?),
            Measure::Divide { left, right } => {
                let left = real(number(&place("/"), boxed(left)?)?.0).into();
                let right = real(number(&place("/"), boxed(right)?)?.0).into();
                let divided = ComputedOp::Divide { left, right };
                Ok(Computed::new(Type::Float64, divided))
            }
            Measure::Negate { operand } => {
                let (operand, kind) = number(&place("a minus"), boxed(operand)?)?;
                let operand = convert(operand, kind)?.into();
                Ok(Computed::new(
                    kind_type(kind),
                    ComputedOp::Negate { operand },
                ))
            }
            Measure::Coalesce { operands } => {
                let bound: Result<Vec<Computed>> = operands.iter().map(boxed).collect();
                coalesce(&place("COALESCE"), bound?)
            }
            Measure::NullIf { left, right } => {
                let operand = boxed(left)?;
                let (left, right) = alike(&place("NULLIF"), operand.clone(), boxed(right)?)?;
                let ty = operand.ty.clone();
                let (operand, left, right) = (operand.into(), left.into(), right.into());
                let op = ComputedOp::NullIf {
                    operand,
                    left,
                    right,
                };
                Ok(Computed::new(ty, op))
            }
        }
    }

    /// Reads an output; equal ones once.
    fn measure(&mut self, name: &str, (ty, kind): (Type, OutputKind)) -> Computed {
        let same = |other: &PlanOutput| other.kind == kind && other.ty == ty;
        let measure = self.measures.iter().position(same).unwrap_or_else(|| {
            self.measures.push(PlanOutput {
                name: name.to_owned(),
                ty: ty.clone(),
                kind: kind.clone(),
            });
            self.measures.len() - 1
        });
        Computed::new(ty, ComputedOp::Measure { measure })
    }

    /// A condition on the rows of the result.
    pub(crate) fn having(&mut self, condition: &Condition<Measure>) -> Result<Having> {
        let place = "HAVING";
        Ok(match condition {
            Condition::Compare {
                comparison,
                left,
                right,
            } => {
                let (left, right) = (self.computed(place, left)?, self.computed(place, right)?);
                compare(*comparison, left, right)?
            }
            Condition::In { operand, list } => {
                let operand = self.computed(place, operand)?;
                let equal = |literal| compare(Comparison::Eq, operand.clone(), constant(literal)?);
                let operands = list.iter().map(equal).collect::<Result<_>>()?;
                Having::Or { operands }
            }
            Condition::Like {
                operand,
                pattern,
                escape,
                insensitive,
            } => {
                let operand = self.computed(place, operand)?;
                if operand.ty != Type::Utf8 {
                    return Err(mismatch("LIKE in HAVING", "a string", &operand.ty));
                }
                Having::Like {
                    operand,
                    pattern: pattern.clone(),
                    escape: *escape,
                    insensitive: *insensitive,
                }
            }
            Condition::IsNull { operand } => Having::IsNull {
                operand: self.computed(place, operand)?,
            },
            Condition::And { operands } => Having::And {
                operands: operands
                    .iter()
                    .map(|c| self.having(c))
                    .collect::<Result<_>>()?,
            },
            Condition::Or { operands } => Having::Or {
                operands: operands
                    .iter()
                    .map(|c| self.having(c))
                    .collect::<Result<_>>()?,
            },
            Condition::Not { operand } => Having::Not {
                operand: Box::new(self.having(operand)?),
            },
            Condition::Constant { value } => Having::Constant { value: *value },
        })
    }
}

fn compare(comparison: Comparison, left: Computed, right: Computed) -> Result<Having> {
    let right = narrowed(&left, right);
    let left = narrowed(&right, left);
    let (left, right) = alike("a comparison in HAVING", left, right)?;
    Ok(Having::Compare {
        comparison,
        left,
        right,
    })
}

/// A constant beside a float32 as a float32, as in a filter.
fn narrowed(beside: &Computed, constant: Computed) -> Computed {
    let ComputedOp::Number { value } = constant.op else {
        return constant;
    };
    let scale = number_kind(&constant.ty, Purpose::Filter).map_or(0, Kind::scale);
    match nearest_single(value, scale) {
        Some(value) if beside.ty == Type::Float32 => {
            let value = Constant::Real(value);
            Computed::new(Type::Float64, ComputedOp::Number { value })
        }
        _ => constant,
    }
}

fn constant(literal: &Literal) -> Result<Computed> {
    let word = |value| ComputedOp::Number {
        value: Constant::Int(value),
    };
    let (ty, op) = match literal {
        Literal::Null => (Type::Int64, ComputedOp::Null),
        Literal::Bool(value) => (Type::Bool, word(i64::from(*value))),
        Literal::Int(value) => (Type::Int64, word(*value)),
        Literal::Float(value) => {
            let value = Constant::Real(*value);
            (Type::Float64, ComputedOp::Number { value })
        }
        Literal::Decimal(text) => {
            let (value, scale) = decimal(text)?;
            let value = Constant::Decimal(value);
            (
                kind_type(Kind::Decimal { scale }),
                ComputedOp::Number { value },
            )
        }
        Literal::Text(text) => {
            let value = text.clone();
            (Type::Utf8, ComputedOp::Text { value })
        }
        Literal::Date(text) => (Type::Date32, word(date(text)?)),
        Literal::Timestamp(text) => {
            let (ticks, unit) = timestamp(text)?;
            let timezone = None;
            (Type::Timestamp { unit, timezone }, word(ticks))
        }
    };
    Ok(Computed::new(ty, op))
}

/// Both sides in one type, whatever it is.
fn alike(place: &str, left: Computed, right: Computed) -> Result<(Computed, Computed)> {
    let mut sides = alike_all(place, vec![left, right])?;
    let right = sides.pop();
    match (sides.pop(), right) {
        (Some(left), Some(right)) => Ok((left, right)),
        _ => unreachable!("as many come out as went in"),
    }
}

/// All operands in one type that holds the values of each; NULLs take it.
fn alike_all(place: &str, operands: Vec<Computed>) -> Result<Vec<Computed>> {
    let known = |operand: &&Computed| operand.op != ComputedOp::Null;
    let Some(first) = operands.iter().find(known).map(|o| o.ty.clone()) else {
        return Ok(operands);
    };
    if number_kind(&first, Purpose::Filter).is_some() {
        let mut numbers = Vec::with_capacity(operands.len());
        let mut widest = Kind::Int;
        for operand in operands {
            let (operand, kind) = number(place, operand)?;
            widest = widest.common(kind);
            numbers.push(operand);
        }
        return numbers.into_iter().map(|n| convert(n, widest)).collect();
    }
    let mut unit = None;
    for operand in operands.iter().filter(known) {
        let fits = match (&first, &operand.ty) {
            (Type::Date32 | Type::Timestamp { .. }, Type::Date32) => true,
            (Type::Date32, Type::Timestamp { unit: other, .. }) => {
                unit = unit.max(Some(per_second(*other)));
                true
            }
            (Type::Timestamp { .. }, Type::Timestamp { unit: other, .. }) => {
                unit = unit.max(Some(per_second(*other)));
                // A constant without a zone is in the zone of what it is compared with.
                true
            }
            (first, other) => first == other,
        };
        if !fits {
            return Err(mismatch(place, &first.to_string(), &operand.ty));
        }
    }
    let finest = unit;
    let moment = operands
        .iter()
        .map(|operand| &operand.ty)
        .find(|ty| matches!(ty, Type::Timestamp { unit, .. } if Some(per_second(*unit)) == finest))
        .cloned();
    let ty = moment.unwrap_or(first);
    Ok(operands.into_iter().map(|o| in_time(o, &ty)).collect())
}

/// A date or a timestamp as a timestamp of the finest unit; anything else, and NULL, as it is.
fn in_time(operand: Computed, ty: &Type) -> Computed {
    if operand.op == ComputedOp::Null {
        return Computed::new(ty.clone(), ComputedOp::Null);
    }
    let ticks = |ty: &Type| match ty {
        Type::Timestamp { unit, .. } => Some(86_400 * per_second(*unit)),
        Type::Date32 => Some(1),
        _ => None,
    };
    match (ticks(ty), ticks(&operand.ty)) {
        (Some(to), Some(from)) if to != from => scaled(operand, ty.clone(), i128::from(to / from)),
        _ => operand,
    }
}

/// A number and its kind. NULL is an integer.
fn number(place: &str, operand: Computed) -> Result<(Computed, Kind)> {
    match number_kind(&operand.ty, Purpose::Filter) {
        Some(kind) => Ok((operand, kind)),
        None => Err(mismatch(place, "a number", &operand.ty)),
    }
}

/// A number in another kind, one that can hold it.
fn convert(operand: Computed, kind: Kind) -> Result<Computed> {
    let ty = kind_type(kind);
    if operand.op == ComputedOp::Null {
        return Ok(Computed::new(ty, ComputedOp::Null));
    }
    if kind == Kind::Real {
        return Ok(real(operand));
    }
    let own = number_kind(&operand.ty, Purpose::Filter).map_or(0, Kind::scale);
    let digits = kind.scale().checked_sub(own);
    match digits.and_then(power_of_ten) {
        Some(1) if operand.ty == ty => Ok(operand),
        Some(factor) => Ok(scaled(operand, ty, factor)),
        None => Err(too_many_digits()),
    }
}

fn scaled(operand: Computed, ty: Type, factor: i128) -> Computed {
    let op = ComputedOp::Scale {
        operand: operand.into(),
        factor: Constant::Decimal(factor),
    };
    Computed::new(ty, op)
}

/// A number as a double.
fn real(operand: Computed) -> Computed {
    match number_kind(&operand.ty, Purpose::Filter) {
        None | Some(Kind::Real) => operand,
        Some(kind) => {
            let (operand, scale) = (operand.into(), kind.scale());
            Computed::new(Type::Float64, ComputedOp::Real { operand, scale })
        }
    }
}

/// Two numbers of one kind, and the type of their sum.
fn addends(place: &str, left: Computed, right: Computed) -> Result<(Type, Computed, Computed)> {
    let ((left, l), (right, r)) = (number(place, left)?, number(place, right)?);
    let kind = l.common(r);
    Ok((kind_type(kind), convert(left, kind)?, convert(right, kind)?))
}

fn multiply(place: &str, left: Computed, right: Computed) -> Result<Computed> {
    let ((left, l), (right, r)) = (number(place, left)?, number(place, right)?);
    let kind = l.product(r)?;
    let factor = |side| if kind == Kind::Real { real(side) } else { side };
    let (left, right) = (factor(left).into(), factor(right).into());
    Ok(Computed::new(
        kind_type(kind),
        ComputedOp::Multiply { left, right },
    ))
}

fn coalesce(place: &str, operands: Vec<Computed>) -> Result<Computed> {
    let operands = alike_all(place, operands)?;
    let ty = operands.first().map(|o| o.ty.clone());
    let ty = ty.ok_or_else(|| Error::Value {
        place: place.to_owned(),
        problem: "it has no arguments; give it at least one".to_owned(),
    })?;
    Ok(Computed::new(ty, ComputedOp::Coalesce { operands }))
}

fn mismatch(place: &str, expected: &str, found: &Type) -> Error {
    Error::Type {
        place: place.to_owned(),
        expected: expected.to_owned(),
        found: found.to_string(),
    }
}
