//! Bound conditions: predicates on the row of one atom are separated, NOT is pushed down, the rest
//! is compared.
//!
//! Invariant: the bound condition is TRUE for exactly the rows for which SQL's three-valued
//! condition is TRUE. NOT of an unknown is unknown, so pushing it down to the comparisons changes
//! nothing: NOT x < y is TRUE just where x >= y is. Cost: linear in the condition, times its depth;
//! a list in IN is as many comparisons.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Result};

use super::scope::OuterScope;
use super::side::{Side, TypedValue};
use super::value::{multiply, side_of};
use crate::bind::domain::{Domain, coerce, in_one_domain};
use crate::bind::literal::Literal;
use crate::bind::names::{each_column, split};
use crate::bind::nested::{Condition, Value};
use crate::bind::polynomial::{Comparison, Kind, Polynomial, Predicate};
use crate::bind::predicate::order;

/// TRUE for every row.
pub(super) const ALWAYS: Condition = Condition::And(Vec::new());
/// TRUE for none.
pub(super) const NEVER: Condition = Condition::Or(Vec::new());

/// All of them, without what does not matter.
pub(super) fn all(operands: Vec<Condition>) -> Condition {
    let mut flat = Vec::new();
    for operand in operands {
        match operand {
            Condition::Or(operands) if operands.is_empty() => return NEVER,
            Condition::And(operands) => flat.extend(operands),
            operand => flat.push(operand),
        }
    }
    match flat.len() {
        1 => flat.swap_remove(0),
        _ => Condition::And(flat),
    }
}

/// Any of them, without what does not matter.
fn any(operands: Vec<Condition>) -> Condition {
    let mut flat = Vec::new();
    for operand in operands {
        match operand {
            Condition::And(operands) if operands.is_empty() => return ALWAYS,
            Condition::Or(operands) => flat.extend(operands),
            operand => flat.push(operand),
        }
    }
    match flat.len() {
        1 => flat.swap_remove(0),
        _ => Condition::Or(flat),
    }
}

impl OuterScope<'_> {
    /// Recognises a condition, or its opposite.
    ///
    /// # Errors
    /// `Unsupported` for what an engine does not compare; `Type`.
    pub(super) fn bind(&self, condition: &Expr, negated: bool) -> Result<Condition> {
        if let Some(atom) = of_row(condition) {
            match self.predicate(atom, condition, negated) {
                // It may be a division, which no filter has.
                Err(Error::Unsupported { .. }) => {}
                found => return found,
            }
        }
        match condition {
            Expr::Alias(alias) => self.bind(&alias.expr, negated),
            Expr::BinaryExpr(BinaryExpr { op, .. })
                if matches!(op, Operator::And | Operator::Or) =>
            {
                let mut operands = Vec::new();
                split(condition, *op, &mut operands);
                let bound = operands.into_iter().map(|one| self.bind(one, negated));
                let bound = bound.collect::<Result<_>>()?;
                Ok(match (*op == Operator::And) == negated {
                    true => any(bound),
                    false => all(bound),
                })
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let comparison = Comparison::of(*op).ok_or_else(|| unknown(condition))?;
                compare(
                    comparison.unless(negated),
                    self.side(left)?,
                    self.side(right)?,
                )
            }
            Expr::Not(of) => self.bind(of, !negated),
            // Rows for which it is TRUE are chosen either way.
            Expr::IsTrue(of) if !negated => self.bind(of, false),
            Expr::IsNotTrue(of) if negated => self.bind(of, false),
            Expr::IsFalse(of) if !negated => self.bind(of, true),
            Expr::IsNotFalse(of) if negated => self.bind(of, true),
            Expr::IsNull(of) => self.is_null(of, !negated),
            Expr::IsNotNull(of) => self.is_null(of, negated),
            Expr::Between(between) => {
                let negated = negated != between.negated;
                let bound = |comparison: Comparison, side: &Expr| {
                    let (value, side) = (self.side(&between.expr)?, self.side(side)?);
                    compare(comparison.unless(negated), value, side)
                };
                let both = vec![
                    bound(Comparison::Ge, &between.low)?,
                    bound(Comparison::Le, &between.high)?,
                ];
                Ok(if negated { any(both) } else { all(both) })
            }
            Expr::InList(within) => {
                let negated = negated != within.negated;
                let operand = self.side(&within.expr)?;
                let one = |value: &Expr| {
                    let comparison = Comparison::Eq.unless(negated);
                    compare(comparison, operand.clone(), self.side(value)?)
                };
                let found = within.list.iter().map(one).collect::<Result<_>>()?;
                Ok(if negated { all(found) } else { any(found) })
            }
            // A Boolean by itself.
            other => match self.side(other)? {
                Side::Null => Ok(NEVER),
                Side::TypedValue(known) if known.domain == Some(Domain::Bool) => {
                    let truth = side_of(Literal::Bool(true))?;
                    compare(
                        Comparison::Eq.unless(negated),
                        Side::TypedValue(known),
                        truth,
                    )
                }
                _ => Err(unknown(other)),
            },
        }
    }

    /// Whether a value is NULL, or is not.
    fn is_null(&self, of: &Expr, wanted: bool) -> Result<Condition> {
        let constant = |is_null: bool| if is_null == wanted { ALWAYS } else { NEVER };
        Ok(match self.side(of)? {
            Side::Null => constant(true),
            Side::Quoted(_) => constant(false),
            Side::TypedValue(known) if !known.nullable => constant(false),
            Side::TypedValue(known) => Condition::IsNull(known.value, wanted),
        })
    }

    /// A condition on the row of one atom.
    fn predicate(&self, atom: usize, row: &Expr, negated: bool) -> Result<Condition> {
        let opposite;
        let row = match negated {
            true => {
                opposite = Expr::Not(Box::new(row.clone()));
                &opposite
            }
            false => row,
        };
        Ok(match self.scopes[atom].predicate(row)? {
            Predicate::Constant { value: Some(true) } => ALWAYS,
            Predicate::Constant { .. } => NEVER,
            predicate => Condition::Row(atom, predicate),
        })
    }
}

