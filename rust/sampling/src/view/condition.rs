//! Conditions across tables: the results of the join that count (paper, section 3).
//!
//! Invariant: a result counts where the condition is TRUE. Exact numbers are compared exactly, whatever their scales; with a
//! double all are doubles, NaN being the greatest. Predicates of one table alone are evaluated when its row is inserted, and
//! are words of it. Cost: O(condition) a result that is looked at; the reservoir looks at about k log(results / k) that count,
//! and as many more as do not count among them.

use std::cmp::Ordering;

use ringview_core::{Error, Result, Type};
use ringview_query::nested::{Column, Value, Where};
use ringview_query::{Comparison, Constant, Kind};

use crate::{Index, Predicate};

/// Which results count.
#[derive(Clone, Debug)]
pub(super) enum ResultFilter {
    All,
    Where(Box<Condition>),
}

/// A condition with the words that it reads.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) condition: Where,
    pub(super) columns: Vec<(Column, Words)>,
    /// The verdicts, by atom and predicate, in the order of the condition.
    pub(super) verdicts: Vec<Word>,
}

/// The columns and the predicates of single atoms in a condition, in its order.
#[derive(Clone, Debug, Default)]
pub(super) struct Read {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<(usize, ringview_query::Predicate)>,
}

impl Read {
    pub(super) fn of(condition: Option<&Where>) -> Read {
        let mut read = Read::default();
        condition
            .into_iter()
            .for_each(|condition| read.see(condition));
        read.columns.sort_unstable();
        read.columns.dedup();
        read
    }

    fn see(&mut self, condition: &Where) {
        let mut column = |column| self.columns.push(column);
        match condition {
            Where::Compare { left, right, .. } => {
                left.each_column(&mut column);
                right.each_column(&mut column);
            }
            Where::IsNull { operand, .. } => operand.each_column(&mut column),
            Where::Row { atom, predicate } => self.rows.push((*atom, predicate.clone())),
            Where::And { operands } | Where::Or { operands } => {
                operands.iter().for_each(|operand| self.see(operand));
            }
        }
    }
}

/// A word of a result: a relation of the acyclic join, and a word of its row.
pub(super) type Word = (usize, usize);

/// The words of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    pub(super) word: Word,
    pub(super) high: Option<Word>,
    pub(super) null: Option<Word>,
}

impl Predicate for ResultFilter {
    fn holds(&self, index: &Index, result: &[u32]) -> Result<bool> {
        match self {
            ResultFilter::All => Ok(true),
            ResultFilter::Where(condition) => {
                let row = Row {
                    of: condition,
                    index,
                    result,
                };
                row.holds(&condition.condition, &mut 0)
            }
        }
    }
}

/// A number; NULL is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// In units of 10^-scale.
    Exact(i128, u32),
    Real(f64),
}

/// A result, and the condition that is evaluated.
struct Row<'a> {
    of: &'a Condition,
    index: &'a Index,
    result: &'a [u32],
}

impl Row<'_> {
    fn word(&self, (atom, word): Word) -> u64 {
        self.index.row(atom, self.result[atom])[word]
    }

    /// `verdict` counts the predicates of rows evaluated so far.
    fn holds(&self, condition: &Where, verdict: &mut usize) -> Result<bool> {
        Ok(match condition {
            Where::Compare {
                comparison,
                left,
                right,
            } => match (self.value(left)?, self.value(right)?) {
                (Some(left), Some(right)) => compare(*comparison, left, right),
                _ => false,
            },
            Where::IsNull { operand, null } => self.value(operand)?.is_none() == *null,
            Where::Row { .. } => {
                let at = self.of.verdicts[*verdict];
                *verdict += 1;
                self.word(at) == 1
            }
            Where::And { operands } => {
                let mut all = true;
                for operand in operands {
                    all &= self.holds(operand, verdict)?;
                }
                all
            }
            Where::Or { operands } => {
                let mut any = false;
                for operand in operands {
                    any |= self.holds(operand, verdict)?;
                }
                any
            }
        })
    }

    fn value(&self, value: &Value) -> Result<Option<Number>> {
        let both = |of: fn(Number, Number) -> Result<Number>, left, right| {
            let pair = self.value(left)?.zip(self.value(right)?);
            pair.map(|(left, right)| of(left, right)).transpose()
        };
        Ok(match value {
            Value::Constant { kind, value } => Some(constant(*kind, *value)),
            Value::Column { column, ty } => self.column(*column, ty),
            Value::Add { left, right } => both(sum, left, right)?,
            Value::Subtract { left, right } => {
                both(|left, right| sum(left, negated(right)?), left, right)?
            }
            Value::Multiply { left, right } => both(product, left, right)?,
            Value::Divide { left, right } => {
                let pair = self.value(left)?.zip(self.value(right)?);
                let pair = pair.map(|(left, right)| (real(left), real(right)));
                pair.filter(|(_, right)| *right != 0.0)
                    .map(|(left, right)| Number::Real(left / right))
            }
            // The plan refuses subqueries.
            Value::Aggregate { .. } | Value::Query { .. } => None,
        })
    }

    fn column(&self, column: Column, ty: &Type) -> Option<Number> {
        let found = self.of.columns.iter().find(|(of, _)| *of == column)?;
        let Words { word, high, null } = found.1;
        if null.is_some_and(|null| self.word(null) == 1) {
            return None;
        }
        let high = high.map_or(0, |high| self.word(high));
        Some(number(ty, self.word(word), high))
    }
}

