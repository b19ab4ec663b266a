//! Binding of filters: both sides of a comparison are brought to one domain, constants folded.
//!
//! Invariant: three-valued logic throughout; nothing is rounded on the way, so that a filter keeps
//! exactly the rows that SQL keeps. Cost: linear in the filter.

use ringview_core::{Error, Result, TimeUnit, Type};

use crate::bind::expr::{Comparison, Constant, Expr, Kind, Op, Predicate, TextOperand};
use crate::bind::literal::{date, decimal, per_second, timestamp};
use crate::bind::predicate::{FALSE, TRUE, UNKNOWN, all, any, as_list, order, truth};
use crate::bind::scalar::{Purpose, Scope, each_column, shown};
use crate::logical::{Condition, Literal, Scalar};

/// What the values of an operand mean.
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

/// One side of a comparison.
enum Operand {
    Null,
    /// A string column.
    Text(usize),
    /// A constant in quotes, which becomes what it is compared with.
    Quoted(String),
    Value(Expr, Domain),
}

impl Scope<'_> {
    /// Binds a condition on this atom's rows.
    pub(crate) fn predicate(&self, condition: &Condition) -> Result<Predicate> {
        match condition {
            Condition::Compare {
                comparison,
                left,
                right,
            } => self.compare(*comparison, self.operand(left)?, self.operand(right)?),
            Condition::In { operand, list } => self.among(operand, list),
            Condition::Like {
                operand,
                pattern,
                escape,
                insensitive,
            } => match self.operand(operand)? {
                Operand::Text(column) => Ok(Predicate::Like {
                    column,
                    pattern: pattern.clone(),
                    escape: *escape,
                    insensitive: *insensitive,
                }),
                Operand::Null => Ok(UNKNOWN),
                Operand::Quoted(_) | Operand::Value(..) => Err(Error::Type {
                    place: format!("LIKE '{pattern}' on {:?}", self.alias),
                    expected: "a column of strings".to_owned(),
                    found: self.described(operand),
                }),
            },
            Condition::IsNull { operand } => self.is_null(operand),
            Condition::And { operands } => self.conjunction(operands),
            Condition::Or { operands } => self.disjunction(operands),
            Condition::Not { operand } => Ok(match self.predicate(operand)? {
                Predicate::Constant { value } => Predicate::Constant {
                    value: value.map(|value| !value),
                },
                Predicate::Not { operand } => *operand,
                operand => Predicate::Not {
                    operand: Box::new(operand),
                },
            }),
            Condition::Constant { value } => Ok(Predicate::Constant {
                value: Some(*value),
            }),
        }
    }

    /// `left = right` for two columns of this atom that belong to one variable.
    pub(crate) fn equal(&self, left: usize, right: usize) -> Result<Predicate> {
        self.compare(
            Comparison::Eq,
            self.column_operand(left),
            self.column_operand(right),
        )
    }

    /// That a decimal of this atom is a value of a type of integers, whose bits are all that a key
    /// holds of it.
    pub(crate) fn fits(&self, column: usize, ty: &Type) -> Result<Predicate> {
        let Some((least, most)) = ty.integer_range() else {
            return Ok(TRUE);
        };
        let bound = |comparison, value| {
            let value = Operand::Value(Expr::decimal(value, 0), Domain::Number);
            self.compare(comparison, self.column_operand(column), value)
        };
        Ok(all(vec![
            bound(Comparison::Ge, least)?,
            bound(Comparison::Le, most)?,
        ]))
    }

    fn operand(&self, scalar: &Scalar) -> Result<Operand> {
        Ok(match scalar {
            Scalar::Column { atom, column } => self.column_operand(self.own(*atom, column)?),
            Scalar::Literal { value } => match value {
                Literal::Null => Operand::Null,
                Literal::Text(text) => Operand::Quoted(text.clone()),
                Literal::Bool(value) => Operand::Value(Expr::int(i64::from(*value)), Domain::Bool),
                Literal::Date(text) => Operand::Value(Expr::int(date(text)?), Domain::Date),
                Literal::Timestamp(text) => {
                    let (ticks, domain) = instant(text)?;
                    Operand::Value(ticks, domain)
                }
                Literal::Int(_) | Literal::Float(_) | Literal::Decimal(_) => {
                    self.arithmetic(scalar)?
                }
            },
            _ => self.arithmetic(scalar)?,
        })
    }

    fn arithmetic(&self, scalar: &Scalar) -> Result<Operand> {
        let number = self.number(scalar, Purpose::Filter)?;
        Ok(number.map_or(Operand::Null, |expr| Operand::Value(expr, Domain::Number)))
    }

    fn column_operand(&self, column: usize) -> Operand {
        let ty = self.ty(column);
        match domain_of(ty) {
            None => Operand::Text(column),
            Some((kind, domain)) => Operand::Value(Expr::column(column, ty.clone(), kind), domain),
        }
    }

    fn compare(&self, comparison: Comparison, left: Operand, right: Operand) -> Result<Predicate> {
        use Operand::{Null, Quoted, Text, Value};
        let texts = |left, right| Predicate::CompareText {
            comparison,
            left,
            right,
        };
        let column = |column| TextOperand::Column { column };
        let constant = |value| TextOperand::Literal { value };
        Ok(match (left, right) {
            (Null, _) | (_, Null) => UNKNOWN,
            (Text(left), Text(right)) => texts(column(left), column(right)),
            (Text(left), Quoted(right)) => texts(column(left), constant(right)),
            (Quoted(left), Text(right)) => texts(constant(left), column(right)),
            (Quoted(left), Quoted(right)) => truth(comparison, left.cmp(&right)),
            (Value(left, domain), Quoted(right)) => {
                let (right, to) = coerce(&right, domain, left.kind)?;
                let right = narrowed(&left, right, true);
                self.values(comparison, (left, domain), (right, to))?
            }
            (Quoted(left), Value(right, domain)) => {
                let (left, to) = coerce(&left, domain, right.kind)?;
                let left = narrowed(&right, left, true);
                self.values(comparison, (left, to), (right, domain))?
            }
            (Value(left, l), Value(right, r)) => {
                let right = narrowed(&left, right, false);
                let left = narrowed(&right, left, false);
                self.values(comparison, (left, l), (right, r))?
            }
            (Text(text), Value(_, domain)) | (Value(_, domain), Text(text)) => {
                return Err(self.mismatch(&self.name(text), &domain.describe()));
            }
        })
    }

    fn values(
        &self,
        comparison: Comparison,
        (left, from): (Expr, Domain),
        (right, to): (Expr, Domain),
    ) -> Result<Predicate> {
        let (left, right) = match (from, to) {
            (Domain::Number, Domain::Number)
            | (Domain::Bool, Domain::Bool)
            | (Domain::Date, Domain::Date) => (left, right),
            (Domain::Number | Domain::Bool, _) | (_, Domain::Number | Domain::Bool) => {
                return Err(self.mismatch(&from.describe(), &to.describe()));
            }
            _ => {
                let zones = (zoned(from), zoned(to));
                if let (Some(left), Some(right)) = zones
                    && left != right
                {
                    return Err(self.mismatch(&from.describe(), &to.describe()));
                }
                let finest = day_fraction(from).max(day_fraction(to));
                (
                    times(left, finest / day_fraction(from))?,
                    times(right, finest / day_fraction(to))?,
                )
            }
        };
        let (left, right) = Expr::unify(left, right)?;
        if let (Some(a), Some(b)) = (left.value(), right.value())
            && let Some(order) = order(a, b)
        {
            return Ok(truth(comparison, order));
        }
        Ok(Predicate::Compare {
            comparison,
            left,
            right,
        })
    }

    /// `x IN (a, b)` is `x = a OR x = b`; a list of constants of one kind stays a list.
    fn among(&self, operand: &Scalar, list: &[Literal]) -> Result<Predicate> {
        let mut equalities = Vec::with_capacity(list.len());
        for literal in list {
            let literal = Scalar::Literal {
                value: literal.clone(),
            };
            let (left, right) = (self.operand(operand)?, self.operand(&literal)?);
            equalities.push(self.compare(Comparison::Eq, left, right)?);
        }
        let null = equalities.contains(&UNKNOWN);
        equalities.retain(|equality| *equality != UNKNOWN);
        Ok(as_list(&equalities, null).unwrap_or_else(|| {
            if null {
                equalities.push(UNKNOWN);
            }
            any(equalities)
        }))
    }

    fn is_null(&self, operand: &Scalar) -> Result<Predicate> {
        let mut columns = Vec::new();
        let mut problem = None;
        each_column(operand, &mut |atom, column| match self.own(atom, column) {
            Ok(column) if self.nullable(column) => columns.push(column),
            Ok(_) => {}
            Err(error) => problem = Some(error),
        });
        if let Some(error) = problem {
            return Err(error);
        }
        if matches!(self.operand(operand)?, Operand::Null) {
            return Ok(TRUE);
        }
        if columns.is_empty() {
            return Ok(FALSE);
        }
        columns.sort_unstable();
        columns.dedup();
        Ok(Predicate::IsNull { columns })
    }

    fn conjunction(&self, operands: &[Condition]) -> Result<Predicate> {
        let bound: Result<Vec<_>> = operands.iter().map(|c| self.predicate(c)).collect();
        Ok(all(bound?))
    }

    fn disjunction(&self, operands: &[Condition]) -> Result<Predicate> {
        let bound: Result<Vec<_>> = operands.iter().map(|c| self.predicate(c)).collect();
        Ok(any(bound?))
    }

    fn described(&self, scalar: &Scalar) -> String {
        match scalar {
            Scalar::Literal { value } => shown(value),
            Scalar::Column { atom, column } => self
                .own(*atom, column)
                .map_or_else(|_| column.clone(), |c| self.ty(c).to_string()),
            _ => "a number".to_owned(),
        }
    }

    fn mismatch(&self, left: &str, right: &str) -> Error {
        Error::Type {
            place: format!("a comparison in the filter on {:?}", self.alias),
            expected: format!("two values of one type (beside {left})"),
            found: right.to_owned(),
        }
    }
}

