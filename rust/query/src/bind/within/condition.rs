//! Conditions bound: what the row of one atom tells becomes a predicate, NOT is pushed down, the
//! rest is compared.
//!
//! Invariant: what comes out is TRUE for exactly the rows for which SQL's three-valued condition is
//! TRUE. NOT of an unknown is unknown, so pushing it down to the comparisons changes nothing: NOT x
//! < y is TRUE just where x >= y is. Cost: linear in the condition, times its depth; a list in IN
//! is as many comparisons.

use std::cmp::Ordering;

use ringview_core::{Error, Result};

use super::scope::{Around, Within};
use super::value::{Known, Side, literal, multiply};
use crate::bind::expr::{Comparison, Expr, Kind, Predicate};
use crate::bind::filter::{Domain, coerce, day_fraction, zoned};
use crate::bind::nested::{Value, Where};
use crate::bind::predicate::order;
use crate::bind::scalar::each_column;
use crate::bind::variables::resolve;
use crate::graph::set::Set;
use crate::logical::{ColumnRef, Compared, Condition, Scalar};

/// TRUE for every row.
pub(super) const ALWAYS: Where = Where::And {
    operands: Vec::new(),
};
/// TRUE for none.
pub(super) const NEVER: Where = Where::Or {
    operands: Vec::new(),
};

/// All of them, without what does not matter.
pub(super) fn all(operands: Vec<Where>) -> Where {
    let mut kept = Vec::new();
    for operand in operands {
        match operand {
            Where::Or { operands } if operands.is_empty() => return NEVER,
            Where::And { operands } => kept.extend(operands),
            operand => kept.push(operand),
        }
    }
    match kept.len() {
        1 => kept.swap_remove(0),
        _ => Where::And { operands: kept },
    }
}

/// Any of them, without what does not matter.
fn any(operands: Vec<Where>) -> Where {
    let mut kept = Vec::new();
    for operand in operands {
        match operand {
            Where::And { operands } if operands.is_empty() => return ALWAYS,
            Where::Or { operands } => kept.extend(operands),
            operand => kept.push(operand),
        }
    }
    match kept.len() {
        1 => kept.swap_remove(0),
        _ => Where::Or { operands: kept },
    }
}

impl Within<'_> {
    /// Binds a condition, or its opposite.
    pub(super) fn bind(
        &mut self,
        condition: &Condition<Compared>,
        around: &Around<'_>,
        negated: bool,
    ) -> Result<Where> {
        if let Some(row) = of_row(condition) {
            return predicate(&row, around, negated);
        }
        match condition {
            Condition::Compare {
                comparison,
                left,
                right,
            } => {
                let (left, right) = (self.side(left, around)?, self.side(right, around)?);
                compare(comparison.unless(negated), left, right)
            }
            Condition::In { operand, list } => {
                let operand = self.side(operand, around)?;
                let one = |value| {
                    let comparison = Comparison::Eq.unless(negated);
                    compare(comparison, operand.clone(), literal(value)?)
                };
                let found = list.iter().map(one).collect::<Result<_>>()?;
                Ok(if negated { all(found) } else { any(found) })
            }
            Condition::Like { pattern, .. } => Err(Error::Unsupported {
                what: format!("LIKE '{pattern}' on a column of a query around"),
                why: "a pattern is looked for in the rows of one table".to_owned(),
                instead: "put it into the query whose column it is".to_owned(),
            }),
            Condition::IsNull { operand } => Ok(match self.side(operand, around)? {
                Side::Null if negated => NEVER,
                Side::Null => ALWAYS,
                Side::Quoted(_) if negated => ALWAYS,
                Side::Quoted(_) => NEVER,
                Side::Known(known) if !known.nullable => match negated {
                    true => ALWAYS,
                    false => NEVER,
                },
                Side::Known(known) => Where::IsNull {
                    operand: known.value,
                    null: !negated,
                },
            }),
            Condition::And { operands } | Condition::Or { operands } => {
                let bound = operands.iter().map(|one| self.bind(one, around, negated));
                let bound = bound.collect::<Result<_>>()?;
                let is_and = matches!(condition, Condition::And { .. });
                Ok(if is_and == negated {
                    any(bound)
                } else {
                    all(bound)
                })
            }
            Condition::Not { operand } => self.bind(operand, around, !negated),
            Condition::Constant { value } => Ok(if *value == negated { NEVER } else { ALWAYS }),
        }
    }
}

/// A condition that the row of one atom of the query itself tells.
fn of_row(condition: &Condition<Compared>) -> Option<Condition> {
    let mut atoms = Set::default();
    let mut fits = true;
    let row = condition.try_map(&mut |compared| {
        let scalar = compared.scalar()?;
        each_column(&scalar, &mut |atom, _| match atom < Set::CAPACITY {
            true => atoms.insert(atom),
            false => fits = false,
        });
        Some(scalar)
    })?;
    (fits && atoms.len() < 2).then_some(row)
}