/// The number of words of a type.
pub(super) fn number(ty: &Type, low: u64, high: u64) -> Number {
    match ty {
        Type::Decimal { scale, .. } => {
            let value = (u128::from(high) << 64 | u128::from(low)) as i128;
            scaled(value, i32::from(*scale))
        }
        Type::UInt64 => Number::Exact(i128::from(low), 0),
        ty if ty.is_float() => Number::Real(f64::from_bits(low)),
        _ => Number::Exact(i128::from(low as i64), 0),
    }
}

fn constant(kind: Kind, value: Constant) -> Number {
    match (kind, value) {
        (_, Constant::Int(value)) => Number::Exact(value.into(), 0),
        (Kind::Decimal { scale }, Constant::Decimal(value)) => scaled(value, i32::from(scale)),
        (_, Constant::Decimal(value)) => Number::Exact(value, 0),
        (_, Constant::Real(value)) => Number::Real(value),
    }
}

/// A scale may be negative.
fn scaled(value: i128, scale: i32) -> Number {
    match u32::try_from(scale) {
        Ok(scale) => Number::Exact(value, scale),
        Err(_) => match 10i128
            .checked_pow(scale.unsigned_abs())
            .and_then(|p| value.checked_mul(p))
        {
            Some(value) => Number::Exact(value, 0),
            None => Number::Real(value as f64 * 10f64.powi(-scale)),
        },
    }
}

/// As a double.
pub(super) fn real(number: Number) -> f64 {
    match number {
        Number::Exact(value, 0) => value as f64,
        Number::Exact(value, scale) => value as f64 / 10f64.powi(scale as i32),
        Number::Real(value) => value,
    }
}

fn overflow() -> Error {
    Error::Overflow {
        place: "a condition across the tables of a sample".to_owned(),
    }
}

/// Two exact numbers in the finer units of both; none where that does not fit.
fn aligned((a, s): (i128, u32), (b, t): (i128, u32)) -> Option<(i128, i128, u32)> {
    let scale = s.max(t);
    let a = a.checked_mul(10i128.checked_pow(scale - s)?)?;
    let b = b.checked_mul(10i128.checked_pow(scale - t)?)?;
    Some((a, b, scale))
}

fn sum(left: Number, right: Number) -> Result<Number> {
    match (left, right) {
        (Number::Exact(a, s), Number::Exact(b, t)) => {
            let aligned = aligned((a, s), (b, t)).ok_or_else(overflow)?;
            let sum = aligned.0.checked_add(aligned.1).ok_or_else(overflow)?;
            Ok(Number::Exact(sum, aligned.2))
        }
        _ => Ok(Number::Real(real(left) + real(right))),
    }
}

fn negated(number: Number) -> Result<Number> {
    Ok(match number {
        Number::Exact(value, scale) => {
            Number::Exact(value.checked_neg().ok_or_else(overflow)?, scale)
        }
        Number::Real(value) => Number::Real(-value),
    })
}

fn product(left: Number, right: Number) -> Result<Number> {
    match (left, right) {
        (Number::Exact(a, s), Number::Exact(b, t)) => {
            Ok(Number::Exact(a.checked_mul(b).ok_or_else(overflow)?, s + t))
        }
        _ => Ok(Number::Real(real(left) * real(right))),
    }
}

fn compare(comparison: Comparison, left: Number, right: Number) -> bool {
    let order = match (left, right) {
        (Number::Exact(a, s), Number::Exact(b, t)) => match aligned((a, s), (b, t)) {
            Some((a, b, _)) => a.cmp(&b),
            // One of them is too large for the units of the other, so sign or size decides.
            None => real(left).total_cmp(&real(right)),
        },
        _ => ordered(real(left), real(right)),
    };
    comparison.holds(order)
}

/// The order of doubles in SQL: NaN is the greatest, and there is one 0.
fn ordered(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_they_are() {
        use Comparison::{Eq, Gt, Lt};
        let exact = Number::Exact;
        assert!(compare(Eq, exact(150, 2), exact(15, 1)));
        assert!(compare(Lt, exact(i128::MAX - 1, 0), exact(i128::MAX, 0)));
        assert!(compare(Gt, exact(i128::MAX, 0), exact(5, 30)));
        assert!(compare(Lt, exact(1, 20), Number::Real(0.5)));
        assert!(compare(
            Gt,
            Number::Real(f64::NAN),
            Number::Real(f64::INFINITY)
        ));
        assert!(compare(Eq, Number::Real(f64::NAN), Number::Real(-f64::NAN)));
        assert!(compare(Eq, Number::Real(-0.0), exact(0, 3)));
    }

    #[test]
    fn arithmetic_is_exact_or_says_so() {
        let sum = sum(Number::Exact(1, 1), Number::Exact(2, 2)).unwrap();
        assert!(matches!(sum, Number::Exact(12, 2)));
        let product = product(Number::Exact(3, 1), Number::Exact(5, 2)).unwrap();
        assert!(matches!(product, Number::Exact(15, 3)));
        assert!(super::product(Number::Exact(i128::MAX, 0), Number::Exact(2, 0)).is_err());
        assert!(matches!(scaled(3, -2), Number::Exact(300, 0)));
    }
}