/// The only atom of the query itself that a condition reads; the first where nothing is read.
fn of_row(condition: &Expr) -> Option<usize> {
    let mut atoms = BTreeSet::new();
    each_column(condition, &mut |atom, _| {
        atoms.insert(atom);
    });
    let atom = atoms.first().copied().unwrap_or(0);
    (atoms.len() < 2 && atom != usize::MAX).then_some(atom)
}

fn unknown(of: &Expr) -> Error {
    Error::Unsupported {
        what: format!("the condition {of} on a column of a query around, or of two tables"),
        why: "an engine compares columns, constants and the values of subqueries".to_owned(),
        instead: "put it into the query whose column it is, or into a subquery in FROM".to_owned(),
    }
}

pub(super) fn compare(comparison: Comparison, left: Side, right: Side) -> Result<Condition> {
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
        (Side::Quoted(text), Side::TypedValue(right)) => {
            let left = unquoted(&text, &right)?;
            typed_comparison(comparison, left, right)
        }
        (Side::TypedValue(left), Side::Quoted(text)) => {
            let right = unquoted(&text, &left)?;
            typed_comparison(comparison, left, right)
        }
        (Side::TypedValue(left), Side::TypedValue(right)) => {
            let right = right.narrowed(&left, false);
            let left = left.narrowed(&right, false);
            typed_comparison(comparison, left, right)
        }
    }
}

/// A constant in quotes, as what it is compared with.
fn unquoted(text: &str, beside: &TypedValue) -> Result<TypedValue> {
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
    let found = TypedValue::literal(&expr, domain).map(|found| found.narrowed(beside, true));
    found.ok_or_else(|| mismatch(beside.domain, None))
}

fn typed_comparison(
    comparison: Comparison,
    left: TypedValue,
    right: TypedValue,
) -> Result<Condition> {
    let (left, right) = match (left.domain, right.domain) {
        (None, None) if matches!(comparison, Comparison::Eq | Comparison::Ne) => (left, right),
        (None, None) => {
            return Err(Error::Unsupported {
                what: "strings of two tables in the order of their letters".to_owned(),
                why: "strings are kept by numbers that have another order".to_owned(),
                instead: "compare them by = or <>, or compute a number that orders them".to_owned(),
            });
        }
        (Some(from), Some(to)) => match in_one_domain(from, to) {
            Some((one, other)) => (times(left, one)?, times(right, other)?),
            None => return Err(mismatch(Some(from), Some(to))),
        },
        (from, to) => return Err(mismatch(from, to)),
    };
    if let (Some(a), Some(b)) = (left.constant, right.constant) {
        let (a, b) = Polynomial::unify(
            Polynomial::literal(left.kind, a),
            Polynomial::literal(right.kind, b),
        )?;
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
    Ok(Condition::Compare(left.value, comparison, right.value))
}

/// The same in a finer unit.
fn times(known: TypedValue, factor: i64) -> Result<TypedValue> {
    let literal = TypedValue::literal(&Polynomial::int(factor), Domain::Number);
    match literal.filter(|_| factor != 1) {
        Some(factor) => multiply(TypedValue::number(known.value, Kind::Int), factor),
        None => Ok(known),
    }
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
pub(super) fn equal(left: Value, right: Value) -> Condition {
    Condition::Compare(left, Comparison::Eq, right)
}