fn predicate(row: &Condition, around: &Around<'_>, negated: bool) -> Result<Where> {
    let mut atom = 0;
    let mut see = |scalar: &Scalar| {
        let mut found = Ok(());
        each_column(scalar, &mut |of, column| {
            atom = of;
            let column = column.to_owned();
            if found.is_ok() {
                found = resolve(around.scopes, &ColumnRef { atom: of, column }).map(|_| ());
            }
        });
        found
    };
    let mut found = Ok(());
    row.each_operand(&mut |scalar| {
        if found.is_ok() {
            found = see(scalar);
        }
    });
    found?;
    let opposite;
    let row = match negated {
        true => {
            let operand = Box::new(row.clone());
            opposite = Condition::Not { operand };
            &opposite
        }
        false => row,
    };
    Ok(match around.scopes[atom].predicate(row)? {
        Predicate::Constant { value: Some(true) } => ALWAYS,
        Predicate::Constant { .. } => NEVER,
        predicate => Where::Row { atom, predicate },
    })
}

pub(super) fn compare(comparison: Comparison, left: Side, right: Side) -> Result<Where> {
    let truth = |order: Ordering| {
        if comparison.holds(order) {
            ALWAYS
        } else {
            NEVER
        }
    };
    match (left, right) {
        (Side::Null, _) | (_, Side::Null) => Ok(NEVER),
        (Side::Quoted(left), Side::Quoted(right)) => Ok(truth(left.cmp(&right))),
        (Side::Quoted(text), Side::Known(right)) => {
            let left = unquoted(&text, &right)?;
            known(comparison, left, right)
        }
        (Side::Known(left), Side::Quoted(text)) => {
            let right = unquoted(&text, &left)?;
            known(comparison, left, right)
        }
        (Side::Known(left), Side::Known(right)) => {
            let right = right.narrowed(&left, false);
            let left = left.narrowed(&right, false);
            known(comparison, left, right)
        }
    }
}

/// A constant in quotes, as what it is compared with.
fn unquoted(text: &str, beside: &Known) -> Result<Known> {
    let Some(domain) = beside.domain else {
        return Err(Error::Unsupported {
            what: format!(
                "comparing '{text}' with a string of a query around, or of a query within"
            ),
            why: "strings are compared with constants in the filter of their own table".to_owned(),
            instead: "put the comparison into the query whose column it is".to_owned(),
        });
    };
    let (expr, domain) = coerce(text, domain, beside.kind)?;
    let found = Known::literal(&expr, domain).map(|found| found.narrowed(beside, true));
    found.ok_or_else(|| mismatch(beside.domain, None))
}

fn known(comparison: Comparison, left: Known, right: Known) -> Result<Where> {
    let (left, right) = match (left.domain, right.domain) {
        (None, None) if matches!(comparison, Comparison::Eq | Comparison::Ne) => (left, right),
        (None, None) => {
            return Err(Error::Unsupported {
                what: "strings of two tables in the order of their letters".to_owned(),
                why: "strings are kept by numbers that have another order".to_owned(),
                instead: "compare them by = or <>, or compute a number that orders them".to_owned(),
            });
        }
        (Some(from), Some(to)) => in_one_domain((left, from), (right, to))?,
        (from, to) => return Err(mismatch(from, to)),
    };
    if let (Some(a), Some(b)) = (left.constant(), right.constant()) {
        let (a, b) = Expr::unify(Expr::literal(left.kind, a), Expr::literal(right.kind, b))?;
        if let (Some(a), Some(b)) = (a.value(), b.value())
            && let Some(order) = order(a, b)
        {
            return Ok(if comparison.holds(order) {
                ALWAYS
            } else {
                NEVER
            });
        }
    }
    Ok(Where::Compare {
        comparison,
        left: left.value,
        right: right.value,
    })
}

/// Both sides as numbers of one meaning: ticks of the finer unit, where one is of time.
fn in_one_domain(
    (left, from): (Known, Domain),
    (right, to): (Known, Domain),
) -> Result<(Known, Known)> {
    match (from, to) {
        (Domain::Number, Domain::Number)
        | (Domain::Bool, Domain::Bool)
        | (Domain::Date, Domain::Date) => return Ok((left, right)),
        (Domain::Number | Domain::Bool, _) | (_, Domain::Number | Domain::Bool) => {
            return Err(mismatch(Some(from), Some(to)));
        }
        _ => {}
    }
    if let (Some(one), Some(other)) = (zoned(from), zoned(to))
        && one != other
    {
        return Err(mismatch(Some(from), Some(to)));
    }
    let finest = day_fraction(from).max(day_fraction(to));
    let ticks = |known: Known, domain: Domain| match finest / day_fraction(domain) {
        1 => Ok(known),
        factor => {
            let known = Known::number(known.value, Kind::Int);
            let factor = Known::literal(&Expr::int(factor), Domain::Number);
            factor.map_or(Ok(known.clone()), |factor| multiply(known, factor))
        }
    };
    Ok((ticks(left, from)?, ticks(right, to)?))
}

fn mismatch(left: Option<Domain>, right: Option<Domain>) -> Error {
    let shown = |domain: Option<Domain>| domain.map_or("a string".to_owned(), Domain::describe);
    Error::Type {
        place: "a comparison in a condition".to_owned(),
        expected: format!("two values of one type (beside {})", shown(left)),
        found: shown(right),
    }
}

/// The equality of two columns of the query itself.
pub(super) fn equal(left: Value, right: Value) -> Where {
    Where::Compare {
        comparison: Comparison::Eq,
        left,
        right,
    }
}