/// What the values of a column mean; none are strings.
pub(crate) fn domain_of(ty: &Type) -> Option<(Kind, Domain)> {
    Some(match ty {
        Type::Utf8 => return None,
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
fn narrowed(beside: &Expr, constant: Expr, quoted: bool) -> Expr {
    let single = matches!(
        &beside.op,
        Op::Column {
            ty: Type::Float32,
            ..
        }
    );
    match constant.value() {
        Some(Constant::Real(value)) if single && quoted => Expr::real(f64::from(value as f32)),
        Some(number) if single => {
            nearest_single(number, constant.kind.scale()).map_or(constant, Expr::real)
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
pub(crate) fn coerce(text: &str, domain: Domain, kind: Kind) -> Result<(Expr, Domain)> {
    let wrong = |expected: &str| Error::Value {
        place: format!("the constant '{text}'"),
        problem: format!("expected {expected}, as it is compared with one"),
    };
    let expr = match domain {
        Domain::Number if kind == Kind::Real => {
            let value: Option<f64> = text.trim().parse().ok();
            let value = value.filter(|value| value.is_finite());
            Expr::real(value.ok_or_else(|| wrong("a number"))?)
        }
        Domain::Number => {
            let (value, scale) = decimal(text)?;
            match (scale, i64::try_from(value)) {
                (0, Ok(value)) => Expr::int(value),
                _ => Expr::decimal(value, scale),
            }
        }
        Domain::Bool => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" => Expr::int(1),
            "false" | "f" => Expr::int(0),
            _ => return Err(wrong("'true' or 'false'")),
        },
        Domain::Date => Expr::int(date(text)?),
        Domain::Timestamp { unit: of, .. } => {
            let (mut ticks, mut unit) = timestamp(text)?;
            if unit == TimeUnit::Nanosecond && of != unit {
                // A text that is compared with microseconds is read as some.
                (ticks, unit) = (ticks.div_euclid(1_000), TimeUnit::Microsecond);
            }
            return Ok((Expr::int(ticks), Domain::Timestamp { unit, zoned: None }));
        }
    };
    Ok((expr, domain))
}

/// A timestamp that is written.
pub(crate) fn instant(text: &str) -> Result<(Expr, Domain)> {
    let (ticks, unit) = timestamp(text)?;
    let domain = Domain::Timestamp { unit, zoned: None };
    Ok((Expr::int(ticks), domain))
}

/// Into how many parts a value's unit divides the day.
pub(crate) fn day_fraction(domain: Domain) -> i64 {
    match domain {
        Domain::Timestamp { unit, .. } => 86_400 * per_second(unit),
        Domain::Date | Domain::Number | Domain::Bool => 1,
    }
}

/// Ticks in a finer unit. Years after 2262 have no 64-bit nanoseconds, hence 128 bits.
fn times(expr: Expr, factor: i64) -> Result<Expr> {
    if factor == 1 {
        return Ok(expr);
    }
    if let Some(Constant::Int(value)) = expr.value()
        && let Some(value) = value.checked_mul(factor)
    {
        return Ok(Expr::int(value));
    }
    expr.convert(Kind::Decimal { scale: 0 })?
        .multiply(Expr::decimal(factor.into(), 0))
}

pub(crate) fn zoned(domain: Domain) -> Option<bool> {
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
